//go:build cgo

// Blosc2 chunks of which only some blocks are read.

package filter

import (
	"io"

	"github.com/hyperslab/hyperslab/internal/guard"
)

// openParts reads the header of a chunk and the offsets of its blocks.
func (w *worker) openParts(r *io.SectionReader) (*guard.Parts, error) {
	p, err := guard.OpenParts(r, func(n int) []byte { return sized(&w.frame, n) })
	if guard.Invalid(err) {
		return nil, blame(err)
	}
	return p, err
}
