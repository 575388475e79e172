// Reads and writes of elements. Workers (package chunkio) move whole chunks, and read parts of
// chunks if they can keep the decoded chunks for the next call. libhdf5 moves other parts, because
// it caches chunks too. Elements without chunks are read from the file itself.

package hdf5

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/chunkio"
	"github.com/hyperslab/hyperslab/h5/filter"
	"github.com/hyperslab/hyperslab/internal/chunked/readahead"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/internal/grid/boxes"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5prefetch"
	"github.com/hyperslab/hyperslab/ndarray"
)

// ReadRegion reads elements. The bytes are read as stored and swapped to native order here. This is
// faster than libhdf5's conversion, and preserves the bits of every NaN.
func (b *backend) ReadRegion(ctx context.Context, dst []byte, r ndarray.Region, workers int) error {
	if err := b.checkFiles(); err != nil {
		return err
	}
	switch {
	case b.files.absent:
		boxes.Repeat(dst, b.meta.Fill)
		return nil
	case b.converted:
		return b.readConverted(ctx, dst, r, workers)
	}
	return b.readStored(ctx, dst, r, workers)
}

// toNative swaps elements to native order, unless they are converted later.
func (b *backend) toNative(p []byte) {
	if !b.converted {
		b.meta.DType.ToNative(p)
	}
}

// readStored reads elements in the form of the file, in native order.
func (b *backend) readStored(ctx context.Context, dst []byte, r ndarray.Region, workers int) error {
	switch {
	case b.files.dir != "" && b.files.external != nil && b.meta.ReadOnly:
		return b.readExternal(ctx, dst, r)
	}
	if st, err := b.openStripes(len(dst)); err != nil {
		return err
	} else if st != nil {
		return b.moveParts(ctx, st, dst, r, workers, false)
	}
	if b.worthReading(len(dst)) {
		_, err := chunkio.Read(ctx, b.dataset, dst, b.stored, region(r), &chunkio.Options{Workers: workers})
		if err != nil {
			return err
		}
		b.toNative(dst)
		return nil
	}
	if ok, err := b.readRows(ctx, dst, r); ok || err != nil {
		b.toNative(dst)
		return err
	}
	return b.readSlabs(ctx, dst, r)
}

// readSlabs reads elements by libhdf5, in parts that end at chunks. It is apart from readStored,
// because its loop moves its variables to the heap.
func (b *backend) readSlabs(ctx context.Context, dst []byte, r ndarray.Region) error {
	for box := range grid.Slabs(b.meta.ChunkShape, b.meta.DType.Size, grid.Box(r)) {
		s := ndarray.Region(box)
		if err := ctx.Err(); err != nil {
			return err
		}
		part := dst[:s.NumElems()*int64(b.stored.Size)]
		dst = dst[len(part):]
		if err := b.dataset.ReadRegion(part, b.stored, region(s)); err != nil {
			return err
		}
		b.toNative(part)
	}
	return nil
}

// remote returns the file as a reader that fetches ranges before they are read, or nil.
func (b *backend) remote() readahead.Reader {
	if b.file == nil {
		return nil
	}
	source, _ := b.file.Source()
	return readahead.Of(source)
}

// inRows reports whether the elements are contiguous and can be read without libhdf5.
func (b *backend) inRows() bool {
	return !b.library && b.address != h5.NoAddress && len(b.meta.Shape) > 0 && b.stored.Plain()
}

// Prefetch begins to fetch the stored elements of regions of a remote file.
func (b *backend) Prefetch(ctx context.Context, regions readahead.Regions) (stop func()) {
	to := b.remote()
	switch {
	case to == nil || b.library || !b.stored.Plain():
		return func() {}
	case b.inRows():
		return to.Prefetch(ctx, func(yield func(off, n int64) bool) {
			for start, shape := range regions {
				for off, n := range b.rows(ndarray.Region{Start: start, Shape: shape}) {
					if !yield(off, n) {
						return
					}
				}
			}
		})
	case b.meta.ChunkShape == nil:
		return func() {}
	}
	if stop, ok := chunkio.Prefetch(ctx, b.dataset, b.stored, regions); ok {
		return stop
	}
	// Fetch all chunks, which libhdf5 reads. The order of the index is that of the grid.
	return to.Prefetch(ctx, func(yield func(off, n int64) bool) {
		h5prefetch.Index(b.dataset)
		for c, err := range b.dataset.StoredChunks() {
			if err != nil || c.Bytes <= 0 || !yield(int64(c.Address), c.Bytes) {
				return // the read returns the error
			}
		}
	})
}

// direct is the local file of a contiguous dataset, for reads without libhdf5.
type direct struct {
	reads atomic.Int32
	once  sync.Once
	file  *os.File // nil: libhdf5 reads

	kept  sync.Once
	keeps bool // chunkio can keep decoded chunks
}

// shortRow is the number of bytes of a row that takes as long to read alone as in libhdf5's buffer.
const shortRow = 4 << 10

// local returns the file of a dataset for a read of a region without libhdf5, or nil. The first
// read is left to libhdf5, because finding the file takes longer than one small read. So are
// regions of many short rows.
func (b *backend) local(r ndarray.Region) *os.File {
	if b.file == nil || !b.meta.ReadOnly || b.direct.reads.Add(1) == 1 {
		return nil
	}
	if rows, row, _, _ := b.rowsOf(r); rows > 1 && row < shortRow {
		return nil
	}
	b.direct.once.Do(func() {
		own, err := b.dataset.Stat()
		root, rootErr := b.file.Root().Stat()
		if err != nil || rootErr != nil || own.FileNo != root.FileNo { // an external link led to the dataset
			return
		}
		if f, err := b.file.Descriptor(); err == nil {
			b.direct.file = f
		}
	})
	return b.direct.file
}

// readRows reads a region of a contiguous dataset without libhdf5, whose lock other calls would
// wait for, and which reads 64 KiB for each small region. ok is false if libhdf5 must read the
// region.
func (b *backend) readRows(ctx context.Context, dst []byte, r ndarray.Region) (ok bool, err error) {
	if !b.inRows() {
		return false, nil
	}
	var from io.ReaderAt
	if to := b.remote(); to != nil {
		defer to.Prefetch(ctx, b.rows(r))()
		from = to
	} else if f := b.local(r); f != nil {
		from = f
	} else {
		return false, nil
	}
	for off, n := range b.rows(r) {
		if err := ctx.Err(); err != nil {
			return true, err
		}
		if got, err := from.ReadAt(dst[:n], off); int64(got) < n {
			if errors.Is(err, io.EOF) {
				err = fmt.Errorf("%w: %d of %d bytes at offset %d", ndarray.ErrCorrupt, got, n, off)
			}
			return true, err
		}
		dst = dst[n:]
	}
	return true, nil
}

// rowsOf returns the number of parts of a region that are contiguous in the file, and the bytes of
// each. A part covers all of the axes after axis, and step is the number of bytes along axis.
func (b *backend) rowsOf(r ndarray.Region) (rows, row, step int64, axis int) {
	step, axis = int64(b.stored.Size), len(r.Shape)-1
	for ; axis > 0 && r.Shape[axis] == b.meta.Shape[axis]; axis-- {
		step *= r.Shape[axis]
	}
	rows = 1
	for _, n := range r.Shape[:axis] {
		rows *= n
	}
	return rows, step * r.Shape[axis], step, axis
}

// rows yields the parts of a region of a contiguous dataset that are contiguous in the file.
func (b *backend) rows(r ndarray.Region) readahead.Ranges {
	return func(yield func(off, n int64) bool) {
		rows, row, step, axis := b.rowsOf(r)
		strides := boxes.Strides(b.meta.Shape, b.stored.Size)
		at := slices.Clone(r.Start[:axis])
		for range rows {
			off := int64(b.address) + r.Start[axis]*step
			for d, i := range at {
				off += i * strides[d]
			}
			if !yield(off, row) {
				return
			}
			for d := axis - 1; d >= 0; d-- {
				if at[d]++; at[d] < r.Start[d]+r.Shape[d] {
					break
				}
				at[d] = r.Start[d]
			}
		}
	}
}

// worthReading reports whether workers should read a region of n bytes. A region smaller than a
// chunk is left to libhdf5 if the chunk fits its cache and workers cannot keep it, because the next
// region is often in the same chunk. The exception is Blosc2, which can decode parts of a chunk.
func (b *backend) worthReading(n int) bool {
	if b.library || b.meta.ChunkShape == nil || b.striped.created != nil {
		return false
	}
	if b.untrusted {
		return true
	}
	chunk := b.chunkBytes()
	return int64(n) >= chunk || chunk > h5.DefaultChunkCache().Bytes ||
		len(b.filters) == 1 && b.filters[0].ID == filter.IDBlosc2 || len(b.filters) > 0 && b.keeps()
}

// keeps reports whether workers can keep decoded chunks: the file is read without libhdf5, and is
// not remote.
func (b *backend) keeps() bool {
	if b.file == nil || !b.meta.ReadOnly {
		return false
	}
	b.direct.kept.Do(func() {
		if source, _ := b.file.Source(); source != nil {
			b.direct.keeps = readahead.Of(source) == nil
			return
		}
		_, err := b.file.Descriptor()
		b.direct.keeps = err == nil
	})
	return b.direct.keeps
}

func (b *backend) chunkBytes() int64 {
	n, _ := grid.Product(b.meta.ChunkShape) // does not overflow, because the chunk exists
	return n * int64(b.stored.Size)
}

// WriteRegion writes elements, converted to storage order.
func (b *backend) WriteRegion(ctx context.Context, src []byte, r ndarray.Region, workers int) error {
	if err := b.lock.Check(); err != nil {
		return err
	}
	if b.converted {
		return b.writeConverted(ctx, src, r, workers)
	}
	return b.writeStored(ctx, src, r, workers)
}

func (b *backend) writeStored(ctx context.Context, src []byte, r ndarray.Region, workers int) error {
	write, whole := b.writeByLibrary, false
	if s := b.sequence.Load(); s != nil {
		write, whole = s.writeInOrder, true
	} else if !b.atOnce(r, len(src)) && b.worthWriting(r) {
		write, whole = b.writeChunks, true
	}
	if whole && (b.converted || b.meta.DType.IsNative()) {
		return write(ctx, src, r, workers)
	}
	var swapped []byte // one slab in storage order
	for box := range grid.Slabs(b.meta.ChunkShape, b.meta.DType.Size, grid.Box(r)) {
		s := ndarray.Region(box)
		part := src[:s.NumElems()*int64(b.stored.Size)]
		src = src[len(part):]
		if !b.converted && !b.meta.DType.IsNative() {
			swapped = append(swapped[:0], part...)
			b.meta.DType.ToNative(swapped) // to storage order; ToNative is its own inverse
			part = swapped
		}
		if err := write(ctx, part, s, workers); err != nil {
			return err
		}
	}
	return nil
}

func (b *backend) writeByLibrary(ctx context.Context, src []byte, r ndarray.Region, _ int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return b.dataset.WriteRegion(src, b.stored, region(r))
}

func (b *backend) writeChunks(ctx context.Context, src []byte, r ndarray.Region, workers int) error {
	if st := b.striped.created; st != nil {
		return b.moveParts(ctx, st, src, r, workers, true)
	}
	_, err := chunkio.Write(ctx, b.dataset, src, b.stored, region(r), &chunkio.Options{Workers: workers})
	return err
}

// worthWriting reports whether at least half of a region is in chunks that it covers completely.
// Workers encode a partly written chunk at once, but libhdf5 caches it until the rest is written.
func (b *backend) worthWriting(r ndarray.Region) bool {
	if b.library || b.meta.ChunkShape == nil {
		return false
	}
	part := 1.0
	for i, c := range b.meta.ChunkShape {
		end := r.Start[i] + r.Shape[i]
		from := grid.RoundUp(r.Start[i], c, end)
		to := end / c * c
		if end == b.meta.Shape[i] {
			to = end
		}
		if to <= from {
			return false
		}
		part *= float64(to-from) / float64(r.Shape[i])
	}
	return part >= 0.5
}

func region(r ndarray.Region) h5.Region { return h5.Region{Start: r.Start, Count: r.Shape} }

// storedBytes returns the stored size of the elements.
func (b *backend) storedBytes() (int64, error) {
	h5prefetch.Index(b.dataset)
	n, _, err := b.dataset.Stored()
	return n, err
}

// Storage reports the bytes of the elements in the file (H5Dget_storage_size). It first writes
// elements in libhdf5's chunk cache to the file.
func (b *backend) Storage(ctx context.Context) (ndarray.Storage, error) {
	if !b.meta.ReadOnly {
		if err := b.dataset.Flush(); err != nil {
			return ndarray.Storage{}, err
		}
	}
	info, err := b.dataset.Info()
	if err != nil {
		return ndarray.Storage{}, err
	}
	_, s, err := describe(&info, b.meta.Path)
	if err != nil {
		return s, err
	}
	if s.StoredBytes, err = b.storedBytes(); err != nil {
		return s, err
	}
	if b.striped.created != nil && !b.library {
		return s, ctx.Err()
	}
	if s.Library = "asked for"; !b.library {
		if s.Library, err = chunkio.Fallback(b.dataset); err != nil {
			return s, err
		}
	}
	return s, errors.Join(err, ctx.Err())
}
