// Data layouts, versions 1 to 5 (File Format, IV.A.2.i). Version 5, of HDF5 2.0, is version 4 with
// wider sizes of filtered chunks in the indexes.

package h5file

import (
	"fmt"

	"github.com/hyperslab/hyperslab/internal/format"
)

// LayoutClass is the storage class of the elements.
type LayoutClass uint8

// Classes of layouts.
const (
	Compact    LayoutClass = iota // in the message
	Contiguous                    // in one contiguous range
	Chunked                       // in chunks of equal shape, with an index
	Virtual                       // in other datasets
)

// String returns the name of the class.
func (c LayoutClass) String() string {
	if c > Virtual {
		return fmt.Sprintf("layout class %d", uint8(c))
	}
	return [...]string{"compact", "contiguous", "chunked", "virtual"}[c]
}

// IndexType is the type of a chunk index.
type IndexType uint8

// Types of chunk indexes. Versions 1 to 3 of the layout have only BTree1Index.
const (
	BTree1Index IndexType = iota
	SingleIndex
	ImplicitIndex
	FixedArrayIndex
	ExtensibleArrayIndex
	BTree2Index
)

// String returns the name of the index type.
func (t IndexType) String() string {
	if t > BTree2Index {
		return fmt.Sprintf("index type %d", uint8(t))
	}
	return [...]string{"version 1 B-tree", "single chunk", "implicit", "fixed array", "extensible array", "version 2 B-tree"}[t]
}

// Flags of a chunked layout of version 4.
const (
	PartialChunksUnfiltered = 1 // chunks at the edges are not filtered
	SingleChunkFiltered     = 2 // the single chunk has a size and a mask
)

// Layout is the data layout message: the storage of the elements of a dataset.
type Layout struct {
	Version uint8
	Class   LayoutClass
	Addr    Addr   // address of contiguous elements, or of the chunk index
	Size    uint64 // bytes of contiguous elements, in version 3 and later
	Data    []byte // elements of a compact layout
	DataAt  int64  // bytes from the start of the file to Data
	// Dims are the dimensions of a chunk in elements, followed by the size of an element in bytes.
	// In versions 1 and 2 the other classes have the dimensions of the dataset here.
	Dims          []uint64
	ElementAt     int64 // bytes from the start of the file to the size of an element of chunks
	ElementLength int   // bytes of this field
	Flags         uint8 // of chunked layouts, in version 4 and later
	Index         IndexType

	SingleSize uint64 // bytes of the filtered single chunk
	SingleMask uint32 // its filter mask
	PageBits   uint8  // fixed and extensible array
	Array      ArrayParams
	NodeSize   uint32 // version 2 B-tree
	Split      uint8  // percent
	Merge      uint8  // percent

	Heap      Addr   // global heap of a virtual dataset's mappings
	HeapIndex uint32 // index of the object in it
}

// ArrayParams are the parameters of an extensible array.
type ArrayParams struct {
	MaxBits      uint8 // bits of the maximum number of elements
	IndexElems   uint8 // elements in the index block
	MinPointers  uint8 // data block pointers of the smallest secondary block
	MinElems     uint8 // elements of the smallest data block
	PageElemBits uint8 // bits of the elements of a page of a data block
}

// ChunkBytes returns the size of an unfiltered chunk in bytes; false if it is 2^64 or more.
func (l *Layout) ChunkBytes() (uint64, bool) { return product(l.Dims) }

// String returns a short description of the layout.
func (l *Layout) String() string {
	switch l.Class {
	case Compact:
		return fmt.Sprintf("compact, %d bytes", len(l.Data))
	case Contiguous:
		return "contiguous at " + l.Addr.String()
	case Chunked:
		return fmt.Sprintf("chunks %v, %s", l.Dims, l.Index)
	}
	return l.Class.String()
}

func (p *part) layout() *Layout {
	l := &Layout{Addr: Undefined, Heap: Undefined}
	l.Version = p.u8("version")
	if !p.version(l.Version, 1, 5) {
		return l
	}
	if l.Version < 3 {
		p.layout1(l)
		return l
	}
	l.Class = LayoutClass(p.u8("layout class"))
	p.mean("%s", l.Class)
	switch l.Class {
	case Compact:
		p.compact(l, int(p.u16("size")))
	case Contiguous:
		l.Addr = p.addr("address")
		l.Size = p.length("size")
	case Chunked:
		if l.Version == 3 {
			p.chunked3(l)
		} else {
			p.chunked4(l)
		}
	case Virtual:
		if l.Version < 4 {
			p.badAs(format.ErrVersion, "a virtual layout of version 3", "version 4")
		}
		l.Heap = p.addr("global heap address")
		l.HeapIndex = p.u32("index")
	default:
		p.bad(l.Class.String(), "0 to 3")
	}
	return l
}

func (p *part) layout1(l *Layout) {
	n := int(p.u8("dimensionality"))
	p.check(n >= 1 && n <= MaxRank+1, n, "1 to 33")
	l.Class = LayoutClass(p.u8("layout class"))
	p.mean("%s", l.Class)
	p.check(l.Class <= Chunked, uint8(l.Class), "0 to 2")
	p.reserved(5)
	if l.Class != Compact {
		l.Addr = p.addr("data address")
	}
	if l.Class == Chunked {
		p.chunkDims(l, n, 4)
		return
	}
	for range n {
		l.Dims = append(l.Dims, uint64(p.u32("dimension size")))
	}
	if l.Class == Compact {
		p.compact(l, int(min(p.u32("compact data size"), 1<<31-1)))
	}
}

func (p *part) compact(l *Layout, n int) {
	if p.ok() && !p.check(n <= p.rest(), n, fmt.Sprintf("at most %d, the bytes there are", p.rest())) {
		p.ended = true
		return
	}
	l.DataAt = p.offset(p.pos)
	l.Data = p.bytes("raw data", n)
}

// chunkDims reads the dimensions of a chunk, size bytes each.
func (p *part) chunkDims(l *Layout, n, size int) {
	if !p.check(n >= 2 && n <= MaxRank+1, fmt.Sprintf("%d dimensions", n), "2 to 33") {
		p.ended = true
		return
	}
	for range n {
		l.ElementAt, l.ElementLength = p.stored(p.pos), size
		d := p.uint("dimension size", size)
		p.check(d > 0, d, "at least 1")
		l.Dims = append(l.Dims, d)
	}
	bytes, ok := l.ChunkBytes()
	switch {
	case ok && bytes < 1<<32:
	case l.Version >= 5: // valid in HDF5 2.0 and later
		p.badAs(format.ErrLimit, fmt.Sprintf("chunks of %v bytes", l.Dims), "fewer than 2^32 bytes")
	default:
		// libhdf5 multiplies 32-bit numbers and stores a chunk's size in 32 bits.
		p.bad(fmt.Sprintf("chunks of %v bytes", l.Dims), "fewer than 2^32 bytes")
	}
}

func (p *part) chunked3(l *Layout) {
	n := int(p.u8("dimensionality"))
	l.Addr = p.addr("address")
	p.chunkDims(l, n, 4)
}

func (p *part) chunked4(l *Layout) {
	l.Flags = p.u8("flags")
	p.flags(l.Flags, PartialChunksUnfiltered|SingleChunkFiltered)
	n := int(p.u8("dimensionality"))
	size := int(p.u8("dimension size encoded length"))
	if !p.check(size >= 1 && size <= 8, size, "1 to 8") {
		p.ended = true
		return
	}
	p.chunkDims(l, n, size)
	l.Index = IndexType(p.u8("chunk indexing type"))
	p.mean("%s", l.Index)
	atLeastOne := func(name string) uint8 {
		v := p.u8(name)
		p.check(v > 0, v, "at least 1")
		return v
	}
	switch l.Index {
	case SingleIndex:
		if l.Flags&SingleChunkFiltered != 0 {
			l.SingleSize = p.length("size of filtered chunk")
			p.check(l.SingleSize < 1<<32, l.SingleSize, "below 2^32")
			l.SingleMask = p.u32("filters for chunk")
			p.hex()
		}
	case ImplicitIndex:
	case FixedArrayIndex:
		l.PageBits = atLeastOne("page bits")
	case ExtensibleArrayIndex:
		l.Array.MaxBits = atLeastOne("max bits")
		l.Array.IndexElems = atLeastOne("index elements")
		l.Array.MinPointers = atLeastOne("min pointers")
		l.Array.MinElems = atLeastOne("min elements")
		l.Array.PageElemBits = atLeastOne("page bits")
	case BTree2Index:
		l.NodeSize = p.u32("node size")
		l.Split = p.u8("split percent")
		p.check(l.Split >= 1 && l.Split <= 100, l.Split, "1 to 100")
		l.Merge = p.u8("merge percent")
		p.check(l.Merge >= 1 && l.Merge <= 100, l.Merge, "1 to 100")
	default:
		p.bad(fmt.Sprint(uint8(l.Index)), "1 to 5")
		p.ended = true
	}
	l.Addr = p.addr("address")
}
