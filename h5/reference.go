// References: values that refer to an object, a region of a dataset or an attribute. The C side is
// shim_ref.c.

package h5

// #include "shim.h"
import "C"

import (
	"encoding/binary"
	"fmt"
	"runtime"
)

// Ref is the value of a reference. It stays valid after its file is closed, but only has a meaning
// in that file. Two Refs are equal if they have the same value. The zero Ref is null: see IsNull.
type Ref struct {
	Kind ReferenceKind
	Data string // the bytes of the old kinds, the encoding of shim_ref.c for the new kind; "" if null
}

// IsNull reports whether the reference is null.
func (r Ref) IsNull() bool { return r.Data == "" }

// String returns the kind and, for an object reference, the address.
func (r Ref) String() string {
	name := pick(int(r.Kind), "reference", "object reference", "region reference", "standard reference")
	switch {
	case r.IsNull():
		return "null " + name
	case r.Kind == ObjectReference:
		return fmt.Sprintf("%s to %#x", name, binary.NativeEndian.Uint64([]byte(r.Data)))
	}
	return name
}

// Sizes of references in memory, in bytes: hobj_ref_t, hdset_reg_ref_t, H5R_ref_t.
var referenceSizes = map[ReferenceKind]int{ObjectReference: 8, RegionReference: 12, StandardReference: 64}

// ReferenceType returns the datatype of references of one kind.
func ReferenceType(kind ReferenceKind) Datatype {
	return Datatype{Class: Reference, Size: referenceSizes[kind], Ref: kind}
}

// Reference makes a reference to the object called name (H5Rcreate, H5Rcreate_object). Kind is
// ObjectReference, which every HDF5 release can read, or StandardReference.
func (g *Group) Reference(name string, kind ReferenceKind) (Ref, error) {
	if kind == RegionReference {
		return Ref{}, &Error{Op: "refer", Path: g.join(name), Err: fmt.Errorf("%w: a region needs a selection: ReferenceRegion", ErrParam)}
	}
	return g.reference(name, kind, "", nil)
}

// ReferenceRegion makes a reference to the elements s of a dataset (H5Rcreate, H5Rcreate_region).
// Kind is RegionReference or StandardReference.
func (g *Group) ReferenceRegion(name string, kind ReferenceKind, s Selection) (Ref, error) {
	if kind == ObjectReference || s == nil {
		return Ref{}, &Error{Op: "refer", Path: g.join(name), Err: fmt.Errorf("%w: a region needs a selection and a kind for regions", ErrParam)}
	}
	return g.reference(name, kind, "", s)
}

// ReferenceAttribute makes a standard reference to an attribute of the object called name
// (H5Rcreate_attr).
func (g *Group) ReferenceAttribute(name, attribute string) (Ref, error) {
	if attribute == "" {
		return Ref{}, &Error{Op: "refer", Path: g.join(name), Err: fmt.Errorf("%w: empty name", ErrParam)}
	}
	return g.reference(name, StandardReference, attribute, nil)
}

func (g *Group) reference(name string, kind ReferenceKind, attribute string, s Selection) (Ref, error) {
	const op = "refer"
	path := g.join(name)
	if kind < ObjectReference || kind > StandardReference {
		return Ref{}, &Error{Op: op, Path: path, Err: fmt.Errorf("%w: reference kind %d", ErrParam, kind)}
	}
	if kind == RegionReference { // creating a region reference writes to the file
		if err := g.writable(op, path); err != nil {
			return Ref{}, err
		}
	}
	cname, _, err := cName(op, path, name)
	if err != nil {
		return Ref{}, err
	}
	cattr, err := cString(op, path, attribute)
	if err != nil {
		return Ref{}, err
	}
	var e encoded
	if s != nil {
		if e, err = encodeSelection(s); err != nil {
			return Ref{}, &Error{Op: op, Path: path, Err: err}
		}
	}
	lock()
	defer unlock()
	loc, err := g.h.idLocked(op, path)
	if err != nil {
		return Ref{}, err
	}
	var cerr C.goh5_err_t
	var blob C.goh5_blob_t
	rc := C.goh5_ref_create(&cerr, loc, cname, C.int32_t(kind), cattr, cInts(e.words), C.size_t(len(e.words)), C.size_t(e.rank), &blob)
	runtime.KeepAlive(g)
	if rc < 0 {
		return Ref{}, transferError(op, path, s, rc, &cerr)
	}
	return Ref{Kind: kind, Data: string(takeBlob(&blob).bytes())}, nil
}

// Referent is the target of a reference.
type Referent struct {
	Kind      ObjectKind
	Token     Token  // identifies the object in its file
	Address   uint64 // of the object's header, for OpenAddress
	Path      string // one of the object's paths; "" if libhdf5 has none, and from ResolveTarget
	Attribute string // name of the attribute, for a reference to an attribute
	Region    bool   // whether the reference is to a region, described by:
	Space     Dataspace
	Selection SelectionInfo
}

// Resolve returns the target of a reference (H5Rdereference2, H5Rget_region; H5Ropen_object,
// H5Ropen_region, H5Rget_attr_name; H5Iget_name).
//
// It returns ErrNotFound if r is null, or if its target did not exist when r was read. It also
// returns ErrNotFound if r refers to another file, because this package does not open other files
// implicitly. A file does not keep track of references. Therefore a reference to a deleted object
// may lead to whatever was stored at its address later, or to a libhdf5 error.
//
// libhdf5 searches the links of the file for the path in each call. Use ResolveTarget for many
// references.
func (f *File) Resolve(r Ref) (Referent, error) { return f.resolve(r, 1) }

// ResolveTarget is Resolve without a path. Its cost does not depend on the number of links in the
// file.
func (f *File) ResolveTarget(r Ref) (Referent, error) { return f.resolve(r, 0) }

func (f *File) resolve(r Ref, named C.int32_t) (Referent, error) {
	const op = "resolve reference"
	attribute, err := r.check()
	if err != nil {
		return Referent{}, &Error{Op: op, Path: f.path, Err: err}
	}
	data := []byte(r.Data)
	var blob C.goh5_blob_t
	err = f.Root().run(op, f.path, func(loc C.int64_t, cerr *C.goh5_err_t) C.int {
		return C.goh5_ref_resolve(cerr, loc, C.int32_t(r.Kind), cBytes(data), C.size_t(len(data)), named, &blob)
	})
	if err != nil {
		return Referent{}, err
	}
	in := takeBlob(&blob)
	ref := Referent{Kind: referentKind(in.word()), Attribute: attribute}
	copy(ref.Token[:], in.bytes())
	ref.Address, ref.Path = in.word(), in.text()
	if ref.Region = in.bool(); ref.Region {
		ref.Space = in.dataspace()
		ref.Selection = in.selection(len(ref.Space.Dims))
	}
	return ref, nil
}

func referentKind(t uint64) ObjectKind {
	switch t {
	case C.H5O_TYPE_GROUP:
		return GroupObject
	case C.H5O_TYPE_DATASET:
		return DatasetObject
	case C.H5O_TYPE_NAMED_DATATYPE:
		return DatatypeObject
	default:
		return OtherObject
	}
}

// Dereference opens the object that a reference refers to. For a reference to a region or an
// attribute, this is the object that has it. Errors are as in Resolve and OpenToken.
func (f *File) Dereference(r Ref) (Object, error) {
	to, err := f.ResolveTarget(r)
	if err != nil {
		return nil, err
	}
	return f.OpenToken(to.Token)
}

// check returns an error if the reference has no target in the file. It returns the name of the
// attribute for a standard reference to an attribute.
func (r Ref) check() (attribute string, err error) {
	if r.IsNull() {
		return "", fmt.Errorf("%w: %v", ErrNotFound, r)
	}
	if r.Kind != StandardReference {
		return "", nil
	}
	in := &reader{[]byte(r.Data)}
	kind, file := in.word(), in.text()
	switch {
	case file != "":
		return "", fmt.Errorf("%w: %v into the file %q", ErrNotFound, r, file)
	case len(in.bytes()) == 0:
		return "", fmt.Errorf("%w: the target of the %v was removed", ErrNotFound, r)
	case kind == C.H5R_ATTR:
		attribute = in.text()
	}
	return attribute, nil
}
