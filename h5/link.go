// Links: the names in a group and where they lead.

package h5

/*
#include "shim.h"
#cgo noescape goh5_links
#cgo nocallback goh5_links
#cgo noescape goh5_unlink
#cgo nocallback goh5_unlink
#cgo noescape goh5_link_soft
#cgo nocallback goh5_link_soft
#cgo noescape goh5_link_external
#cgo nocallback goh5_link_external
#cgo noescape goh5_link_hard
#cgo nocallback goh5_link_hard
*/
import "C"

import (
	"iter"
	"runtime"
)

// LinkKind is the kind of a link (H5L_type_t).
type LinkKind int

// The kinds of link.
const (
	HardLink     LinkKind = iota + 1 // to an object of this file
	SoftLink                         // to a path of this file, which need not exist
	ExternalLink                     // to a path in another file
	UserLink                         // of a class that a program defined
)

func (k LinkKind) String() string {
	switch k {
	case HardLink:
		return "hard"
	case SoftLink:
		return "soft"
	case ExternalLink:
		return "external"
	default:
		return "user-defined"
	}
}

// Link is a name in a group.
type Link struct {
	Name    string
	Kind    LinkKind
	Class   int    // the library's number for the kind; UserLink: 65 to 255
	Address uint64 // HardLink: of the object's header, as in ObjectInfo
	Target  string // SoftLink, ExternalLink: the path it leads to
	File    string // ExternalLink: the file, as the link names it
}

// Links yields the group's links in the order of their names (H5Literate2). They
// are collected in one call before the first is yielded: the loop may open,
// create and delete what it likes. An error is yielded once, alone.
func (g *Group) Links() iter.Seq2[Link, error] {
	return func(yield func(Link, error) bool) {
		r, err := g.links()
		if err != nil {
			yield(Link{}, err)
			return
		}
		for range r.word() {
			l := Link{
				Name: r.text(), Kind: LinkKind(r.int()), Class: int(r.int()), Address: r.word(), Target: r.text(), File: r.text(),
			}
			if l.Kind != HardLink {
				l.Address = 0
			}
			if !yield(l, nil) {
				return
			}
		}
	}
}

func (g *Group) links() (*reader, error) {
	const op = "list"
	lock()
	defer unlock()
	loc, err := g.h.idLocked(op, g.path)
	if err != nil {
		return nil, err
	}
	var cerr C.goh5_err_t
	var blob C.goh5_blob_t
	rc := C.goh5_links(&cerr, loc, &blob)
	runtime.KeepAlive(g)
	if rc < 0 {
		return nil, newError(op, g.path, rc, &cerr)
	}
	return takeBlob(&blob), nil
}

// Unlink removes the link called name (H5Ldelete); the object goes with its last
// hard link. It returns ErrNotFound or ErrReadOnly.
func (g *Group) Unlink(name string) error {
	const op = "unlink"
	path := g.join(name)
	if err := g.writable(op, path); err != nil {
		return err
	}
	cname, _, err := cName(op, path, name)
	if err != nil {
		return err
	}
	lock()
	defer unlock()
	loc, err := g.h.idLocked(op, path)
	if err != nil {
		return err
	}
	var cerr C.goh5_err_t
	rc := C.goh5_unlink(&cerr, loc, cname)
	runtime.KeepAlive(g)
	if rc < 0 {
		return newError(op, path, rc, &cerr)
	}
	return nil
}

// LinkSoft makes name a soft link to the path target, which need not exist
// (H5Lcreate_soft). It returns ErrExists or ErrReadOnly.
func (g *Group) LinkSoft(name, target string) error {
	const op = "link"
	path := g.join(name)
	if err := g.writable(op, path); err != nil {
		return err
	}
	cname, utf8, err := cName(op, path, name)
	if err != nil {
		return err
	}
	ctarget, _, err := cName(op, path, target)
	if err != nil {
		return err
	}
	lock()
	defer unlock()
	loc, err := g.h.idLocked(op, path)
	if err != nil {
		return err
	}
	var cerr C.goh5_err_t
	rc := C.goh5_link_soft(&cerr, loc, cname, utf8, ctarget)
	runtime.KeepAlive(g)
	if rc < 0 {
		return newError(op, path, rc, &cerr)
	}
	return nil
}

// LinkExternal makes name a link to the path target in another file, neither of
// which need exist (H5Lcreate_external). It returns ErrExists or ErrReadOnly.
func (g *Group) LinkExternal(name, file, target string) error {
	const op = "link"
	path := g.join(name)
	if err := g.writable(op, path); err != nil {
		return err
	}
	cname, utf8, err := cName(op, path, name)
	if err != nil {
		return err
	}
	cfile, _, err := cName(op, path, file)
	if err != nil {
		return err
	}
	ctarget, _, err := cName(op, path, target)
	if err != nil {
		return err
	}
	lock()
	defer unlock()
	loc, err := g.h.idLocked(op, path)
	if err != nil {
		return err
	}
	var cerr C.goh5_err_t
	rc := C.goh5_link_external(&cerr, loc, cname, utf8, cfile, ctarget)
	runtime.KeepAlive(g)
	if rc < 0 {
		return newError(op, path, rc, &cerr)
	}
	return nil
}

// LinkHard makes name a further name of the object at the path target
// (H5Lcreate_hard). It returns ErrExists, ErrNotFound or ErrReadOnly.
func (g *Group) LinkHard(name, target string) error {
	const op = "link"
	path := g.join(name)
	if err := g.writable(op, path); err != nil {
		return err
	}
	cname, utf8, err := cName(op, path, name)
	if err != nil {
		return err
	}
	ctarget, _, err := cName(op, path, target)
	if err != nil {
		return err
	}
	lock()
	defer unlock()
	loc, err := g.h.idLocked(op, path)
	if err != nil {
		return err
	}
	var cerr C.goh5_err_t
	rc := C.goh5_link_hard(&cerr, loc, cname, utf8, ctarget)
	runtime.KeepAlive(g)
	if rc < 0 {
		return newError(op, path, rc, &cerr)
	}
	return nil
}
