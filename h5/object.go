// Functions common to groups, datasets and committed datatypes.

package h5

// #include "shim.h"
import "C"

import (
	"fmt"
	"iter"
	"path"
	"runtime"
	"strings"
)

// Object is an open object: a *Group, a *Dataset or a *CommittedType.
type Object interface {
	Path() string
	File() *File
	Close() error
	Root() (*Group, error)
	Stat() (ObjectInfo, error)
	Header() (ObjectHeader, error)
	Attributes() iter.Seq2[AttributeInfo, error]
	AttributesIn(o ListOrder) iter.Seq2[AttributeInfo, error]
	AttributeInfo(name string) (AttributeInfo, error)
	AttributeAt(o ListOrder, i int64) (AttributeInfo, error)
	HasAttribute(name string) (bool, error)
	ReadAttribute(name string) (Attribute, error)
	WriteAttribute(a Attribute) error
	RenameAttribute(from, to string) error
	DeleteAttribute(name string) error
	DeleteAttributeAt(o ListOrder, i int64) error
	AttributeCommitted(name string) (addr uint64, is bool, err error)
	Comment() (string, error)
	SetComment(text string) error
	Keep() error

	base() *object
}

// An object is the common part of the kinds of Object.
type object struct {
	h    *handle
	file *File // keeps the file open while a child is in use
	path string
}

// CommittedType is an open committed datatype: a datatype stored as an object, with or without a
// name in a group, that datasets and attributes can share. It can have attributes like any object.
type CommittedType struct{ object }

// Path returns the absolute path that the object was opened with. It can be "" for an object opened
// by token or address.
func (o *object) Path() string { return o.path }

// File returns the file that the object was opened through.
func (o *object) File() *File { return o.file }

func (o *object) base() *object { return o }

// Closed reports whether Close was called on the object or on its file. It does not wait for the
// library lock.
func (o *object) Closed() bool { return o.h.closed.Load() || o.file.h.closed.Load() }

// Close closes the object. Objects opened through it stay open. A second call returns ErrClosed.
func (o *object) Close() error {
	if o.h == o.file.h {
		return nil // the root group belongs to the file
	}
	lock()
	defer unlock()
	return o.h.closeLocked("close", o.path)
}

// Root opens the root group of the file that contains the object. This is File, or another file if
// an external link led to the object.
func (o *object) Root() (*Group, error) {
	const op = "open group"
	slash, err := cString(op, "/", "/")
	if err != nil {
		return nil, err
	}
	return o.group(op, "/", func(loc C.int64_t, cerr *C.goh5_err_t, id *C.int64_t) C.int {
		return C.goh5_gopen(cerr, loc, slash, id)
	})
}

// join returns the path of a name below the object. It does not clean the path of the object again,
// because that takes time in proportion to the depth.
func (o *object) join(name string) string {
	switch {
	case path.IsAbs(name):
		return path.Clean(name)
	case o.path == "" || strings.Contains(name, "/"):
		return path.Join(o.path, name)
	case name == ".":
		return o.path
	case o.path == "/":
		return "/" + name
	}
	return o.path + "/" + name
}

// writable returns ErrReadOnly if the file was opened for reading.
func (o *object) writable(op, path string) error {
	if o.file.mode == ReadOnly {
		return &Error{Op: op, Path: path, Err: fmt.Errorf("%w: %s", ErrReadOnly, o.file.path)}
	}
	return nil
}

// run makes one call of the shim with the open object, under the lock, and adds op and path to an
// error.
func (o *object) run(op, path string, shim func(id C.int64_t, cerr *C.goh5_err_t) C.int) error {
	lock()
	defer unlock()
	id, err := o.h.idLocked(op, path)
	if err != nil {
		return err
	}
	cerr := errorLocked()
	rc := shim(id, cerr)
	runtime.KeepAlive(o)
	if rc < 0 {
		return newError(op, path, rc, cerr)
	}
	return nil
}

// runBoth is run for a call that needs a second object, which may belong to another file.
func (o *object) runBoth(op, path string, other *object, shim func(id, other C.int64_t, cerr *C.goh5_err_t) C.int) error {
	lock()
	defer unlock()
	id, err := o.h.idLocked(op, path)
	if err != nil {
		return err
	}
	otherID, err := other.h.idLocked(op, other.path)
	if err != nil {
		return err
	}
	cerr := errorLocked()
	rc := shim(id, otherID, cerr)
	runtime.KeepAlive(o)
	runtime.KeepAlive(other)
	if rc < 0 {
		return newError(op, path, rc, cerr)
	}
	return nil
}

// openObject is run for a call that opens an object, and makes its owner. If fallback is not empty,
// it replaces the path that libhdf5 returns.
func (o *object) openObject(op, path, fallback string, shim func(id C.int64_t, cerr *C.goh5_err_t, out *C.goh5_blob_t) C.int) (Object, error) {
	lock()
	defer unlock()
	loc, err := o.h.idLocked(op, path)
	if err != nil {
		return nil, err
	}
	cerr := errorLocked()
	var blob C.goh5_blob_t
	rc := shim(loc, cerr, &blob)
	runtime.KeepAlive(o)
	if rc < 0 {
		return nil, newError(op, path, rc, cerr)
	}
	r := takeBlob(&blob)
	h := newHandleLocked(o.h.ids, C.int64_t(r.int()))
	kind, name := ObjectKind(r.int()), r.text()
	if fallback != "" {
		name = fallback
	}
	opened := object{h: h, file: o.file, path: name}
	switch kind {
	case GroupObject:
		return &Group{opened}, nil
	case DatasetObject:
		return &Dataset{object: opened}, nil
	case DatatypeObject:
		return &CommittedType{opened}, nil
	default:
		_ = h.closeLocked(op, path)
		return nil, &Error{Op: op, Path: path, Err: fmt.Errorf("%w: %v", ErrKind, kind)}
	}
}

// LinkAccess are options for following links (H5P_LINK_ACCESS). The zero value is the default of
// all other functions.
type LinkAccess struct {
	Prefix   string // prepended to the file names of external links; "": the name itself, or next to the file
	ReadOnly bool   // open the files of external links for reading, independent of the mode of this file
	MaxLinks int    // maximum number of soft, external and user-defined links on a path; 0: 16
}

// OpenObject opens the object that name leads to (H5Oopen). It returns ErrNotFound, or ErrKind for
// an object that is not a group, dataset or committed datatype.
func (g *Group) OpenObject(name string) (Object, error) {
	return g.OpenObjectBy(name, LinkAccess{})
}

// OpenObjectBy is OpenObject with options for following links.
func (g *Group) OpenObjectBy(name string, a LinkAccess) (Object, error) {
	const op = "open object"
	path := g.join(name)
	cname, _, err := cName(op, path, name)
	if err != nil {
		return nil, err
	}
	if a.MaxLinks < 0 {
		return nil, &Error{Op: op, Path: path, Err: fmt.Errorf("%w: at most %d links", ErrParam, a.MaxLinks)}
	}
	var prefix *C.char
	if a.Prefix != "" {
		if prefix, err = cString(op, path, a.Prefix); err != nil {
			return nil, err
		}
	}
	mode := C.int32_t(-1)
	if a.ReadOnly {
		mode = 0
	}
	return g.openObject(op, path, path, func(loc C.int64_t, cerr *C.goh5_err_t, out *C.goh5_blob_t) C.int {
		return C.goh5_oopen(cerr, loc, cname, prefix, mode, C.uint64_t(a.MaxLinks), out)
	})
}

// OpenObjectAt opens the target of link number i of the group in the given order (H5Oopen_by_idx).
// It returns the errors of LinkAt and OpenObject.
func (g *Group) OpenObjectAt(o ListOrder, i int64) (Object, error) {
	const op = "open object"
	by, err := o.words(op, g.path)
	if err != nil {
		return nil, err
	}
	return g.openObject(op, g.path, "", func(loc C.int64_t, cerr *C.goh5_err_t, out *C.goh5_blob_t) C.int {
		return C.goh5_oopen_at(cerr, loc, by.index, by.order, C.int64_t(i), out)
	})
}

// OpenToken opens the object of the file that a token identifies (H5Oopen_by_token). An object
// opened this way has no path. The token must come from the same file. For any other token, libhdf5
// reads an object header at the location it encodes and returns an error if it finds no header
// there.
func (f *File) OpenToken(t Token) (Object, error) {
	const op = "open object by token"
	words := t.words()
	return f.Root().openObject(op, f.path, "", func(loc C.int64_t, cerr *C.goh5_err_t, out *C.goh5_blob_t) C.int {
		return C.goh5_oopen_token(cerr, loc, &words[0], out)
	})
}

// OpenAddress opens the object of the file whose header has the given byte address, as in
// ObjectInfo (H5VLnative_addr_to_token, H5Oopen_by_token). As with OpenToken, the object has no
// path.
func (f *File) OpenAddress(addr uint64) (Object, error) {
	const op = "open object by address"
	return f.Root().openObject(op, f.path, "", func(loc C.int64_t, cerr *C.goh5_err_t, out *C.goh5_blob_t) C.int {
		return C.goh5_oopen_addr(cerr, loc, C.uint64_t(addr), out)
	})
}

// CommittedDatatype describes the committed datatype called name (H5Topen2).
func (g *Group) CommittedDatatype(name string) (Datatype, error) {
	const op = "open datatype"
	path := g.join(name)
	cname, _, err := cName(op, path, name)
	if err != nil {
		return Datatype{}, err
	}
	var blob C.goh5_blob_t
	err = g.run(op, path, func(loc C.int64_t, cerr *C.goh5_err_t) C.int { return C.goh5_topen(cerr, loc, cname, &blob) })
	if err != nil {
		return Datatype{}, err
	}
	return takeBlob(&blob).datatype(), nil
}

// Datatype describes the datatype.
func (t *CommittedType) Datatype() (Datatype, error) {
	var blob C.goh5_blob_t
	err := t.run("describe datatype", t.path, func(id C.int64_t, cerr *C.goh5_err_t) C.int {
		return C.goh5_tdescribe(cerr, id, &blob)
	})
	if err != nil {
		return Datatype{}, err
	}
	return takeBlob(&blob).datatype(), nil
}

// Comment returns the comment of the object, "" if it has no comment (H5Oget_comment).
func (o *object) Comment() (string, error) {
	const op = "read comment"
	dot, err := cString(op, o.path, ".")
	if err != nil {
		return "", err
	}
	var blob C.goh5_blob_t
	err = o.run(op, o.path, func(id C.int64_t, cerr *C.goh5_err_t) C.int { return C.goh5_comment(cerr, id, dot, &blob) })
	if err != nil {
		return "", err
	}
	return takeBlob(&blob).text(), nil
}

// SetComment sets the comment of the object; "" removes it (H5Oset_comment). It returns
// ErrReadOnly, or ErrParam for a comment with a zero byte. Comments are a legacy feature;
// attributes should be used instead.
func (o *object) SetComment(text string) error {
	const op = "write comment"
	if err := o.writable(op, o.path); err != nil {
		return err
	}
	dot, _ := cString(op, o.path, ".")
	ctext, err := cString(op, o.path, text)
	if err != nil {
		return err
	}
	if text == "" {
		ctext = nil
	}
	return o.run(op, o.path, func(id C.int64_t, cerr *C.goh5_err_t) C.int { return C.goh5_set_comment(cerr, id, dot, ctext) })
}

// Keep increments the stored count of hard links by one, so that the object survives the removal of
// its last link (H5Oincr_refcount). Release decrements it, and an object whose count is 0 is
// deleted when it is closed (H5Odecr_refcount). A file with wrong counts loses space or objects.
// LinkObject is the safe way to keep an object.
func (o *object) Keep() error {
	const op = "count link"
	if err := o.writable(op, o.path); err != nil {
		return err
	}
	return o.run(op, o.path, func(id C.int64_t, cerr *C.goh5_err_t) C.int { return C.goh5_oref(cerr, id, 1) })
}

// Release decrements the stored count of hard links: see Keep.
func (o *object) Release() error {
	const op = "discount link"
	if err := o.writable(op, o.path); err != nil {
		return err
	}
	return o.run(op, o.path, func(id C.int64_t, cerr *C.goh5_err_t) C.int { return C.goh5_oref(cerr, id, 0) })
}

// Flush writes the buffered data of the object to the operating system (H5Oflush).
func (o *object) Flush() error {
	return o.run("flush", o.path, func(id C.int64_t, cerr *C.goh5_err_t) C.int { return C.goh5_oflush(cerr, id) })
}

// Refresh drops the object's metadata from libhdf5's memory and reads it again (H5Orefresh). A
// reader calls it to see data that a writer in another process has flushed.
func (o *object) Refresh() error {
	return o.run("refresh", o.path, func(id C.int64_t, cerr *C.goh5_err_t) C.int { return C.goh5_orefresh(cerr, id) })
}

// HoldMetadata keeps the object's changed metadata in memory until it is called with false or the
// object is closed (H5Odisable_mdc_flushes, H5Oenable_mdc_flushes). Calling it twice with the same
// value is a libhdf5 error.
func (o *object) HoldMetadata(hold bool) error {
	cork := C.int32_t(0)
	if hold {
		cork = 1
	}
	return o.run("hold metadata", o.path, func(id C.int64_t, cerr *C.goh5_err_t) C.int { return C.goh5_ocork(cerr, id, cork) })
}

// MetadataHeld reports whether HoldMetadata is in effect (H5Oare_mdc_flushes_disabled).
func (o *object) MetadataHeld() (bool, error) {
	var held C.int32_t
	err := o.run("inspect metadata", o.path, func(id C.int64_t, cerr *C.goh5_err_t) C.int { return C.goh5_ocorked(cerr, id, &held) })
	return held != 0, err
}
