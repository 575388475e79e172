// Regions of arrays: which chunks and blocks they touch, decoded and put in place.

package frameio

import (
	"context"
	"fmt"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/format/b2nd"
	"github.com/hyperslab/hyperslab/internal/ceil"
)

// vec is a value for each dimension, the first in front; what is behind the rank is
// zero.
type vec [b2nd.MaxDims]int64

// Array is a b2nd or Caterva array open for reading. All its methods are safe for
// any number of goroutines at once, and no read waits for another.
type Array struct {
	f    *Frame
	meta b2nd.Meta

	// The chunk as it is stored: whole blocks, one behind the other.
	rank               int
	shape, chunk, grid vec // elements; elements; chunks
	block, blocks      vec // elements; blocks in a chunk
	gridStep           vec // chunks between neighbours along each axis
	blockStep          vec // blocks in a chunk, likewise
	blockStride        vec // bytes between neighbouring elements of a block
	blockBytes         int
	nblocks            int64 // in a chunk
	linear             bool  // blocks one behind the other are the chunk in row-major order
}

// OpenArray opens an array: a file, or a sparse directory, with a b2nd or a Caterva
// metalayer. Close closes it. The errors are those of Open, and cblosc.ErrFormat if
// there is no such metalayer or it does not fit the frame.
func OpenArray(path string) (*Array, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	a, err := f.Array()
	if err != nil {
		_ = f.Close() // nothing was read from it that could be lost
		return nil, err
	}
	return a, nil
}

// Array returns the frame as an array. It is the same owner: closing one closes the
// other.
func (f *Frame) Array() (*Array, error) {
	const op = "open array"
	m, ok, err := f.head.Array()
	if err == nil && !ok {
		err = fmt.Errorf("%w: a frame without a b2nd or caterva metalayer", cblosc.ErrFormat)
	}
	if err != nil {
		return nil, &Error{op, f.path, -1, invalid(err)}
	}
	a := &Array{f: f, meta: m, rank: len(m.Shape), nblocks: 1, linear: true}
	size := int64(f.head.TypeSize)
	chunks := int64(1)
	whole := true // the axes so far are one block, from the last on
	for d := a.rank - 1; d >= 0; d-- {
		// Along an axis of extent 0 others store chunks and blocks of 0; nothing is read then.
		a.shape[d], a.chunk[d], a.block[d] = m.Shape[d], max(1, int64(m.Chunks[d])), max(1, int64(m.Blocks[d]))
		a.grid[d] = ceil.Div(a.shape[d], a.chunk[d])
		a.blocks[d] = ceil.Div(a.chunk[d], a.block[d])
		a.gridStep[d], a.blockStep[d], a.blockStride[d] = chunks, a.nblocks, size
		chunks *= a.grid[d]
		a.nblocks *= a.blocks[d]
		size *= a.block[d]
		a.linear = a.linear && (whole || a.block[d] == 1) && a.chunk[d]%a.block[d] == 0
		whole = whole && a.block[d] == a.chunk[d]
	}
	a.blockBytes = int(size)
	return a, nil
}

// Shape returns the elements along each axis.
func (a *Array) Shape() []int64 { return append([]int64{}, a.meta.Shape...) }

// Chunks returns the elements of a chunk along each axis.
func (a *Array) Chunks() []int32 { return append([]int32{}, a.meta.Chunks...) }

// Blocks returns the elements of a block along each axis.
func (a *Array) Blocks() []int32 { return append([]int32{}, a.meta.Blocks...) }

// DType returns the element type as stored, normally as NumPy writes it: "<f8". A
// Caterva array has none: "".
func (a *Array) DType() string { return a.meta.DType }

// ItemSize returns the bytes of an element.
func (a *Array) ItemSize() int { return a.f.TypeSize() }

// Frame returns the frame of the array. Its chunks are those of the array in
// row-major order, the elements of each block by block.
func (a *Array) Frame() *Frame { return a.f }

// Path returns the file or directory, "" for OpenReaderAt.
func (a *Array) Path() string { return a.f.path }

// Close is Frame.Close.
func (a *Array) Close() error { return a.f.Close() }

// ReadRegion fills dst with the elements from start, shape[i] along axis i, in
// row-major order and the byte order of storage.
//
// len(dst) must be shape[0]×…×shape[n-1]×ItemSize bytes. The chunks that the region
// touches are shared out to that many workers, 0 for GOMAXPROCS; of a chunk only
// the blocks that the region touches are read and decoded where that is less work. Elements
// that a chunk calls uninitialized come out as zeros.
//
// It stops at the first error, after which the content of dst is not defined, and
// before a chunk when ctx ends. It returns cblosc.ErrRegion, cblosc.ErrSize,
// format.ErrLimit for a chunk or block above Limits.Chunk that does not go to dst in
// one piece, the errors of Frame.Decompress, and ctx.Err.
func (a *Array) ReadRegion(ctx context.Context, dst []byte, start, shape []int64, workers int) error {
	const op = "read region"
	r, err := a.region(start, shape, len(dst))
	if err != nil {
		return &Error{op, a.f.path, -1, err}
	}
	err = a.f.stock.each(ctx, r.chunks, workers, func(w *worker, k int64) error {
		i, box := a.part(r, k)
		if err := a.read(w, dst, r, i, box); err != nil {
			return &Error{op, a.f.path, i, err}
		}
		return nil
	})
	return a.f.wrap(op, err)
}

// region is a checked region.
type region struct {
	start, stop vec
	stride      vec   // bytes between neighbouring elements of the result
	first, n    vec   // the chunks it touches: from, how many along each axis
	chunks      int64 // how many
}

func (a *Array) region(start, shape []int64, buf int) (*region, error) {
	if len(start) != a.rank || len(shape) != a.rank {
		return nil, fmt.Errorf("%w: start of %d dimensions and shape of %d in an array of %d", cblosc.ErrRegion, len(start), len(shape), a.rank)
	}
	r := &region{chunks: 1}
	nbytes := int64(a.f.TypeSize())
	for d := a.rank - 1; d >= 0; d-- {
		n := a.shape[d]
		if start[d] < 0 || shape[d] < 0 || start[d] > n || shape[d] > n-start[d] {
			return nil, fmt.Errorf("%w: start %v shape %v of an array of %v", cblosc.ErrRegion, start, shape, a.meta.Shape)
		}
		r.start[d], r.stop[d] = start[d], start[d]+shape[d]
		r.stride[d] = nbytes
		nbytes *= shape[d] // at most the bytes of the array, or 0 in the end
		if shape[d] > 0 {
			r.first[d] = start[d] / a.chunk[d]
			r.n[d] = (r.stop[d]-1)/a.chunk[d] - r.first[d] + 1
		}
		r.chunks *= r.n[d]
	}
	if int64(buf) != nbytes {
		return nil, fmt.Errorf("%w: buffer of %d bytes, region of %d", cblosc.ErrSize, buf, nbytes)
	}
	return r, nil
}

// box is the part of a chunk that a region wants.
type box struct {
	lo, hi vec // elements, from the start of the chunk
	at     int // where the element lo is in the result, in bytes
}

// part returns the k-th chunk that r touches, and what r wants of it.
func (a *Array) part(r *region, k int64) (i int64, b box) {
	for d := a.rank - 1; d >= 0; d-- {
		c := r.first[d] + k%r.n[d]
		k /= r.n[d]
		i += c * a.gridStep[d]
		origin := c * a.chunk[d]
		b.lo[d] = max(r.start[d]-origin, 0)
		b.hi[d] = min(r.stop[d]-origin, a.chunk[d])
		b.at += int((origin + b.lo[d] - r.start[d]) * r.stride[d])
	}
	return i, b
}

// read puts the part b of chunk i in its place.
func (a *Array) read(w *worker, dst []byte, r *region, i int64, b box) error {
	var v values
	item := a.f.TypeSize()
	var n vec
	touched, first, last := int64(1), vec{}, vec{}
	for d := range a.rank {
		n[d] = b.hi[d] - b.lo[d]
		first[d], last[d] = b.lo[d]/a.block[d], (b.hi[d]-1)/a.block[d]
		touched *= last[d] - first[d] + 1
	}
	few := false
	if touched <= a.nblocks/4 {
		var err error
		if few, err = a.f.loadBlocks(w, &v, i, a.nblocks); err != nil {
			return err
		}
	}
	if !few {
		if err := a.f.load(w, &v, i); err != nil {
			return err
		}
	}
	if v.same {
		if len(v.value) > 0 && len(v.value) != item {
			return corrupt("special value", 0, fmt.Sprintf("%d bytes", len(v.value)), item)
		}
		to := layout(a.rank, &n, &r.stride, &r.stride, item)
		to.Fill(dst[b.at:], v.value)
		return nil
	}
	if got := int(v.h.BlockLen()); got != min(a.blockBytes, v.n) {
		return corrupt("blocksize", 8, v.h.BlockSize, fmt.Sprintf("%d, the block of the array", a.blockBytes))
	}
	if a.linear && touched == a.nblocks && n == a.chunk {
		// The whole chunk, without padding: if it lies in one piece, decode it there.
		if l := layout(a.rank, &n, &r.stride, a.rowMajor(&n), item); l.Dense() {
			return a.f.decode(w, &v, dst[b.at:b.at+v.n], 0)
		}
	}
	var data []byte // the values of the whole chunk; nil to decode block by block
	switch {
	case v.h.Stored():
		data = v.raw[v.h.Size():]
	case !v.partial() || touched > a.nblocks/2 || a.blockBytes%int(v.h.TypeSize) != 0:
		if err := v.parts.All(); err != nil {
			return closedFile(err)
		}
		if err := a.f.scratch(w, v.n); err != nil {
			return err
		}
		if err := v.all(w, w.data); err != nil {
			return err
		}
		data = w.data
	}
	for at, more := first, true; more; more = next(&at, &first, &last, a.rank) {
		if err := a.readBlock(w, dst, r, &b, &v, data, &at); err != nil {
			return err
		}
	}
	return nil
}

// readBlock puts what b wants of the block at in its place.
func (a *Array) readBlock(w *worker, dst []byte, r *region, b *box, v *values, data []byte, at *vec) error {
	var n vec
	number, to, from := int64(0), b.at, 0
	for d := range a.rank {
		number += at[d] * a.blockStep[d]
		origin := at[d] * a.block[d]
		lo, hi := max(b.lo[d], origin), min(b.hi[d], origin+a.block[d])
		n[d] = hi - lo
		to += int((lo - b.lo[d]) * r.stride[d])
		from += int((lo - origin) * a.blockStride[d])
	}
	start := int(number) * a.blockBytes // in the values of the chunk
	l := layout(a.rank, &n, &r.stride, &a.blockStride, a.f.TypeSize())
	if data != nil {
		l.Copy(dst[to:], data[start+from:start+a.blockBytes])
		return nil
	}
	if err := v.parts.Block(int(number), a.blockBytes); err != nil {
		return closedFile(err)
	}
	if l.Dense() && l.Run() == a.blockBytes { // all of it, in one piece
		return v.items(w, dst[to:to+a.blockBytes], start)
	}
	if err := a.f.scratch(w, a.blockBytes); err != nil {
		return err
	}
	if err := v.items(w, w.data, start); err != nil {
		return err
	}
	l.Copy(dst[to:], w.data[from:])
	return nil
}

// rowMajor returns the strides in bytes of an array of n elements along each axis.
func (a *Array) rowMajor(n *vec) *vec {
	var s vec
	step := int64(a.f.TypeSize())
	for d := a.rank - 1; d >= 0; d-- {
		s[d] = step
		step *= n[d]
	}
	return &s
}

// next moves at to the next position from first to last, the last axis fastest.
func next(at, first, last *vec, rank int) bool {
	for d := rank - 1; d >= 0; d-- {
		if at[d] < last[d] {
			at[d]++
			return true
		}
		at[d] = first[d]
	}
	return false
}
