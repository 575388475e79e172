// Builder of Values from raw bytes, for elements that were read without libhdf5 and must be stored
// unchanged.

package h5elem

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/h5"
)

// Builder makes h5.Values from bytes. All elements are zero at first. Each method takes an offset
// in bytes: element i begins at i*Stride(), a member at its offset from there, and the elements of
// a sequence at the offset that Sequence returns. An offset outside the allocated bytes returns
// ErrRegion.
type Builder struct {
	v h5.Values
}

// NewBuilder returns a Builder for n elements of type t. It returns ErrType or ErrParam if t is
// invalid, and ErrSize if n is negative.
func NewBuilder(t h5.Datatype, n int) (*Builder, error) {
	if _, err := t.Key(); err != nil {
		return nil, &h5.Error{Op: "build", Err: err}
	}
	if n < 0 {
		return nil, &h5.Error{Op: "build", Err: fmt.Errorf("%w: %d elements", h5.ErrSize, n)}
	}
	b := &Builder{h5.Values{Datatype: t, N: n}}
	Grow(&b.v.Block, n, t.InMemory())
	return b, nil
}

// Stride returns the distance in bytes between consecutive elements.
func (b *Builder) Stride() int { return b.v.Datatype.InMemory() }

// Values returns a copy of the elements built so far. Later calls do not change it.
func (b *Builder) Values() h5.Values {
	v := b.v
	v.Block = slices.Clone(v.Block)
	return v
}

func (b *Builder) inside(at, size int) error {
	if at < 0 || size < 0 || at > len(b.v.Block)-size {
		return &h5.Error{Op: "build", Err: fmt.Errorf("%w: bytes %d to %d of %d", h5.ErrRegion, at, at+size, len(b.v.Block))}
	}
	return nil
}

// Bytes stores src at offset at, in the form in which the file stores it: a number, a string of
// fixed length, or any other Plain element.
func (b *Builder) Bytes(at int, src []byte) error {
	if err := b.inside(at, len(src)); err != nil {
		return err
	}
	copy(b.v.Block[at:], src)
	return nil
}

// Text stores a variable-length string at offset at. It returns ErrParam if s contains a zero byte.
func (b *Builder) Text(at int, s string) error {
	if err := b.inside(at, WordSize); err != nil {
		return err
	}
	if i := strings.IndexByte(s, 0); i >= 0 {
		return &h5.Error{Op: "build", Err: fmt.Errorf("%w: zero byte at %d of a string", h5.ErrParam, i)}
	}
	PutWord(b.v.Block[at:], uint64(len(b.v.Block)))
	b.v.Block = AppendBytes(b.v.Block, s, true)
	return nil
}

// Sequence stores a sequence of n elements of type base at offset at. It returns the offset of the
// first element and the distance between elements in bytes. It returns ErrSize if n is negative.
func (b *Builder) Sequence(at, n int, base h5.Datatype) (first, stride int, err error) {
	if err := b.inside(at, sequenceSize); err != nil {
		return 0, 0, err
	}
	if n < 0 {
		return 0, 0, &h5.Error{Op: "build", Err: fmt.Errorf("%w: %d elements", h5.ErrSize, n)}
	}
	stride = base.InMemory()
	first = Grow(&b.v.Block, n, stride)
	PutWord(b.v.Block[at:], uint64(n))
	PutWord(b.v.Block[at+WordSize:], uint64(first))
	return first, stride, nil
}

// Ref stores a reference at offset at. The zero Ref is the null reference.
func (b *Builder) Ref(at int, r h5.Ref) error {
	if r.IsNull() {
		return nil
	}
	t := h5.ReferenceType(r.Kind)
	if err := b.inside(at, t.Size); err != nil {
		return err
	}
	b.v.Block = PutRef(b.v.Block, at, t.Size, r)
	return nil
}
