// Chunks of a dataset, with all types of chunk index.

package h5file

import (
	"encoding/binary"
	"fmt"
	"iter"
	"math/bits"
	"slices"

	"github.com/hyperslab/hyperslab/internal/format"
)

// Chunk is a stored chunk.
type Chunk struct {
	Offset []uint64 // index of its first element
	Addr   Addr
	Size   uint64 // stored bytes
	Mask   uint32 // bit i set: filter i was skipped
	Unsure error  // error of a structure that leads to the chunk, or nil
}

// Chunks yields the stored chunks of a chunked dataset in the order of the index. If the index is
// corrupt, it yields the readable chunks, which may be Unsure, and finally the first error with an
// empty chunk. The caller may keep the Offset of a chunk. For other objects the error is
// format.ErrUnsupported.
func (o *Object) Chunks() iter.Seq2[Chunk, error] { return o.chunks(nil, nil) }

// ChunksIn is Chunks for the chunks that contain elements of the region of shape count from element
// start. It reads only the nodes of the index that lead to these chunks, and does not check the
// other nodes.
func (o *Object) ChunksIn(start, count []uint64) iter.Seq2[Chunk, error] {
	return o.chunks(start, count)
}

func (o *Object) chunks(start, count []uint64) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		r := o.f.reader()
		if r.chunks(o, start, count, func(c Chunk) bool { return yield(c, nil) }) && r.first != nil {
			yield(Chunk{}, r.first)
		}
	}
}

// chunkIndex contains the properties of a dataset that the indexes need.
type chunkIndex struct {
	r        *reader
	layout   *Layout
	rank     int
	dims     []uint64 // dimensions of the dataset
	maxDims  []uint64
	bytes    uint64 // size of an unfiltered chunk
	filtered bool
	unsure   error // first error of the structures above
	visit    func(Chunk) bool
	box      *chunkBox // nil: all chunks
}

// chunks calls visit for the chunks of o until visit returns false. It returns false in that case.
// Only the chunks of a region are visited, unless start is nil.
func (r *reader) chunks(o *Object, start, count []uint64, visit func(Chunk) bool) bool {
	l, s := o.Layout(), o.Dataspace()
	if l == nil || s == nil || l.Class != Chunked {
		r.note(&format.Error{Format: formatName, What: "data layout", Offset: r.f.place(o.Addr), Got: "no chunks", Want: "a chunked dataset", Err: format.ErrUnsupported})
		return true
	}
	for _, t := range []MessageType{LayoutType, DataspaceType, PipelineType} {
		if m := o.Message(t); m != nil && m.Err != nil {
			r.note(m.Err)
			return true
		}
	}
	rank := len(l.Dims) - 1
	if rank != len(s.Dims) {
		r.note(r.corrupt("data layout", o.Addr, fmt.Sprintf("chunks of %d dimensions", rank), fmt.Sprintf("%d, those of the dataset", len(s.Dims))))
		return true
	}
	if !l.Addr.Defined() {
		return true // no chunk was ever written
	}
	x := &chunkIndex{r: r, layout: l, rank: rank, dims: s.Dims, maxDims: s.MaxDims, visit: visit}
	if x.maxDims == nil {
		x.maxDims = s.Dims
	}
	if start != nil {
		if x.box = newChunkBox(start, count, l.Dims[:rank], s.Dims); x.box == nil {
			return true
		}
		x.visit = func(c Chunk) bool { return !x.box.contains(c.Offset, l.Dims) || visit(c) }
	}
	x.bytes, _ = l.ChunkBytes()
	pl := o.Pipeline()
	x.filtered = pl != nil && len(pl.Filters) > 0
	switch l.Index {
	case BTree1Index:
		return x.tree1()
	case SingleIndex:
		return x.single()
	case ImplicitIndex:
		return x.implicit()
	case FixedArrayIndex:
		return x.fixedArray()
	case ExtensibleArrayIndex:
		return x.extensibleArray()
	case BTree2Index:
		return x.tree2()
	}
	return true
}

// sizeLength returns the number of bytes of a filtered chunk's size in an index. In version 4 of
// the layout it is one more than the size of an unfiltered chunk needs. In version 5 it is the size
// of lengths.
func (x *chunkIndex) sizeLength() int {
	if x.layout.Version >= 5 {
		return x.r.f.super.LengthSize
	}
	return min(1+(log2(x.bytes)+8)/8, 8)
}

// elementSize returns the size in bytes of an element of a fixed or extensible array.
func (x *chunkIndex) elementSize() int {
	if x.filtered {
		return x.r.f.super.OffsetSize + x.sizeLength() + 4
	}
	return x.r.f.super.OffsetSize
}

// element reads an element of a fixed or extensible array.
func (x *chunkIndex) element(p *part) Chunk {
	c := Chunk{Addr: p.addr("address"), Size: x.bytes}
	if x.filtered {
		c.Size = p.uint("chunk size", x.sizeLength())
		c.Mask = p.u32("filter mask")
		p.hex()
	}
	return c
}

// give visits chunks of a structure with the error err.
func (x *chunkIndex) give(list []Chunk, err error) bool {
	for _, c := range list {
		if c.Unsure = x.unsure; c.Unsure == nil {
			c.Unsure = err
		}
		if !x.visit(c) {
			return false
		}
	}
	return true
}

// class returns the client ID of a fixed or extensible array.
func (x *chunkIndex) class() uint8 {
	if x.filtered {
		return 1
	}
	return 0
}

// single yields the only chunk. It records an error if the dataset has more chunks, because libhdf5
// would read this chunk for all of them.
func (x *chunkIndex) single() bool {
	most, bounded := x.grid(x.maxDims)
	now, _ := x.grid(x.dims)
	if n, fits := product(now); !fits || n > 1 {
		x.r.note(x.r.corrupt("single chunk index", x.layout.Addr, fmt.Sprintf("a dataset of %v in chunks of %v", x.dims, x.layout.Dims[:x.rank]), "one chunk"))
	} else if n, fits := product(most); !bounded || !fits || n > 1 {
		x.r.note(x.r.corrupt("single chunk index", x.layout.Addr, fmt.Sprintf("a dataset of up to %v in chunks of %v", x.maxDims, x.layout.Dims[:x.rank]), "one chunk"))
	}
	c := Chunk{Offset: make([]uint64, x.rank), Addr: x.layout.Addr, Size: x.bytes}
	if x.layout.Flags&SingleChunkFiltered != 0 {
		c.Size, c.Mask = x.layout.SingleSize, x.layout.SingleMask
	}
	return x.visit(c)
}

// grid returns the number of chunks per dimension; false if a dimension is unlimited.
func (x *chunkIndex) grid(dims []uint64) ([]uint64, bool) {
	g := make([]uint64, x.rank)
	for i, d := range dims {
		if d == Unlimited {
			return nil, false
		}
		c := x.layout.Dims[i]
		g[i] = d/c + min(d%c, 1)
	}
	return g, true
}

// offsetOf returns the first element of chunk i of a grid, in row-major order.
func (x *chunkIndex) offsetOf(i uint64, grid []uint64) []uint64 {
	off := make([]uint64, x.rank)
	for d := x.rank - 1; d >= 0; d-- {
		off[d] = i % grid[d] * x.layout.Dims[d]
		i /= grid[d]
	}
	return off
}

// scaled returns the position of a key of a version 1 B-tree: of its chunk in the grid, then that
// in the element. The last one is 0 for a chunk, but not always for the key after the last chunk:
// that key may be the last chunk with an offset of one element size. It is after the chunk only by
// its last number.
func (x *chunkIndex) scaled(key []byte) []uint64 {
	at := make([]uint64, x.rank+1)
	for i := range at {
		at[i] = binary.LittleEndian.Uint64(key[8+8*i:]) / x.layout.Dims[i]
	}
	return at
}

// implicit yields chunks that are stored one after the other. The file contains the grid of the
// maximum size, and implicit yields the chunks of the current size.
func (x *chunkIndex) implicit() bool {
	most, ok := x.grid(x.maxDims)
	now, _ := x.grid(x.dims)
	n, fits := product(now)
	all, fitsAll := uint64(0), false
	if ok {
		all, fitsAll = product(most)
	}
	hi, end := bits.Mul64(all, x.bytes)
	size := uint64(x.r.f.size)
	if !ok || !fits || !fitsAll || hi != 0 || end > size || uint64(x.r.f.position(x.layout.Addr)) > size-end {
		x.r.note(x.r.corrupt("implicit index", x.layout.Addr, fmt.Sprintf("chunks of %d bytes for a dataset of %v", x.bytes, x.maxDims), "chunks inside the file"))
		if !ok || !fits || !fitsAll || hi != 0 || uint64(x.r.f.position(x.layout.Addr)) > size {
			return true
		}
	}
	for i := range n {
		off := x.offsetOf(i, now)
		at := uint64(0)
		for d := range off {
			at = at*most[d] + off[d]/x.layout.Dims[d]
		}
		if at*x.bytes > size {
			break // this chunk and those after it are beyond the end of the file
		}
		if !x.visit(Chunk{Offset: off, Addr: x.layout.Addr + Addr(at*x.bytes), Size: x.bytes}) {
			return false
		}
	}
	return true
}

// chunkKey is a key of a version 1 B-tree of chunks. It describes the chunk after it.
type chunkKey struct {
	size   uint32
	mask   uint32
	offset []uint64 // the last one is the offset in the element, which is 0
}

func (x *chunkIndex) tree1() bool {
	n := x.rank + 1
	more := true
	w := &walk1{r: x.r, nodeType: chunkNodes, keySize: 8 + 8*n, rank: int(x.r.f.super.K.Chunk)}
	if x.box != nil {
		box := x.box.extended()
		w.want = func(left, right []byte) bool { return box.between(x.scaled(left), x.scaled(right)) }
	}
	w.key = func(p *part) any {
		k := chunkKey{size: p.u32("size of chunk"), mask: p.u32("filter mask")}
		p.hex()
		for i := range n {
			o := p.u64("chunk offset")
			p.check(o%x.layout.Dims[i] == 0, o, fmt.Sprintf("a multiple of %d", x.layout.Dims[i]))
			k.offset = append(k.offset, o)
		}
		return k
	}
	w.leaf = func(p *part, child Addr, left, right any) bool {
		k, next := left.(chunkKey), right.(chunkKey)
		if len(k.offset) < n {
			return true
		}
		if len(next.offset) == n && slices.Compare(k.offset, next.offset) >= 0 {
			p.bad(fmt.Sprintf("key %v before %v", k.offset, next.offset), "keys in order")
		}
		p.check(child.Defined(), child, "an address")
		c := Chunk{Offset: k.offset[:x.rank:x.rank], Addr: child, Size: uint64(k.size), Mask: k.mask, Unsure: w.unsure}
		if c.Unsure == nil {
			c.Unsure = p.err
		}
		more = x.visit(c)
		return more
	}
	w.run(x.layout.Addr)
	return more
}

func (x *chunkIndex) tree2() bool {
	w := &walk2{r: x.r, treeType: chunks, recordSize: x.elementSize() + 8*x.rank}
	if x.filtered {
		w.treeType = chunksFiltered
	}
	w.record = func(p *part) any {
		c := x.element(p)
		for i := range x.rank {
			scaled := p.u64("chunk offset in dimension")
			hi, o := bits.Mul64(scaled, x.layout.Dims[i])
			p.check(hi == 0, scaled, "an offset below 2^64")
			c.Offset = append(c.Offset, o)
		}
		return c
	}
	w.visit = func(rec any) bool { return x.give([]Chunk{rec.(Chunk)}, w.unsure) }
	if x.box != nil {
		position := func(record []byte) (at []uint64) {
			if record == nil {
				return nil
			}
			for record = record[x.elementSize():]; len(at) < x.rank; record = record[8:] {
				at = append(at, binary.LittleEndian.Uint64(record))
			}
			return at
		}
		w.want = func(left, right []byte) bool { return x.box.between(position(left), position(right)) }
	}
	return w.run(x.layout.Addr)
}
