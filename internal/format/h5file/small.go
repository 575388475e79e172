// Small messages: link info, group info, attribute info, comment, times, K values, reference count,
// file space, and so on (File Format, IV.A.2).

package h5file

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/hyperslab/hyperslab/internal/format"
)

// LinkInfo is the location of the links of a new-style group that are not in the header (message
// 0x0002).
type LinkInfo struct {
	OrderTracked bool
	OrderIndexed bool
	MaxOrder     uint64 // one more than the highest creation order, if tracked
	Heap         Addr   // fractal heap of the links; undefined if they are in the header
	NameIndex    Addr   // version 2 B-tree indexed by name
	OrderIndex   Addr   // version 2 B-tree indexed by creation order
}

func (p *part) linkInfo() *LinkInfo {
	l := &LinkInfo{OrderIndex: Undefined}
	v := p.u8("version")
	p.version(v, 0, 0)
	flags := p.u8("flags")
	p.flags(flags, 3)
	l.OrderTracked, l.OrderIndexed = flags&1 != 0, flags&2 != 0
	if l.OrderTracked {
		l.MaxOrder = p.u64("maximum creation index")
		p.check(l.MaxOrder <= math.MaxInt64, l.MaxOrder, "less than 2^63")
	}
	l.Heap = p.addr("fractal heap address")
	l.NameIndex = p.addr("address of v2 B-tree for name index")
	if l.OrderIndexed {
		l.OrderIndex = p.addr("address of v2 B-tree for creation order index")
	}
	return l
}

// GroupInfo contains the creation parameters of a new-style group (message 0x000A).
type GroupInfo struct {
	MaxCompact, MinDense    uint16 // links; 8 and 6 unless stored
	EstEntries, EstNameSize uint16 // 4 and 8 unless stored
}

func (p *part) groupInfo() *GroupInfo {
	g := &GroupInfo{MaxCompact: 8, MinDense: 6, EstEntries: 4, EstNameSize: 8}
	v := p.u8("version")
	p.version(v, 0, 0)
	flags := p.u8("flags")
	p.flags(flags, 3)
	if flags&1 != 0 {
		g.MaxCompact = p.u16("link phase change: maximum compact value")
		g.MinDense = p.u16("link phase change: minimum dense value")
	}
	if flags&2 != 0 {
		g.EstEntries = p.u16("estimated number of entries")
		g.EstNameSize = p.u16("estimated link name length of entries")
	}
	return g
}

// AttributeInfo is the location of the attributes of an object that are not in the header (message
// 0x0015).
type AttributeInfo struct {
	OrderTracked bool
	OrderIndexed bool
	MaxOrder     uint16 // one more than the highest creation order, if tracked
	Heap         Addr   // fractal heap of the attributes; undefined if they are in the header
	NameIndex    Addr   // version 2 B-tree indexed by name
	OrderIndex   Addr   // version 2 B-tree indexed by creation order
}

func (p *part) attributeInfo() *AttributeInfo {
	a := &AttributeInfo{OrderIndex: Undefined}
	v := p.u8("version")
	p.version(v, 0, 0)
	flags := p.u8("flags")
	p.flags(flags, 3)
	a.OrderTracked, a.OrderIndexed = flags&1 != 0, flags&2 != 0
	if a.OrderTracked {
		a.MaxOrder = p.u16("maximum creation index")
	}
	a.Heap = p.addr("fractal heap address")
	a.NameIndex = p.addr("attribute name v2 B-tree address")
	if a.OrderIndexed {
		a.OrderIndex = p.addr("attribute creation order v2 B-tree address")
	}
	return a
}

// Bogus is a message that libhdf5 uses to test unknown messages (message 0x0009).
type Bogus struct{ Value uint32 }

func (p *part) bogus() *Bogus {
	b := &Bogus{Value: p.u32("bogus value")}
	p.hex()
	p.check(b.Value == 0xdeadbeef, fmt.Sprintf("%#x", b.Value), "0xdeadbeef")
	return b
}

// Comment is a comment on an object (message 0x000D).
type Comment struct{ Text string }

// ModTime is the modification time of an object (messages 0x000E and 0x0012).
type ModTime struct{ Time time.Time }

// String returns the time in RFC 3339 format.
func (m *ModTime) String() string { return m.Time.UTC().Format(time.RFC3339) }

func (p *part) modTime() *ModTime {
	v := p.u8("version")
	p.version(v, 1, 1)
	p.reserved(3)
	return &ModTime{Time: time.Unix(int64(p.u32("seconds after UNIX epoch")), 0)}
}

func (p *part) oldModTime() *ModTime {
	s := p.text("year, month, day, hour, minute, second", 14)
	p.reserved(min(2, p.rest()))
	if !p.ok() {
		return &ModTime{}
	}
	if strings.Trim(s, "0123456789") != "" {
		p.complain(format.ErrCorrupt, "time", fmt.Sprintf("%q", s), "fourteen digits")
		return &ModTime{}
	}
	// As in libhdf5, month 13 is January of the next year.
	n := func(i, k int) (v int) {
		for _, c := range s[i : i+k] {
			v = 10*v + int(c-'0')
		}
		return v
	}
	return &ModTime{Time: time.Date(n(0, 4), time.Month(n(4, 2)), n(6, 2), n(8, 2), n(10, 2), n(12, 2), 0, time.UTC)}
}

// SharedMessageTable is the location of the table of shared messages (message 0x000F).
type SharedMessageTable struct {
	Addr    Addr
	Indexes uint8 // at most 8
}

func (p *part) sharedMessageTable() *SharedMessageTable {
	v := p.u8("version")
	p.version(v, 0, 0)
	s := &SharedMessageTable{Addr: p.addr("shared object header message table address")}
	s.Indexes = p.u8("number of indices")
	p.check(s.Indexes >= 1 && s.Indexes <= 8, s.Indexes, "1 to 8")
	return s
}

// Continuation is the location of a further chunk of an object header (message 0x0010).
type Continuation struct {
	Addr   Addr
	Length uint64 // bytes
}

// SymbolTable is the location of the links of an old-style group (message 0x0011).
type SymbolTable struct {
	BTree Addr // version 1 B-tree of symbol table nodes
	Heap  Addr // local heap of the names
}

func (p *part) btreeK() *BTreeK {
	v := p.u8("version")
	p.version(v, 0, 0)
	k := &BTreeK{}
	k.Chunk = p.u16("indexed storage internal node K")
	p.check(k.Chunk > 0, k.Chunk, "at least 1")
	k.Group = p.u16("group internal node K")
	p.check(k.Group > 0, k.Group, "at least 1")
	k.Leaf = p.u16("group leaf node K")
	p.check(k.Leaf > 0, k.Leaf, "at least 1")
	return k
}

func (p *part) driverInfo() *DriverInfo {
	v := p.u8("version")
	p.version(v, 0, 0)
	id := p.text("driver identification", 8)
	n := p.u16("driver information size")
	p.check(n > 0, n, "at least 1")
	if p.ok() && int(n) > p.rest() {
		p.bad(fmt.Sprint(n), fmt.Sprintf("at most %d", p.rest()))
		return &DriverInfo{ID: id}
	}
	return p.driverData(id, min(int(n), p.rest()))
}

// RefCount is the number of hard links to an object of version 2 (message 0x0016).
type RefCount struct{ Count uint32 }

func (p *part) refCount(o *Object) *RefCount {
	v := p.u8("version")
	p.version(v, 0, 0)
	c := &RefCount{Count: p.u32("reference count")}
	if o != nil && o.Version == 1 {
		p.bad("the message in an object header of version 1", "version 2")
	} else if o != nil && p.ok() {
		o.RefCount = c.Count
	}
	return c
}

// SpaceStrategy is the strategy of a file's free space management (H5F_fspace_strategy_t).
type SpaceStrategy uint8

// Strategies. Version 0 of the message, of HDF5 1.9, has other numbers, which are converted as in
// libhdf5.
const (
	FreeSpaceAndAggregators SpaceStrategy = iota
	Paged
	Aggregators
	NoSpaceManagement
)

// String returns the name of the strategy.
func (s SpaceStrategy) String() string {
	if s > NoSpaceManagement {
		return fmt.Sprintf("strategy %d", uint8(s))
	}
	return [...]string{"free-space managers and aggregators", "paged", "aggregators", "none"}[s]
}

// FileSpaceInfo contains the parameters of the file's free space management (message 0x0017, which
// the specification lists as 0x0018).
type FileSpaceInfo struct {
	Version   uint8 // 0 or 1
	Strategy  SpaceStrategy
	Persist   bool   // the free-space managers are stored
	Threshold uint64 // minimum size of tracked sections in bytes
	PageSize  uint64 // bytes; at least 512
	PageEnd   uint16 // bytes at the end of a page of metadata that are not tracked
	EOA       Addr   // end of the allocated file before the managers were stored
	// Managers are the addresses of the free-space managers. Version 0 has six, one per kind of
	// data. Version 1 has twelve: six for small sections and six for large ones.
	Managers []Addr
}

func (p *part) fileSpaceInfo() *FileSpaceInfo {
	s := &FileSpaceInfo{Version: p.u8("version"), PageSize: 4096, EOA: Undefined}
	if !p.version(s.Version, 0, 1) {
		return s
	}
	if s.Version == 0 {
		p.fileSpaceInfo0(s)
		return s
	}
	s.Strategy = SpaceStrategy(p.u8("strategy"))
	p.check(s.Strategy <= NoSpaceManagement, uint8(s.Strategy), "0 to 3")
	p.mean("%s", s.Strategy)
	persist := p.u8("persisting free space")
	p.check(persist <= 1, persist, "0 or 1")
	s.Persist = persist != 0
	s.Threshold = p.length("free space section threshold")
	s.PageSize = p.length("file space page size")
	p.check(s.PageSize >= 512, s.PageSize, "at least 512")
	s.PageEnd = p.u16("page end metadata threshold")
	s.EOA = p.addr("EOA before free-space managers")
	if s.Persist {
		p.managers(s, 12)
	}
	return s
}

// fileSpaceInfo0 reads version 0, which HDF5 1.9 wrote (H5Ofsinfo.c).
func (p *part) fileSpaceInfo0(s *FileSpaceInfo) {
	old := p.u8("strategy")
	s.Threshold = p.length("free space section threshold")
	switch old {
	case 1:
		s.Strategy, s.Persist = FreeSpaceAndAggregators, true
		p.managers(s, 6)
	case 2:
		s.Strategy = FreeSpaceAndAggregators
	case 3:
		s.Strategy = Aggregators
	case 4:
		s.Strategy = NoSpaceManagement
	default:
		p.bad(fmt.Sprintf("strategy %d", old), "1 to 4")
	}
}

func (p *part) managers(s *FileSpaceInfo, n int) {
	for i := range n {
		a := p.addr("address of free-space manager")
		p.mean("%s", allocationName(i))
		s.Managers = append(s.Managers, a)
	}
}

// allocationName returns the kind of data of free-space manager i (H5F_mem_page_t).
func allocationName(i int) string {
	name := [...]string{"superblock", "B-trees", "raw data", "global heaps", "local heaps", "object headers"}[i%6]
	if i >= 6 {
		return name + ", large sections"
	}
	return name
}

// CacheImage is the location of an image of the metadata cache (message 0x0018).
type CacheImage struct {
	Addr   Addr
	Length uint64 // bytes
}

func (p *part) cacheImage() *CacheImage {
	v := p.u8("version")
	p.version(v, 0, 0)
	return &CacheImage{Addr: p.addr("address"), Length: p.length("length")}
}
