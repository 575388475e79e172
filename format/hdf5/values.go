// References from elements into global heaps: variable-length data, region
// references, and references of 1.12. The library follows them when it reads the
// elements.

package hdf5

import (
	"bytes"
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
	ref, err := r.readReference(t, b, at)
	if ref.File != "" && r.otherFile != nil {
		r.otherFile(ref.File, at)
	}
	return err
}

// Reference is what an element of a reference type refers to.
type Reference struct {
	Kind      RefKind
	File      string     // the other file that it is to, "" for its own
	Object    Addr       // object header; undefined if it refers to nothing
	Region    *Selection // the elements, of a reference to a region
	Attribute string     // its name, of a reference to an attribute
}

// externalRef is the flag of a reference into another file (H5R_IS_EXTERNAL).
const externalRef = 1

// readReference reads an element of a reference type; at is where it stands.
//
// Those of 1.12 begin with their kind and their flags. One to an object of the same
// file goes on with the object's token; of others the rest is in a global heap
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
		o, err := r.referred(b[6:]) // behind the size of what is in the heap
		if err != nil || o.At == 0 {
			return ref, err
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

// referred is the object in a global heap that b refers to; one without a place if it
// refers to nothing.
func (r *reader) referred(b []byte) (GlobalObject, error) {
	a, index := r.heapRef(b)
	if a == 0 || !a.Defined() {
		return GlobalObject{}, nil
	}
	return r.globalObject(a, index)
}

func allZero(b []byte) bool { return len(bytes.Trim(b, "\x00")) == 0 }

// Values reads what elements refer to. It keeps the heaps read last, and is used by one
// goroutine.
type Values struct{ r *reader }

// Values returns a reader of what elements of the file refer to.
func (f *File) Values() *Values { return &Values{f.reader()} }

// maxHeaps is the number of collections that Values keeps.
const maxHeaps = 64

// fresh forgets what was read so far, as far as that costs memory or the right to read
// more.
func (v *Values) fresh() *reader {
	kept := v.r.globals
	if len(kept) > maxHeaps {
		kept = map[Addr]*GlobalHeap{}
	}
	v.r = v.r.f.reader()
	v.r.globals = kept
	return v.r
}

// Sequence returns the bytes of a value of variable length, of which b is the element as
// stored, and the number of its elements. One that is null has no
// data, not even none. The error is
// format.ErrCorrupt, format.ErrVersion or format.ErrTruncated for an element that leads
// nowhere, or into a heap that is damaged: data is then what was found in it, or nil.
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

// Reference returns what an element b, as stored, of the reference type t refers to. The
// errors are those of Sequence.
func (v *Values) Reference(t *Datatype, b []byte) (Reference, error) {
	return v.fresh().readReference(t, b, 0)
}
