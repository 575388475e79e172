// Reading of array regions: finding the touched chunks and blocks, decoding them and copying their
// elements.

package frameio

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/chunked"
	"github.com/hyperslab/hyperslab/internal/chunked/readahead"
	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/format/b2ndmeta"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/internal/grid/boxes"
)

// vec holds one value for each dimension, the first dimension first. Values beyond the rank are
// zero.
type vec [b2ndmeta.MaxDims]int64

// Array is a b2nd or Caterva array open for reading. All its methods are safe for concurrent use
// without locks: no read waits for another.
type Array struct {
	f    *Frame
	meta b2ndmeta.Meta

	// Layout of a stored chunk: whole blocks in sequence.
	rank          int
	grid          chunked.Layout
	block, blocks vec // elements; blocks in a chunk
	blockStep     vec // distance in blocks of a chunk between neighbours along each axis
	blockStride   vec // distance in bytes between neighbouring elements of a block
	blockBytes    int
	nblocks       int64 // in a chunk
	linear        bool  // the blocks in sequence are the chunk in row-major order
}

// OpenArray opens an array: a file, or a sparse directory, with a b2nd or a Caterva metalayer. The
// caller must call Close. The errors are those of Open, and cblosc.ErrFormat if there is no such
// metalayer or it does not match the frame.
func OpenArray(path string) (*Array, error) {
	f, err := Open(path, nil)
	if err != nil {
		return nil, err
	}
	a, err := f.Array()
	if err != nil {
		_ = f.Close() // only opened for reading, so an error loses no data
		return nil, err
	}
	return a, nil
}

// Array returns the frame as an array. Both have the same owner: closing one closes the other.
func (f *Frame) Array() (*Array, error) {
	const op = "open array"
	m, ok, err := f.head.Array()
	if err == nil && !ok {
		err = fmt.Errorf("%w: a frame without a b2nd or caterva metalayer", errs.ErrInvalidKind)
	}
	if err != nil {
		return nil, &Error{op, f.path, -1, invalid(err)}
	}
	a := &Array{f: f, meta: m, rank: len(m.Shape), nblocks: 1, linear: true}
	size := int64(f.head.TypeSize)
	shape := make([]int64, a.rank)
	whole := true // the axes so far, from the last on, are one block
	for d := a.rank - 1; d >= 0; d-- {
		// Other programs store chunks and blocks of length 0 along an axis of length 0, which is
		// never read.
		n := max(1, int64(m.Chunks[d]))
		shape[d], a.block[d] = n, max(1, int64(m.Blocks[d]))
		a.blocks[d] = grid.DivUp(n, a.block[d])
		a.blockStep[d], a.blockStride[d] = a.nblocks, size
		a.nblocks *= a.blocks[d]
		size *= a.block[d]
		a.linear = a.linear && (whole || a.block[d] == 1) && n%a.block[d] == 0
		whole = whole && a.block[d] == n
	}
	a.grid = chunked.NewLayout(m.Shape, shape, int(f.head.TypeSize))
	a.blockBytes = int(size)
	return a, nil
}

// Shape returns the number of elements along each axis.
func (a *Array) Shape() []int64 { return append([]int64{}, a.meta.Shape...) }

// ChunkShape returns the number of elements of a chunk along each axis.
func (a *Array) ChunkShape() []int32 { return append([]int32{}, a.meta.Chunks...) }

// Blocks returns the number of elements of a block along each axis.
func (a *Array) Blocks() []int32 { return append([]int32{}, a.meta.Blocks...) }

// DType returns the dtype as stored, normally in NumPy syntax, for example "<f8". It is "" for a
// Caterva array, which has no dtype.
func (a *Array) DType() string { return a.meta.DType }

// ItemSize returns the size of an element in bytes.
func (a *Array) ItemSize() int { return a.f.TypeSize() }

// Frame returns the frame of the array. Its chunks are those of the array in row-major order, each
// stored block by block.
func (a *Array) Frame() *Frame { return a.f }

// Close closes the frame: see Frame.Close.
func (a *Array) Close() error { return a.f.Close() }

// ReadRegion fills dst with the elements from start, shape[i] along axis i, in row-major order and
// in the byte order of storage.
//
// len(dst) must be shape[0]×…×shape[n-1]×ItemSize bytes. The chunks that the region touches are
// divided among the workers; 0 workers means GOMAXPROCS. If it saves work, only the blocks that the
// region touches are read and decoded. Uninitialized elements are read as zeros.
//
// It stops at the first error, after which the content of dst is undefined, and before the next
// chunk when ctx ends. It returns cblosc.ErrRegion, cblosc.ErrSize, format.ErrLimit for a chunk or
// block above Limits.Chunk that cannot be decoded directly into dst, the errors of
// Frame.Decompress, and ctx.Err.
func (a *Array) ReadRegion(ctx context.Context, dst []byte, start, shape []int64, workers int) error {
	const op = "read region"
	p, err := a.plan(start, shape, len(dst))
	if err != nil {
		return &Error{op, a.f.path, -1, err}
	}
	defer a.fetch(ctx, p)()
	err = each(ctx, &a.f.workers, p.Chunks, workers, p.NewPiece, func(q *chunked.Piece, k int64) error {
		p.At(k, q)
		return a.f.inChunk(op, q.Number, a.readChunk(ctx, dst, p, q))
	})
	return a.f.wrap(op, err)
}

const (
	wholeChunk = 1 << 20 // bytes of a chunk that is fetched even if the region needs few of its blocks
	chunkHead  = 4 << 10 // bytes of a chunk that contain its header and the starts of its blocks
)

// headFirst reports whether the blocks of a piece are fetched after the head of their chunk.
func (a *Array) headFirst(q *chunked.Piece) bool {
	i := q.Number
	return int64(a.f.space[i]) > wholeChunk && a.touched(q) <= a.nblocks/4 && a.f.hasBlocks(i)
}

// remote returns the source of a frame whose reader can fetch ranges in advance, and that reader.
// to is nil for other frames.
func (a *Array) remote() (src *fileSource, to readahead.Reader) {
	if src, _ = a.f.src.(*fileSource); src != nil {
		to = readahead.Of(src.r)
	}
	return src, to
}

// Prefetch begins to fetch the stored chunks of regions in the background, in their order and in
// bounded memory, so that latency does not delay the reads that follow. It has an effect on frames
// of OpenReaderAt whose reader can fetch ranges in advance, for example a *remote.Object. regions
// yields the start and the shape of each region; the slices are valid until the next pair. The
// caller calls stop when it reads no more.
func (a *Array) Prefetch(ctx context.Context, regions iter.Seq2[[]int64, []int64]) (stop func()) {
	src, to := a.remote()
	if to == nil {
		return func() {}
	}
	return to.Prefetch(ctx, func(yield func(off, n int64) bool) {
		for start, shape := range regions {
			size := a.f.TypeSize()
			for _, n := range shape {
				size *= int(n)
			}
			part, err := a.plan(start, shape, size)
			if err != nil {
				return // the read returns the error
			}
			for off, n := range a.ranges(part, src.base) {
				if !yield(off, n) {
					return
				}
			}
		}
	})
}

// fetch begins to fetch the chunks of a region if the frame is remote. The caller calls stop after
// the read.
func (a *Array) fetch(ctx context.Context, p *chunked.Plan) (stop func()) {
	src, to := a.remote()
	if to == nil {
		return func() {}
	}
	first := to.Prefetch(ctx, a.ranges(p, src.base))
	second := to.Prefetch(ctx, a.blockRanges(p, src))
	return func() { second(); first() }
}

// ranges yields the places of the chunks of a region in the file.
func (a *Array) ranges(p *chunked.Plan, base int64) readahead.Ranges {
	return func(yield func(off, n int64) bool) {
		q := p.NewPiece()
		for k := range p.Chunks {
			p.At(k, q)
			o := a.f.offsets[q.Number]
			if o.IsSpecial() {
				continue
			}
			n := int64(a.f.space[q.Number])
			if a.headFirst(q) {
				n = chunkHead
			}
			if !yield(base+int64(o), n) {
				return
			}
		}
	}
}

// blockRanges yields the places of the blocks of a region in the chunks of which ranges yields only
// the head. It waits for the heads.
func (a *Array) blockRanges(p *chunked.Plan, src *fileSource) readahead.Ranges {
	return func(yield func(off, n int64) bool) {
		q := p.NewPiece()
		for k := range p.Chunks {
			p.At(k, q)
			o := a.f.offsets[q.Number]
			if o.IsSpecial() || !a.headFirst(q) {
				continue
			}
			head := make([]byte, chunkHead)
			n, err := src.read(head, o, 0)
			if err != nil {
				return // readChunk returns the error
			}
			h, err := chunk.ParseHeader(head[:n])
			if err != nil {
				return
			}
			var first, last vec
			for d, lo := range q.Start {
				first[d], last[d] = lo/a.block[d], (lo+q.Count[d]-1)/a.block[d]
			}
			for at, more := first, true; more; more = next(&at, &first, &last, a.rank) {
				number := int64(0)
				for d := range a.rank {
					number += at[d] * a.blockStep[d]
				}
				if off, n, ok := h.Block(head[:n], int(number)); ok && !yield(src.base+int64(o)+off, n) {
					return
				}
			}
		}
	}
}

// errWhole is the reason why the blocks of a chunk cannot be read one by one.
var errWhole = errors.New("the whole chunk is needed")

// readChunk copies the piece q to dst, within the memory of the process.
func (a *Array) readChunk(ctx context.Context, dst []byte, p *chunked.Plan, q *chunked.Piece) error {
	read := func(byBlocks bool) error {
		return a.f.workers.reading(ctx, a.f.need(q.Number, a.outside(p, q, byBlocks)), func(w *worker) error { return a.read(w, dst, p, q, byBlocks) })
	}
	if a.touched(q) <= a.nblocks/4 && a.f.hasBlocks(q.Number) {
		if err := read(true); err != errWhole {
			return err
		}
	}
	return read(false)
}

// touched returns the number of blocks that q touches.
func (a *Array) touched(q *chunked.Piece) int64 {
	n := int64(1)
	for d, lo := range q.Start {
		n *= (lo+q.Count[d]-1)/a.block[d] - lo/a.block[d] + 1
	}
	return n
}

// outside returns the size of the values of a chunk that read decodes outside dst: some blocks one
// by one, the whole chunk, or none.
func (a *Array) outside(p *chunked.Plan, q *chunked.Piece, byBlocks bool) int {
	switch {
	case byBlocks:
		return a.blockBytes
	case a.direct(p, q):
		return 0
	}
	return a.f.chunkLen(q.Number)
}

// direct reports whether q is a whole chunk without padding, contiguous in the caller's buffer.
func (a *Array) direct(p *chunked.Plan, q *chunked.Piece) bool {
	if !a.linear || !q.Whole {
		return false
	}
	box := p.Box(q)
	return box.Dense()
}

// plan checks a region and the length of a buffer for its elements.
func (a *Array) plan(start, shape []int64, buf int) (*chunked.Plan, error) {
	if len(start) != a.rank || len(shape) != a.rank {
		return nil, fmt.Errorf("%w: start of %d dimensions and shape of %d in an array of %d", cblosc.ErrRegion, len(start), len(shape), a.rank)
	}
	nbytes := int64(a.f.TypeSize())
	axes := make([]chunked.Axis, a.rank)
	for d := a.rank - 1; d >= 0; d-- {
		n := a.meta.Shape[d]
		if start[d] < 0 || shape[d] < 0 || start[d] > n || shape[d] > n-start[d] {
			return nil, fmt.Errorf("%w: start %v shape %v of an array of %v", cblosc.ErrRegion, start, shape, a.meta.Shape)
		}
		nbytes *= shape[d] // at most the bytes of the array, or 0 in the end
		axes[d], _ = chunked.NewAxis(start[d], shape[d], 1, 1, n)
	}
	if int64(buf) != nbytes {
		return nil, fmt.Errorf("%w: buffer of %d bytes, region of %d", cblosc.ErrSize, buf, nbytes)
	}
	if nbytes == 0 {
		return &chunked.Plan{}, nil
	}
	return chunked.NewPlan(&a.grid, axes, a.f.TypeSize()), nil
}

// read copies the piece q to dst. With byBlocks it reads only the touched blocks, or returns
// errWhole.
func (a *Array) read(w *worker, dst []byte, p *chunked.Plan, q *chunked.Piece, byBlocks bool) error {
	var v values
	i, item := q.Number, a.f.TypeSize()
	touched, first, last := int64(1), vec{}, vec{}
	for d, lo := range q.Start {
		first[d], last[d] = lo/a.block[d], (lo+q.Count[d]-1)/a.block[d]
		touched *= last[d] - first[d] + 1
	}
	if byBlocks {
		ok, err := a.f.loadBlocks(w, &v, i, a.nblocks)
		if err != nil {
			return err
		}
		if !ok || a.blockBytes%int(v.h.TypeSize) != 0 {
			return errWhole
		}
	} else if err := a.f.load(w, &v, i); err != nil {
		return err
	}
	if v.same {
		if len(v.value) > 0 && len(v.value) != item {
			return corrupt("special value", 0, fmt.Sprintf("%d bytes", len(v.value)), item)
		}
		to := boxes.New(q.Count, p.Strides, p.Strides, item)
		to.Fill(dst[q.InBuffer:], v.value)
		return nil
	}
	if got := int(v.h.BlockLen()); got != min(a.blockBytes, v.n) {
		return corrupt("blocksize", 8, v.h.BlockSize, fmt.Sprintf("%d, the block of the array", a.blockBytes))
	}
	if a.direct(p, q) {
		return a.f.decode(w, &v, dst[q.InBuffer:q.InBuffer+int64(v.n)], 0)
	}
	var data []byte // values of the whole chunk; nil to decode block by block
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
		if err := a.readBlock(w, dst, p, q, &v, data, &at); err != nil {
			return err
		}
	}
	return nil
}

// readBlock copies the part of the block at that is inside q to dst.
func (a *Array) readBlock(w *worker, dst []byte, p *chunked.Plan, q *chunked.Piece, v *values, data []byte, at *vec) error {
	var n vec
	number, to, from := int64(0), int(q.InBuffer), 0
	for d, first := range q.Start {
		number += at[d] * a.blockStep[d]
		origin := at[d] * a.block[d]
		lo, hi := max(first, origin), min(first+q.Count[d], origin+a.block[d])
		n[d] = hi - lo
		to += int((lo - first) * p.Strides[d])
		from += int((lo - origin) * a.blockStride[d])
	}
	start := int(number) * a.blockBytes // offset in the values of the chunk
	l := boxes.New(n[:a.rank], p.Strides, a.blockStride[:a.rank], a.f.TypeSize())
	if data != nil {
		if err := v.parts.Block(int(number), a.blockBytes); err != nil {
			return closedFile(err)
		}
		l.Copy(dst[to:], data[start+from:start+a.blockBytes])
		return nil
	}
	if err := v.parts.Block(int(number), a.blockBytes); err != nil {
		return closedFile(err)
	}
	if l.Dense() && l.Run() == a.blockBytes { // the whole block, contiguous in dst
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

// next advances at to the next position between first and last, the last axis fastest. It returns
// false after the last position.
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
