// Committed datatypes: datatypes that are objects of a file, which datasets and
// attributes share.

package h5

// #include "shim.h"
import "C"

import (
	"fmt"
	"runtime"
)

// CommitDatatype makes t an object called name, and the groups on the way to it
// that are missing (H5Tcommit2). It returns ErrExists, ErrReadOnly, or ErrType for
// a datatype that cannot be made.
func (g *Group) CommitDatatype(name string, t Datatype) (*CommittedType, error) {
	const op = "commit datatype"
	path := g.join(name)
	cname, utf8, err := cName(op, path, name)
	if err != nil {
		return nil, err
	}
	return g.commit(op, path, cname, utf8, t)
}

// CommitAnonymous makes t an object without a name (H5Tcommit_anon), which is gone
// from the file when it is closed unless LinkObject gave it one.
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

// OpenDatatype opens the committed datatype called name (H5Topen2). It returns
// ErrNotFound, or ErrKind if name is something else.
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

// Shared describes the datatype, and datasets and attributes that are created
// with the result in the same file share the object instead of each holding a
// description of its own. For that t must still be open then; else, and if the
// description was changed, creating is ErrType.
func (t *CommittedType) Shared() (Datatype, error) {
	d, err := t.Datatype()
	d.shared = t
	return d, err
}

// sharedID is the id of the object to share, 0 for none. The shim looks whether it
// is still open.
func (t *Datatype) sharedID() int64 {
	if t.shared == nil {
		return 0
	}
	return int64(t.shared.h.id)
}
