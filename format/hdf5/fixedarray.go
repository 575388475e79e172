// Fixed arrays, which index the chunks of datasets that cannot grow
// (File Format, VII.C).

package hdf5

import "fmt"

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
	grid, ok := x.grid(x.maxDims)
	want, fits := uint64(0), false
	if ok {
		want, fits = product(grid)
	}
	p.check(ok && fits && n == want, n, fmt.Sprintf("%d, the chunks of the dataset", want))
	block := p.addr("data block address")
	p.checksum()
	if err := p.done(); err != nil || !block.Defined() {
		r.note(err)
		return true
	}
	return x.fixedBlock(block, n, uint64(1)<<pageBits, grid)
}

func (x *chunkIndex) fixedBlock(a Addr, n, pageElems uint64, grid []uint64) bool {
	r := x.r
	size := uint64(x.elementSize())
	if n > uint64(r.f.size)/size {
		r.note(r.corrupt("fixed array data block", a, fmt.Sprintf("%d entries", n), "entries inside the file"))
		return true
	}
	head := uint64(6 + r.f.super.OffsetSize)
	pages := uint64(0)
	bytes := head + n*size + 4
	if n > pageElems {
		pages = (n + pageElems - 1) / pageElems
		bytes = head + (pages+7)/8 + 4
	}
	p := r.part("fixed array data block", a, int64(bytes))
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
		more := x.elements(p, 0, n, grid)
		p.checksum()
		r.note(p.done())
		return more
	}
	bitmap := p.bytes("page bitmap", int((pages+7)/8))
	p.checksum()
	if err := p.done(); err != nil {
		r.note(err)
		return true
	}
	at := a + Addr(bytes)
	for i := range pages {
		k := min(pageElems, n-i*pageElems)
		if bit(bitmap, i) {
			q := r.part("fixed array data block page", at, int64(k*size+4))
			more := x.elements(q, i*pageElems, k, grid)
			q.checksum()
			if r.note(q.done()); !more {
				return false
			}
		}
		at += Addr(k*size + 4)
	}
	return true
}

// bit reports bit i, counted from the highest one of the first byte.
func bit(b []byte, i uint64) bool { return i/8 < uint64(len(b)) && b[i/8]>>(7-i%8)&1 != 0 }

// elements reads n elements of an array, which are chunks first, first+1, … of the
// grid, and visits those that are stored.
func (x *chunkIndex) elements(p *part, first, n uint64, grid []uint64) bool {
	for i := uint64(0); i < n && p.ok(); i++ {
		end := p.group("element", int(first+i))
		c := x.element(p)
		end()
		if !p.ok() || !c.Addr.Defined() {
			continue
		}
		if c.Offset = x.offsetOf(first+i, grid); !x.visit(c) {
			return false
		}
	}
	return true
}
