//go:build cgo

// Blosc (32001): a chunk of C-Blosc 1.

package filter

import (
	"errors"
	"fmt"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/h5"
)

// The parameters of both Blosc filters: revision, version of the format (Blosc)
// or bytes of a block (Blosc2), bytes of an element, bytes of a chunk, level,
// shuffle and codec; and for Blosc2, if the chunk has more than one dimension,
// their number and its shape.
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

// bloscParams are what the parameters say, where they say nothing as the plug-ins
// do: level 5, shuffle, BloscLZ.
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

// blame says in this package's words what cblosc found.
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

// decodeChunk decodes all of a chunk. What it calls uninitialized is zeros.
func (w *worker) decodeChunk(dst, chunk []byte, info cblosc.ChunkInfo) (int, error) {
	if info.NBytes > len(dst) {
		return 0, fmt.Errorf("%w: buffer of %d bytes, the chunk holds %d", h5.ErrSize, len(dst), info.NBytes)
	}
	if info.Special == cblosc.Uninit {
		clear(dst[:info.NBytes])
		return info.NBytes, nil
	}
	d, err := w.decompressor()
	if err != nil {
		return 0, err
	}
	n, err := d.Decompress(dst, chunk)
	return n, blame(err)
}

// encodeBlosc makes a chunk with a context of the worker's own, or, exactly as the plug-in
// does, with the library's one for all.
func (w *worker) encodeBlosc(values []uint32, o Options, dst, src []byte) (int, error) {
	p, err := bloscParams(values)
	if err != nil {
		return 0, err
	}
	if o.Exact {
		n, err := cblosc.CompressBlosc1(&p, dst, src)
		return n, blame(err)
	}
	c, err := w.compressor(p)
	if err != nil {
		return 0, blame(err)
	}
	n, err := c.CompressBlosc1(dst, src)
	return n, blame(err)
}

// decodedSize is the bytes that src becomes, 0 if it is nothing that can be read.
// What it claims is below 2 GiB, and a chunk of that size may have 32 bytes.
func (w *worker) decodedSize(id int, src []byte) int {
	if id == Blosc {
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
