// Properties of an object: kind, address, counts, times and storage sizes.

package h5

// #include "shim.h"
import "C"

import (
	"encoding/binary"
	"time"
)

// ObjectKind is the kind of an object (H5O_type_t).
type ObjectKind int

// The kinds of object.
const (
	GroupObject ObjectKind = iota + 1
	DatasetObject
	DatatypeObject // a committed datatype
	OtherObject    // a kind that this package does not support
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

// ObjectInfo describes an object (H5O_info2_t). A time that the object does not record is zero.
type ObjectInfo struct {
	Kind     ObjectKind
	Address  uint64 // byte address of the object header in its file: the same for every hard link to the object
	Token    Token  // the address in libhdf5's own form
	FileNo   uint64 // differs between files, for objects reached by external links
	Links    int    // number of hard links to the object
	NumAttrs int

	Accessed, Modified, Changed, Born time.Time
}

// Token identifies an object inside its file (H5O_token_t).
type Token [16]byte

func (t Token) words() [2]C.uint64_t {
	return [2]C.uint64_t{
		C.uint64_t(binary.NativeEndian.Uint64(t[:8])), C.uint64_t(binary.NativeEndian.Uint64(t[8:])),
	}
}

func tokenOf(a, b C.uint64_t) Token {
	var t Token
	binary.NativeEndian.PutUint64(t[:8], uint64(a))
	binary.NativeEndian.PutUint64(t[8:], uint64(b))
	return t
}

func infoOf(out [C.GOH5_INFO_WORDS]C.uint64_t) ObjectInfo {
	at := func(seconds C.uint64_t) time.Time {
		if seconds == 0 {
			return time.Time{}
		}
		return time.Unix(int64(seconds), 0).UTC()
	}
	return ObjectInfo{
		Kind: ObjectKind(out[0]), Address: uint64(out[1]), Links: int(out[2]), NumAttrs: int(out[3]), FileNo: uint64(out[4]),
		Accessed: at(out[5]), Modified: at(out[6]), Changed: at(out[7]), Born: at(out[8]), Token: tokenOf(out[9], out[10]),
	}
}

// Kind returns the kind of the object that name leads to, following soft and external links. It
// returns ErrNotFound if the object does not exist.
func (g *Group) Kind(name string) (ObjectKind, error) {
	info, err := g.ObjectInfo(name)
	return info.Kind, err
}

// ObjectInfo describes the object that name leads to; "." is the group itself
// (H5Oget_info_by_name3). It returns ErrNotFound if the object does not exist, or a *UserLinkError.
func (g *Group) ObjectInfo(name string) (ObjectInfo, error) {
	const op = "look up"
	path := g.join(name)
	cname, _, err := cName(op, path, name)
	if err != nil {
		return ObjectInfo{}, err
	}
	var out [C.GOH5_INFO_WORDS]C.uint64_t
	err = g.run(op, path, func(loc C.int64_t, cerr *C.goh5_err_t) C.int {
		return C.goh5_object_info(cerr, loc, cname, &out[0])
	})
	if err != nil {
		return ObjectInfo{}, err
	}
	return infoOf(out), nil
}

// Stat describes the object itself (H5Oget_info3).
func (o *object) Stat() (ObjectInfo, error) {
	var out [C.GOH5_INFO_WORDS]C.uint64_t
	err := o.run("describe object", o.path, func(id C.int64_t, cerr *C.goh5_err_t) C.int {
		return C.goh5_object_self(cerr, id, &out[0])
	})
	if err != nil {
		return ObjectInfo{}, err
	}
	return infoOf(out), nil
}

// ObjectHeader describes the storage of an object's metadata. Sizes are in bytes
// (H5O_native_info_t).
type ObjectHeader struct {
	Version  int // of the object header: 1, or 2 since 1.8
	Messages int
	Chunks   int   // chunks of the header
	Flags    uint8 // as in the specification, IV.A.1

	Total, Meta, Data, Free int64 // sizes of the header: total, framing, messages, gaps

	Present, Shared uint64 // bit n: there is a message of type n; it is stored elsewhere

	Index, Heap                   int64 // a group's links, a dataset's chunk index
	AttributeIndex, AttributeHeap int64 // attributes outside the header
}

// Header describes how the object's metadata is stored (H5Oget_native_info).
func (o *object) Header() (ObjectHeader, error) {
	var w [C.GOH5_HEADER_WORDS]C.uint64_t
	err := o.run("describe header", o.path, func(id C.int64_t, cerr *C.goh5_err_t) C.int {
		return C.goh5_object_header(cerr, id, &w[0])
	})
	if err != nil {
		return ObjectHeader{}, err
	}
	return ObjectHeader{
		Version: int(w[0]), Messages: int(w[1]), Chunks: int(w[2]), Flags: uint8(w[3]),
		Total: int64(w[4]), Meta: int64(w[5]), Data: int64(w[6]), Free: int64(w[7]), Present: uint64(w[8]), Shared: uint64(w[9]),
		Index: int64(w[10]), Heap: int64(w[11]), AttributeIndex: int64(w[12]), AttributeHeap: int64(w[13]),
	}, nil
}

// CompareTokens orders two tokens of the file. The result is negative, 0 for the same object, or
// positive (H5Otoken_cmp).
func (f *File) CompareTokens(a, b Token) (int, error) {
	wa, wb := a.words(), b.words()
	var order C.int32_t
	err := f.Root().run("compare tokens", f.path, func(id C.int64_t, cerr *C.goh5_err_t) C.int {
		return C.goh5_token_cmp(cerr, id, &wa[0], &wb[0], &order)
	})
	return int(order), err
}

// TokenText returns libhdf5's string for a token of the file (H5Otoken_to_str).
func (f *File) TokenText(t Token) (string, error) {
	words := t.words()
	var blob C.goh5_blob_t
	err := f.Root().run("write token", f.path, func(id C.int64_t, cerr *C.goh5_err_t) C.int {
		return C.goh5_token_text(cerr, id, &words[0], &blob)
	})
	if err != nil {
		return "", err
	}
	return takeBlob(&blob).text(), nil
}

// ParseToken parses a string returned by TokenText (H5Otoken_from_str).
func (f *File) ParseToken(text string) (Token, error) {
	const op = "read token"
	ctext, _, err := cName(op, f.path, text)
	if err != nil {
		return Token{}, err
	}
	var out [2]C.uint64_t
	err = f.Root().run(op, f.path, func(id C.int64_t, cerr *C.goh5_err_t) C.int {
		return C.goh5_token_parse(cerr, id, ctext, &out[0])
	})
	return tokenOf(out[0], out[1]), err
}

// Committed returns the address of the committed datatype that the dataset uses, or false if its
// datatype is not committed (H5Tcommitted).
func (d *Dataset) Committed() (addr uint64, is bool, err error) {
	return d.committed("inspect datatype", d.path, nil)
}

// AttributeCommitted returns the address of the committed datatype that an attribute uses, or false
// if its datatype is not committed (H5Tcommitted). It returns ErrNotFound if there is no such
// attribute.
func (o *object) AttributeCommitted(name string) (addr uint64, is bool, err error) {
	const op = "inspect datatype"
	path := o.path + "@" + name
	cname, _, err := cName(op, path, name)
	if err != nil {
		return 0, false, err
	}
	return o.committed(op, path, cname)
}

func (o *object) committed(op, path string, attribute *C.char) (uint64, bool, error) {
	var addr C.uint64_t
	err := o.run(op, path, func(id C.int64_t, cerr *C.goh5_err_t) C.int { return C.goh5_committed(cerr, id, attribute, &addr) })
	if err != nil || uint64(addr) == undefinedAddress {
		return 0, false, err
	}
	return uint64(addr), true, nil
}

// undefinedAddress is libhdf5's HADDR_UNDEF.
const undefinedAddress = ^uint64(0)
