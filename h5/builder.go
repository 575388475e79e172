//go:build cgo

// Values put together from bytes: for elements whose bytes were found without the
// library, and are to be stored as they are.

package h5

import (
	"fmt"
	"slices"
	"strings"
)

// Builder makes Values of bytes. Elements begin as zeros: nothing of what stands
// elsewhere. Each method takes the place of a value in bytes: element i begins at i times
// Stride(), a member at its offset from there, and elements of a sequence where
// Sequence says. A place outside what was made is ErrRegion.
type Builder struct {
	v Values
}

// NewBuilder begins n elements of type t. It returns ErrType or ErrParam for a type
// that cannot be, ErrSize for a number of elements below 0.
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

// Stride is the bytes from one element to the next.
func (b *Builder) Stride() int { return b.v.Datatype.memSize() }

// Values are the elements built so far; they share nothing with what is built later.
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

// Bytes puts bytes as they are stored: of a number, a string of fixed length, or
// anything else that is Plain.
func (b *Builder) Bytes(at int, src []byte) error {
	if err := b.inside(at, len(src)); err != nil {
		return err
	}
	copy(b.v.block[at:], src)
	return nil
}

// Text puts a string of variable length; ErrParam if it has a zero byte.
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

// Sequence puts a sequence of n elements of type base and returns where the first is,
// and the bytes from one to the next. It is ErrSize for a number below 0.
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

// Ref puts a reference; the zero Ref refers to nothing.
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

// InMemory are the bytes that an element of type t takes in a Builder: t.Size, but of a
// string of variable length.
func (t Datatype) InMemory() int { return t.memSize() }
