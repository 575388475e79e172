// Links: the names in a group and their targets.

package h5

// #include "shim.h"
import "C"

import (
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"unsafe"

	"github.com/hyperslab/hyperslab/internal/errs"
)

// LinkKind is the kind of a link (H5L_type_t).
type LinkKind int

// The kinds of link.
const (
	HardLink     LinkKind = iota + 1 // to an object of this file
	SoftLink                         // to a path of this file, which need not exist
	ExternalLink                     // to a path in another file
	UserLink                         // of a class defined by a program
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
	Class   int     // libhdf5's number of the kind; UserLink: 65 to 255
	Order   int64   // position in creation order, from 0; -1 if the group does not track it
	CharSet CharSet // of the name
	Address uint64  // HardLink: address of the object header, as in ObjectInfo
	Target  string  // SoftLink, ExternalLink: target path
	File    string  // ExternalLink: file name as stored in the link
	Value   []byte  // UserLink: value, in a form defined by the program that defined the class
}

// ErrUserLink is the error of following a user-defined link: see UserLinkError.
var ErrUserLink = errs.New("user-defined link")

// ErrNoOrder is the error of listing in creation order if the group does not track it.
var ErrNoOrder = errs.New("creation order is not kept")

// UserLinkError identifies a user-defined link that was not followed. It wraps ErrUserLink. Only
// the program that defined the class can follow such a link. This package can list, copy, move and
// delete it.
type UserLinkError struct {
	Class int
	Name  string
}

func (e *UserLinkError) Error() string {
	return fmt.Sprintf("%v: %q of class %d cannot be followed", ErrUserLink, e.Name, e.Class)
}

func (e *UserLinkError) Unwrap() error { return ErrUserLink }

// userLink finds the frame that follow_nowhere of shim_link.c added to an error stack.
func userLink(stack []Frame) error {
	for _, f := range stack {
		if f.Func != "goh5_user_link" {
			continue
		}
		class, name, _ := strings.Cut(f.Desc, " ")
		n, err := strconv.Atoi(class)
		if err != nil {
			return nil
		}
		return &UserLinkError{Class: n, Name: name}
	}
	return nil
}

// ListOrder is an order of links or attributes.
type ListOrder int

// The orders.
const (
	ByName               ListOrder = iota // by the bytes of the name
	ByNameDescending                      //
	ByCreation                            // the group must have a CreationOrder
	ByCreationDescending                  //
	AsStored                              // the cheapest order
)

type orderWords struct{ index, order C.int32_t }

func (o ListOrder) words(op, path string) (orderWords, error) {
	switch o {
	case ByName:
		return orderWords{C.H5_INDEX_NAME, C.H5_ITER_INC}, nil
	case ByNameDescending:
		return orderWords{C.H5_INDEX_NAME, C.H5_ITER_DEC}, nil
	case ByCreation:
		return orderWords{C.H5_INDEX_CRT_ORDER, C.H5_ITER_INC}, nil
	case ByCreationDescending:
		return orderWords{C.H5_INDEX_CRT_ORDER, C.H5_ITER_DEC}, nil
	case AsStored:
		return orderWords{C.H5_INDEX_NAME, C.H5_ITER_NATIVE}, nil
	}
	return orderWords{}, &Error{Op: op, Path: path, Err: fmt.Errorf("%w: order %d", ErrParam, o)}
}

// link decodes a link encoded by put_link of shim_link.c.
func (r *reader) link() Link {
	l := Link{Name: r.text(), Kind: LinkKind(r.int()), Class: int(r.int()), Order: r.int(), CharSet: CharSet(r.int())}
	r.word() // the length of the value
	l.Address = r.word()
	l.Target, l.File = r.text(), r.text()
	if value := r.bytes(); l.Kind == UserLink {
		l.Value = value
	}
	if l.Kind != HardLink {
		l.Address = 0
	}
	return l
}

// Links yields the group's links sorted by name (H5Literate2). All links are collected in one call
// before the first is yielded, so the loop body may open, create and delete objects. An error is
// yielded once, without a link.
func (g *Group) Links() iter.Seq2[Link, error] { return g.LinksIn(ByName) }

// LinksIn is Links in any order. ByCreation yields ErrNoOrder if the group does not track creation
// order.
func (g *Group) LinksIn(o ListOrder) iter.Seq2[Link, error] {
	return func(yield func(Link, error) bool) {
		r, err := g.list("list", ".", o, 0)
		if err != nil {
			yield(Link{}, err)
			return
		}
		for range r.word() {
			if !yield(r.link(), nil) {
				return
			}
		}
	}
}

// list collects the links of the group called name. If objects is not 0, each hard link is followed
// by the kind and the number of hard links of its object.
func (g *Group) list(op, name string, o ListOrder, objects C.int32_t) (*reader, error) {
	path := g.join(name)
	by, err := o.words(op, path)
	if err != nil {
		return nil, err
	}
	cname, _, err := cName(op, path, name)
	if err != nil {
		return nil, err
	}
	var blob C.goh5_blob_t
	err = g.run(op, path, func(loc C.int64_t, cerr *C.goh5_err_t) C.int {
		return C.goh5_links(cerr, loc, cname, by.index, by.order, objects, &blob)
	})
	if err != nil {
		return nil, err
	}
	return takeBlob(&blob), nil
}

// Link describes the link called name without following it (H5Lget_info2, H5Lget_val). It returns
// ErrNotFound if there is no such link.
func (g *Group) Link(name string) (Link, error) {
	const op = "look up link"
	path := g.join(name)
	cname, _, err := cName(op, path, name)
	if err != nil {
		return Link{}, err
	}
	var blob C.goh5_blob_t
	err = g.run(op, path, func(loc C.int64_t, cerr *C.goh5_err_t) C.int { return C.goh5_link_info(cerr, loc, cname, &blob) })
	if err != nil {
		return Link{}, err
	}
	l := takeBlob(&blob).link()
	l.Name = name[strings.LastIndexByte(name, '/')+1:]
	return l, nil
}

// LinkAt describes link number i of the group in the given order, counted from 0
// (H5Lget_name_by_idx, H5Lget_info_by_idx2). It returns ErrRegion if the group has fewer links, or
// ErrNoOrder.
func (g *Group) LinkAt(o ListOrder, i int64) (Link, error) {
	const op = "look up link"
	by, err := o.words(op, g.path)
	if err != nil {
		return Link{}, err
	}
	var blob C.goh5_blob_t
	err = g.run(op, g.path, func(loc C.int64_t, cerr *C.goh5_err_t) C.int {
		return C.goh5_link_at(cerr, loc, by.index, by.order, C.int64_t(i), &blob)
	})
	if err != nil {
		return Link{}, err
	}
	return takeBlob(&blob).link(), nil
}

// HasLink reports whether there is a link called name, whether or not its target exists (H5Lexists
// on each element of the path). It returns false if an element of the path is missing, has no
// target or is not a group.
func (g *Group) HasLink(name string) (bool, error) { return g.exists(name, 0) }

// Exists reports whether name leads to an object (H5Lexists, H5Oexists_by_name).
func (g *Group) Exists(name string) (bool, error) { return g.exists(name, 1) }

func (g *Group) exists(name string, object C.int32_t) (bool, error) {
	const op = "look for"
	path := g.join(name)
	cname, _, err := cName(op, path, name)
	if err != nil {
		return false, err
	}
	var exists C.int32_t
	err = g.run(op, path, func(loc C.int64_t, cerr *C.goh5_err_t) C.int {
		return C.goh5_exists(cerr, loc, cname, object, &exists)
	})
	var e *Error
	if errors.As(err, &e) && len(e.Stack) > 0 && e.Stack[len(e.Stack)-1].Minor == "H5E_NLINKS" {
		return false, nil // a cycle of soft links
	}
	return exists != 0, err
}

// Unlink removes the link called name (H5Ldelete). An object is deleted with its last hard link.
// Unlink returns ErrNotFound or ErrReadOnly.
func (g *Group) Unlink(name string) error {
	return g.change("unlink", name, func(loc C.int64_t, cname *C.char, _ C.int32_t, cerr *C.goh5_err_t) C.int {
		return C.goh5_unlink(cerr, loc, cname)
	})
}

// UnlinkAt removes link number i of the group in the given order (H5Ldelete_by_idx). It returns the
// errors of LinkAt, or ErrReadOnly.
func (g *Group) UnlinkAt(o ListOrder, i int64) error {
	const op = "unlink"
	if err := g.writable(op, g.path); err != nil {
		return err
	}
	by, err := o.words(op, g.path)
	if err != nil {
		return err
	}
	return g.run(op, g.path, func(loc C.int64_t, cerr *C.goh5_err_t) C.int {
		return C.goh5_unlink_at(cerr, loc, by.index, by.order, C.int64_t(i))
	})
}

// change is run for a call that changes the link called name.
func (g *Group) change(op, name string, shim func(loc C.int64_t, cname *C.char, utf8 C.int32_t, cerr *C.goh5_err_t) C.int) error {
	path := g.join(name)
	if err := g.writable(op, path); err != nil {
		return err
	}
	cname, utf8, err := cName(op, path, name)
	if err != nil {
		return err
	}
	return g.run(op, path, func(loc C.int64_t, cerr *C.goh5_err_t) C.int { return shim(loc, cname, utf8, cerr) })
}

// LinkSoft makes name a soft link to the path target, which need not exist (H5Lcreate_soft). It
// returns ErrExists or ErrReadOnly.
func (g *Group) LinkSoft(name, target string) error {
	const op = "link"
	ctarget, _, err := cName(op, g.join(name), target)
	if err != nil {
		return err
	}
	return g.change(op, name, func(loc C.int64_t, cname *C.char, utf8 C.int32_t, cerr *C.goh5_err_t) C.int {
		return C.goh5_link_soft(cerr, loc, cname, utf8, ctarget)
	})
}

// LinkExternal makes name a link to the path target in another file (H5Lcreate_external). Neither
// the file nor the target need exist. It returns ErrExists or ErrReadOnly.
func (g *Group) LinkExternal(name, file, target string) error {
	const op = "link"
	cfile, _, err := cName(op, g.join(name), file)
	if err != nil {
		return err
	}
	ctarget, _, err := cName(op, g.join(name), target)
	if err != nil {
		return err
	}
	return g.change(op, name, func(loc C.int64_t, cname *C.char, utf8 C.int32_t, cerr *C.goh5_err_t) C.int {
		return C.goh5_link_external(cerr, loc, cname, utf8, cfile, ctarget)
	})
}

// The range of classes of user-defined links (H5L_TYPE_UD_MIN and up). 64 is the external link.
const (
	minUserClass = 65
	maxUserClass = 255
)

// maxLinkValue is the format's limit: the length has two bytes.
const maxLinkValue = 1<<16 - 1

// LinkUser makes name a user-defined link of a class with a value of at most 65535 bytes
// (H5Lcreate_ud). This package does not follow such links: see UserLinkError. It returns ErrParam
// for a class outside 65 to 255, ErrSize for a longer value, ErrExists or
// ErrReadOnly.
func (g *Group) LinkUser(name string, class int, value []byte) error {
	const op = "link"
	if class < minUserClass || class > maxUserClass {
		return &Error{Op: op, Path: g.join(name), Err: fmt.Errorf("%w: link class %d, want %d to %d", ErrParam, class, minUserClass, maxUserClass)}
	}
	if len(value) > maxLinkValue {
		return &Error{Op: op, Path: g.join(name), Err: fmt.Errorf("%w: link value of %d bytes, want at most %d", ErrSize, len(value), maxLinkValue)}
	}
	return g.change(op, name, func(loc C.int64_t, cname *C.char, utf8 C.int32_t, cerr *C.goh5_err_t) C.int {
		return C.goh5_link_user(cerr, loc, cname, utf8, C.int32_t(class), (*C.uint8_t)(unsafe.SliceData(value)), C.size_t(len(value)))
	})
}

// LinkHard makes name another hard link to the object at the path target (H5Lcreate_hard). It
// returns ErrExists, ErrNotFound or ErrReadOnly.
func (g *Group) LinkHard(name, target string) error {
	const op = "link"
	ctarget, _, err := cName(op, g.join(name), target)
	if err != nil {
		return err
	}
	return g.change(op, name, func(loc C.int64_t, cname *C.char, utf8 C.int32_t, cerr *C.goh5_err_t) C.int {
		return C.goh5_link_hard(cerr, loc, cname, utf8, ctarget)
	})
}

// LinkObject makes name a hard link to an open object, which may be anonymous (H5Olink). It returns
// ErrExists, ErrReadOnly, or a libhdf5 error for an object of another file.
func (g *Group) LinkObject(name string, o Object) error {
	const op = "link"
	path := g.join(name)
	if err := g.writable(op, path); err != nil {
		return err
	}
	cname, utf8, err := cName(op, path, name)
	if err != nil {
		return err
	}
	return g.runBoth(op, path, o.base(), func(loc, id C.int64_t, cerr *C.goh5_err_t) C.int {
		return C.goh5_link_object(cerr, loc, cname, utf8, id)
	})
}

// MoveLink moves the link called name to the name as in the group to, which may be g (H5Lmove).
// Missing groups on the path of as are created. The target of the link does not move. MoveLink
// returns ErrNotFound, ErrExists, ErrReadOnly, or a libhdf5 error for a hard link and a group of
// another file.
func (g *Group) MoveLink(name string, to *Group, as string) error {
	return g.place("move link", name, to, as, 0)
}

// CopyLink is MoveLink, but keeps the old link too (H5Lcopy).
func (g *Group) CopyLink(name string, to *Group, as string) error {
	return g.place("copy link", name, to, as, 1)
}

func (g *Group) place(op, name string, to *Group, as string, keep C.int32_t) error {
	path := g.join(name)
	if keep == 0 {
		if err := g.writable(op, path); err != nil {
			return err
		}
	}
	if err := to.writable(op, to.join(as)); err != nil {
		return err
	}
	cname, _, err := cName(op, path, name)
	if err != nil {
		return err
	}
	cas, utf8, err := cName(op, to.join(as), as)
	if err != nil {
		return err
	}
	err = g.runBoth(op, path, &to.object, func(from, dst C.int64_t, cerr *C.goh5_err_t) C.int {
		return C.goh5_link_move(cerr, from, cname, dst, cas, utf8, keep)
	})
	// If the new name exists, libhdf5 reports H5E_NOTFOUND.
	var e *Error
	if errors.As(err, &e) && e.Err == nil && len(e.Stack) > 0 {
		if f := e.Stack[len(e.Stack)-1]; f.Func == "H5L__move_dest_cb" && f.Minor == "H5E_NOTFOUND" {
			e.Err = ErrExists
		}
	}
	return err
}
