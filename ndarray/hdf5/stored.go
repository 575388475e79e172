// Chunks as stored: copies between datasets with the same filters, and between a dataset compressed
// with Blosc2 and b2nd arrays.

package hdf5

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/chunkio"
	"github.com/hyperslab/hyperslab/h5/filter"
	"github.com/hyperslab/hyperslab/internal/chunked"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5prefetch"
	"github.com/hyperslab/hyperslab/ndarray"
)

// rawForm returns the form of chunks as stored in the file. It includes the fill value, because
// chunks at the edge of the array are padded with it, and the padding becomes visible when the
// array grows.
func (b *backend) rawForm() chunked.Form {
	d := fmt.Sprintf("%v, fill %x, plain edges %v, filters", b.stored, b.meta.Fill, b.plainEdges)
	for _, f := range b.filters {
		d += fmt.Sprintf(" %d %v", f.ID, f.Values)
	}
	return chunked.Form{Kind: "hdf5", Details: d}
}

// exchanges reports whether the dataset's chunks can be read and written as stored.
func (b *backend) exchanges() bool {
	return !b.library && b.striped.created == nil && b.meta.ChunkShape != nil && len(b.meta.ChunkShape) < h5.MaxRank && b.stored.Plain()
}

// blosc2Only returns the parameters of the filter Blosc2 if it is the only filter and its
// parameters are complete.
func (b *backend) blosc2Only() ([]uint32, *ndarray.Compression) {
	if b.converted || len(b.filters) != 1 || b.filters[0].ID != filter.IDBlosc2 || len(b.filters[0].Values) <= blosc2Rank {
		return nil, nil
	}
	c, ok := blosc2Compression(b.filters[0].Values)
	if !ok {
		return nil, nil
	}
	c.Codec = c.Codec[len(blosc2Prefix):]
	return b.filters[0].Values, c
}

// ChunkForms returns the form of the file. For Blosc2 it also returns the form with the blocks of
// the first stored chunk.
func (b *backend) ChunkForms(ctx context.Context) ([]chunked.Form, error) {
	if !b.exchanges() {
		return nil, nil
	}
	forms := []chunked.Form{b.rawForm()}
	_, c := b.blosc2Only()
	if c == nil {
		return forms, ctx.Err()
	}
	h5prefetch.Index(b.dataset)
	stored, err := b.dataset.NumChunks()
	if err != nil || stored == 0 {
		return forms, err
	}
	first, err := b.dataset.ChunkByIndex(0)
	if err != nil {
		return forms, err
	}
	raw, mask, err := b.rawChunk(nil, first.Offset)
	if err != nil || raw == nil || mask != 0 {
		return forms, err
	}
	_, blocks, err := filter.Blosc2Chunk(raw)
	if err != nil || blocks == nil {
		return forms, err
	}
	return append(forms, chunked.Blosc2(b.meta.DType.Size, int64s(blocks), c.String())), nil
}

func int64s(v []int32) []int64 {
	out := make([]int64, len(v))
	for i, x := range v {
		out[i] = int64(x)
	}
	return out
}

// rawChunk returns the stored bytes of the chunk at offset and its filter mask. It uses the memory
// of dst if that is large enough. It returns nil if the chunk is not stored.
func (b *backend) rawChunk(dst []byte, offset []int64) ([]byte, uint32, error) {
	for {
		n, mask, err := b.dataset.ReadChunk(dst[:cap(dst)], offset...)
		switch {
		case errors.Is(err, h5.ErrNotFound):
			return nil, 0, nil
		case err == nil:
			return dst[:n], mask, nil
		case !errors.Is(err, h5.ErrSize):
			return nil, 0, err
		}
		size, err := b.dataset.ChunkBytes(offset...)
		if err != nil {
			return nil, 0, err
		}
		limit, err := b.dataset.File().Size()
		if err != nil {
			return nil, 0, err
		}
		if size > limit || size <= int64(cap(dst)) {
			return nil, 0, fmt.Errorf("%w: a chunk of %d bytes in a file of %d", ndarray.ErrCorrupt, size, limit)
		}
		dst = make([]byte, size)
	}
}

// offset returns the first element of chunk n, and whether the chunk ends inside the array.
func (b *backend) offset(n int64) (at []int64, inside bool) {
	at, inside = make([]int64, len(b.meta.ChunkShape)), true
	for i := len(at) - 1; i >= 0; i-- {
		c := b.meta.ChunkShape[i]
		along := grid.DivUp(b.meta.Shape[i], c)
		at[i] = n % along * c
		n /= along
		inside = inside && at[i] <= b.meta.Shape[i]-c
	}
	return at, inside
}

// ReadChunk returns a chunk as stored, or the Blosc2 chunk in it.
func (b *backend) ReadChunk(ctx context.Context, dst []byte, f chunked.Form, n int64) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	at, _ := b.offset(n)
	dst = slices.Grow(dst[:0], 4)[:4]
	raw, mask, err := b.rawChunk(dst[4:], at)
	if err != nil || raw == nil {
		return nil, err
	}
	if f == b.rawForm() {
		out := slices.Grow(dst[:0], 4+len(raw))[:4+len(raw)]
		copy(out[4:], raw) // no copy if dst was large enough
		binary.LittleEndian.PutUint32(out, mask)
		return out, nil
	}
	_, c := b.blosc2Only()
	if c == nil || mask != 0 {
		return nil, fmt.Errorf("%w: a chunk as %v", errors.ErrUnsupported, f)
	}
	chunk, blocks, err := filter.Blosc2Chunk(raw)
	if err != nil {
		return nil, err
	}
	if f != chunked.Blosc2(b.meta.DType.Size, int64s(blocks), c.String()) {
		return nil, fmt.Errorf("%w: a chunk as %v", errors.ErrUnsupported, f)
	}
	return chunk, nil
}

// TakesChunks reports whether f is the form of the file, or Blosc2 with any blocks.
func (b *backend) TakesChunks(ctx context.Context, f chunked.Form) (bool, error) {
	if !b.exchanges() {
		return false, ctx.Err()
	}
	if f == b.rawForm() {
		return true, ctx.Err()
	}
	_, c := b.blosc2Only()
	if c == nil {
		return false, ctx.Err()
	}
	blocks, ok := f.Blocks()
	return ok && f == chunked.Blosc2(b.meta.DType.Size, blocks, c.String()), ctx.Err()
}

// HasChunk reports whether a chunk is stored.
func (b *backend) HasChunk(ctx context.Context, n int64) (bool, error) {
	size, err := b.chunkSize(n)
	return size > 0, errors.Join(err, ctx.Err())
}

// chunkSize returns the stored bytes of chunk n, or 0 if it is not stored.
func (b *backend) chunkSize(n int64) (int64, error) {
	at, _ := b.offset(n)
	size, err := b.dataset.ChunkBytes(at...)
	if errors.Is(err, h5.ErrNotFound) {
		err = nil
	}
	return size, err
}

// ChunkBytes reports the bytes of a chunk in the file (H5Dget_chunk_storage_size). It first writes
// elements in libhdf5's chunk cache to the file.
func (b *backend) ChunkBytes(ctx context.Context, n int64) (int64, error) {
	if !b.meta.ReadOnly {
		if err := b.dataset.Flush(); err != nil {
			return 0, err
		}
	}
	size, err := b.chunkSize(n)
	return size, errors.Join(err, ctx.Err())
}

// Uniform uses chunks that are not stored, and datasets without any stored elements. It first
// writes elements in libhdf5's chunk cache to the file.
func (b *backend) Uniform(ctx context.Context, within ndarray.Region) (func(r ndarray.Region) bool, error) {
	if !b.meta.ReadOnly {
		if err := b.dataset.Flush(); err != nil {
			return nil, err
		}
	}
	info, err := b.dataset.Info()
	if err != nil {
		return nil, err
	}
	chunked := info.Layout == h5.Chunked
	if !chunked && (info.Layout != h5.Contiguous || len(info.External) > 0) {
		return nil, nil
	}
	var start, end []int64 // of the part of the index that is read; nil: the whole index
	if b.remote() != nil && !slices.Equal(within.Shape, b.meta.Shape) {
		start, end = within.Start, make([]int64, len(within.Start))
		for i, n := range within.Shape {
			end[i] = start[i] + n
		}
	}
	ok := false
	var stored []int64
	if chunked {
		if stored, ok, err = chunkio.Stored(b.dataset, start, end); err != nil {
			return nil, err
		}
	}
	if !ok {
		bytes, err := b.storedBytes()
		if err != nil || bytes > 0 {
			return nil, err
		}
		return func(ndarray.Region) bool { return true }, ctx.Err()
	}
	g, err := grid.New(b.meta.Shape, b.meta.ChunkShape)
	if err != nil {
		return nil, err
	}
	const fill = grid.Different + 1
	uniform := grid.Uniform[ndarray.Region](g, func(yield func(int64, int) bool) {
		for _, n := range stored {
			if !yield(n, fill) || !yield(n+1, grid.Different) {
				return
			}
		}
		yield(g.NumChunks(), fill)
	})
	if end == nil {
		return uniform, ctx.Err()
	}
	return func(r ndarray.Region) bool {
		for i := range r.Start {
			if r.Start[i] < start[i] || r.Start[i]+r.Shape[i] > end[i] {
				return false
			}
		}
		return uniform(r)
	}, ctx.Err()
}

// WriteChunk stores a chunk as stored elsewhere, or a Blosc2 chunk as the only chunk of a frame. It
// rejects Blosc2 chunks at the edge of the array, because their padding differs between formats.
func (b *backend) WriteChunk(ctx context.Context, chunk []byte, f chunked.Form, n int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	_, inside := b.offset(n)
	if f == b.rawForm() {
		if len(chunk) < 4 {
			return fmt.Errorf("%w: a chunk of %d bytes", ndarray.ErrSize, len(chunk))
		}
		return b.writeChunk(n, chunk[4:], binary.LittleEndian.Uint32(chunk))
	}
	values, c := b.blosc2Only()
	blocks, ok := f.Blocks()
	if c == nil || !ok || !inside {
		return fmt.Errorf("%w: a chunk as %v", errors.ErrUnsupported, f)
	}
	small := make([]int32, len(blocks))
	for i, n := range blocks {
		small[i] = int32(n) // fits: part of a chunk of less than 2 GiB
	}
	frame, err := filter.Blosc2Frame(nil, values, chunk, small, int(b.chunkBytes()))
	if err != nil {
		return err
	}
	return b.writeChunk(n, frame, 0)
}
