// File creation options. They are fixed when a file is created, and stored in its superblock and
// root group.

package h5

// #include "shim.h"
import "C"

import (
	"cmp"
	"errors"
	"fmt"
)

// FileCreation contains the options for the layout of a new file (H5P_FILE_CREATE). A nil
// *FileCreation means DefaultFileCreation(). In a non-nil one, 0 means the default for the sizes,
// the K fields, Space.Threshold and Space.PageSize. The other fields are used as they are.
type FileCreation struct {
	UserBlock   int64 // bytes before the HDF5 data for the caller: 0, or a power of two from 512
	OffsetSize  int   // bytes of an address: 2, 4, 8 or 16; 0: 8
	LengthSize  int   // bytes of a length: 2, 4, 8 or 16; 0: 8
	GroupLeafK  int   // half the entries of a symbol table node of an old-format group; 0: 4
	GroupTreeK  int   // half the entries of a B-tree node of an old-format group; 0: 16
	ChunkTreeK  int   // half the entries of a node of a version 1 chunk B-tree; 0: 32
	Space       FileSpace
	Shared      []SharedMessages // at most 8 indexes of shared header messages; nil: no sharing
	SharedPhase PhaseChange      // when the list of shared messages becomes a tree; default 50 and 40, zero: always a tree

	// Options of the root group.
	LinkPhase PhaseChange // when links move from the header to dense storage; default 8 and 6, zero: at once
	LinkOrder CreationOrder
	AttrPhase PhaseChange   // when attributes move from header to dense storage; default 8 and 6, zero: at once
	AttrOrder CreationOrder // must be at least TrackCreationOrder if attributes are shared
	// Times stores creation and modification times. It is libhdf5's default, but makes the bytes of
	// the file depend on the time of creation.
	Times bool
}

// FileSpace configures the reuse of the space of deleted objects (H5Pset_file_space_strategy,
// H5Pset_file_space_page_size).
type FileSpace struct {
	Strategy  SpaceStrategy
	Persist   bool  // store the list of free space in the file when it is closed
	Threshold int64 // bytes; smaller free sections are not tracked; 0: 1
	PageSize  int64 // bytes of a page with strategy Paged: at least 512; 0: 4096
}

// SpaceStrategy is the strategy for allocating file space (H5F_fspace_strategy_t).
type SpaceStrategy int

// Strategies.
const (
	FreeListAggregate SpaceStrategy = iota // free lists, and blocks for small objects
	Paged                                  // free lists within pages
	Aggregate                              // blocks for small objects only
	NoReuse                                // always allocate at the end of the file
)

// SharedMessages is an index of header messages that are stored once and shared by several objects
// (H5Pset_shared_mesg_index).
type SharedMessages struct {
	Types    SharedTypes
	MinBytes int // smaller messages are not shared
}

// SharedTypes is a set of message kinds (H5O_SHMESG_…_FLAG).
type SharedTypes uint

// Message kinds that can be shared.
const (
	SharedDataspaces SharedTypes = 0x2
	SharedDatatypes  SharedTypes = 0x8
	SharedFills      SharedTypes = 0x20
	SharedFilters    SharedTypes = 0x800
	SharedAttributes SharedTypes = 0x1000
	SharedAll                    = SharedDataspaces | SharedDatatypes | SharedFills | SharedFilters | SharedAttributes
)

// DefaultFileCreation returns libhdf5's defaults, except that times are not stored. Without times,
// equal input produces equal files.
func DefaultFileCreation() FileCreation {
	return FileCreation{
		OffsetSize: 8, LengthSize: 8, GroupLeafK: 4, GroupTreeK: 16, ChunkTreeK: 32,
		Space:       FileSpace{Threshold: 1, PageSize: 4096},
		SharedPhase: PhaseChange{50, 40}, LinkPhase: PhaseChange{8, 6}, AttrPhase: PhaseChange{8, 6},
	}
}

// filled returns a copy of c with the defaults, and DefaultFileCreation() for nil.
func (c *FileCreation) filled() FileCreation {
	d := DefaultFileCreation()
	if c == nil {
		return d
	}
	f := *c
	f.OffsetSize, f.LengthSize = cmp.Or(c.OffsetSize, d.OffsetSize), cmp.Or(c.LengthSize, d.LengthSize)
	f.GroupLeafK, f.GroupTreeK = cmp.Or(c.GroupLeafK, d.GroupLeafK), cmp.Or(c.GroupTreeK, d.GroupTreeK)
	f.ChunkTreeK = cmp.Or(c.ChunkTreeK, d.ChunkTreeK)
	f.Space.Threshold, f.Space.PageSize = cmp.Or(c.Space.Threshold, d.Space.Threshold), cmp.Or(c.Space.PageSize, d.Space.PageSize)
	return f
}

// validate reports every invalid field. Each error wraps ErrParam.
func (c FileCreation) validate() error {
	c = c.filled()
	var errs []error
	check := func(ok bool, field string, v any) {
		if !ok {
			errs = append(errs, fmt.Errorf("%w: %s = %+v", ErrParam, field, v))
		}
	}
	size := func(n int) bool { return n == 2 || n == 4 || n == 8 || n == 16 }
	k := func(n int) bool { return n >= 1 && n < 1<<15 }
	check(c.UserBlock == 0 || c.UserBlock >= 512 && c.UserBlock&(c.UserBlock-1) == 0, "UserBlock", c.UserBlock)
	check(size(c.OffsetSize), "OffsetSize", c.OffsetSize)
	check(size(c.LengthSize), "LengthSize", c.LengthSize)
	check(k(c.GroupLeafK), "GroupLeafK", c.GroupLeafK)
	check(k(c.GroupTreeK), "GroupTreeK", c.GroupTreeK)
	check(k(c.ChunkTreeK), "ChunkTreeK", c.ChunkTreeK)
	check(c.Space.Strategy >= FreeListAggregate && c.Space.Strategy <= NoReuse, "Space.Strategy", c.Space.Strategy)
	check(c.Space.Threshold >= 1, "Space.Threshold", c.Space.Threshold)
	check(c.Space.PageSize >= 512 && c.Space.PageSize <= 1<<30, "Space.PageSize", c.Space.PageSize)
	check(len(c.Shared) <= 8, "Shared", c.Shared)
	var seen SharedTypes
	for _, s := range c.Shared {
		check(s.Types != 0 && s.Types&^SharedAll == 0 && s.Types&seen == 0 && s.MinBytes >= 0, "Shared", s)
		seen |= s.Types
	}
	order := func(o CreationOrder) bool { return o >= NoCreationOrder && o <= IndexedCreationOrder }
	check(order(c.LinkOrder), "LinkOrder", c.LinkOrder)
	check(order(c.AttrOrder), "AttrOrder", c.AttrOrder)
	return errors.Join(append(errs, c.SharedPhase.check("shared messages"), c.LinkPhase.check("links"), c.AttrPhase.check("attributes"))...)
}

func (p PhaseChange) append(b []byte) []byte {
	return appendInt(appendInt(b, int64(p.MaxCompact)), int64(p.MinDense))
}

func (r *reader) phaseChange() PhaseChange { return PhaseChange{int(r.int()), int(r.int())} }

func (r *reader) creationOrder() CreationOrder { return creationOrder(C.uint64_t(r.word())) }

func (c FileCreation) append(b []byte) []byte {
	b = appendInt(b, c.UserBlock)
	for _, n := range []int{c.OffsetSize, c.LengthSize, c.GroupLeafK, c.GroupTreeK, c.ChunkTreeK} {
		b = appendInt(b, int64(n))
	}
	b = appendBool(appendInt(b, int64(c.Space.Strategy)), c.Space.Persist)
	b = appendInt(appendInt(b, c.Space.Threshold), c.Space.PageSize)
	b = appendInt(b, int64(len(c.Shared)))
	for _, s := range c.Shared {
		b = appendInt(appendInt(b, int64(s.Types)), int64(s.MinBytes))
	}
	b = c.SharedPhase.append(b)
	b = appendInt(c.LinkPhase.append(b), int64(c.LinkOrder.flags()))
	b = appendInt(c.AttrPhase.append(b), int64(c.AttrOrder.flags()))
	return appendBool(b, c.Times)
}

// Creation returns the creation options of the file (H5Fget_create_plist and the H5Pget_… functions
// for file creation lists; H5Gget_create_plist for the root group).
func (f *File) Creation() (FileCreation, error) {
	r, err := f.ask("describe file", askCreation)
	if err != nil {
		return FileCreation{}, err
	}
	c := FileCreation{
		UserBlock: r.int(), OffsetSize: int(r.int()), LengthSize: int(r.int()),
		GroupLeafK: int(r.int()), GroupTreeK: int(r.int()), ChunkTreeK: int(r.int()),
		Space: FileSpace{Strategy: SpaceStrategy(r.int()), Persist: r.bool(), Threshold: r.int(), PageSize: r.int()},
	}
	for range r.word() {
		c.Shared = append(c.Shared, SharedMessages{Types: SharedTypes(r.word()), MinBytes: int(r.int())})
	}
	c.SharedPhase = r.phaseChange()
	c.LinkPhase, c.LinkOrder = r.phaseChange(), r.creationOrder()
	c.AttrPhase, c.AttrOrder = r.phaseChange(), r.creationOrder()
	c.Times = r.bool()
	return c, nil
}
