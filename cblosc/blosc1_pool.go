//go:build cgo

// Concurrent compression of Blosc1 chunks: contexts compress and the header is converted.

package cblosc

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/hyperslab/hyperslab/internal/format/chunk"
)

// contextChunks holds buffers for the chunks of contexts, because allocating them would take longer
// than compression.
var contextChunks = sync.Pool{New: func() any { return new([]byte) }}

// CompressBlosc1 is Compressor.CompressBlosc1 on a context of the pool.
func (p *Pool) CompressBlosc1(dst, src []byte) (int, error) {
	if err := p.cparams.validateBlosc1(); err != nil {
		return 0, refused("compress for Blosc1", "", err)
	}
	c, err := p.compressors.take()
	if err != nil {
		return 0, refused("compress for Blosc1", "", err)
	}
	n, err := c.CompressBlosc1(dst, src)
	return n, errors.Join(err, p.compressors.put(c))
}

// CompressBlosc1 is the function CompressBlosc1 with the parameters of the Compressor. It does not
// take the global lock, so Compressors work concurrently. The context makes a Blosc2 chunk, whose
// streams get a Blosc1 header (chunk.AppendBlosc1). Data with runs, and blocks that Blosc1 reads
// differently, are passed to the function, one call at a time. The chunk decodes to the same bytes
// either way, but its own bytes may differ.
//
// It returns the errors of the function, ErrClosed, and errors.ErrUnsupported for a Compressor with
// a prefilter or a tuner.
func (c *Compressor) CompressBlosc1(dst, src []byte) (int, error) {
	if c.tuning != nil || c.hooks != nil && c.hooks.block != nil { // the function does not support them
		return 0, refused("compress for Blosc1", "", fmt.Errorf("%w: chunks of Blosc1 on a Compressor that is prefiltered or tuned", errors.ErrUnsupported))
	}
	if err := c.params.validateBlosc1(); err != nil {
		return 0, refused("compress for Blosc1", "", err)
	}
	if len(src) == 0 || len(src) > maxBuffer {
		return CompressBlosc1(&c.params, dst, src)
	}
	buffer := contextChunks.Get().(*[]byte)
	defer contextChunks.Put(buffer)
	*buffer = slices.Grow((*buffer)[:0], MaxCompressedSize(len(src)))
	b := (*buffer)[:cap(*buffer)]
	n, err := c.Compress(b, src)
	if err != nil {
		return 0, err
	}
	parsed, err := chunk.Parse(b[:n])
	if err != nil {
		return 0, refused("compress for Blosc1", "", err)
	}
	out, ok := parsed.AppendBlosc1(dst[:0])
	if !ok || len(out) > chunk.MinHeaderSize+len(src) {
		return CompressBlosc1(&c.params, dst, src)
	}
	if len(out) > len(dst) {
		return 0, refused("compress for Blosc1", "", fmt.Errorf("%w: %d bytes for the chunk of %d, at most %d are needed",
			ErrSize, len(dst), len(src), MaxCompressedSize(len(src))))
	}
	return len(out), nil
}
