//go:build cgo

// Blosc (32001): the filter stores a C-Blosc 1 chunk.

package filter

import (
	"errors"
	"fmt"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/blosc/blosc1"
)

// Indexes of the parameters of both Blosc filters: revision, version of the format (Blosc) or block
// size in bytes (Blosc2), element size, chunk size, level, shuffle and codec. If the chunk has more
// than one dimension, Blosc2 also has the number of dimensions and the shape of the chunk.
const (
	valueBlock = 1 + iota
	valueTypeSize
	valueBytes
	valueLevel
	valueShuffle
	valueCodec
	valueRank
	valueShape
)

func bloscBound(n int) int { return cblosc.MaxCompressedSize(n) }

// bloscParams decodes filter parameters. Missing ones have the defaults of the plug-ins: level 5,
// shuffle, BloscLZ.
func bloscParams(values []uint32) (cblosc.CParams, error) {
	at := func(i int, otherwise uint32) uint32 {
		if i < len(values) {
			return values[i]
		}
		return otherwise
	}
	p := *cblosc.DefaultCParams()
	p.Codec = cblosc.Codec(min(at(valueCodec, uint32(cblosc.BloscLZ)), 255))
	p.Level = int(at(valueLevel, 5))
	p.TypeSize = max(int(at(valueTypeSize, 1)), 1)
	p.Filters = [cblosc.MaxFilters]cblosc.Filter{}
	p.Filters[cblosc.MaxFilters-1].ID = cblosc.FilterID(min(at(valueShuffle, 1), 255))
	if err := p.Validate(); err != nil {
		return p, fmt.Errorf("%w: %w", h5.ErrParam, err)
	}
	return p, nil
}

// blame converts an error of cblosc to one of package h5.
func blame(err error) error {
	switch {
	case err == nil, errors.Is(err, errors.ErrUnsupported):
		return err
	case errors.Is(err, cblosc.ErrSize):
		return fmt.Errorf("%w: %w", h5.ErrSize, err)
	case errors.Is(err, cblosc.ErrParam), errors.Is(err, cblosc.ErrLimit):
		return fmt.Errorf("%w: %w", h5.ErrParam, err)
	}
	return fmt.Errorf("%w: %w", h5.ErrCorrupt, err)
}

func (w *worker) decodeBlosc(dst, src []byte) (int, error) {
	info, err := cblosc.Info(src)
	if err != nil {
		return 0, blame(err)
	}
	return w.decodeChunk(dst, src, info)
}

// decodeChunk decodes a whole chunk. Special chunks with uninitialized elements decode to zeros.
func (w *worker) decodeChunk(dst, chunk []byte, info cblosc.ChunkInfo) (int, error) {
	if info.NBytes > len(dst) {
		return 0, fmt.Errorf("%w: buffer of %d bytes, the chunk holds %d", h5.ErrSize, len(dst), info.NBytes)
	}
	d, err := w.decompressor()
	if err != nil {
		return 0, err
	}
	n, err := d.Decompress(dst, chunk)
	return n, blame(err)
}

// encodeBlosc makes a chunk with a context of the worker. With o.Exact it makes the same bytes as
// the plug-in, with the single global context of C-Blosc2.
func (w *worker) encodeBlosc(values []uint32, o Options, dst, src []byte) (int, error) {
	p, err := bloscParams(values)
	if err != nil {
		return 0, err
	}
	if o.Exact {
		n, err := blosc1.Exact(&p, dst, src)
		return n, blame(err)
	}
	c, err := w.compressor(p)
	if err != nil {
		return 0, blame(err)
	}
	n, err := blosc1.Compress(c, &p, dst, src)
	return n, blame(err)
}

// decodedSize returns the size of src after decoding, 0 if src is invalid. The size in the header
// is below 2 GiB, and a chunk with such a size may have as few as 32 bytes.
func (w *worker) decodedSize(id int, src []byte) int {
	if id == IDBlosc {
		info, err := cblosc.Info(src)
		if err != nil {
			return 0
		}
		return info.NBytes
	}
	p, err := w.open(src)
	if err != nil {
		return 0
	}
	return p.nbytes()
}
