// A chunk of Blosc2 of which only some blocks are read.

package filter

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/format/chunk"
	"github.com/hyperslab/hyperslab/h5"
)

// parts is a chunk in memory that has the length of the whole, and of the whole
// what was asked for. A nil *parts is a chunk that is all there.
type parts struct {
	r      io.ReaderAt // the chunk begins at 0
	chunk  []byte
	read   int64 // bytes of blocks
	done   bool  // all is there
	block0 int   // bytes of a block, decoded
	starts []int // of the blocks, in their order; nil: they cannot be had one by one
	sorted []int // the same, in order of place, and the end
}

// openParts reads header and places of the blocks.
func (w *worker) openParts(r *io.SectionReader) (*parts, error) {
	var head [chunk.ExtendedHeaderSize]byte
	n, err := r.ReadAt(head[:min(r.Size(), chunk.ExtendedHeaderSize)], 0)
	if err != nil {
		return nil, err
	}
	info, err := cblosc.Info(head[:n])
	if err != nil {
		return nil, blame(err)
	}
	if int64(info.CBytes) > r.Size() {
		return nil, fmt.Errorf("%w: a chunk of %d bytes where there are %d", h5.ErrCorrupt, info.CBytes, r.Size())
	}
	h, err := chunk.ParseHeader(head[:n])
	if err != nil {
		return nil, blame(err)
	}
	p := &parts{r: r, chunk: room(&w.frame, info.CBytes), block0: int(h.BlockLen())}
	copy(p.chunk, head[:n])
	delta := slices.ContainsFunc(info.Filters[:], func(f cblosc.Filter) bool { return f.ID == cblosc.Delta })
	if !h.HasBlocks() || h.Blosc2Flags&chunk.Flag2Dict != 0 || delta {
		return p, p.all()
	}
	table := p.chunk[h.Size():]
	if want := 4 * int(h.NumBlocks()); len(table) >= want {
		table = table[:want]
	} else {
		return p, p.all()
	}
	if _, err := r.ReadAt(table, int64(h.Size())); err != nil {
		return nil, err
	}
	if err := h.CheckStarts(table); err != nil {
		return nil, blame(err)
	}
	for ; len(table) > 0; table = table[4:] {
		p.starts = append(p.starts, int(int32(binary.LittleEndian.Uint32(table))))
	}
	p.sorted = append(slices.Sorted(slices.Values(p.starts)), len(p.chunk))
	return p, nil
}

// all reads what is not there yet.
func (p *parts) all() error {
	if p == nil || p.done {
		return nil
	}
	n, err := p.r.ReadAt(p.chunk, 0)
	if n < len(p.chunk) {
		return err
	}
	p.read, p.done = int64(n), true
	return nil
}

// block reads block k, which must have that many bytes for its number to mean what
// it means in the chunk.
func (p *parts) block(k, bytes int) error {
	if p == nil || p.done {
		return nil
	}
	if k >= len(p.starts) || bytes != p.block0 {
		return p.all()
	}
	from := p.starts[k]
	at, _ := slices.BinarySearch(p.sorted, from+1)
	to := p.sorted[min(at, len(p.sorted)-1)]
	n, err := p.r.ReadAt(p.chunk[from:to], int64(from))
	p.read += int64(n)
	if n < to-from {
		return err
	}
	return nil
}
