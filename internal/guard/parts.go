// Chunks that are read block by block.

package guard

import (
	"fmt"
	"io"

	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
)

// Parts is a chunk in memory of which only the requested blocks are read. Its buffer has the full
// length, so that a decoder of single blocks finds the header, the table and these blocks at their
// offsets. A nil *Parts is a complete chunk.
type Parts struct{ parts *chunk.Parts }

// OpenParts checks the header and the block starts of the chunk at the start of r. alloc returns a
// buffer for the chunk.
//
// It reads a whole chunk at once if the chunk has no blocks, or if its blocks depend on each other
// or on a dictionary.
func OpenParts(r *io.SectionReader, alloc func(n int) []byte) (*Parts, error) {
	var head [Blosc2Header]byte
	n, err := r.ReadAt(head[:min(r.Size(), Blosc2Header)], 0)
	if err != nil {
		return nil, err
	}
	c, err := Header(head[:n], Policy{})
	if err == nil {
		err = c.Readable()
	}
	if err != nil {
		return nil, err
	}
	if int64(c.CBytes) > r.Size() {
		return nil, badChunk("cbytes", 12, c.CBytes, fmt.Sprintf("at most %d, the bytes of the input", r.Size()), format.ErrCorrupt)
	}
	h, err := chunk.ParseHeader(head[:n])
	if err != nil {
		return nil, err
	}
	b := alloc(c.CBytes)
	p, err := chunk.OpenParts(r, h, b, copy(b, head[:n]))
	if err != nil {
		return nil, err
	}
	return &Parts{p}, nil
}

// Bytes returns the chunk, as far as it has been read.
func (p *Parts) Bytes() []byte { return p.parts.Bytes() }

// BytesRead returns the number of bytes of blocks that were read.
func (p *Parts) BytesRead() int64 { return p.parts.BytesRead() }

// All reads the rest of the chunk.
func (p *Parts) All() error {
	if p == nil {
		return nil
	}
	return p.parts.All()
}

// Block reads block k. bytes is the decoded block size of the caller. If it differs from the
// chunk's, Block reads the whole chunk, because the block number would mean another block.
func (p *Parts) Block(k, bytes int) error {
	if p == nil {
		return nil
	}
	return p.parts.Block(k, bytes)
}
