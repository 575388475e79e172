// Groups: find and create what is inside.

package h5

/*
#include "shim.h"
#cgo noescape goh5_gopen
#cgo nocallback goh5_gopen
#cgo noescape goh5_gcreate
#cgo nocallback goh5_gcreate
#cgo noescape goh5_object_info
#cgo nocallback goh5_object_info
#cgo noescape goh5_topen
#cgo nocallback goh5_topen
*/
import "C"

import "runtime"

// Group is an open group. Names given to its methods may be paths ("a/b/c"), and
// absolute ones start at the file's root.
type Group struct{ object }

// ObjectKind is what a link leads to (H5O_type_t).
type ObjectKind int

// The kinds of object.
const (
	GroupObject ObjectKind = iota + 1
	DatasetObject
	DatatypeObject // a committed datatype
	OtherObject    // of a kind this package does not know
)

func (k ObjectKind) String() string {
	switch k {
	case GroupObject:
		return "group"
	case DatasetObject:
		return "dataset"
	case DatatypeObject:
		return "datatype"
	default:
		return "other"
	}
}

// ObjectInfo says what an object is.
type ObjectInfo struct {
	Kind     ObjectKind
	Address  uint64 // of the object header in its file: the same for every hard link to the object
	FileNo   uint64 // differs between files, for objects reached by external links
	Links    int    // hard links that lead to the object
	NumAttrs int
}

// OpenGroup opens the group called name (H5Gopen2). It returns ErrNotFound, or
// an error of the library if name is something else.
func (g *Group) OpenGroup(name string) (*Group, error) {
	const op = "open group"
	path := g.join(name)
	cname, _, err := cName(op, path, name)
	if err != nil {
		return nil, err
	}
	lock()
	defer unlock()
	loc, err := g.h.idLocked(op, path)
	if err != nil {
		return nil, err
	}
	var cerr C.goh5_err_t
	var id C.int64_t
	rc := C.goh5_gopen(&cerr, loc, cname, &id)
	runtime.KeepAlive(g)
	if rc < 0 {
		return nil, newError(op, path, rc, &cerr)
	}
	return &Group{object{h: newHandleLocked(g.h.ids, id), file: g.file, path: path}}, nil
}

// CreateGroup makes a group, and those on the way to it that are missing
// (H5Gcreate2). It returns ErrExists or ErrReadOnly.
func (g *Group) CreateGroup(name string) (*Group, error) {
	const op = "create group"
	path := g.join(name)
	if err := g.writable(op, path); err != nil {
		return nil, err
	}
	cname, utf8, err := cName(op, path, name)
	if err != nil {
		return nil, err
	}
	lock()
	defer unlock()
	loc, err := g.h.idLocked(op, path)
	if err != nil {
		return nil, err
	}
	var cerr C.goh5_err_t
	var id C.int64_t
	rc := C.goh5_gcreate(&cerr, loc, cname, utf8, &id)
	runtime.KeepAlive(g)
	if rc < 0 {
		return nil, newError(op, path, rc, &cerr)
	}
	return &Group{object{h: newHandleLocked(g.h.ids, id), file: g.file, path: path}}, nil
}

// Kind says what name leads to, following soft and external links. It returns
// ErrNotFound if it leads nowhere.
func (g *Group) Kind(name string) (ObjectKind, error) {
	info, err := g.ObjectInfo(name)
	return info.Kind, err
}

// ObjectInfo describes what name leads to, "." being the group itself
// (H5Oget_info_by_name3). It returns ErrNotFound if it leads nowhere.
func (g *Group) ObjectInfo(name string) (ObjectInfo, error) {
	const op = "look up"
	path := g.join(name)
	cname, _, err := cName(op, path, name)
	if err != nil {
		return ObjectInfo{}, err
	}
	lock()
	defer unlock()
	loc, err := g.h.idLocked(op, path)
	if err != nil {
		return ObjectInfo{}, err
	}
	var cerr C.goh5_err_t
	var out [5]C.uint64_t
	rc := C.goh5_object_info(&cerr, loc, cname, &out[0])
	runtime.KeepAlive(g)
	if rc < 0 {
		return ObjectInfo{}, newError(op, path, rc, &cerr)
	}
	return ObjectInfo{
		Kind: ObjectKind(out[0]), Address: uint64(out[1]), Links: int(out[2]), NumAttrs: int(out[3]), FileNo: uint64(out[4]),
	}, nil
}

// CommittedDatatype describes the committed datatype called name (H5Topen2).
func (g *Group) CommittedDatatype(name string) (Datatype, error) {
	const op = "open datatype"
	path := g.join(name)
	cname, _, err := cName(op, path, name)
	if err != nil {
		return Datatype{}, err
	}
	lock()
	defer unlock()
	loc, err := g.h.idLocked(op, path)
	if err != nil {
		return Datatype{}, err
	}
	var cerr C.goh5_err_t
	var blob C.goh5_blob_t
	rc := C.goh5_topen(&cerr, loc, cname, &blob)
	runtime.KeepAlive(g)
	if rc < 0 {
		return Datatype{}, newError(op, path, rc, &cerr)
	}
	return takeBlob(&blob).datatype(), nil
}
