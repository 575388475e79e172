// Pipelines of three and more filters, which make the library write into its source, and filters
// and codecs written in Go, which could do so. The shim guards contexts and chunks that are
// appended (shim_pipeline.c). Where the library compresses data of super-chunks and arrays by
// itself, Go changes whole chunks instead, or refuses the call.

package cblosc

// #include "shim.h"
import "C"

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"
)

// maxLibraryFilters is the maximum number of filters with which the library does not write into its
// source.
const maxLibraryFilters = 2

// overwrites reports whether the library would write into the data that it compresses with p. Level
// 0 runs no filters.
func (p *CParams) overwrites() bool { return p.Level > 0 && p.steps() > maxLibraryFilters }

// guarded reports whether the library would write into the data that it compresses with p, or lend
// it to a function of Go. The fact of the same name includes environment variables.
func (p *CParams) guarded() bool { return p.usesGo() || p.overwrites() }

// steps returns the number of filters.
func (p *CParams) steps() int {
	n := 0
	for _, f := range p.Filters {
		if f.ID != NoFilter {
			n++
		}
	}
	return n
}

// checkRecompression returns errors.ErrUnsupported if the library cannot compress an existing array
// or super-chunk again with p.
func (p *CParams) checkRecompression() error {
	if !p.overwrites() {
		return nil
	}
	return fmt.Errorf("%w: compression of existing data by C-Blosc2 with the pipeline %v: got %d filters, want at most %d",
		errors.ErrUnsupported, p, p.steps(), maxLibraryFilters)
}

// sameChunks reports whether chunks compressed with p can be copied to a super-chunk with the
// parameters q.
func (p *CParams) sameChunks(q *CParams) bool {
	return p.Codec == q.Codec && p.CodecMeta == q.CodecMeta && p.Level == q.Level && p.TypeSize == q.TypeSize &&
		slices.Equal(p.Filters[:], q.Filters[:])
}

// checkOrder returns errors.ErrUnsupported for an order of filters that loses data. Existing frames
// can have it.
func (p *CParams) checkOrder() error {
	first := true
	for i, f := range p.Filters {
		if f.ID == Delta && !first {
			return fmt.Errorf("%w: Filters[%d] = %v after another filter, want it before", errors.ErrUnsupported, i, f.ID)
		}
		first = first && f.ID == NoFilter
	}
	return p.checkLossyOrder()
}

// checkOrderLocked is CParams.checkOrder for the parameters of the super-chunk.
func (s *SChunk) checkOrderLocked(op string) error {
	p, err := s.cparamsLocked(op)
	if err != nil {
		return err
	}
	if err := p.checkOrder(); err != nil {
		return refused(op, s.path, fmt.Errorf("pipeline %v: %w", p, err))
	}
	return nil
}

// checkCopy returns errors.ErrUnsupported if the library cannot make the chunks of p, a copy of a.
func (a *Array) checkCopy(p *ArrayParams) error {
	old, err := a.sc.CParams()
	if err != nil || old.sameChunks(p.Storage.CParams) && slices.Equal(p.ChunkShape, a.ChunkShape()) && slices.Equal(p.Blocks, a.Blocks()) {
		return err
	}
	return p.Storage.CParams.checkRecompression()
}

// replaceLocked compresses b, the data of chunk i. The library does not write into b.
func (s *SChunk) replaceLocked(op string, i int64, b []byte) error {
	var cerr C.goblosc2_err_t
	if C.goblosc2_schunk_replace(&cerr, s.h.c, C.int64_t(i), (*C.uint8_t)(unsafe.SliceData(b)), C.int32_t(len(b)), &s.facts) < 0 {
		return s.h.breakOn(s.h.failed(op, &cerr))
	}
	return nil
}

// writeItemsLocked is WriteItems by whole chunks.
func (s *SChunk) writeItemsLocked(op string, src []byte, start, first, last int64) error {
	return s.eachPart(first, last, start, len(src), func(i int64, lo, hi, at int) error {
		b := make([]byte, s.chunkLen(i))
		if hi-lo < len(b) {
			if _, err := s.decompressLocked(op, b, i); err != nil {
				return err
			}
		}
		copy(b[lo:hi], src[at:])
		return s.replaceLocked(op, i, b)
	})
}

// writeWholeLocked writes src to r by whole chunks. r must not be empty.
func (a *Array) writeWholeLocked(op string, src []byte, r *region) error {
	if a.rank == 0 {
		return a.sc.replaceLocked(op, 0, src)
	}
	b := make([]byte, a.sc.facts.chunksize)
	return a.eachChunk(r, func(i int64, origin *[maxDims]int64) error {
		if _, err := a.sc.decompressLocked(op, b, i); err != nil {
			return err
		}
		a.place(src, r, b, origin, true)
		return a.sc.replaceLocked(op, i, b)
	})
}
