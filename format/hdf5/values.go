// References from elements into global heaps: variable-length data, region
// references, and references of 1.12. The library follows them when it reads the
// elements.

package hdf5

import (
	"fmt"

	"github.com/hyperslab/hyperslab/format"
)

// heapValues checks the heap references in elements of type t, one behind the other
// in b; at is where they stand.
func (r *reader) heapValues(t *Datatype, b []byte, at int64) error {
	if t.Size == 0 || !t.InHeap() {
		return nil
	}
	for size := int(t.Size); len(b) >= size; b = b[size:] {
		if err := r.heapValue(t, b[:size], at); err != nil {
			return err
		}
		at += int64(size)
	}
	return nil
}

func (r *reader) heapValue(t *Datatype, b []byte, at int64) error {
	switch t.Class {
	case ArrayClass:
		return r.heapValues(t.Base, b, at)
	case CompoundClass:
		for _, m := range t.Members {
			if !m.Type.InHeap() {
				continue
			}
			if uint64(m.Offset)+uint64(m.Type.Size) > uint64(len(b)) {
				return r.valueError(at, "a member outside the compound", "one inside")
			}
			if err := r.heapValue(m.Type, b[m.Offset:][:m.Type.Size], at+int64(m.Offset)); err != nil {
				return err
			}
		}
		return nil
	case VLenClass:
		return r.sequence(t, b, at)
	case ReferenceClass:
		return r.reference(t, b, at)
	}
	return nil
}

func (r *reader) valueError(at int64, got, want string) error {
	return &format.Error{Format: formatName, What: "element", Offset: max(at, 0), Got: got, Want: want, Err: format.ErrCorrupt}
}

// heapRef reads address and index of an object in a global heap.
func (r *reader) heapRef(b []byte) (Addr, uint32) {
	n := r.f.super.OffsetSize
	p := &part{r: r, what: "heap ID", b: b[:n], decoded: true}
	return p.addr("address"), le32(b[n:])
}

// sequence checks a value of variable length: a count, and where its elements are.
func (r *reader) sequence(t *Datatype, b []byte, at int64) error {
	if len(b) < 8+r.f.super.OffsetSize || t.Base == nil {
		return r.valueError(at, fmt.Sprintf("%d bytes", len(b)), fmt.Sprint(8+r.f.super.OffsetSize))
	}
	n := le32(b)
	a, index := r.heapRef(b[4:])
	if a == 0 || !a.Defined() || n == 0 {
		return nil // the library takes it for an empty one
	}
	o, err := r.globalObject(a, index)
	if err != nil {
		return err
	}
	want := uint64(n) * uint64(t.Base.Size)
	if uint64(len(o.Data)) != want {
		return r.valueError(at, fmt.Sprintf("%d elements of %d bytes in an object of %d", n, t.Base.Size, len(o.Data)), fmt.Sprintf("%d bytes", want))
	}
	// Any number of elements can refer to one object, and the library copies it for
	// each of them.
	if r.left -= int64(len(o.Data)); r.left < 0 {
		return &format.Error{Format: formatName, What: "element", Offset: max(at, 0), Got: "sequences with more bytes than the file has many times over", Want: "fewer", Err: format.ErrLimit}
	}
	return r.heapValues(t.Base, o.Data, o.At) // nothing, if they refer to none
}

// reference checks a reference to a region or, of 1.12, of any kind.
func (r *reader) reference(t *Datatype, b []byte, at int64) error {
	if t.RefKind() == ObjectRef {
		return nil
	}
	skip := 0
	if t.RefKind() != RegionRef {
		skip = 6 // kind, flags, and the size of what is in the heap
	}
	if len(b) < skip+r.f.super.OffsetSize+4 {
		return r.valueError(at, fmt.Sprintf("a reference of %d bytes", len(b)), fmt.Sprintf("at least %d", skip+r.f.super.OffsetSize+4))
	}
	a, index := r.heapRef(b[skip:])
	if a == 0 || !a.Defined() {
		return nil
	}
	o, err := r.globalObject(a, index)
	if err != nil || skip > 0 {
		return err
	}
	p := &part{r: r, what: "region reference", b: o.Data, at: o.At}
	p.addr("object header address")
	p.selection("selection")
	return p.err
}

// Sequence returns the bytes of a value of variable length, of which b is the element as
// stored, and the number of its elements. An empty one has none. The error is
// format.ErrCorrupt or format.ErrTruncated for an element that leads nowhere.
func (f *File) Sequence(b []byte) (data []byte, n uint32, err error) {
	r := f.reader()
	if len(b) < 8+f.super.OffsetSize {
		return nil, 0, r.valueError(0, fmt.Sprintf("%d bytes", len(b)), fmt.Sprint(8+f.super.OffsetSize))
	}
	a, index := r.heapRef(b[4:])
	if n = le32(b); a == 0 || !a.Defined() || n == 0 {
		return nil, 0, nil
	}
	o, err := r.globalObject(a, index)
	return o.Data, n, err
}
