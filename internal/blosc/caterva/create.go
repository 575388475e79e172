package caterva

import (
	"errors"
	"fmt"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/b2ndmeta"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
)

// Create creates a Caterva array of zeros: a super-chunk with the Caterva metalayer. p.DType must
// be empty, because the format stores no dtype.
//
// It returns cblosc.ErrParam for invalid shapes, cblosc.ErrLimit for more than 8 dimensions,
// errors.ErrUnsupported for storage written in Go, and the errors of cblosc.CreateSChunk. A failure
// may leave an incomplete file.
func Create(p *cblosc.ArrayParams) (*cblosc.Array, error) {
	content, chunks, items, err := layout(p)
	if err != nil {
		return nil, fmt.Errorf("caterva: create %s: %w", p.Storage.Path, err)
	}
	st := p.Storage
	cp := cblosc.DefaultCParams()
	if st.CParams != nil {
		cp = st.CParams.WithDefaults()
	}
	cp.BlockSize = cp.TypeSize
	for _, b := range p.Blocks {
		cp.BlockSize *= int(b) // at most the size of a chunk, which layout has checked
	}
	st.CParams = cp
	s, err := cblosc.CreateSChunk(st)
	if err != nil {
		return nil, err
	}
	err = s.Meta().Add(b2ndmeta.CatervaName, content)
	for _, l := range p.Meta {
		if err == nil {
			err = s.Meta().Add(l.Name, l.Content)
		}
	}
	if err == nil {
		err = s.Fill(chunks*items, cblosc.Zeros, int(items)*cp.TypeSize)
	}
	var frame []byte
	if err == nil && st.Path == "" {
		frame, err = s.Bytes()
	}
	if err = errors.Join(err, s.Close()); err != nil {
		return nil, err
	}
	if st.Path == "" {
		return cblosc.OpenArrayBytes(frame)
	}
	var o cblosc.OpenOptions
	if st.DParams != nil {
		o.Allow = st.DParams.Allow
	}
	return cblosc.OpenArrayWith(st.Path, o)
}

// layout checks p and returns the content of the metalayer, the number of chunks, and the number of
// elements of a chunk.
func layout(p *cblosc.ArrayParams) (content []byte, chunks, items int64, err error) {
	m := b2ndmeta.Meta{Shape: p.Shape, Chunks: p.ChunkShape, Blocks: p.Blocks, DType: p.DType, Caterva: true}
	size := cblosc.DefaultCParams().TypeSize
	if p.Storage.CParams != nil && p.Storage.CParams.TypeSize > 0 {
		size = p.Storage.CParams.TypeSize
	}
	if p.Storage.Medium != nil {
		return nil, 0, 0, fmt.Errorf("%w: a Caterva array on storage written in Go", errors.ErrUnsupported)
	}
	if err := m.Check(); err != nil {
		return nil, 0, 0, invalid(err)
	}
	for i, n := range p.ChunkShape {
		if n < 1 { // other programs write 0 in an empty dimension
			return nil, 0, 0, fmt.Errorf("%w: chunks[%d] = %d, want at least 1", cblosc.ErrParam, i, n)
		}
	}
	chunks, items = m.NumChunks(), m.ChunkItems()
	if int64(size) > chunk.MaxNBytes/items {
		return nil, 0, 0, fmt.Errorf("%w: chunks of %d elements of %d bytes, at most %d bytes", cblosc.ErrLimit, items, size, chunk.MaxNBytes)
	}
	return m.Append(nil), chunks, items, nil
}

// invalid adds a sentinel of cblosc to an error of package format.
func invalid(err error) error {
	if errors.Is(err, format.ErrLimit) {
		return fmt.Errorf("%w: %w", cblosc.ErrLimit, err)
	}
	return fmt.Errorf("%w: %w", cblosc.ErrParam, err)
}
