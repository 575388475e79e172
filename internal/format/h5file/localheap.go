// Local heaps, the storage of names in old-style groups and of external file names (File Format,
// III.D).

package h5file

import (
	"bytes"
	"fmt"

	"github.com/hyperslab/hyperslab/internal/format"
)

// LocalHeap is a range of the file that contains small strings.
type LocalHeap struct {
	Addr     Addr
	DataAddr Addr
	Data     []byte
	FreeHead uint64      // offset of the first free block; 1 if there is no free block
	Free     []FreeBlock // the free list in its order

	at int64 // bytes from the start of the file to Data
}

// FreeBlock is an unused range of a local heap.
type FreeBlock struct{ Offset, Size uint64 }

// freeListEnd is the offset that marks the end of the list of free blocks.
const freeListEnd = 1

// Name returns the string at an offset. The string must end with a zero inside the heap.
func (h *LocalHeap) Name(offset uint64) (string, error) {
	fail := func(got, want string) error {
		return &format.Error{Format: formatName, What: "name in local heap", Offset: h.at, Got: got, Want: want, Err: format.ErrCorrupt}
	}
	if offset >= uint64(len(h.Data)) {
		return "", fail(fmt.Sprintf("offset %d", offset), fmt.Sprintf("below %d", len(h.Data)))
	}
	n := bytes.IndexByte(h.Data[offset:], 0)
	if n < 0 {
		return "", fail("no zero at its end", "one inside the heap")
	}
	return string(h.Data[offset:][:n]), nil
}

// localHeap reads the local heap at a. The result is never nil.
func (r *reader) localHeap(a Addr) (*LocalHeap, error) {
	h := &LocalHeap{Addr: a, DataAddr: Undefined}
	s := &r.f.super
	p := r.part("local heap", a, int64(8+2*s.LengthSize+s.OffsetSize))
	if !p.signature("HEAP") {
		return h, p.done()
	}
	v := p.u8("version")
	p.version(v, 0, 0)
	p.reserved(3)
	size := p.length("data segment size")
	h.FreeHead = p.length("offset to head of free-list")
	if w := 8 * s.LengthSize; h.FreeHead == Unlimited>>(64-w) {
		h.FreeHead = freeListEnd // value in the specification; libhdf5 writes 1
		p.mean("no free block")
	}
	p.check(h.FreeHead == freeListEnd || h.FreeHead < size, h.FreeHead, fmt.Sprintf("1, or below %d", size))
	h.DataAddr = p.addr("address of data segment")
	p.check(h.DataAddr.Defined(), h.DataAddr, "an address")
	if err := p.done(); err != nil {
		return h, err
	}
	d := r.part("local heap data segment", h.DataAddr, int64(min(size, uint64(r.f.limits.Structure)+1)))
	h.Data, h.at = d.b, d.at
	if d.err == nil {
		h.freeList(d)
	}
	return h, d.done()
}

// freeList reads the list of free blocks. The blocks must not overlap, so the list is finite.
func (h *LocalHeap) freeList(p *part) {
	n := p.r.f.super.LengthSize
	var spans spanSet
	for next := h.FreeHead; next != freeListEnd; {
		if !p.check(next <= uint64(len(p.b)) && uint64(len(p.b))-next >= uint64(2*n), fmt.Sprintf("a free block at %d", next), fmt.Sprintf("inside the heap's %d bytes", len(p.b))) {
			return
		}
		p.pos = int(next)
		end := p.group("free block", len(h.Free))
		following := p.length("offset of next free block")
		p.check(following > 0, following, "1, or the next block")
		size := p.length("size of free block")
		good := p.check(size >= uint64(2*n) && size <= uint64(len(p.b))-next, fmt.Sprintf("%d bytes", size), fmt.Sprintf("%d to %d", 2*n, uint64(len(p.b))-next))
		good = good && p.check(spans.add(next, next+size), "a free block inside another", "blocks of their own")
		end()
		h.Free = append(h.Free, FreeBlock{next, size})
		if !good || following == 0 {
			return
		}
		next = following
	}
}
