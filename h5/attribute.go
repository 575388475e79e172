// Attributes: small named values of groups, datasets and committed datatypes.

package h5

// #include "shim.h"
import "C"

import (
	"fmt"
	"iter"
	"runtime"

	"github.com/hyperslab/hyperslab/internal/chunked/budget"
)

// AttributeInfo describes an attribute.
type AttributeInfo struct {
	Name     string
	Datatype Datatype // as stored
	Space    Dataspace
	Order    int64   // index in creation order; -1 if the object does not track creation order
	CharSet  CharSet // of the name
	Bytes    int64   // size of the value in the file
}

// Attribute is an attribute with its value. At most one of Data, Strings and Values contains the
// value.
type Attribute struct {
	Name     string
	Datatype Datatype // as stored
	Space    Dataspace
	Data     []byte   // row-major elements as stored; nil if Strings contains them
	Strings  []string // elements of variable-length strings; also of fixed strings if Data is nil
	// Values contains the elements of any other Datatype. It may also be used to write elements of
	// other datatypes.
	Values Values
}

// Forms of a value. They must match shim_attr.c.
const (
	valueBytes = iota + 1
	valueStrings
	valueValues
)

// Attributes yields the attributes of the object in the order of their names (H5Aiterate2). One
// call of libhdf5 collects all of them before the first one is yielded. If it fails, Attributes
// yields only the error.
func (o *object) Attributes() iter.Seq2[AttributeInfo, error] { return o.AttributesIn(ByName) }

// AttributesIn is like Attributes, but in the given order. If order is ByCreation and the object
// does not track creation order, it yields ErrNoOrder.
func (o *object) AttributesIn(order ListOrder) iter.Seq2[AttributeInfo, error] {
	return func(yield func(AttributeInfo, error) bool) {
		r, err := o.attributes(order)
		if err != nil {
			yield(AttributeInfo{}, err)
			return
		}
		for range r.word() {
			if !yield(r.attribute(), nil) {
				return
			}
		}
	}
}

// attribute decodes the output of put_attr (shim_attr.c).
func (r *reader) attribute() AttributeInfo {
	return AttributeInfo{
		Name: r.text(), Order: r.int(), CharSet: CharSet(r.int()), Bytes: r.int(), Datatype: r.datatype(), Space: r.dataspace(),
	}
}

func (o *object) attributes(order ListOrder) (*reader, error) {
	const op = "list attributes"
	by, err := order.words(op, o.path)
	if err != nil {
		return nil, err
	}
	var blob C.goh5_blob_t
	err = o.run(op, o.path, func(id C.int64_t, cerr *C.goh5_err_t) C.int {
		return C.goh5_attrs(cerr, id, by.index, by.order, &blob)
	})
	if err != nil {
		return nil, err
	}
	return takeBlob(&blob), nil
}

// AttributeInfo describes the attribute called name (H5Aget_info). It returns ErrNotFound if there
// is no such attribute.
func (o *object) AttributeInfo(name string) (AttributeInfo, error) {
	const op = "describe attribute"
	path := o.path + "@" + name
	cname, _, err := cName(op, path, name)
	if err != nil {
		return AttributeInfo{}, err
	}
	return o.attributeInfo(op, path, cname, orderWords{}, 0)
}

// AttributeAt describes the i-th attribute in the given order (H5Aopen_by_idx, H5Aget_name). It
// returns ErrRegion if the object has at most i attributes, and ErrNoOrder in the same case as
// AttributesIn.
func (o *object) AttributeAt(order ListOrder, i int64) (AttributeInfo, error) {
	const op = "describe attribute"
	by, err := order.words(op, o.path)
	if err != nil {
		return AttributeInfo{}, err
	}
	if i < 0 {
		return AttributeInfo{}, &Error{Op: op, Path: o.path, Err: fmt.Errorf("%w: attribute %d", ErrParam, i)}
	}
	return o.attributeInfo(op, o.path, nil, by, i)
}

func (o *object) attributeInfo(op, path string, cname *C.char, by orderWords, i int64) (AttributeInfo, error) {
	var blob C.goh5_blob_t
	err := o.run(op, path, func(id C.int64_t, cerr *C.goh5_err_t) C.int {
		return C.goh5_attr_info(cerr, id, cname, by.index, by.order, C.int64_t(i), &blob)
	})
	if err != nil {
		return AttributeInfo{}, err
	}
	return takeBlob(&blob).attribute(), nil
}

// HasAttribute reports whether the object has an attribute called name (H5Aexists).
func (o *object) HasAttribute(name string) (bool, error) {
	const op = "look up attribute"
	path := o.path + "@" + name
	cname, _, err := cName(op, path, name)
	if err != nil {
		return false, err
	}
	var exists C.int32_t
	err = o.run(op, path, func(id C.int64_t, cerr *C.goh5_err_t) C.int { return C.goh5_aexists(cerr, id, cname, &exists) })
	return exists != 0, err
}

// ReadAttribute returns the attribute called name with its value (H5Aread).
//
// The value is in Data, Strings or Values. Package h5/h5value converts it to Go values of
// any type. It returns ErrNotFound if there is no such attribute, or ErrCorrupt if the attribute's
// dataspace has more elements than the file stores. If its strings and sequences have more bytes
// than the limit of ndarray.SetReadMemory and than the file, the error is hyperslab.ErrLimit.
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
		a.Strings = r.stringList()
	default:
		n := int(r.word())
		a.Values = Values{Datatype: a.Datatype, N: n, Block: r.bytes()}
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
	var blob C.goh5_blob_t
	cerr := errorLocked()
	rc := C.goh5_aread(cerr, id, cname, C.uint64_t(budget.Limit()), &blob)
	runtime.KeepAlive(o)
	if rc < 0 {
		return nil, newError(op, path, rc, cerr)
	}
	return takeBlob(&blob), nil
}

// WriteAttribute creates attribute a, or replaces an existing attribute with the same name
// (H5Acreate2, H5Awrite). If it fails, the existing attribute is unchanged.
//
// It returns ErrSize if the number of elements in Data, Strings or Values differs from Space or if
// a string is too long for its type. It returns ErrType if Values has another datatype or if Data
// is given for a type that is not Plain. It can also return ErrParam or ErrReadOnly. A value larger
// than 64 KiB needs a file with a lower bound of V18 or later; otherwise the error is ErrSize.
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
	data, n := a.Data, len(a.Strings)
	form := C.int32_t(valueBytes)
	var offsets []uint64
	switch {
	case a.fromValues():
		form, data, n = valueValues, a.Values.Block, a.Values.N
	case a.fromStrings():
		form = valueStrings
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
	rc := C.goh5_awrite(&cerr, id, cname, utf8, cBytes(spec), C.size_t(len(spec)), form,
		cBytes(data), C.size_t(len(data)), cUints(offsets), C.size_t(n))
	runtime.KeepAlive(o)
	if rc < 0 {
		return newError(op, path, rc, &cerr)
	}
	return nil
}

// fromValues and fromStrings report which field contains the value.
func (a *Attribute) fromValues() bool {
	return a.Values.Block != nil || a.Data == nil && a.Strings == nil && !a.Datatype.Plain() && a.Datatype.Class != String
}

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
	if a.fromValues() {
		switch {
		case a.Data != nil || a.Strings != nil:
			return fmt.Errorf("%w: values beside data or strings", ErrParam)
		case int64(a.Values.N) != n:
			return fmt.Errorf("%w: %d values, %d elements", ErrSize, a.Values.N, n)
		case n > 0 && !a.Values.Datatype.Equal(a.Datatype):
			return fmt.Errorf("%w: values of %v for %v", ErrType, a.Values.Datatype, a.Datatype)
		}
		return nil
	}
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

// DeleteAttribute deletes the attribute called name (H5Adelete). It returns ErrNotFound or
// ErrReadOnly.
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

// DeleteAttributeAt deletes the i-th attribute in the given order (H5Adelete_by_idx). It returns
// ErrReadOnly or the errors of AttributeAt.
func (o *object) DeleteAttributeAt(order ListOrder, i int64) error {
	const op = "delete attribute"
	if err := o.writable(op, o.path); err != nil {
		return err
	}
	by, err := order.words(op, o.path)
	if err != nil {
		return err
	}
	if i < 0 {
		return &Error{Op: op, Path: o.path, Err: fmt.Errorf("%w: attribute %d", ErrParam, i)}
	}
	return o.run(op, o.path, func(id C.int64_t, cerr *C.goh5_err_t) C.int {
		return C.goh5_adelete_at(cerr, id, by.index, by.order, C.int64_t(i))
	})
}

// RenameAttribute renames an attribute (H5Arename). It returns ErrNotFound, ErrExists or
// ErrReadOnly.
func (o *object) RenameAttribute(from, to string) error {
	const op = "rename attribute"
	path := o.path + "@" + from
	if err := o.writable(op, path); err != nil {
		return err
	}
	cfrom, _, err := cName(op, path, from)
	if err != nil {
		return err
	}
	cto, _, err := cName(op, path, to)
	if err != nil {
		return err
	}
	return o.run(op, path, func(id C.int64_t, cerr *C.goh5_err_t) C.int { return C.goh5_arename(cerr, id, cfrom, cto) })
}
