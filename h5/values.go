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
	"fmt"
	"runtime"
	"slices"

	"github.com/hyperslab/hyperslab/internal/chunked/budget"
)

// Values are elements of one datatype of any kind, including strings and sequences of variable
// length, compounds and references. Package h5/h5value converts them to Go values, makes them from
// Go values and inspects them.
//
// Block begins with the N elements, each of Datatype.InMemory() bytes, as they are in memory, but
// with offsets in Block instead of pointers. Offset 0 is a null pointer. All words have 8 bytes in
// the byte order of this machine:
//
//   - a string of variable length is the offset of a word with its length, its bytes and at least
//     one zero byte
//   - a sequence is its length and the offset of its elements
//   - a standard reference has in its first word the offset of a word with a length and that many
//     bytes, those of Ref.Data
//
// A write returns ErrType for an offset outside Block. The data of different elements must not
// overlap.
type Values struct {
	Datatype Datatype // as stored; for a compound, possibly with fewer members
	N        int      // number of elements
	Block    []byte
}

// pointerSize is the size of a string of variable length in memory.
const pointerSize = 8

// InMemory returns the size in bytes of an element of type t in Values. It equals t.Size except for
// strings of variable length.
func (t *Datatype) InMemory() int {
	if t.Variable {
		return pointerSize
	}
	return t.Size
}

// elementType is the datatype of a dataset's elements, which never changes.
type elementType struct {
	encoded  []byte // from goh5_dtype
	datatype Datatype
}

// elementTypeLocked returns the datatype of the elements. It calls libhdf5 once.
func (d *Dataset) elementTypeLocked(op string, id C.int64_t) (*elementType, error) {
	if d.elements != nil {
		return d.elements, nil
	}
	var cerr C.goh5_err_t
	var blob C.goh5_blob_t
	if rc := C.goh5_dtype(&cerr, id, &blob); rc < 0 {
		return nil, newError(op, d.path, rc, &cerr)
	}
	r := takeBlob(&blob)
	d.elements = &elementType{encoded: r.b}
	d.elements.datatype = r.datatype()
	return d.elements, nil
}

// Datatype returns the datatype of the dataset's elements, as stored (H5Dget_type).
func (d *Dataset) Datatype() (Datatype, error) {
	const op = "describe"
	lock()
	defer unlock()
	id, err := d.h.idLocked(op, d.path)
	if err != nil {
		return Datatype{}, err
	}
	t, err := d.elementTypeLocked(op, id)
	runtime.KeepAlive(d)
	if err != nil {
		return Datatype{}, err
	}
	return (&reader{t.encoded}).datatype(), nil // a copy for the caller
}

// partLocked returns ErrType if t is neither the datatype of the elements nor one with fewer
// members.
func (d *Dataset) partLocked(op string, id C.int64_t, t *Datatype) error {
	stored, err := d.elementTypeLocked(op, id)
	if err != nil {
		return err
	}
	if !t.partOf(&stored.datatype) {
		return &Error{Op: op, Path: d.path, Err: fmt.Errorf("%w: %v for %v", ErrType, *t, stored.datatype)}
	}
	return nil
}

// ReadValues reads the elements of s (H5Dread, H5Treclaim). mem is the datatype of the dataset, or
// for compounds one with fewer members. n is the number of elements, or -1 for any number.
//
// It returns ErrType for another mem, ErrSize if s selects another number of elements, and the
// errors of ReadRegion. If the strings and sequences have more bytes than the limit of
// ndarray.SetReadMemory and than the file, the error is hyperslab.ErrLimit: in such a file many
// elements share the same bytes. Read fewer elements, or raise the limit.
func (d *Dataset) ReadValues(mem Datatype, s Selection, n int) (Values, error) {
	const op = "read"
	sel, err := encodeSelection(s)
	if err == nil {
		err = mem.check()
	}
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
	if err := d.partLocked(op, id, &mem); err != nil {
		return Values{}, err
	}
	if err := d.withinLocked(op, id, sel.words, sel.rank); err != nil {
		return Values{}, err
	}
	var cerr C.goh5_err_t
	var blob C.goh5_blob_t
	count := C.uint64_t(int64(n))
	rc := C.goh5_dread_values(&cerr, id, cBytes(t), C.size_t(len(t)), cInts(sel.words), C.size_t(len(sel.words)), C.size_t(sel.rank),
		C.uint64_t(budget.Limit()), &count, &blob)
	runtime.KeepAlive(d)
	if rc < 0 {
		return Values{}, transferError(op, d.path, s, rc, &cerr)
	}
	return Values{Datatype: mem, N: int(count), Block: takeBlob(&blob).b}, outsideLocked(op, d.path)
}

// WriteValues replaces the elements of s with v (H5Dwrite). Members of a compound that v does not
// have are unchanged.
//
// It returns ErrType if v's datatype is not that of the dataset or one with fewer members, ErrSize
// if v and s have different numbers of elements, and the errors of WriteRegion.
func (d *Dataset) WriteValues(v Values, s Selection) error {
	const op = "write"
	if err := d.writable(op, d.path); err != nil {
		return err
	}
	sel, err := encodeSelection(s)
	if err == nil {
		err = v.Datatype.check()
	}
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
	if err := d.partLocked(op, id, &v.Datatype); err != nil {
		return err
	}
	if err := d.masksLocked(op, id, sel.words, sel.rank); err != nil {
		return err
	}
	var cerr C.goh5_err_t
	rc := C.goh5_dwrite_values(&cerr, id, cBytes(t), C.size_t(len(t)), cInts(sel.words), C.size_t(len(sel.words)), C.size_t(sel.rank),
		cBytes(v.Block), C.size_t(len(v.Block)), C.size_t(v.N))
	runtime.KeepAlive(d)
	if rc < 0 {
		return transferError(op, d.path, s, rc, &cerr)
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
