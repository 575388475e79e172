// A chunk of which only some blocks are read.

package chunk

import (
	"encoding/binary"
	"io"
	"slices"
)

// Parts is a chunk in memory that has the length of the whole, and of the whole what was
// asked for: a decoder of single blocks finds header, table and those blocks. A nil *Parts
// is a chunk that is all there. It serves one goroutine.
type Parts struct {
	r      io.ReaderAt // the chunk begins at 0
	b      []byte
	read   int64 // bytes of blocks
	done   bool  // all is there
	block  int   // bytes of a block, decoded
	starts []int // of the blocks, in their order; nil: they cannot be had one by one
	sorted []int // the same, in order of place, and the end
}

// OpenParts begins to read the chunk at r, whose header is h, checked, into b, which has
// room for all of it (h.CBytes) and begins with the first n bytes already. The table of
// blocks is read and checked.
//
// A chunk whose blocks depend on each other or on a dictionary, or that has none, is read
// whole. It returns ErrCorrupt for a table that is wrong, and the errors of r.
func OpenParts(r io.ReaderAt, h Header, b []byte, n int) (*Parts, error) {
	p := &Parts{r: r, b: b[:h.CBytes], block: int(h.BlockLen())}
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

// Bytes returns the chunk, as far as it is read.
func (p *Parts) Bytes() []byte { return p.b }

// BytesRead returns how many bytes of blocks were read.
func (p *Parts) BytesRead() int64 { return p.read }

// All reads what is not there yet.
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

// Block reads block k, which must have that many bytes, decoded, for its number to mean
// what it means in the chunk; otherwise all of it is read.
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
