// Global heaps: collections of small objects for variable-length data, region references and
// virtual datasets (File Format, III.E).

package h5file

import (
	"fmt"

	"github.com/hyperslab/hyperslab/internal/format"
)

// GlobalHeap is one collection.
type GlobalHeap struct {
	Addr    Addr
	Size    uint64 // bytes, header included
	Objects map[uint16]GlobalObject
	Free    uint64 // size of object 0, the free space at the end, in bytes

	err error // first error of the collection
}

// GlobalObject is an object of a collection.
type GlobalObject struct {
	References uint16 // a count that libhdf5 does not use
	Data       []byte
	At         int64 // bytes from the start of the file to Data
}

// minGlobalHeap is the bytes of the smallest collection.
const minGlobalHeap = 4096

// globalHeap reads the collection at a, at most once per operation. The result is never nil. With
// an error it contains the objects before the error.
func (r *reader) globalHeap(a Addr) (*GlobalHeap, error) {
	if h := r.globals[a]; h != nil {
		return h, h.err
	}
	h := &GlobalHeap{Addr: a, Objects: map[uint16]GlobalObject{}}
	p := r.part("global heap collection", a, int64(align8(8+r.f.super.LengthSize)))
	if !p.signature("GCOL") {
		return h, p.done() // the collection is not cached
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
			// The rest is too small for an object. libhdf5 treats it as object 0.
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
			// The size of the free space includes this header.
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

// padTo8 skips to a multiple of 8 bytes. The specification does not mention this padding, which
// occurs if lengths have fewer than 8 bytes.
func (p *part) padTo8() {
	if n := align8(p.pos) - p.pos; n > 0 {
		p.reserved(n)
	}
}

// globalObject finds an object of a collection. If the collection is corrupt, it may return the
// object and an error.
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
