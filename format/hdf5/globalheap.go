// Global heaps: collections of small objects for variable-length data, region
// references and virtual datasets (File Format, III.E).

package hdf5

import (
	"fmt"

	"github.com/hyperslab/hyperslab/format"
)

// GlobalHeap is one collection.
type GlobalHeap struct {
	Addr    Addr
	Size    uint64 // bytes, header included
	Objects map[uint16]GlobalObject
	Free    uint64 // bytes of object 0, the free space at the end

	err error // what is wrong with it
}

// GlobalObject is an object of a collection.
type GlobalObject struct {
	References uint16 // a count the library does not use
	Data       []byte
	At         int64 // bytes from the start of the file to Data
}

// minGlobalHeap is the bytes of the smallest collection.
const minGlobalHeap = 4096

// globalHeap reads the collection at a, once an operation. It is never nil: with an
// error it has the objects before what is wrong.
func (r *reader) globalHeap(a Addr) (*GlobalHeap, error) {
	if h := r.globals[a]; h != nil {
		return h, h.err
	}
	h := &GlobalHeap{Addr: a, Objects: map[uint16]GlobalObject{}}
	p := r.part("global heap collection", a, int64(align8(8+r.f.super.LengthSize)))
	if !p.signature("GCOL") {
		return h, p.done() // nothing to keep
	}
	v := p.u8("version")
	p.version(v, 1, 1)
	p.reserved(3)
	h.Size = p.length("collection size")
	if !p.check(h.Size >= minGlobalHeap, h.Size, fmt.Sprintf("at least %d", minGlobalHeap)) {
		return h, p.done()
	}
	p.padTo8()
	if p.grow(int64(min(h.Size, uint64(r.f.limits.Structure)+1))) {
		h.objects(p)
	}
	h.err = p.done()
	r.globals[a] = h
	return h, h.err
}

func (h *GlobalHeap) objects(p *part) {
	head := align8(8 + p.r.f.super.LengthSize)
	for p.rest() > 0 && p.ok() {
		if p.rest() < head {
			// Too little for an object: the library takes it for object 0.
			h.Free = uint64(p.rest())
			p.bytes("unused", p.rest())
			return
		}
		end := p.group("object", len(h.Objects))
		index := p.u16("heap object index")
		refs := p.u16("reference count")
		p.reserved(4)
		size := p.length("object size")
		p.padTo8()
		if index == 0 {
			// The size of the free space counts this header.
			h.Free = size
			p.check(size == uint64(p.rest()+head), size, fmt.Sprintf("%d, all that is left", p.rest()+head))
			p.bytes("free space", p.rest())
			end()
			return
		}
		if !p.check(size <= uint64(p.rest()), size, fmt.Sprintf("at most %d", p.rest())) {
			end()
			return
		}
		if _, twice := h.Objects[index]; twice {
			p.bad(fmt.Sprintf("a second object %d", index), "one")
		}
		o := GlobalObject{References: refs, At: p.offset(p.pos)}
		o.Data = p.bytes("object data", int(size))
		h.Objects[index] = o
		if pad := int(-size & 7); pad > 0 {
			p.bytes("padding", min(pad, p.rest()))
		}
		end()
	}
}

func align8(n int) int { return (n + 7) &^ 7 }

// padTo8 skips to a multiple of 8 bytes. The document has no such gaps; there are some
// where lengths have fewer than 8 bytes.
func (p *part) padTo8() {
	if n := align8(p.pos) - p.pos; n > 0 {
		p.reserved(n)
	}
}

// globalObject finds an object of a collection. It may be there also with an error,
// if the collection is damaged.
func (r *reader) globalObject(a Addr, index uint32) (GlobalObject, error) {
	h, err := r.globalHeap(a)
	if o, ok := h.Objects[uint16(index)]; ok && index <= 0xFFFF {
		return o, err
	}
	if err == nil {
		err = &format.Error{Format: formatName, What: "global heap collection", Offset: r.f.place(a), Got: fmt.Sprintf("no object %d", index), Want: "one", Err: format.ErrCorrupt}
	}
	return GlobalObject{}, err
}
