// Extensible arrays, the index for chunks of datasets with one unlimited dimension (File Format,
// VII.D).

package h5file

import (
	"fmt"

	"github.com/hyperslab/hyperslab/internal/chunked/readahead"
	"github.com/hyperslab/hyperslab/internal/format"
)

// extensible is an extensible array that is being read.
type extensible struct {
	x          *chunkIndex
	elem       int // bytes of an element
	params     ArrayParams
	maxIndex   uint64 // one more than the highest element index that was set
	offsetSize int    // bytes of a block's offset
	unlimited  int    // the unlimited dimension
	reach      uint64 // one more than the highest element index in an existing block
	taken      uint64 // bytes of the data blocks so far

	grid []uint64  // maximum number of chunks per dimension, the unlimited one first
	box  *chunkBox // x.box with the unlimited dimension first
}

// within reports whether one of n elements is visited.
func (e *extensible) within(first, n uint64) bool { return e.box.within(first, n, e.grid) }

// superBlock returns the number and size of the data blocks of secondary block i (H5EA__hdr_init).
func (e *extensible) superBlock(i int) (blocks, elems uint64) {
	return 1 << (i / 2), uint64(e.params.MinElems) << ((i + 1) / 2)
}

func (x *chunkIndex) extensibleArray() bool {
	r, s := x.r, &x.r.f.super
	e := &extensible{x: x, elem: x.elementSize(), unlimited: -1}
	for i, m := range x.maxDims {
		if m == Unlimited {
			e.unlimited = i
			break
		}
	}
	p := r.part("extensible array header", x.layout.Addr, int64(16+6*s.LengthSize+s.OffsetSize))
	if !p.signature("EAHD") {
		r.note(p.done())
		return true
	}
	index, bad := e.header(p)
	if e.unlimited < 0 {
		p.complain(format.ErrCorrupt, "client", fmt.Sprintf("a dataset of at most %v", x.maxDims), "one unlimited dimension")
	}
	x.unsure = p.done()
	r.note(x.unsure)
	if bad || !p.ok() || e.unlimited < 0 {
		return true
	}
	if x.box != nil {
		for i, m := range x.maxDims {
			c := x.layout.Dims[i]
			e.grid = append(e.grid, m/c+min(m%c, 1))
		}
		e.grid, e.box = toFront(e.grid, e.unlimited), x.box.moved(e.unlimited)
	}
	if index.Defined() && !e.indexBlock(index) {
		return false
	}
	// libhdf5 looks up each element up to the highest one that was set, even if only some blocks
	// exist.
	if e.maxIndex > e.reach && x.box == nil {
		r.note(r.corrupt("extensible array header", x.layout.Addr, fmt.Sprintf("max index set %d", e.maxIndex), fmt.Sprintf("at most %d, the elements of the blocks there are", e.reach)))
	}
	return true
}

// header reads the header. bad is true if it has errors other than a wrong checksum.
func (e *extensible) header(p *part) (index Addr, bad bool) {
	x := e.x
	v := p.u8("version")
	p.version(v, 0, 0)
	c := p.u8("client ID")
	p.check(c == x.class(), c, fmt.Sprint(x.class()))
	size := int(p.u8("element size"))
	p.check(size == e.elem, size, fmt.Sprint(e.elem))
	e.params.MaxBits = p.u8("max number of elements bits")
	p.check(e.params.MaxBits >= 1 && e.params.MaxBits <= 64, e.params.MaxBits, "1 to 64")
	e.params.IndexElems = p.u8("index block elements")
	p.check(e.params.IndexElems > 0, e.params.IndexElems, "at least 1")
	e.params.MinElems = p.u8("data block minimum elements")
	p.check(powerOf2(uint64(e.params.MinElems)), e.params.MinElems, "a power of 2")
	e.params.MinPointers = p.u8("secondary block minimum data block pointers")
	p.check(powerOf2(uint64(e.params.MinPointers)), e.params.MinPointers, "a power of 2")
	e.params.PageElemBits = p.u8("data block page max elements bits")
	p.check(e.params.PageElemBits > 0 && e.params.PageElemBits < 64, e.params.PageElemBits, "1 to 63")
	if p.err == nil {
		p.check(e.superBlocks() > e.ownSuperBlocks(), fmt.Sprintf("%d secondary blocks", e.superBlocks()), fmt.Sprintf("more than the %d of the index block", e.ownSuperBlocks()))
	}
	p.length("number of secondary blocks")
	p.length("size of secondary blocks")
	p.length("number of data blocks")
	p.length("size of data blocks")
	e.maxIndex = p.length("max index set")
	p.length("number of elements")
	index = p.addr("index block address")
	bad = p.err != nil
	p.checksum()
	e.offsetSize = (int(e.params.MaxBits) + 7) / 8
	return index, bad
}

// superBlocks returns the number of secondary blocks of the whole array.
func (e *extensible) superBlocks() int {
	return 1 + int(e.params.MaxBits) - log2(uint64(e.params.MinElems))
}

// ownSuperBlocks returns the number of secondary blocks whose data blocks the index block lists.
func (e *extensible) ownSuperBlocks() int { return 2 * log2(uint64(e.params.MinPointers)) }

func (e *extensible) blockHead(p *part, offset bool) {
	v := p.u8("version")
	p.version(v, 0, 0)
	c := p.u8("client ID")
	p.check(c == e.x.class(), c, fmt.Sprint(e.x.class()))
	a := p.addr("header address")
	p.check(a == e.x.layout.Addr, a, e.x.layout.Addr.String())
	if offset {
		p.uint("block offset", e.offsetSize)
	}
}

func (e *extensible) indexBlock(a Addr) bool {
	r, o := e.x.r, e.x.r.f.super.OffsetSize
	own := e.ownSuperBlocks()
	data := 2 * (int(e.params.MinPointers) - 1)
	supers := e.superBlocks() - own
	p := r.part("extensible array index block", a, int64(10+o+int(e.params.IndexElems)*e.elem+(data+supers)*o))
	if !p.signature("EAIB") {
		r.note(p.done())
		return true
	}
	e.blockHead(p, false)
	e.reach = uint64(e.params.IndexElems)
	list := e.elements(p, 0, uint64(e.params.IndexElems))
	dataAddrs, superAddrs := p.addrs("data block address", data), p.addrs("secondary block address", supers)
	p.checksum()
	err := p.done()
	if r.note(err); !e.x.give(list, err) {
		return false
	}
	defer e.below(err)()
	e.ahead(dataAddrs, superAddrs, int64(len(p.b)))
	first := uint64(e.params.IndexElems)
	for i := range own {
		blocks, elems := e.superBlock(i)
		for range blocks {
			if len(dataAddrs) == 0 {
				break
			}
			if !e.dataBlock(dataAddrs[0], first, elems, nil) {
				return false
			}
			dataAddrs = dataAddrs[1:]
			first += elems
		}
	}
	for i, a := range superAddrs {
		blocks, elems := e.superBlock(own + i)
		if a.Defined() && e.within(first, blocks*elems) && !e.secondary(a, first, blocks, elems) {
			return false
		}
		if first += blocks * elems; first >= e.maxIndex {
			break
		}
	}
	return true
}

// ahead fetches the blocks that the index block leads to, if the file is remote: the blocks of a
// level at the same time. size is the approximate size of a block.
func (e *extensible) ahead(dataAddrs, superAddrs []Addr, size int64) {
	r := e.x.r
	if readahead.Of(r.f.src) == nil {
		return
	}
	var level []Addr
	first, own := uint64(e.params.IndexElems), e.ownSuperBlocks()
	for i := range own {
		blocks, elems := e.superBlock(i)
		n := min(blocks, uint64(len(dataAddrs)))
		level = append(level, e.wanted(dataAddrs[:n], first, elems)...)
		dataAddrs, first = dataAddrs[n:], first+blocks*elems
	}
	type super struct {
		at                   Addr
		first, blocks, elems uint64
	}
	var supers []super
	for i, a := range superAddrs {
		blocks, elems := e.superBlock(own + i)
		if a.Defined() && e.within(first, blocks*elems) {
			level = append(level, a)
			supers = append(supers, super{a, first, blocks, elems})
		}
		if first += blocks * elems; first >= e.maxIndex {
			break
		}
	}
	r.hint(level, size)
	level = nil
	pageElems := uint64(1) << e.params.PageElemBits
	for _, s := range supers {
		// The addresses of the data blocks are at the end, before the checksum.
		n := int64(min(s.blocks, hinted)) * int64(r.f.super.OffsetSize)
		head := int64(6 + r.f.super.OffsetSize + e.offsetSize)
		if s.elems > pageElems {
			head += int64(min(s.blocks*((s.elems/pageElems+7)/8), uint64(r.f.size)))
		}
		b := make([]byte, n)
		if _, err := r.f.src.ReadAt(b, r.f.place(s.at)+head); err != nil { // the traversal returns the error
			continue
		}
		level = append(level, e.wanted(addresses(b, r.f.super.OffsetSize), s.first, s.elems)...)
	}
	r.hint(level, size)
}

// wanted returns the blocks of elems elements each that are visited. The first one begins with
// element first.
func (e *extensible) wanted(list []Addr, first, elems uint64) (some []Addr) {
	for i, a := range list {
		if at := first + uint64(i)*elems; a.Defined() && at < e.maxIndex && e.within(at, elems) {
			some = append(some, a)
		}
	}
	return some
}

// below marks the chunks below a block as Unsure because of the block's error, until the returned
// function is called.
func (e *extensible) below(err error) (done func()) {
	above := e.x.unsure
	if above == nil {
		e.x.unsure = err
	}
	return func() { e.x.unsure = above }
}

// addrs reads at most n addresses.
func (p *part) addrs(name string, n int) []Addr {
	var all []Addr
	for i := 0; i < n && p.ok(); i++ {
		if a := p.addr(name); p.ok() {
			all = append(all, a)
		}
	}
	return all
}

// secondary reads a secondary block. first is the array index of its first element.
func (e *extensible) secondary(a Addr, first, blocks, elems uint64) bool {
	r, o := e.x.r, e.x.r.f.super.OffsetSize
	pageElems := uint64(1) << e.params.PageElemBits
	bitmapSize := uint64(0) // of one data block
	if elems > pageElems {
		bitmapSize = (elems/pageElems + 7) / 8
	}
	if blocks > uint64(r.f.size) || bitmapSize > uint64(r.f.size) || blocks*bitmapSize > uint64(r.f.size) {
		r.note(r.corrupt("extensible array secondary block", a, fmt.Sprintf("%d data blocks of %d elements", blocks, elems), "a block inside the file"))
		return true
	}
	p := r.part("extensible array secondary block", a, format.Size(uint64(10+o+e.offsetSize)+blocks*bitmapSize+blocks*uint64(o)))
	if !p.signature("EASB") {
		r.note(p.done())
		return true
	}
	e.blockHead(p, true)
	var bitmap []byte
	if bitmapSize > 0 {
		bitmap = p.bytes("page bitmap", int(blocks*bitmapSize))
	}
	addrs := p.addrs("data block address", int(blocks))
	p.checksum()
	err := p.done()
	r.note(err)
	defer e.below(err)()
	r.hint(e.wanted(addrs, first, elems), format.Size(min(elems, pageElems))*int64(e.elem))
	for i, a := range addrs {
		var pages *pageMap
		if bitmapSize > 0 {
			// libhdf5 continues the bits across the data blocks, without padding to bytes.
			pages = &pageMap{bitmap, uint64(i) * (elems / pageElems)}
		}
		if !e.dataBlock(a, first+uint64(i)*elems, elems, pages) {
			return false
		}
	}
	return true
}

// pageMap is the bitmap of the pages of a data block that were written.
type pageMap struct {
	bits  []byte
	first uint64
}

func (e *extensible) dataBlock(a Addr, first, elems uint64, pages *pageMap) bool {
	r, o := e.x.r, e.x.r.f.super.OffsetSize
	if !a.Defined() || first >= e.maxIndex {
		return true
	}
	if elems > uint64(r.f.size) {
		r.note(r.corrupt("extensible array data block", a, fmt.Sprintf("%d elements", elems), "a block inside the file"))
		if elems > 1<<48 {
			return true
		}
	}
	head := uint64(6 + o + e.offsetSize)
	size := head + 4
	// Pages that were never written still occupy space in the file.
	if all := elems * uint64(e.elem); uint64(r.f.position(a)) > uint64(r.f.size) || all > uint64(r.f.size)-uint64(r.f.position(a)) {
		all = 0 // only the part that is read counts against the work limit
	} else if e.taken += all; e.taken > uint64(r.f.size) {
		r.note(r.corrupt("extensible array data block", a, fmt.Sprintf("%d bytes of elements with those of other blocks", e.taken), "blocks inside the file"))
		return true
	}
	if pages == nil {
		size += elems * uint64(e.elem)
	}
	e.reach = max(e.reach, first+min(elems, ^uint64(0)-first))
	if !e.within(first, elems) {
		return true
	}
	p := r.part("extensible array data block", a, format.Size(size))
	if !p.signature("EADB") {
		r.note(p.done())
		return true
	}
	e.blockHead(p, true)
	if pages == nil {
		list := e.elements(p, first, elems)
		p.checksum()
		err := p.done()
		r.note(err)
		return e.x.give(list, err)
	}
	p.checksum()
	err := p.done()
	if r.note(err); !p.ok() {
		return true
	}
	defer e.below(err)()
	n := uint64(1) << e.params.PageElemBits
	at := a + Addr(size)
	for i := range elems / n {
		if uint64(r.f.position(at)) > uint64(r.f.size) {
			break
		}
		if bit(pages.bits, pages.first+i) && e.within(first+i*n, n) {
			q := r.part("extensible array data block page", at, format.Size(n*uint64(e.elem)+4))
			list := e.elements(q, first+i*n, n)
			q.checksum()
			err := q.done()
			if r.note(err); !e.x.give(list, err) {
				return false
			}
		}
		at += Addr(n*uint64(e.elem) + 4)
	}
	return true
}

// elements reads n elements and returns the stored chunks. It ignores elements after the last one
// that was set.
func (e *extensible) elements(p *part, first, n uint64) (list []Chunk) {
	for i := uint64(0); i < n && p.ok(); i++ {
		end := p.group("element", int(format.Size(first+i)))
		c := e.x.element(p)
		end()
		if !p.ok() || !c.Addr.Defined() || first+i >= e.maxIndex {
			continue
		}
		if c.Offset = e.offsetOf(p, first+i); c.Offset != nil {
			list = append(list, c)
		}
	}
	return list
}

// offsetOf returns the first element of chunk i. The unlimited dimension is the slowest in this
// numbering.
func (e *extensible) offsetOf(p *part, i uint64) []uint64 {
	x := e.x
	off := make([]uint64, x.rank)
	for d := x.rank - 1; d >= 0; d-- {
		if d == e.unlimited {
			continue
		}
		c := x.layout.Dims[d]
		n := x.maxDims[d]/c + min(x.maxDims[d]%c, 1)
		if n == 0 {
			p.complain(format.ErrCorrupt, "element", "a chunk of an empty dataset", "none")
			return nil
		}
		off[d] = i % n * c
		i /= n
	}
	if e.unlimited >= 0 {
		c := x.layout.Dims[e.unlimited]
		if i > ^uint64(0)/c {
			p.complain(format.ErrCorrupt, "element", fmt.Sprintf("chunk %d", i), "an offset below 2^64")
			return nil
		}
		off[e.unlimited] = i * c
	}
	return off
}
