// Attributes: small values with a name, on groups and datasets.

package h5

/*
#include "shim.h"
#cgo noescape goh5_attrs
#cgo nocallback goh5_attrs
#cgo noescape goh5_aread
#cgo nocallback goh5_aread
#cgo noescape goh5_awrite
#cgo nocallback goh5_awrite
#cgo noescape goh5_adelete
#cgo nocallback goh5_adelete
*/
import "C"

import (
	"fmt"
	"iter"
	"runtime"
)

// AttributeInfo describes an attribute.
type AttributeInfo struct {
	Name     string
	Datatype Datatype // as stored
	Space    Dataspace
}

// Attribute is an attribute with its value.
type Attribute struct {
	Name     string
	Datatype Datatype // as stored
	Space    Dataspace
	Data     []byte   // the elements in row-major order as Datatype.Native(); nil if Strings holds them
	Strings  []string // the elements of Variable strings; writing fixed ones may use it too, with Data nil
}

// What follows type and space in an attribute from the shim (shim_attr.c).
const (
	valueNone = iota
	valueBytes
	valueStrings
)

// Attributes yields what the object carries, in the order of names (H5Aiterate2).
// All are collected in one call before the first is yielded. An error is yielded
// once, alone.
func (o *object) Attributes() iter.Seq2[AttributeInfo, error] {
	return func(yield func(AttributeInfo, error) bool) {
		r, err := o.attributes()
		if err != nil {
			yield(AttributeInfo{}, err)
			return
		}
		for range r.word() {
			if !yield(AttributeInfo{Name: r.text(), Datatype: r.datatype(), Space: r.dataspace()}, nil) {
				return
			}
		}
	}
}

func (o *object) attributes() (*reader, error) {
	const op = "list attributes"
	lock()
	defer unlock()
	id, err := o.h.idLocked(op, o.path)
	if err != nil {
		return nil, err
	}
	var cerr C.goh5_err_t
	var blob C.goh5_blob_t
	rc := C.goh5_attrs(&cerr, id, &blob)
	runtime.KeepAlive(o)
	if rc < 0 {
		return nil, newError(op, o.path, rc, &cerr)
	}
	return takeBlob(&blob), nil
}

// ReadAttribute returns the attribute called name with its value (H5Aread).
//
// It returns ErrNotFound, or ErrType for a type that is neither Plain nor a
// string of variable length; the Attribute then has its type and shape.
func (o *object) ReadAttribute(name string) (Attribute, error) {
	const op = "read attribute"
	path := o.path + "@" + name
	r, err := o.readAttribute(op, path, name)
	if err != nil {
		return Attribute{}, err
	}
	a := Attribute{Name: name, Datatype: r.datatype(), Space: r.dataspace()}
	switch r.word() {
	case valueBytes:
		a.Data = r.bytes()
	case valueStrings:
		a.Strings = r.texts()
	default:
		return a, &Error{Op: op, Path: path, Err: fmt.Errorf("%w: %v", ErrType, a.Datatype)}
	}
	return a, nil
}

func (o *object) readAttribute(op, path, name string) (*reader, error) {
	cname, _, err := cName(op, path, name)
	if err != nil {
		return nil, err
	}
	lock()
	defer unlock()
	id, err := o.h.idLocked(op, path)
	if err != nil {
		return nil, err
	}
	var cerr C.goh5_err_t
	var blob C.goh5_blob_t
	rc := C.goh5_aread(&cerr, id, cname, &blob)
	runtime.KeepAlive(o)
	if rc < 0 {
		return nil, newError(op, path, rc, &cerr)
	}
	return takeBlob(&blob), nil
}

// WriteAttribute makes the attribute a, in place of one of the same name (H5Acreate2,
// H5Awrite). If it fails, the one that was there still is.
//
// It returns ErrSize if Data or Strings does not have as many elements as Space
// or a string is too long for its type, ErrType for a type that is neither Plain
// nor a string of variable length, ErrParam, ErrReadOnly, or ErrOverflow and
// ErrPrecision if a value of Datatype.Native() is none of Datatype.
func (o *object) WriteAttribute(a Attribute) error {
	const op = "write attribute"
	path := o.path + "@" + a.Name
	if err := o.writable(op, path); err != nil {
		return err
	}
	if err := a.check(); err != nil {
		return &Error{Op: op, Path: path, Err: err}
	}
	cname, utf8, err := cName(op, path, a.Name)
	if err != nil {
		return err
	}
	data := a.Data
	var offsets []uint64
	if a.fromStrings() {
		if data, offsets, err = cTexts(op, path, a.Strings); err != nil {
			return err
		}
	}
	spec := a.Datatype.append(a.Space.append(nil))
	lock()
	defer unlock()
	id, err := o.h.idLocked(op, path)
	if err != nil {
		return err
	}
	var cerr C.goh5_err_t
	rc := C.goh5_awrite(&cerr, id, cname, utf8, cBytes(spec), C.size_t(len(spec)),
		cBytes(data), C.size_t(len(data)), cUints(offsets), C.size_t(len(a.Strings)))
	runtime.KeepAlive(o)
	if rc < 0 {
		return newError(op, path, rc, &cerr)
	}
	return nil
}

// fromStrings says where the value is.
func (a *Attribute) fromStrings() bool {
	return a.Datatype.Class == String && (a.Datatype.Variable || a.Data == nil)
}

func (a *Attribute) check() error {
	if err := a.Datatype.check(); err != nil {
		return err
	}
	if err := a.Space.check(); err != nil {
		return err
	}
	n := a.Space.NumElems()
	if a.fromStrings() {
		if a.Data != nil {
			return fmt.Errorf("%w: %d bytes of data for strings of variable length", ErrSize, len(a.Data))
		}
		if int64(len(a.Strings)) != n {
			return fmt.Errorf("%w: %d strings, %d elements", ErrSize, len(a.Strings), n)
		}
		return nil
	}
	if !a.Datatype.Plain() {
		return fmt.Errorf("%w: %v", ErrType, a.Datatype)
	}
	if len(a.Strings) > 0 || int64(len(a.Data)) != mul(n, int64(a.Datatype.Size)) {
		return fmt.Errorf("%w: %d bytes, %d elements of %d bytes", ErrSize, len(a.Data), n, a.Datatype.Size)
	}
	return nil
}

// DeleteAttribute removes the attribute called name (H5Adelete). It returns
// ErrNotFound or ErrReadOnly.
func (o *object) DeleteAttribute(name string) error {
	const op = "delete attribute"
	path := o.path + "@" + name
	if err := o.writable(op, path); err != nil {
		return err
	}
	cname, _, err := cName(op, path, name)
	if err != nil {
		return err
	}
	lock()
	defer unlock()
	id, err := o.h.idLocked(op, path)
	if err != nil {
		return err
	}
	var cerr C.goh5_err_t
	rc := C.goh5_adelete(&cerr, id, cname)
	runtime.KeepAlive(o)
	if rc < 0 {
		return newError(op, path, rc, &cerr)
	}
	return nil
}
