// Open, create and describe groups.

package h5

// #include "shim.h"
import "C"

import (
	"fmt"
	"math"
	"runtime"
)

// Group is an open group. Names passed to its methods may be paths, for example "a/b/c". Absolute
// paths start at the root of the file.
type Group struct{ object }

// CreationOrder selects whether an object records the order in which its links or attributes were
// created (H5P_CRT_ORDER_…).
type CreationOrder int

// The settings of creation order.
const (
	NoCreationOrder      CreationOrder = iota
	TrackCreationOrder                 // each link has a number; listing in creation order sorts
	IndexedCreationOrder               // tracked, with an index by number
)

func (o CreationOrder) flags() C.uint64_t {
	return [...]C.uint64_t{0, C.H5P_CRT_ORDER_TRACKED, C.H5P_CRT_ORDER_TRACKED | C.H5P_CRT_ORDER_INDEXED}[o]
}

func creationOrder(flags C.uint64_t) CreationOrder {
	switch {
	case flags&C.H5P_CRT_ORDER_INDEXED != 0:
		return IndexedCreationOrder
	case flags&C.H5P_CRT_ORDER_TRACKED != 0:
		return TrackCreationOrder
	default:
		return NoCreationOrder
	}
}

// PhaseChange is the pair of thresholds at which a group moves its links, or an object its
// attributes, from its header to an index and back (H5Pset_link_phase_change).
type PhaseChange struct {
	MaxCompact int // maximum number in the header; 0 to 65535, libhdf5's default is 8
	MinDense   int // minimum number in the index; at most MaxCompact, libhdf5's default is 6
}

func (p *PhaseChange) check(what string) error {
	if p == nil || (p.MaxCompact >= 0 && p.MaxCompact <= math.MaxUint16 && p.MinDense >= 0 && p.MinDense <= math.MaxUint16 &&
		p.MinDense <= p.MaxCompact) {
		return nil
	}
	return fmt.Errorf("%w: %s compact up to %d, dense from %d", ErrParam, what, p.MaxCompact, p.MinDense)
}

// GroupOptions are the options for the creation of a group. A nil *GroupOptions means
// GroupOptions{}, which is libhdf5's default without object times.
//
// All fields except Times and LocalHeap apply to groups of the 1.8 format. A group has this format
// if the file was created with Low V18 or later, or if its links have a creation order or filters.
type GroupOptions struct {
	Order  CreationOrder // of links
	Phase  *PhaseChange  // of links; nil: 8 and 6
	Expect *LinkEstimate // links to reserve header space for; nil: 4 links of 8 bytes

	LocalHeap int64 // bytes to reserve in the name heap of the old format; 0: libhdf5's default

	// Filters of the link storage of a dense group.
	Deflate    *int // zlib level, 0 to 9; nil: no compression
	Fletcher32 bool

	AttributeOrder CreationOrder
	AttributePhase *PhaseChange // nil: 8 and 6
	Times          bool         // record when the group was accessed, modified and created
}

// LinkEstimate is the expected number of links of a group and the length of their names in bytes
// (H5Pset_est_link_info).
type LinkEstimate struct{ Links, NameLen int }

// validate returns an error for the first invalid option. It wraps ErrParam.
func (o GroupOptions) validate() error {
	for _, order := range []CreationOrder{o.Order, o.AttributeOrder} {
		if order < NoCreationOrder || order > IndexedCreationOrder {
			return fmt.Errorf("%w: creation order %d", ErrParam, order)
		}
	}
	if err := o.Phase.check("links"); err != nil {
		return err
	}
	if err := o.AttributePhase.check("attributes"); err != nil {
		return err
	}
	if e := o.Expect; e != nil && (e.Links < 0 || e.Links > math.MaxUint16 || e.NameLen < 0 || e.NameLen > math.MaxUint16) {
		return fmt.Errorf("%w: %d links with names of %d bytes expected, want at most 65535", ErrParam, e.Links, e.NameLen)
	}
	if o.LocalHeap < 0 || o.LocalHeap > math.MaxUint32 {
		return fmt.Errorf("%w: local heap of %d bytes", ErrParam, o.LocalHeap)
	}
	if o.Deflate != nil && (*o.Deflate < 0 || *o.Deflate > 9) {
		return fmt.Errorf("%w: deflate level %d", ErrParam, *o.Deflate)
	}
	return nil
}

// words encodes the options as group_spec_t of shim_group.c.
func (o *GroupOptions) words() [C.GOH5_GROUP_WORDS]C.uint64_t {
	var w [C.GOH5_GROUP_WORDS]C.uint64_t
	truth := func(b bool) C.uint64_t {
		if b {
			return 1
		}
		return 0
	}
	w[0], w[8] = o.Order.flags(), o.AttributeOrder.flags()
	if p := o.Phase; p != nil {
		w[1], w[2], w[3] = 1, C.uint64_t(p.MaxCompact), C.uint64_t(p.MinDense)
	}
	if e := o.Expect; e != nil {
		w[4], w[5], w[6] = 1, C.uint64_t(e.Links), C.uint64_t(e.NameLen)
	}
	w[7] = C.uint64_t(o.LocalHeap)
	if p := o.AttributePhase; p != nil {
		w[9], w[10], w[11] = 1, C.uint64_t(p.MaxCompact), C.uint64_t(p.MinDense)
	}
	w[12], w[14] = truth(o.Times), truth(o.Fletcher32)
	if o.Deflate != nil {
		w[13] = C.uint64_t(*o.Deflate) + 1
	}
	return w
}

func groupOptions(w [C.GOH5_GROUP_WORDS]C.uint64_t) GroupOptions {
	o := GroupOptions{
		Order: creationOrder(w[0]), Phase: &PhaseChange{int(w[2]), int(w[3])}, Expect: &LinkEstimate{int(w[5]), int(w[6])},
		LocalHeap: int64(w[7]), AttributeOrder: creationOrder(w[8]), AttributePhase: &PhaseChange{int(w[10]), int(w[11])},
		Times: w[12] != 0, Fletcher32: w[14] != 0,
	}
	if w[13] != 0 {
		level := int(w[13]) - 1
		o.Deflate = &level
	}
	return o
}

// OpenGroup opens the group called name (H5Gopen2). It returns ErrNotFound, or a libhdf5 error if
// name is not a group.
func (g *Group) OpenGroup(name string) (*Group, error) {
	const op = "open group"
	path := g.join(name)
	cname, _, err := cName(op, path, name)
	if err != nil {
		return nil, err
	}
	return g.group(op, path, func(loc C.int64_t, cerr *C.goh5_err_t, id *C.int64_t) C.int {
		return C.goh5_gopen(cerr, loc, cname, id)
	})
}

// CreateGroup makes a group and the missing groups on its path (H5Gcreate2). It returns ErrExists
// or ErrReadOnly.
func (g *Group) CreateGroup(name string) (*Group, error) { return g.CreateGroupWith(name, nil) }

// CreateGroupWith is CreateGroup with options, which do not apply to the missing groups on the
// path. It also returns ErrParam for invalid options.
func (g *Group) CreateGroupWith(name string, o *GroupOptions) (*Group, error) {
	const op = "create group"
	path := g.join(name)
	words, err := g.groupWords(op, path, o)
	if err != nil {
		return nil, err
	}
	cname, utf8, err := cName(op, path, name)
	if err != nil {
		return nil, err
	}
	return g.group(op, path, func(loc C.int64_t, cerr *C.goh5_err_t, id *C.int64_t) C.int {
		return C.goh5_gcreate(cerr, loc, cname, utf8, &words[0], id)
	})
}

// CreateAnonymousGroup makes a group without a link, and therefore without a path (H5Gcreate_anon).
// Closing the group deletes it unless LinkObject has linked it.
func (g *Group) CreateAnonymousGroup(o *GroupOptions) (*Group, error) {
	const op = "create group"
	words, err := g.groupWords(op, g.path, o)
	if err != nil {
		return nil, err
	}
	return g.group(op, "", func(loc C.int64_t, cerr *C.goh5_err_t, id *C.int64_t) C.int {
		return C.goh5_gcreate(cerr, loc, nil, 0, &words[0], id)
	})
}

func (g *Group) groupWords(op, path string, o *GroupOptions) (words [C.GOH5_GROUP_WORDS]C.uint64_t, err error) {
	if err := g.writable(op, path); err != nil {
		return words, err
	}
	var opts GroupOptions
	if o != nil {
		opts = *o
	}
	if err := opts.validate(); err != nil {
		return words, &Error{Op: op, Path: path, Err: err}
	}
	return opts.words(), nil
}

// group calls shim, which opens a group, and makes the owner of its id.
func (o *object) group(op, path string, shim func(loc C.int64_t, cerr *C.goh5_err_t, id *C.int64_t) C.int) (*Group, error) {
	lock()
	defer unlock()
	loc, err := o.h.idLocked(op, path)
	if err != nil {
		return nil, err
	}
	var cerr C.goh5_err_t
	var id C.int64_t
	rc := shim(loc, &cerr, &id)
	runtime.KeepAlive(o)
	if rc < 0 {
		return nil, newError(op, path, rc, &cerr)
	}
	return &Group{object{h: newHandleLocked(o.h.ids, id), file: o.file, path: path}}, nil
}

// GroupStorage is the form in which a group stores its links (H5G_storage_type_t).
type GroupStorage int

// The storage forms, with libhdf5's numbers.
const (
	SymbolTable  GroupStorage = iota // the old format: a B-tree and a heap of names
	CompactLinks                     // in the object header
	DenseLinks                       // in a heap, with an index by name and optionally one by creation order
)

func (s GroupStorage) String() string {
	return pick(int(s), "symbol table", "compact", "dense")
}

// GroupInfo describes a group.
type GroupInfo struct {
	Storage  GroupStorage
	Links    int64
	MaxOrder int64        // number of the next link, if creation order is tracked
	Mounted  bool         // another file is mounted on it
	Options  GroupOptions // options of the group; for a symbol table those of the 1.8 format are defaults
}

// Info describes how the group is stored (H5Gget_info, H5Gget_create_plist).
func (g *Group) Info() (GroupInfo, error) {
	const op = "describe group"
	dot, err := cString(op, g.path, ".")
	if err != nil {
		return GroupInfo{}, err
	}
	var out [4]C.uint64_t
	var words [C.GOH5_GROUP_WORDS]C.uint64_t
	err = g.run(op, g.path, func(loc C.int64_t, cerr *C.goh5_err_t) C.int {
		return C.goh5_ginfo(cerr, loc, dot, &out[0], &words[0])
	})
	if err != nil {
		return GroupInfo{}, err
	}
	return GroupInfo{
		Storage: GroupStorage(out[0]), Links: int64(out[1]), MaxOrder: int64(out[2]), Mounted: out[3] != 0, Options: groupOptions(words),
	}, nil
}
