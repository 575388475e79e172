// Reading of single blocks of a chunk.

package chunk

import (
	"encoding/binary"
	"io"
	"slices"
)

// Parts is a chunk in memory of which only the requested blocks are read. Its buffer has the full
// length, so that a decoder of single blocks finds the header, the table and these blocks at their
// offsets. A nil *Parts is a complete chunk. A Parts must not be used by more than one goroutine at
// a time.
type Parts struct {
	r      io.ReaderAt // the chunk begins at 0
	b      []byte
	read   int64 // bytes of blocks that were read
	done   bool  // the chunk is complete
	block  int   // decoded bytes of a block
	starts []int // starts of the blocks in block order; nil if blocks cannot be read one by one
	sorted []int // starts in ascending order, then the end of the chunk
}

// OpenParts starts to read the chunk at r into b. The header h must have passed its check. b must
// have at least h.CBytes bytes and already contain the first n bytes of the chunk. OpenParts reads
// and checks the table of blocks.
//
// It reads a whole chunk at once if the chunk has no blocks, or if its blocks depend on each other
// or on a dictionary. It returns ErrCorrupt for an invalid table, and the errors of r.
func OpenParts(r io.ReaderAt, h Header, b []byte, n int) (*Parts, error) {
	p := &Parts{r: r, b: b[:h.CBytes], block: int(h.BlockLen())}
	if h.Stored() && p.block > 0 && int64(h.CBytes) == int64(h.Size())+int64(h.NBytes) {
		for at := h.Size(); at < len(p.b); at += p.block {
			p.starts = append(p.starts, at)
		}
		p.sorted = append(slices.Clone(p.starts), len(p.b))
		return p, nil
	}
	if !h.HasBlocks() || h.Blosc2Flags&Flag2Dict != 0 || slices.Contains(h.Filters[:], Delta) {
		return p, p.All()
	}
	end := h.Size() + 4*int(h.NumBlocks())
	if end > len(p.b) {
		return p, p.All()
	}
	if n < end {
		n = max(n, h.Size())
		if _, err := r.ReadAt(p.b[n:end], int64(n)); err != nil {
			return nil, err
		}
	}
	table := p.b[h.Size():end]
	if err := h.CheckStarts(table); err != nil {
		return nil, err
	}
	for ; len(table) > 0; table = table[4:] {
		p.starts = append(p.starts, int(int32(binary.LittleEndian.Uint32(table))))
	}
	p.sorted = append(slices.Sorted(slices.Values(p.starts)), len(p.b))
	return p, nil
}

// Bytes returns the chunk, as far as it has been read.
func (p *Parts) Bytes() []byte { return p.b }

// BytesRead returns the number of bytes of blocks that were read.
func (p *Parts) BytesRead() int64 { return p.read }

// All reads the rest of the chunk.
func (p *Parts) All() error {
	if p == nil || p.done {
		return nil
	}
	n, err := p.r.ReadAt(p.b, 0)
	if n < len(p.b) {
		return err
	}
	p.read, p.done = int64(n), true
	return nil
}

// Block reads block k. bytes is the decoded block size of the caller. If it differs from the
// chunk's, Block reads the whole chunk, because the block number would mean another block.
func (p *Parts) Block(k, bytes int) error {
	if p == nil || p.done {
		return nil
	}
	if k >= len(p.starts) || bytes != p.block {
		return p.All()
	}
	from := p.starts[k]
	at, _ := slices.BinarySearch(p.sorted, from+1)
	to := p.sorted[min(at, len(p.sorted)-1)]
	n, err := p.r.ReadAt(p.b[from:to], int64(from))
	p.read += int64(n)
	if n < to-from {
		return err
	}
	return nil
}

// Block returns the offset and the length of block k in a chunk that begins with head. ok is false
// if head is too short or invalid.
func (h Header) Block(head []byte, k int) (off, n int64, ok bool) {
	blocks, block := int(h.NumBlocks()), int64(h.BlockLen())
	if k < 0 || k >= blocks || block == 0 {
		return 0, 0, false
	}
	if h.Stored() {
		from := int64(k) * block
		return int64(h.Size()) + from, min(block, int64(h.NBytes)-from), true
	}
	if !h.HasBlocks() || h.Size()+4*blocks > len(head) {
		return 0, 0, false
	}
	start := func(i int) int32 { return int32(binary.LittleEndian.Uint32(head[h.Size()+4*i:])) }
	from, to := start(k), h.CBytes
	for i := range blocks {
		if s := start(i); s > from {
			to = min(to, s)
		}
	}
	return int64(from), int64(to) - int64(from), from > 0 && from < to
}
