// References from elements into global heaps: variable-length data, region references, and the
// references of HDF5 1.12. libhdf5 follows them when it reads the elements.

package h5file

import (
	"bytes"
	"fmt"

	"github.com/hyperslab/hyperslab/internal/format"
)

// heapValues checks the heap references in consecutive elements of type t in b. at is the offset of
// the first element in the file.
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

// heapRef reads the address of a global heap and the index of an object in it.
func (r *reader) heapRef(b []byte) (Addr, uint32) {
	n := r.f.super.OffsetSize
	p := &part{r: r, what: "heap ID", b: b[:n], decoded: true}
	return p.addr("address"), le32(b[n:])
}

// sequence checks a value of variable length: a count and the location of its elements.
func (r *reader) sequence(t *Datatype, b []byte, at int64) error {
	if len(b) < 8+r.f.super.OffsetSize || t.Base == nil {
		return r.valueError(at, fmt.Sprintf("%d bytes", len(b)), fmt.Sprint(8+r.f.super.OffsetSize))
	}
	n := le32(b)
	a, index := r.heapRef(b[4:])
	if a == 0 {
		return nil // libhdf5 treats only this address as empty (H5VL__native_blob_specific)
	}
	o, err := r.globalObject(a, index)
	if err != nil {
		return err
	}
	want := uint64(n) * uint64(t.Base.Size)
	if uint64(len(o.Data)) != want {
		return r.valueError(at, fmt.Sprintf("%d elements of %d bytes in an object of %d", n, t.Base.Size, len(o.Data)), fmt.Sprintf("%d bytes", want))
	}
	// Any number of elements can refer to one object, and libhdf5 copies the object for each of
	// them. The copies count against the work limit.
	if r.left -= int64(len(o.Data)); r.left < 0 {
		return &format.Error{Format: formatName, What: "element", Offset: max(at, 0), Got: "sequences with more bytes than the file has many times over", Want: "fewer", Err: format.ErrLimit}
	}
	return r.heapValues(t.Base, o.Data, o.At) // a no-op unless the elements refer to heaps
}

// reference checks a region reference or a reference of HDF5 1.12.
func (r *reader) reference(t *Datatype, b []byte, at int64) error {
	if t.RefKind() == ObjectRef {
		return nil
	}
	ref, err := r.readReference(t, b, at)
	if ref.File != "" && r.otherFile != nil {
		r.otherFile(ref.File, at)
	}
	return err
}

// Reference is the target of an element of a reference type.
type Reference struct {
	Kind      RefKind
	File      string     // the other file that contains the target; "" for the same file
	Object    Addr       // object header; undefined for a null reference
	Region    *Selection // the selected elements of a region reference
	Attribute string     // attribute name of an attribute reference
}

// externalRef is the flag of a reference into another file (H5R_IS_EXTERNAL).
const externalRef = 1

// readReference reads an element of a reference type. at is the offset of the element in the file.
//
// References of HDF5 1.12 begin with kind and flags. A reference to an object of the same file
// continues with the object's token. For other references the rest is in a global heap
// (H5T__ref_disk_getsize, H5R__encode).
func (r *reader) readReference(t *Datatype, b []byte, at int64) (Reference, error) {
	ref := Reference{Kind: t.RefKind(), Object: Undefined}
	offset := r.f.super.OffsetSize
	short := func(want int) error {
		return r.valueError(at, fmt.Sprintf("a reference of %d bytes", len(b)), fmt.Sprintf("at least %d", want))
	}
	switch ref.Kind {
	case ObjectRef:
		if len(b) < offset {
			return ref, short(offset)
		}
		p := &part{r: r, what: "object reference", b: b, at: max(at, 0)}
		if a := p.addr("address"); a != 0 {
			ref.Object = a
		}
		return ref, p.err
	case RegionRef:
		if len(b) < offset+4 {
			return ref, short(offset + 4)
		}
		o, err := r.referred(b)
		if err != nil || o.At == 0 {
			return ref, err
		}
		p := &part{r: r, what: "region reference", b: o.Data, at: o.At}
		ref.Object = p.addr("object header address")
		region := p.selection("selection")
		ref.Region = &region
		return ref, p.err
	}
	if len(b) < 6+offset+4 {
		return ref, short(6 + offset + 4)
	}
	if allZero(b) {
		return ref, nil
	}
	ref.Kind = RefKind(b[0])
	flags := b[1]
	if ref.Kind < ObjectRef2 || ref.Kind > AttributeRef {
		return ref, r.valueError(at, fmt.Sprintf("a reference of kind %d", ref.Kind), "2 to 4")
	}
	p := &part{r: r, what: "reference", b: b[2:], at: max(at, 0) + 2}
	if ref.Kind != ObjectRef2 || flags&externalRef != 0 {
		o, err := r.referred(b[6:]) // after the size of the data in the heap
		if err != nil || o.At == 0 {
			return ref, err
		}
		if n := le32(b[2:]); uint64(n) != uint64(len(o.Data)) { // compared by H5VL__native_blob_get
			return ref, r.valueError(at, fmt.Sprintf("a reference of %d bytes in an object of %d", n, len(o.Data)), "equal sizes")
		}
		p.b, p.at = o.Data, o.At
	}
	n := int(p.u8("token size"))
	if p.check(n >= 1 && n <= 16, n, "1 to 16") {
		token := p.bytes("token", n)
		ref.Object = Addr(leUint(token))
	}
	if flags&externalRef != 0 {
		ref.File = p.text("file name", int(p.u16("length of file name")))
	}
	switch ref.Kind {
	case RegionRef2:
		p.u32("size of selection")
		p.u32("rank")
		region := p.selection("selection")
		ref.Region = &region
	case AttributeRef:
		ref.Attribute = p.text("attribute name", int(p.u16("length of attribute name")))
	}
	return ref, p.err
}

// referred returns the object in a global heap that b refers to. Its At is 0 for a null reference.
func (r *reader) referred(b []byte) (GlobalObject, error) {
	a, index := r.heapRef(b)
	if a == 0 || !a.Defined() {
		return GlobalObject{}, nil
	}
	return r.globalObject(a, index)
}

func allZero(b []byte) bool { return len(bytes.Trim(b, "\x00")) == 0 }

// Values reads the heap data and references of elements. It caches the last heaps. It must not be
// used by more than one goroutine.
type Values struct{ r *reader }

// Values returns a Values for the elements of the file.
func (f *File) Values() *Values { return &Values{f.reader()} }

// maxHeaps is the maximum number of collections that Values caches.
const maxHeaps = 64

// fresh resets the work limit, and the cache if it is full.
func (v *Values) fresh() *reader {
	kept := v.r.globals
	if len(kept) > maxHeaps {
		kept = map[Addr]*GlobalHeap{}
	}
	v.r = v.r.f.reader()
	v.r.globals = kept
	return v.r
}

// Sequence returns the bytes of a value of variable length and the number of its elements. b is the
// element as stored. data is nil for a null value, and empty but not nil for a value of length 0.
//
// The error is format.ErrCorrupt, format.ErrVersion or format.ErrTruncated if the element refers to
// no object or to a corrupt heap. data is then the readable part, or nil.
func (v *Values) Sequence(b []byte) (data []byte, n uint32, err error) {
	r := v.fresh()
	if len(b) < 8+r.f.super.OffsetSize {
		return nil, 0, r.valueError(0, fmt.Sprintf("%d bytes", len(b)), fmt.Sprint(8+r.f.super.OffsetSize))
	}
	a, index := r.heapRef(b[4:])
	switch n = le32(b); {
	case a == 0 || !a.Defined():
		return nil, 0, nil
	case n == 0:
		return []byte{}, 0, nil
	}
	o, err := r.globalObject(a, index)
	return o.Data, n, err
}

// Reference returns the target of the element b, as stored, of the reference type t. The errors are
// those of Sequence.
func (v *Values) Reference(t *Datatype, b []byte) (Reference, error) {
	return v.fresh().readReference(t, b, 0)
}
