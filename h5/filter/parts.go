//go:build cgo

// Blosc2 chunks of which only some blocks are read.

package filter

import (
	"errors"
	"fmt"
	"io"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
)

// openParts reads the header of a chunk and the offsets of its blocks.
func (w *worker) openParts(r *io.SectionReader) (*chunk.Parts, error) {
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
	b := room(&w.frame, info.CBytes)
	p, err := chunk.OpenParts(r, h, b, copy(b, head[:n]))
	if errors.Is(err, format.ErrCorrupt) {
		return nil, blame(err)
	}
	return p, err
}
