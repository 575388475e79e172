// Version 2 B-trees: header, internal nodes and leaves (File Format, III.A.2).

package h5file

import (
	"fmt"

	"github.com/hyperslab/hyperslab/internal/chunked/readahead"
	"github.com/hyperslab/hyperslab/internal/format"
)

// Types of version 2 B-trees. The specification lists 0 to 9. Types 10 and 11, for chunks, were
// added later. Type 0 is for libhdf5's own tests.
const (
	testRecords = iota
	hugeIndirect
	hugeIndirectFiltered
	hugeDirect
	hugeDirectFiltered
	linkNames
	linkOrder
	sharedMessages
	attributeNames
	attributeOrder
	chunks
	chunksFiltered
)

var recordNames = [...]string{
	"records for testing", "indirectly accessed, non-filtered huge objects", "indirectly accessed, filtered huge objects",
	"directly accessed, non-filtered huge objects", "directly accessed, filtered huge objects", "links by name", "links by creation order",
	"shared messages", "attributes by name", "attributes by creation order", "chunks without filters", "chunks with filters",
}

// A walk2 traverses a version 2 B-tree in order. It reads as much of a corrupt tree as possible and
// records the errors.
type walk2 struct {
	r          *reader
	treeType   uint8
	recordSize int                // bytes
	record     func(p *part) any  // reads a record
	visit      func(rec any) bool // returns false to end the walk

	// want reports whether records between two encoded ones are visited, where nil is no bound.
	// nil: all are visited, and the numbers of records are checked.
	want func(left, right []byte) bool

	nodeSize uint32
	levels   []nodeShape // by depth, leaves first
	unsure   error       // first error of the current node and the nodes above it
}

// nodeShape contains the limits of the nodes of one depth.
type nodeShape struct {
	most     uint64 // maximum number of records of a node
	below    uint64 // maximum number of records of a node and all nodes below it
	belowLen int    // encoded size of that number in bytes
}

// run walks the tree whose header is at a. It returns false if the visitor has stopped.
func (w *walk2) run(a Addr) bool {
	r := w.r
	s := &r.f.super
	p := r.part("v2 B-tree header", a, int64(22+s.OffsetSize+s.LengthSize))
	if !p.signature("BTHD") {
		r.note(p.done())
		return true
	}
	v := p.u8("version")
	p.version(v, 0, 0)
	t := p.u8("type")
	if int(t) < len(recordNames) {
		p.mean("%s", recordNames[t])
	}
	p.check(t == w.treeType, t, fmt.Sprint(w.treeType))
	w.nodeSize = p.u32("node size")
	size := int(p.u16("record size"))
	p.check(size == w.recordSize, size, fmt.Sprint(w.recordSize))
	depth := int(p.u16("depth"))
	p.check(depth < r.f.limits.Depth, depth, fmt.Sprintf("below %d", r.f.limits.Depth))
	split := p.u8("split percent")
	p.check(split >= 1 && split <= 100, split, "1 to 100")
	merge := p.u8("merge percent")
	p.check(merge >= 1 && merge <= 100, merge, "1 to 100")
	root := p.addr("root node address")
	n := uint64(p.u16("number of records in root node"))
	total := p.length("total number of records in B-tree")
	bad := p.err
	p.checksum()
	if sum := p.err; bad == nil && p.ok() {
		p.err = nil
		w.shapes(p, depth)
		if bad = p.err; bad == nil {
			p.err = sum
		}
	}
	w.unsure = p.done()
	r.note(w.unsure)
	if bad != nil || !p.ok() {
		return true
	}
	if !root.Defined() {
		if total > 0 {
			r.note(r.corrupt("v2 B-tree header", a, fmt.Sprintf("%d records without a root", total), "a root"))
		}
		return true
	}
	w.ahead(root, depth, n)
	seen, more := w.node(root, depth, n, nil, nil)
	if more && seen != total && w.want == nil {
		r.note(r.corrupt("v2 B-tree header", a, fmt.Sprintf("%d records", total), fmt.Sprintf("%d, those there are", seen)))
	}
	return more
}

// shapes computes the maximum numbers of records of nodes, as H5B2__hdr_init does.
func (w *walk2) shapes(p *part, depth int) {
	size := int64(w.nodeSize)
	leaf := (size - 10) / int64(w.recordSize)
	if leaf < 1 || int64(w.nodeSize) > w.r.f.limits.Structure {
		p.complain(format.ErrCorrupt, "node size", fmt.Sprint(w.nodeSize), fmt.Sprintf("at least %d, for one record, and at most %d", 10+w.recordSize, w.r.f.limits.Structure))
		return
	}
	w.levels = []nodeShape{{most: uint64(leaf), below: uint64(leaf)}}
	for d := 1; d <= depth; d++ {
		before := w.levels[d-1]
		ptr := w.pointerSize(d)
		most := (size - 10 - ptr) / (int64(w.recordSize) + ptr)
		if most < 1 || before.below > 1<<62/uint64(most+2) {
			p.complain(format.ErrCorrupt, "depth", fmt.Sprint(depth), "a depth that nodes of this size can have")
			return
		}
		below := uint64(most+1)*before.below + uint64(most)
		w.levels = append(w.levels, nodeShape{uint64(most), below, encodedSize(below)})
	}
}

// pointerSize returns the size in bytes of a child pointer in a node of depth d.
func (w *walk2) pointerSize(d int) int64 {
	n := w.r.f.super.OffsetSize + encodedSize(w.levels[0].most)
	if d > 1 {
		n += w.levels[d-1].belowLen
	}
	return int64(n)
}

// ahead fetches the nodes below the root that are visited, if the file is remote: those of a level
// at the same time.
func (w *walk2) ahead(root Addr, depth int, n uint64) {
	r := w.r
	if readahead.Of(r.f.src) == nil || depth < 2 {
		return // the traversal passes the children of a node together
	}
	type node struct {
		at          Addr
		n           uint64
		left, right []byte
	}
	level := []node{{root, n, nil, nil}}
	for ; depth > 0 && len(level) > 0; depth-- {
		var next []node
		for _, k := range level {
			b := make([]byte, w.nodeSize)
			if _, err := r.f.src.ReadAt(b, r.f.place(k.at)); err != nil || string(b[:4]) != "BTIN" || k.n > w.levels[depth].most {
				continue // the traversal returns the error
			}
			records := b[6:]
			pointers := records[int(k.n)*w.recordSize:]
			size := encodedSize(w.levels[0].most)
			left := k.left
			for i := range int(k.n) + 1 {
				right := k.right
				if i < int(k.n) {
					right = records[i*w.recordSize : (i+1)*w.recordSize]
				}
				p := pointers[int64(i)*w.pointerSize(depth):]
				if w.want == nil || w.want(left, right) {
					at := addresses(p[:r.f.super.OffsetSize], r.f.super.OffsetSize)[0]
					next = append(next, node{at, little(p[r.f.super.OffsetSize:][:size]), left, right})
				}
				left = right
			}
		}
		if level = next; len(level) > hinted {
			return
		}
		all := make([]Addr, len(level))
		for i, k := range level {
			all[i] = k.at
		}
		r.hint(all, int64(w.nodeSize))
	}
}

// little returns a little-endian number of at most 8 bytes.
func little(b []byte) (n uint64) {
	for i, x := range b {
		n |= uint64(x) << (8 * i)
	}
	return n
}

// node walks a node of n records between two encoded ones, where nil is no bound. It returns the
// number of records in the node and below it.
func (w *walk2) node(a Addr, depth int, n uint64, left, right []byte) (seen uint64, more bool) {
	r := w.r
	what, signature := "v2 B-tree leaf node", "BTLF"
	if depth > 0 {
		what, signature = "v2 B-tree internal node", "BTIN"
	}
	if err := r.once(what, a); err != nil {
		r.note(err)
		return 0, true
	}
	p := r.part(what, a, int64(w.nodeSize))
	if !p.signature(signature) {
		r.note(p.done())
		return 0, true
	}
	v := p.u8("version")
	p.version(v, 0, 0)
	t := p.u8("type")
	p.check(t == w.treeType, t, fmt.Sprint(w.treeType))
	if n > w.levels[depth].most {
		p.complain(format.ErrCorrupt, "number of records", fmt.Sprint(n), fmt.Sprintf("at most %d", w.levels[depth].most))
		n = 0
	}
	records := make([]any, 0, n)
	bounds := [][]byte{left}
	for i := 0; i < int(n) && p.ok(); i++ {
		end := p.group("record", i)
		from := p.pos
		rec := w.record(p)
		if k := from + w.recordSize - p.pos; k > 0 {
			p.reserved(k)
		}
		if p.ok() {
			records = append(records, rec)
			bounds = append(bounds, p.b[from:from+w.recordSize])
		}
		end()
	}
	type pointer struct {
		addr       Addr
		own, below uint64
	}
	var pointers []pointer
	for i := 0; depth > 0 && i <= int(n) && p.ok(); i++ {
		end := p.group("child", i)
		c := pointer{addr: p.addr("child node pointer")}
		c.own = p.uint("number of records", encodedSize(w.levels[0].most))
		c.below = c.own
		if depth > 1 {
			c.below = p.uint("total number of records", w.levels[depth-1].belowLen)
		}
		end()
		if p.ok() {
			pointers = append(pointers, c)
		}
	}
	p.checksum()
	err := p.done()
	r.note(err)
	if above := w.unsure; above == nil {
		w.unsure = err
		defer func() { w.unsure = nil }()
	}
	bounds = append(bounds, right)
	wanted := func(i int) bool { return w.want == nil || w.want(bounds[i], bounds[min(i+1, len(bounds)-1)]) }
	var next []Addr
	for i, c := range pointers {
		if wanted(i) {
			next = append(next, c.addr)
		}
	}
	r.hint(next, int64(w.nodeSize))
	for i, rec := range records {
		if i < len(pointers) && wanted(i) {
			c := pointers[i]
			k, more := w.child(c.addr, depth, c.own, c.below, bounds[i], bounds[i+1])
			if seen += k; !more {
				return seen, false
			}
		}
		seen++
		if !w.visit(rec) {
			return seen, false
		}
	}
	if last := len(records); len(pointers) > last && wanted(last) {
		c := pointers[last]
		k, more := w.child(c.addr, depth, c.own, c.below, bounds[last], right)
		return seen + k, more
	}
	return seen, true
}

func (w *walk2) child(a Addr, depth int, own, below uint64, left, right []byte) (uint64, bool) {
	before := w.r.first
	k, more := w.node(a, depth-1, own, left, right)
	if more && k != below && w.r.first == before && w.want == nil {
		w.r.note(w.r.corrupt("v2 B-tree internal node", a, fmt.Sprintf("%d records announced", below), fmt.Sprintf("%d, those there are", k)))
	}
	return k, more
}
