// Checks of shapes, alone and against the sizes of their frame.

package b2ndmeta

import (
	"fmt"
	"math"
	"math/bits"
	"strings"

	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
	"github.com/hyperslab/hyperslab/internal/grid"
)

// Check returns an error if C-Blosc2 must not read m. It checks for shapes of different lengths,
// too many dimensions, extents below 0, chunks or blocks below 1, and blocks larger than their
// chunk. It also checks that the number of elements, and of elements of a chunk, is within the
// range of the format, and that the dtype has no zero byte. In a dimension of extent 0, chunks and
// blocks may be 0 too, as C-Blosc2 writes them. Errors are format.ErrCorrupt, format.ErrLimit for
// too many dimensions, or format.ErrVersion.
func (m Meta) Check() error {
	n := len(m.Shape)
	if len(m.Chunks) != n || len(m.Blocks) != n {
		return m.bad("ndim", 2, fmt.Sprintf("%d, %d and %d", n, len(m.Chunks), len(m.Blocks)), "shapes of one length", format.ErrCorrupt)
	}
	limit := MaxDims
	if m.Caterva {
		limit = MaxCatervaDims
	}
	if n > limit {
		return m.bad("ndim", 2, fmt.Sprint(n), fmt.Sprintf("at most %d", limit), format.ErrLimit)
	}
	if m.Version != Version {
		return m.bad("version", 1, fmt.Sprint(m.Version), "0", format.ErrVersion)
	}
	for i := range n {
		shape, chunk, block := m.Shape[i], m.Chunks[i], m.Blocks[i]
		least := int32(1)
		if shape == 0 {
			least = 0
		}
		switch {
		case shape < 0:
			return m.bad(fmt.Sprintf("shape %d", i), m.shapeAt(i), fmt.Sprint(shape), "at least 0", format.ErrCorrupt)
		case chunk < least:
			return m.bad(fmt.Sprintf("chunkshape %d", i), m.chunkAt(i), fmt.Sprint(chunk), fmt.Sprintf("at least %d", least), format.ErrCorrupt)
		case block < least || block > chunk || chunk > 0 && block == 0:
			return m.bad(fmt.Sprintf("blockshape %d", i), m.blockAt(i), fmt.Sprint(block), fmt.Sprintf("%d to %d, the chunk", max(least, min(chunk, 1)), chunk), format.ErrCorrupt)
		}
	}
	if _, ok := m.paddedItems(); !ok {
		return m.bad("shape", m.shapeAt(0), fmt.Sprint(m.Shape), "fewer than 2^63 elements in whole chunks", format.ErrCorrupt)
	}
	if items, ok := m.chunkItems(); !ok || items > chunk.MaxNBytes {
		return m.bad("chunkshape", m.chunkAt(0), fmt.Sprint(m.Chunks), fmt.Sprintf("at most %d elements in whole blocks", chunk.MaxNBytes), format.ErrCorrupt)
	}
	if m.DTypeFormat < 0 || m.Caterva && (m.DType != "" || m.DTypeFormat != 0) {
		return m.bad("dtype_format", m.dtypeAt(), fmt.Sprintf("%d, dtype %q", m.DTypeFormat, m.DType), "0, and no dtype in Caterva", format.ErrCorrupt)
	}
	if i := strings.IndexByte(m.DType, 0); i >= 0 {
		return m.bad("dtype", m.dtypeAt()+1, fmt.Sprintf("a zero byte at %d", i), "text", format.ErrCorrupt)
	}
	return nil
}

// CheckStorage returns an error if m contradicts the sizes of its frame, because C-Blosc2 allocates
// by m and assumes that the chunks fill it. chunkSize must equal the elements of a chunk in whole
// blocks, of typeSize bytes each. nbytes must equal the sum of all chunks. The caller should call
// Check first.
//
// An array without elements has no chunks; CheckStorage then compares only nbytes.
func (m Meta) CheckStorage(typeSize, chunkSize int32, nbytes int64) error {
	chunks := m.NumChunks()
	items, _ := m.chunkItems()
	hi, want := bits.Mul64(uint64(items), uint64(max(typeSize, 0)))
	if hi != 0 || want > chunk.MaxNBytes {
		return m.bad("chunkshape", m.chunkAt(0), fmt.Sprintf("%d elements of %d bytes", items, typeSize), fmt.Sprintf("at most %d bytes", chunk.MaxNBytes), format.ErrCorrupt)
	}
	if chunks > 0 && int64(want) != int64(chunkSize) {
		return m.bad("chunkshape", m.chunkAt(0), fmt.Sprintf("%d elements of %d bytes", items, typeSize), fmt.Sprintf("the frame's chunk size, %d bytes", chunkSize), format.ErrCorrupt)
	}
	hi, total := bits.Mul64(uint64(chunks), want)
	if hi != 0 || total > math.MaxInt64 || int64(total) != nbytes {
		return m.bad("shape", m.shapeAt(0), fmt.Sprintf("%d chunks of %d bytes", chunks, want), fmt.Sprintf("the frame's %d bytes", nbytes), format.ErrCorrupt)
	}
	return nil
}

// NumChunks returns the number of chunks of the array: 1 for 0 dimensions, and 0 if an extent is 0.
// m must have passed Check.
func (m Meta) NumChunks() int64 {
	n := int64(1)
	for i, s := range m.Shape {
		if s == 0 {
			return 0
		}
		c := int64(max(m.Chunks[i], 1))
		n *= grid.DivUp(s, c)
	}
	return n
}

// ChunkItems returns the number of elements of a stored chunk: the chunk shape rounded up to whole
// blocks in each dimension. m must have passed Check.
func (m Meta) ChunkItems() int64 {
	n, _ := m.chunkItems()
	return n
}

// BlockItems returns the number of elements of a block. m must have passed Check.
func (m Meta) BlockItems() int64 {
	n := int64(1)
	for _, k := range m.Blocks {
		n *= int64(k)
	}
	return n
}

// chunkItems is ChunkItems; false means that the number overflows.
//
// In a dimension of extent 0 C-Blosc2 does not round up to blocks.
func (m Meta) chunkItems() (int64, bool) {
	n, ok := int64(1), true
	for i, c := range m.Chunks {
		e := int64(c)
		if m.Shape[i] != 0 {
			e = roundUp(e, int64(m.Blocks[i]))
		}
		n, ok = mul(n, e, ok)
	}
	return n, ok
}

// paddedItems returns the number of elements in whole chunks. It treats extents of 0 as 1, because
// C-Blosc2 multiplies the other extents nevertheless.
func (m Meta) paddedItems() (int64, bool) {
	n, ok := int64(1), true
	for i, s := range m.Shape {
		if s == 0 {
			continue
		}
		c := int64(m.Chunks[i])
		n, ok = mul(n, grid.DivUp(s, c), ok)
		n, ok = mul(n, c, ok)
	}
	return n, ok
}

// mul multiplies two non-negative numbers; false means an overflow, in this or an earlier
// multiplication.
func mul(a, b int64, ok bool) (int64, bool) {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if !ok || hi != 0 || lo > math.MaxInt64 {
		return 0, false
	}
	return int64(lo), true
}

func roundUp(n, unit int64) int64 {
	if unit <= 0 {
		return n
	}
	return grid.RoundUp(n, unit, math.MaxInt64)
}

// bad returns the error about the bytes at offset.
func (m Meta) bad(what string, offset int64, got, want string, err error) error {
	return &format.Error{Format: errName(m.name()), What: what, Offset: offset, Got: got, Want: want, Err: err}
}

// Offsets of the parts in the encoded metalayer. One byte each for the array, the version and the
// number of dimensions precede three arrays of n numbers of 9, 5 and 5 bytes.
func (m Meta) shapeAt(i int) int64 { return int64(4 + 9*i) }
func (m Meta) chunkAt(i int) int64 { return int64(5 + 9*len(m.Shape) + 5*i) }
func (m Meta) blockAt(i int) int64 { return int64(6 + 14*len(m.Shape) + 5*i) }
func (m Meta) dtypeAt() int64      { return int64(6 + 19*len(m.Shape)) }
