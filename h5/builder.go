//go:build cgo

// Builder of Values from raw bytes, for elements that were read without libhdf5 and must be stored
// unchanged.

package h5

import (
	"fmt"
	"slices"
	"strings"
)

// Builder makes Values from bytes. All elements are zero at first. Each method takes an offset in
// bytes: element i begins at i*Stride(), a member at its offset from there, and the elements of a
// sequence at the offset that Sequence returns. An offset outside the allocated bytes returns
// ErrRegion.
type Builder struct {
	v Values
}

// NewBuilder returns a Builder for n elements of type t. It returns ErrType or ErrParam if t is
// invalid, and ErrSize if n is negative.
func NewBuilder(t Datatype, n int) (*Builder, error) {
	if err := t.check(); err != nil {
		return nil, &Error{Op: "build", Err: err}
	}
	if n < 0 {
		return nil, &Error{Op: "build", Err: fmt.Errorf("%w: %d elements", ErrSize, n)}
	}
	b := &Builder{Values{Datatype: t, n: n}}
	x := transfer{v: b.v}
	x.grow(n, t.memSize())
	b.v = x.v
	return b, nil
}

// Stride returns the distance in bytes between consecutive elements.
func (b *Builder) Stride() int { return b.v.Datatype.memSize() }

// Values returns a copy of the elements built so far. Later calls do not change it.
func (b *Builder) Values() Values {
	v := b.v
	v.block = slices.Clone(v.block)
	return v
}

func (b *Builder) inside(at, size int) error {
	if at < 0 || size < 0 || at > len(b.v.block)-size {
		return &Error{Op: "build", Err: fmt.Errorf("%w: bytes %d to %d of %d", ErrRegion, at, at+size, len(b.v.block))}
	}
	return nil
}

// Bytes stores src at offset at, in the form in which the file stores it: a number, a string of
// fixed length, or any other Plain element.
func (b *Builder) Bytes(at int, src []byte) error {
	if err := b.inside(at, len(src)); err != nil {
		return err
	}
	copy(b.v.block[at:], src)
	return nil
}

// Text stores a variable-length string at offset at. It returns ErrParam if s contains a zero byte.
func (b *Builder) Text(at int, s string) error {
	if err := b.inside(at, pointerSize); err != nil {
		return err
	}
	if i := strings.IndexByte(s, 0); i >= 0 {
		return &Error{Op: "build", Err: fmt.Errorf("%w: zero byte at %d of a string", ErrParam, i)}
	}
	putWord(b.v.block[at:], uint64(len(b.v.block)))
	b.v.block = appendText(b.v.block, s)
	return nil
}

// Sequence stores a sequence of n elements of type base at offset at. It returns the offset of the
// first element and the distance between elements in bytes. It returns ErrSize if n is negative.
func (b *Builder) Sequence(at, n int, base Datatype) (first, stride int, err error) {
	if err := b.inside(at, sequenceSize); err != nil {
		return 0, 0, err
	}
	if n < 0 {
		return 0, 0, &Error{Op: "build", Err: fmt.Errorf("%w: %d elements", ErrSize, n)}
	}
	x := transfer{v: b.v}
	stride = base.memSize()
	first = x.grow(n, stride)
	b.v = x.v
	putWord(b.v.block[at:], uint64(n))
	putWord(b.v.block[at+wordSize:], uint64(first))
	return first, stride, nil
}

// Ref stores a reference at offset at. The zero Ref is the null reference.
func (b *Builder) Ref(at int, r Ref) error {
	if r.IsNull() {
		return nil
	}
	t := ReferenceType(r.Kind)
	if err := b.inside(at, t.Size); err != nil {
		return err
	}
	if r.Kind == StandardReference {
		putWord(b.v.block[at:], uint64(len(b.v.block)))
		b.v.block = appendBytes(b.v.block, []byte(r.data))
		return nil
	}
	copy(b.v.block[at:at+t.Size], r.data)
	return nil
}

// InMemory returns the size in bytes of an element of type t in a Builder. It equals t.Size except
// for variable-length strings.
func (t Datatype) InMemory() int { return t.memSize() }
