// Fractal heaps, the storage of links and attributes of large objects and of shared messages (File
// Format, III.G).

package h5file

import (
	"fmt"
	"math/bits"

	"github.com/hyperslab/hyperslab/internal/format"
)

// FractalHeap is the header of a fractal heap.
type FractalHeap struct {
	Addr        Addr
	IDLength    uint16 // bytes of a heap ID
	Flags       uint8  // 1: IDs of huge objects wrapped; 2: direct blocks have checksums
	MaxManaged  uint32 // maximum size of managed objects in bytes; larger ones are huge
	NextHuge    uint64
	HugeIndex   Addr // version 2 B-tree of huge objects
	FreeSpace   uint64
	FreeManager Addr // free-space manager of the blocks
	Managed     HeapCount
	Allocated   uint64 // bytes of the managed space
	Iterator    uint64
	Huge, Tiny  HeapCount
	Width       uint16 // blocks per row
	StartSize   uint64 // size of the blocks of the first two rows in bytes
	MaxDirect   uint64 // maximum size of a direct block in bytes
	MaxBits     uint16 // bits of the managed space
	StartRows   uint16
	Root        Addr
	RootRows    uint16 // rows of the root indirect block; 0 if the root is a direct block
	Pipeline    *Pipeline
	RootSize    uint64 // bytes of the filtered root direct block
	RootMask    uint32

	offsetSize int // bytes of an offset in the managed space
	lengthSize int // bytes of a length in an ID
	directRows int
	blocks     map[uint64]heapBlock
	indirect   map[Addr]*indirectBlock
	huge       map[uint64]hugeObject // by number; nil before the first use
}

// HeapCount is a number of objects and their bytes.
type HeapCount struct{ Size, Objects uint64 }

// heapBlock is a decoded direct block.
type heapBlock struct {
	data    []byte
	at      int64
	decoded bool
}

type indirectBlock struct {
	offset  uint64
	rows    int
	entries []heapEntry
}

type heapEntry struct {
	addr Addr
	size uint64 // bytes of a filtered direct block
	mask uint32
}

type hugeObject struct {
	addr   Addr
	length uint64 // bytes in the file
	mask   uint32
	size   uint64 // bytes of the object, if filtered
}

func log2(v uint64) int { return bits.Len64(v) - 1 }

func powerOf2(v uint64) bool { return v > 0 && v&(v-1) == 0 }

// fractalHeap reads the header at a, at most once per operation. The result is never nil.
func (r *reader) fractalHeap(a Addr) (*FractalHeap, error) {
	if h := r.heaps[a]; h != nil {
		return h, nil
	}
	h := &FractalHeap{Addr: a, blocks: map[uint64]heapBlock{}, indirect: map[Addr]*indirectBlock{}}
	s := &r.f.super
	p := r.part("fractal heap header", a, int64(26+3*s.OffsetSize+12*s.LengthSize))
	if !p.signature("FRHP") {
		return h, p.done()
	}
	h.header(p)
	err := p.done()
	if err == nil {
		r.heaps[a] = h
	}
	return h, err
}

func (h *FractalHeap) header(p *part) {
	v := p.u8("version")
	p.version(v, 0, 0)
	h.IDLength = p.u16("heap ID length")
	p.check(h.IDLength >= 4 && h.IDLength <= 4096, h.IDLength, "4 to 4096")
	filters := int(p.u16("I/O filters' encoded length"))
	if filters > 0 {
		p.grow(int64(len(p.b) + p.r.f.super.LengthSize + 4 + filters))
	}
	h.Flags = p.u8("flags")
	p.flags(h.Flags, 3)
	h.MaxManaged = p.u32("maximum size of managed objects")
	h.NextHuge = p.length("next huge object ID")
	h.HugeIndex = p.addr("v2 B-tree address of huge objects")
	h.FreeSpace = p.length("amount of free space in managed blocks")
	h.FreeManager = p.addr("address of managed block free-space manager")
	h.Managed.Size = p.length("amount of managed space in heap")
	h.Allocated = p.length("amount of allocated managed space in heap")
	h.Iterator = p.length("offset of direct block allocation iterator in managed space")
	h.Managed.Objects = p.length("number of managed objects in heap")
	h.Huge.Size = p.length("size of huge objects in heap")
	h.Huge.Objects = p.length("number of huge objects in heap")
	h.Tiny.Size = p.length("size of tiny objects in heap")
	h.Tiny.Objects = p.length("number of tiny objects in heap")
	h.table(p)
	if filters > 0 && p.ok() {
		h.RootSize = p.length("size of filtered root direct block")
		h.RootMask = p.u32("I/O filter mask")
		if b, _ := p.inner("I/O filter information", filters, false, PipelineType); b != nil {
			h.Pipeline = b.(*Pipeline)
		}
	}
	p.checksum()
}

// table reads the parameters of the doubling table.
func (h *FractalHeap) table(p *part) {
	h.Width = p.u16("table width")
	good := p.check(powerOf2(uint64(h.Width)), h.Width, "a power of 2")
	h.StartSize = p.length("starting block size")
	good = p.check(powerOf2(h.StartSize) && h.StartSize < 1<<32, h.StartSize, "a power of 2 below 2^32") && good
	h.MaxDirect = p.length("maximum direct block size")
	good = p.check(powerOf2(h.MaxDirect) && h.MaxDirect >= h.StartSize && h.MaxDirect < 1<<32, h.MaxDirect, "a power of 2 below 2^32, not below the starting size") && good
	p.check(uint64(h.MaxManaged) <= h.MaxDirect, fmt.Sprintf("objects up to %d", h.MaxManaged), fmt.Sprintf("up to %d, the largest block", h.MaxDirect))
	h.MaxBits = p.u16("maximum heap size")
	first := 0
	if good {
		first = log2(h.StartSize) + log2(uint64(h.Width))
	}
	good = p.check(int(h.MaxBits) >= first && h.MaxBits <= 64, h.MaxBits, fmt.Sprintf("%d to 64", first)) && good
	h.StartRows = p.u16("starting number of rows in root indirect block")
	h.Root = p.addr("address of root block")
	h.RootRows = p.u16("current number of rows in root indirect block")
	if !good {
		return
	}
	p.check(int(h.RootRows) <= int(h.MaxBits)-first+1, h.RootRows, fmt.Sprintf("at most %d", int(h.MaxBits)-first+1))
	h.offsetSize = (int(h.MaxBits) + 7) / 8
	h.lengthSize = min((log2(h.MaxDirect)+7)/8, encodedSize(uint64(h.MaxManaged)))
	h.directRows = log2(h.MaxDirect) - log2(h.StartSize) + 2
	if 1+h.offsetSize+h.lengthSize > int(h.IDLength) {
		p.bad(fmt.Sprintf("ids of %d bytes", h.IDLength), fmt.Sprintf("at least %d", 1+h.offsetSize+h.lengthSize))
	}
}

// rowSize returns the size in bytes of a block of a row.
func (h *FractalHeap) rowSize(row int) uint64 { return h.StartSize << max(row-1, 0) }

// rowOffset returns the start of a row, in bytes from the start of its indirect block's space.
func (h *FractalHeap) rowOffset(row int) uint64 {
	if row == 0 {
		return 0
	}
	return h.StartSize * uint64(h.Width) << (row - 1)
}

// childRows returns the number of rows of an indirect block in a row.
func (h *FractalHeap) childRows(row int) int {
	return log2(h.rowSize(row)) - log2(h.StartSize) - log2(uint64(h.Width)) + 1
}

// readIndirect reads an indirect block, at most once per operation.
func (r *reader) readIndirect(h *FractalHeap, a Addr, offset uint64, rows int) (*indirectBlock, error) {
	if b := h.indirect[a]; b != nil {
		if b.offset != offset || b.rows != rows {
			return nil, r.corrupt("fractal heap indirect block", a, "found a second time", "one way to it")
		}
		return b, nil
	}
	o, l := r.f.super.OffsetSize, r.f.super.LengthSize
	direct := min(rows, h.directRows) * int(h.Width)
	all := rows * int(h.Width)
	size := int64(5+o+h.offsetSize+4) + int64(all)*int64(o)
	if h.Pipeline != nil {
		size += int64(direct) * int64(l+4)
	}
	p := r.part("fractal heap indirect block", a, size)
	if !p.signature("FHIB") {
		return nil, p.done()
	}
	h.blockHead(p, offset)
	b := &indirectBlock{offset: offset, rows: rows}
	for i := 0; i < all && p.ok(); i++ {
		end := p.group("child block", i)
		e := heapEntry{addr: p.addr("address")}
		if h.Pipeline != nil && i < direct {
			e.size = p.length("size of filtered direct block")
			e.mask = p.u32("filter mask")
			p.hex()
		}
		end()
		b.entries = append(b.entries, e)
	}
	p.checksum()
	if err := p.done(); err != nil {
		return nil, err
	}
	h.indirect[a] = b
	next := make([]Addr, len(b.entries))
	for i, e := range b.entries {
		next[i] = e.addr
	}
	r.hint(next, format.Size(h.StartSize))
	return b, nil
}

func (h *FractalHeap) blockHead(p *part, offset uint64) {
	v := p.u8("version")
	p.version(v, 0, 0)
	a := p.addr("heap header address")
	p.check(a == h.Addr, a, h.Addr.String())
	got := p.uint("block offset", h.offsetSize)
	p.check(got == offset, got, fmt.Sprint(offset))
}

// readDirect reads a direct block of size bytes, at most once per operation.
func (r *reader) readDirect(h *FractalHeap, e heapEntry, offset, size uint64) (heapBlock, error) {
	if b, ok := h.blocks[offset]; ok {
		return b, nil
	}
	const what = "fractal heap direct block"
	if err := r.once(what, e.addr); err != nil {
		return heapBlock{}, err
	}
	stored := size
	if h.Pipeline != nil {
		stored = e.size
	}
	p := r.part(what, e.addr, int64(min(stored, uint64(r.f.limits.Structure)+1)))
	b := heapBlock{at: p.at}
	if h.Pipeline != nil && p.err == nil {
		raw := p.b
		data, err := r.decode(h.Pipeline, e.mask, raw, size)
		if err == nil && uint64(len(data)) != size {
			err = r.corrupt(what, e.addr, fmt.Sprintf("%d bytes after decoding", len(data)), fmt.Sprint(size))
		}
		if p.field != nil {
			p.take("filtered block", len(raw))
			p.fail(err)
		}
		if err != nil {
			p.err = err
			return b, p.done()
		}
		p.b, p.pos, p.decoded, b.decoded = data, 0, true, true
	}
	if p.signature("FHDB") {
		h.blockHead(p, offset)
		if h.Flags&2 != 0 {
			p.blockChecksum()
		}
	}
	b.data = p.b
	if p.decoded && p.field != nil {
		// The length is that in the file.
		err := p.err
		p.field.Length = format.Size(stored)
		r.annotated(*p.field)
		if err == nil {
			h.blocks[offset] = b
		}
		return b, err
	}
	err := p.done()
	if err == nil {
		h.blocks[offset] = b
	}
	return b, err
}

// blockChecksum reads a checksum of the whole block, in which the checksum's own bytes count as
// zeros.
func (p *part) blockChecksum() {
	from := p.pos
	got := p.u32("checksum")
	p.hex()
	if !p.ok() {
		return
	}
	c := append([]byte(nil), p.b...)
	copy(c[from:], []byte{0, 0, 0, 0})
	if want := Lookup3(c); got != want {
		p.wrong(WrongChecksum{Length: int64(len(c)), At: p.offset(from), Stored: got, Computed: want})
		p.bad(fmt.Sprintf("%#08x", got), fmt.Sprintf("%#08x", want))
	}
}

// block returns the direct block that contains byte offset of the managed space, and the start of
// the block in that space.
func (r *reader) block(h *FractalHeap, offset uint64) (heapBlock, uint64, error) {
	if h.RootRows == 0 {
		b, err := r.readDirect(h, heapEntry{h.Root, h.RootSize, h.RootMask}, 0, h.StartSize)
		return b, 0, err
	}
	a, start, rows := h.Root, uint64(0), int(h.RootRows)
	for {
		ib, err := r.readIndirect(h, a, start, rows)
		if err != nil {
			return heapBlock{}, 0, err
		}
		row, col := h.find(offset - start)
		if row >= rows {
			return heapBlock{}, 0, r.corrupt("fractal heap indirect block", a, fmt.Sprintf("an object at %d", offset), fmt.Sprintf("in one of the %d rows", rows))
		}
		e := ib.entries[row*int(h.Width)+col]
		begin := start + h.rowOffset(row) + uint64(col)*h.rowSize(row)
		if !e.addr.Defined() {
			return heapBlock{}, 0, r.corrupt("fractal heap indirect block", a, fmt.Sprintf("an object at %d", offset), "in a block that is there")
		}
		if row < h.directRows {
			b, err := r.readDirect(h, e, begin, h.rowSize(row))
			return b, begin, err
		}
		a, start, rows = e.addr, begin, h.childRows(row)
	}
}

// find returns row and column of the block that contains byte offset of an indirect block's space
// (H5HF__dtable_lookup).
func (h *FractalHeap) find(offset uint64) (row, col int) {
	if first := h.StartSize * uint64(h.Width); offset < first {
		return 0, int(format.Size(offset / h.StartSize))
	}
	high := log2(offset)
	row = high - log2(h.StartSize*uint64(h.Width)) + 1
	return row, int(format.Size((offset - 1<<high) / h.rowSize(row)))
}

// heapBlocks reads all blocks of the heap and records errors.
func (r *reader) heapBlocks(h *FractalHeap) {
	if !h.Root.Defined() {
		return
	}
	if h.RootRows == 0 {
		_, _, err := r.block(h, 0)
		r.note(err)
		return
	}
	r.indirectBlocks(h, h.Root, 0, int(h.RootRows))
}

func (r *reader) indirectBlocks(h *FractalHeap, a Addr, start uint64, rows int) {
	if err := r.once("fractal heap indirect block", a); err != nil {
		r.note(err)
		return
	}
	ib, err := r.readIndirect(h, a, start, rows)
	if err != nil {
		r.note(err)
		return
	}
	for i, e := range ib.entries {
		if !e.addr.Defined() {
			continue
		}
		row, col := i/int(h.Width), i%int(h.Width)
		begin := start + h.rowOffset(row) + uint64(col)*h.rowSize(row)
		if row < h.directRows {
			_, err := r.readDirect(h, e, begin, h.rowSize(row))
			r.note(err)
		} else {
			r.indirectBlocks(h, e.addr, begin, h.childRows(row))
		}
	}
}

// Kinds of heap IDs.
const (
	managedID = iota
	hugeID
	tinyID
)

// heapID reads the ID of an object.
func (p *part) heapID(name string, n int) []byte {
	id := p.bytes(name, n)
	if p.last != nil && len(id) > 0 {
		p.mean("%s object", [...]string{"managed", "huge", "tiny", "reserved"}[id[0]>>4&3])
	}
	return id
}

// heapObject reads the object with an ID. It calls read with a part that contains only the object.
func (r *reader) heapObject(h *FractalHeap, id []byte, what string, read func(*part)) error {
	q, err := r.locateObject(h, id, what)
	if err != nil {
		return err
	}
	if r.tracing {
		q.describe()
	}
	q.summed = true // libhdf5 assumes it, also for heaps without checksums
	read(q)
	return q.done()
}

func (r *reader) locateObject(h *FractalHeap, id []byte, what string) (*part, error) {
	bad := func(got, want string) error { return r.corrupt("heap ID of "+what, h.Addr, got, want) }
	if len(id) < 1 || id[0]&0xC0 != 0 {
		return nil, bad(fmt.Sprintf("%x", id), "version 0")
	}
	switch id[0] >> 4 & 3 {
	case managedID:
		return r.managedObject(h, id, what)
	case hugeID:
		return r.hugeObject(h, id, what)
	case tinyID:
		n, data := int(id[0]&0xF)+1, id[1:]
		if len(id)-1 > 17 { // the extended form of longer IDs
			n, data = (int(id[0]&0xF)<<8|int(id[1]))+1, id[2:]
		}
		if n > len(data) {
			return nil, bad(fmt.Sprintf("a tiny object of %d bytes", n), fmt.Sprintf("at most %d", len(data)))
		}
		return &part{r: r, what: what, b: data[:n], at: r.f.place(h.Addr), decoded: true}, nil
	}
	return nil, bad("an id of type 3", "managed, huge or tiny")
}

func (r *reader) managedObject(h *FractalHeap, id []byte, what string) (*part, error) {
	bad := func(got, want string) error { return r.corrupt("heap ID of "+what, h.Addr, got, want) }
	if len(id) < 1+h.offsetSize+h.lengthSize {
		return nil, bad(fmt.Sprintf("%d bytes", len(id)), fmt.Sprintf("%d", 1+h.offsetSize+h.lengthSize))
	}
	offset := leUint(id[1 : 1+h.offsetSize])
	length := leUint(id[1+h.offsetSize : 1+h.offsetSize+h.lengthSize])
	switch {
	case offset == 0 || offset > h.Managed.Size:
		return nil, bad(fmt.Sprintf("offset %d", offset), fmt.Sprintf("1 to %d", h.Managed.Size))
	case length == 0 || length > uint64(h.MaxManaged) || length > h.MaxDirect:
		return nil, bad(fmt.Sprintf("%d bytes", length), fmt.Sprintf("1 to %d", h.MaxManaged))
	}
	b, start, err := r.block(h, offset)
	if err != nil {
		return nil, err
	}
	in := offset - start
	head := uint64(5 + r.f.super.OffsetSize + h.offsetSize)
	if h.Flags&2 != 0 {
		head += 4
	}
	if in < head || in > uint64(len(b.data)) || length > uint64(len(b.data))-in {
		return nil, bad(fmt.Sprintf("bytes %d to %d of a block", in, in+length), fmt.Sprintf("%d to %d", head, len(b.data)))
	}
	p := &part{r: r, what: what, b: b.data[in : in+length : in+length], at: b.at + int64(in), decoded: b.decoded}
	if b.decoded {
		p.at = b.at
	}
	return p, nil
}

// hugeObject finds an object that is stored outside the heap blocks. The ID contains its location
// if it is long enough, otherwise a number in the B-tree.
func (r *reader) hugeObject(h *FractalHeap, id []byte, what string) (*part, error) {
	var o hugeObject
	id = id[1:]
	direct, filtered := r.hugeDirect(h), h.Pipeline != nil
	if direct {
		q := &part{r: r, what: "heap ID", b: id, at: r.f.place(h.Addr), decoded: true}
		o.addr, o.length = q.addr("address"), q.length("length")
		if filtered {
			o.mask, o.size = q.u32("filter mask"), q.length("size")
		}
		if q.err != nil {
			return nil, q.err
		}
	} else {
		n := min(len(id), 8)
		if err := r.readHuge(h); err != nil {
			return nil, err
		}
		var ok bool
		if o, ok = h.huge[leUint(id[:n])]; !ok {
			return nil, r.corrupt("heap ID of "+what, h.Addr, fmt.Sprintf("huge object %d", leUint(id[:n])), "one in the B-tree")
		}
	}
	p := r.part(what, o.addr, int64(min(o.length, uint64(r.f.limits.Structure)+1)))
	p.field, p.open = nil, nil
	if p.err != nil {
		return nil, p.err
	}
	if filtered {
		data, err := r.decode(h.Pipeline, o.mask, p.b, o.size)
		if err == nil && uint64(len(data)) != o.size {
			err = r.corrupt(what, o.addr, fmt.Sprintf("%d bytes after decoding", len(data)), fmt.Sprint(o.size))
		}
		if err != nil {
			return nil, err
		}
		p.b, p.decoded = data, true
	}
	return p, nil
}

// hugeDirect reports whether IDs are long enough to contain the location of huge objects
// (H5HF__huge_init).
func (r *reader) hugeDirect(h *FractalHeap) bool {
	o, l := r.f.super.OffsetSize, r.f.super.LengthSize
	need := o + l
	if h.Pipeline != nil {
		need = o + l + 4 + l
	}
	return int(h.IDLength)-1 >= need
}

// readHuge reads the B-tree of huge objects, at most once per operation.
func (r *reader) readHuge(h *FractalHeap) error {
	if h.huge != nil {
		return nil
	}
	h.huge = map[uint64]hugeObject{}
	if !h.HugeIndex.Defined() {
		return nil
	}
	before := r.first
	r.first = nil
	r.hugeRecords(h, func(number uint64, o hugeObject) { h.huge[number] = o })
	err := r.first
	r.first = before
	return err
}

// hugeRecords walks the B-tree of huge objects, which has one of four types.
func (r *reader) hugeRecords(h *FractalHeap, visit func(number uint64, o hugeObject)) {
	o, l := r.f.super.OffsetSize, r.f.super.LengthSize
	direct, filtered := r.hugeDirect(h), h.Pipeline != nil
	w := &walk2{r: r, treeType: hugeIndirect, recordSize: o + 2*l}
	switch {
	case direct && filtered:
		w.treeType, w.recordSize = hugeDirectFiltered, o+l+4+l
	case direct:
		w.treeType, w.recordSize = hugeDirect, o+l
	case filtered:
		w.treeType, w.recordSize = hugeIndirectFiltered, o+l+4+2*l
	}
	type numbered struct {
		number uint64
		object hugeObject
	}
	w.record = func(p *part) any {
		n := numbered{}
		n.object.addr, n.object.length = p.addr("huge object address"), p.length("huge object length")
		if filtered {
			n.object.mask, n.object.size = p.u32("filter mask"), p.length("huge object memory size")
		}
		if !direct {
			n.number = p.length("huge object ID")
		}
		return n
	}
	w.visit = func(rec any) bool {
		n := rec.(numbered)
		visit(n.number, n.object)
		return true
	}
	w.run(h.HugeIndex)
}
