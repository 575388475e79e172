// Fixed arrays, the index for chunks of datasets of fixed maximum size (File Format, VII.C).

package h5file

import (
	"fmt"

	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/grid"
)

func (x *chunkIndex) fixedArray() bool {
	r, s := x.r, &x.r.f.super
	p := r.part("fixed array header", x.layout.Addr, int64(12+s.LengthSize+s.OffsetSize))
	if !p.signature("FAHD") {
		r.note(p.done())
		return true
	}
	v := p.u8("version")
	p.version(v, 0, 0)
	c := p.u8("client ID")
	p.check(c == x.class(), c, fmt.Sprint(x.class()))
	size := int(p.u8("entry size"))
	p.check(size == x.elementSize(), size, fmt.Sprint(x.elementSize()))
	pageBits := p.u8("page bits")
	p.check(pageBits > 0 && pageBits < 64, pageBits, "1 to 63")
	n := p.length("max number of entries")
	counts, ok := x.grid(x.maxDims)
	want, fits := uint64(0), false
	if ok {
		want, fits = product(counts)
	}
	p.check(ok && fits && n == want, n, fmt.Sprintf("%d, the chunks of the dataset", want))
	block := p.addr("data block address")
	bad := p.err
	p.checksum()
	x.unsure = p.done()
	r.note(x.unsure)
	if bad != nil || !p.ok() || !block.Defined() {
		return true
	}
	return x.fixedBlock(block, n, uint64(1)<<pageBits, counts)
}

func (x *chunkIndex) fixedBlock(a Addr, n, pageElems uint64, counts []uint64) bool {
	r := x.r
	size := uint64(x.elementSize())
	head := uint64(6 + r.f.super.OffsetSize)
	pages := uint64(0)
	if n > pageElems {
		pages = grid.DivUp(n, pageElems)
	}
	if most := uint64(r.f.size) / size; n > most {
		r.note(r.corrupt("fixed array data block", a, fmt.Sprintf("%d entries", n), "entries inside the file"))
		if pages == 0 {
			n = most
		}
	}
	bytes := head + n*size + 4
	if pages > 0 {
		bytes = head + grid.DivUp(pages, 8) + 4
	}
	p := r.part("fixed array data block", a, format.Size(bytes))
	if !p.signature("FADB") {
		r.note(p.done())
		return true
	}
	v := p.u8("version")
	p.version(v, 0, 0)
	c := p.u8("client ID")
	p.check(c == x.class(), c, fmt.Sprint(x.class()))
	back := p.addr("header address")
	p.check(back == x.layout.Addr, back, x.layout.Addr.String())
	if pages == 0 {
		list := x.elements(p, 0, n, counts)
		p.checksum()
		err := p.done()
		r.note(err)
		return x.give(list, err)
	}
	bitmap := p.bytes("page bitmap", int(format.Size(grid.DivUp(pages, 8))))
	bad := p.err
	p.checksum()
	if err := p.done(); err != nil {
		r.note(err)
		if bad != nil || !p.ok() {
			return true
		}
		x.unsure = err
	}
	at := a + Addr(bytes)
	var wanted []Addr
	for i := range min(pages, uint64(r.f.size)) { // a page has more than one byte
		if bit(bitmap, i) && x.box.within(i*pageElems, pageElems, counts) && len(wanted) < hinted {
			wanted = append(wanted, at+Addr(i*(pageElems*size+4)))
		}
	}
	r.hint(wanted, format.Size(pageElems*size+4))
	for i := range pages {
		if uint64(r.f.position(at)) > uint64(r.f.size) {
			break
		}
		k := min(pageElems, n-i*pageElems)
		if bit(bitmap, i) && x.box.within(i*pageElems, k, counts) {
			q := r.part("fixed array data block page", at, format.Size(k*size+4))
			list := x.elements(q, i*pageElems, k, counts)
			q.checksum()
			err := q.done()
			if r.note(err); !x.give(list, err) {
				return false
			}
		}
		at += Addr(k*size + 4)
	}
	return true
}

// bit reports whether bit i is set, counted from the highest bit of the first byte.
func bit(b []byte, i uint64) bool { return i/8 < uint64(len(b)) && b[i/8]>>(7-i%8)&1 != 0 }

// elements reads n elements of an array, which are the chunks first, first+1, … of the grid, and
// returns the stored chunks.
func (x *chunkIndex) elements(p *part, first, n uint64, counts []uint64) (list []Chunk) {
	for i := uint64(0); i < n && p.ok(); i++ {
		end := p.group("element", int(format.Size(first+i)))
		c := x.element(p)
		end()
		if !p.ok() || !c.Addr.Defined() {
			continue
		}
		c.Offset = x.offsetOf(first+i, counts)
		list = append(list, c)
	}
	return list
}
