// Elements of any datatype as one block of bytes without pointers, the form in which they pass
// between C and Go. The C side is shim_value.c.
//
// The block begins with the elements as in memory. Pointers are replaced by offsets in the block, 0
// for a null pointer. A string of variable length is the offset of its characters. A sequence is
// its length and the offset of its elements. A reference of the kind since 1.12 has the offset of
// its data in its first word.

package h5

// #include "shim.h"
import "C"

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"unsafe"
)

// Values are elements of one datatype of any kind, including strings and sequences of variable
// length, compounds and references. DecodeValues converts them to Go values, EncodeValues makes
// them from Go values.
type Values struct {
	Datatype Datatype // as stored; for a compound, possibly with fewer members
	n        int
	block    []byte
}

// Len returns the number of elements.
func (v Values) Len() int { return v.n }

// element returns the bytes of the i-th element.
func (v *Values) element(i int) []byte {
	size := v.Datatype.memSize()
	return v.block[i*size : (i+1)*size]
}

// pointerSize is the size of a string of variable length in memory.
const pointerSize = 8

// memSize returns the size of t in memory, in bytes. It differs from Size for strings of variable
// length.
func (t *Datatype) memSize() int {
	if t.Variable {
		return pointerSize
	}
	return t.Size
}

func wordOf(b []byte) uint64 { return binary.NativeEndian.Uint64(b) }

func putWord(b []byte, w uint64) { binary.NativeEndian.PutUint64(b, w) }

// at returns a reader at an offset of the block.
func (v *Values) at(place uint64) *reader { return &reader{v.block[place:]} }

// Datatype returns the datatype of the dataset's elements, as stored (H5Dget_type).
func (d *Dataset) Datatype() (Datatype, error) {
	var blob C.goh5_blob_t
	err := d.run("describe", d.path, func(id C.int64_t, cerr *C.goh5_err_t) C.int { return C.goh5_dtype(cerr, id, &blob) })
	if err != nil {
		return Datatype{}, err
	}
	return takeBlob(&blob).datatype(), nil
}

// anyNumber is the value of want for any number of elements.
const anyNumber = -1

// readValues reads the elements of s as mem, which is the stored type or one with fewer members
// (H5Dread, H5Treclaim). It returns ErrSize if the number of elements is not want.
func (d *Dataset) readValues(mem Datatype, s Selection, want int) (Values, error) {
	const op = "read"
	sel, err := encodeSelection(s)
	if err != nil {
		return Values{}, &Error{Op: op, Path: d.path, Err: err}
	}
	t := mem.append(nil)
	lock()
	defer unlock()
	id, err := d.h.idLocked(op, d.path)
	if err != nil {
		return Values{}, err
	}
	if err := d.withinLocked(op, id, sel.words, sel.rank); err != nil {
		return Values{}, err
	}
	var cerr C.goh5_err_t
	var blob C.goh5_blob_t
	n := C.uint64_t(int64(want))
	rc := C.goh5_dread_values(&cerr, id, cBytes(t), C.size_t(len(t)), cInts(sel.words), C.size_t(len(sel.words)), C.size_t(sel.rank), &n, &blob)
	runtime.KeepAlive(d)
	if rc < 0 {
		return Values{}, transferError(op, d.path, s, rc, &cerr)
	}
	return Values{Datatype: mem, n: int(n), block: takeBlob(&blob).b}, outsideLocked(op, d.path)
}

// writeValues replaces the elements of s (H5Dwrite). Members that v does not have are unchanged.
func (d *Dataset) writeValues(v Values, s Selection) error {
	const op = "write"
	if err := d.writable(op, d.path); err != nil {
		return err
	}
	sel, err := encodeSelection(s)
	if err != nil {
		return &Error{Op: op, Path: d.path, Err: err}
	}
	t := v.Datatype.append(nil)
	lock()
	defer unlock()
	id, err := d.h.idLocked(op, d.path)
	if err != nil {
		return err
	}
	if err := d.masksLocked(op, id, sel.words, sel.rank); err != nil {
		return err
	}
	var cerr C.goh5_err_t
	rc := C.goh5_dwrite_values(&cerr, id, cBytes(t), C.size_t(len(t)), cInts(sel.words), C.size_t(len(sel.words)), C.size_t(sel.rank),
		cBytes(v.block), C.size_t(len(v.block)), C.size_t(v.n))
	runtime.KeepAlive(d)
	if rc < 0 {
		return transferError(op, d.path, s, rc, &cerr)
	}
	return nil
}

// ReadValues reads the elements of s without converting them to Go values (H5Dread, H5Treclaim). It
// is for callers that have to inspect the datatype first.
//
// It returns the errors of ReadRegion except ErrType.
func (d *Dataset) ReadValues(s Selection) (Values, error) {
	t, err := d.Datatype()
	if err != nil {
		return Values{}, err
	}
	return d.readValues(t, s, anyNumber)
}

// WriteValues replaces the elements of s with v (H5Dwrite).
//
// It returns ErrType if v's datatype is not that of the dataset or one with fewer members, ErrSize
// if v and s have different numbers of elements, and the errors of WriteRegion.
func (d *Dataset) WriteValues(v Values, s Selection) error {
	t, err := d.Datatype()
	if err != nil {
		return err
	}
	if !v.Datatype.partOf(&t) {
		return &Error{Op: "write", Path: d.path, Err: fmt.Errorf("%w: %v for %v", ErrType, v.Datatype, t)}
	}
	return d.writeValues(v, s)
}

// MapRefs returns v with every reference replaced by the result of f. f is called once for each
// reference, null ones included. If f returns an error, MapRefs stops and returns it.
func (v Values) MapRefs(f func(Ref) (Ref, error)) (Values, error) {
	x := transfer{v: v}
	x.v.block = slices.Clone(v.block)
	size := v.Datatype.memSize()
	for i := range v.n {
		if err := x.mapRefs(&v.Datatype, i*size, f); err != nil {
			return Values{}, err
		}
	}
	return x.v, nil
}

// mapRefs replaces the references of the element of type t at an offset of the block.
func (x *transfer) mapRefs(t *Datatype, at int, f func(Ref) (Ref, error)) error {
	switch {
	case t.Plain() || t.Class == String:
		return nil
	case t.Class == Reference:
		p := referencePlan(t)
		var r Ref
		if err := p.decode(x, x.v.block[at:at+t.Size], unsafe.Pointer(&r)); err != nil {
			return err
		}
		to, err := f(r)
		if err != nil || to == r {
			return err
		}
		return p.encode(x, at, unsafe.Pointer(&to))
	case t.Class == Compound:
		for i := range t.Members {
			if err := x.mapRefs(t.Members[i].Type, at+t.Members[i].Offset, f); err != nil {
				return err
			}
		}
		return nil
	}
	n, first := 1, at
	switch t.Class {
	case Array:
		for _, d := range t.Dims {
			n *= int(d)
		}
	case Sequence:
		n, first = int(wordOf(x.v.block[at:])), int(wordOf(x.v.block[at+wordSize:]))
	}
	if first == 0 && t.Class == Sequence {
		return nil
	}
	size := t.Base.memSize()
	for i := range n {
		if err := x.mapRefs(t.Base, first+i*size, f); err != nil {
			return err
		}
	}
	return nil
}

// partOf reports whether t equals stored, or is a compound of some of its members.
func (t *Datatype) partOf(stored *Datatype) bool {
	switch {
	case t.Class != stored.Class:
		return false
	case t.Class == Compound:
		for i := range t.Members {
			m := stored.member(t.Members[i].Name)
			if m == nil || !t.Members[i].Type.partOf(m.Type) {
				return false
			}
		}
		return true
	case t.Class == Sequence:
		return t.Base.partOf(stored.Base)
	case t.Class == Array:
		return slices.Equal(t.Dims, stored.Dims) && t.Base.partOf(stored.Base)
	default:
		return t.Equal(*stored)
	}
}

func (t *Datatype) member(name string) *Member {
	for i := range t.Members {
		if t.Members[i].Name == name {
			return &t.Members[i]
		}
	}
	return nil
}
