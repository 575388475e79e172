package caterva

import (
	"errors"
	"fmt"
	"slices"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/format/b2ndmeta"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
	"github.com/hyperslab/hyperslab/internal/grid"
)

// maxChunks is the maximum number of chunks of a frame, whose index is a chunk itself.
const maxChunks = chunk.MaxNBytes / 8

// Resize changes the shape of the Caterva array at path, which C-Blosc2 only reads. No Array may be
// open on it. New chunks are zero. New elements of existing chunks have the values of an earlier,
// larger shape, or zero. A failure may leave an incomplete file.
//
// It returns cblosc.ErrParam for an invalid shape, errors.ErrUnsupported for an array with chunks
// of 0 elements, and the errors of package cblosc.
func Resize(path string, shape []int64, allow cblosc.Allow) (err error) {
	s, err := cblosc.OpenSChunkWith(path, cblosc.OpenOptions{Allow: allow})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	content, err := s.Meta().Get(b2ndmeta.CatervaName)
	if err != nil {
		return err
	}
	m, err := b2ndmeta.Parse(b2ndmeta.CatervaName, content)
	if err != nil {
		return invalid(err)
	}
	if len(shape) != len(m.Shape) {
		return fmt.Errorf("%w: shape of %d dimensions for an array of %d", cblosc.ErrParam, len(shape), len(m.Shape))
	}
	if slices.Contains(m.Chunks, 0) {
		return fmt.Errorf("%w: resizing an array with chunks of 0 elements", errors.ErrUnsupported)
	}
	grown := m
	grown.Shape = shape
	if err := grown.Check(); err != nil {
		return invalid(err)
	}
	chunks := int64(1)
	for i, n := range shape {
		along := grid.DivUp(n, int64(m.Chunks[i]))
		if along > maxChunks || chunks*along > maxChunks {
			return fmt.Errorf("%w: shape %v in chunks %v is more than %d chunks", cblosc.ErrLimit, shape, m.Chunks, maxChunks)
		}
		chunks *= max(along, 1)
	}
	cp, err := s.CParams()
	if err != nil {
		return err
	}
	cp.BlockSize = s.TypeSize()
	for _, n := range m.Blocks {
		cp.BlockSize *= int(n)
	}
	zeros, err := cblosc.SpecialChunk(cp, cblosc.Zeros, int(grown.ChunkItems())*s.TypeSize(), nil)
	if err != nil {
		return err
	}
	for n := m.NumChunks() - 1; n >= 0; n-- {
		if !inGrid(n, m, grown.Shape) {
			if err := s.DeleteChunk(n); err != nil {
				return err
			}
		}
	}
	for n := range grown.NumChunks() {
		if inGrid(n, grown, m.Shape) {
			continue
		}
		if n == s.NumChunks() {
			err = s.AppendChunk(zeros)
		} else {
			err = s.InsertChunk(n, zeros)
		}
		if err != nil {
			return err
		}
	}
	return s.Meta().Update(b2ndmeta.CatervaName, grown.Append(nil))
}

// inGrid reports whether chunk n of an array is also a chunk of an array of another shape.
func inGrid(n int64, m b2ndmeta.Meta, shape []int64) bool {
	for i := len(shape) - 1; i >= 0; i-- {
		length := int64(m.Chunks[i])
		along := grid.DivUp(m.Shape[i], length)
		if n%along >= grid.DivUp(shape[i], length) {
			return false
		}
		n /= along
	}
	return true
}
