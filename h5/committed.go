// Committed datatypes: datatypes stored as objects of a file, shared by datasets and attributes.

package h5

// #include "shim.h"
import "C"

import (
	"fmt"
	"runtime"
)

// CommitDatatype stores t as an object called name and creates missing intermediate groups
// (H5Tcommit2). It returns ErrExists, ErrReadOnly, or ErrType if t is invalid.
func (g *Group) CommitDatatype(name string, t Datatype) (*CommittedType, error) {
	const op = "commit datatype"
	path := g.join(name)
	cname, utf8, err := cName(op, path, name)
	if err != nil {
		return nil, err
	}
	return g.commit(op, path, cname, utf8, t)
}

// CommitAnonymous stores t as an object without a name (H5Tcommit_anon). The object is deleted from
// the file when it is closed, unless LinkObject has given it a name.
func (g *Group) CommitAnonymous(t Datatype) (*CommittedType, error) {
	return g.commit("commit datatype", "", nil, 0, t)
}

func (g *Group) commit(op, path string, cname *C.char, utf8 C.int32_t, t Datatype) (*CommittedType, error) {
	if err := g.writable(op, path); err != nil {
		return nil, err
	}
	t.shared = nil
	if err := t.check(); err != nil {
		return nil, &Error{Op: op, Path: path, Err: err}
	}
	b := t.append(nil)
	lock()
	defer unlock()
	loc, err := g.h.idLocked(op, path)
	if err != nil {
		return nil, err
	}
	var cerr C.goh5_err_t
	var id C.int64_t
	rc := C.goh5_tcommit(&cerr, loc, cname, utf8, cBytes(b), C.size_t(len(b)), &id)
	runtime.KeepAlive(g)
	if rc < 0 {
		return nil, newError(op, path, rc, &cerr)
	}
	return &CommittedType{object{h: newHandleLocked(g.h.ids, id), file: g.file, path: path}}, nil
}

// OpenDatatype opens the committed datatype called name (H5Topen2). It returns ErrNotFound, or
// ErrKind if name is another kind of object.
func (g *Group) OpenDatatype(name string) (*CommittedType, error) {
	o, err := g.OpenObject(name)
	if err != nil {
		return nil, err
	}
	t, ok := o.(*CommittedType)
	if !ok {
		_ = o.Close()
		return nil, &Error{Op: "open datatype", Path: g.join(name), Err: fmt.Errorf("%w: not a datatype", ErrKind)}
	}
	return t, nil
}

// Shared returns the datatype. Datasets and attributes created with it in the same file refer to
// the committed datatype, so each does not need a copy of the description. When they are created, t
// must still be open and the description must be unchanged; otherwise the error is ErrType.
func (t *CommittedType) Shared() (Datatype, error) {
	d, err := t.Datatype()
	d.shared = t
	return d, err
}

// sharedID returns the id of the object to share, or 0. The shim checks that the object is still
// open.
func (t *Datatype) sharedID() int64 {
	if t.shared == nil {
		return 0
	}
	return int64(t.shared.h.id)
}
