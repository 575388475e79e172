// Writes of regions, growth, and the order of file changes that keeps a tree readable if a writer
// dies.
//
// If other programs may open the tree, new data is on disk before meta/sizes includes it, and old
// data is removed after meta/sizes excludes it. The old sizes remain valid until the rename of
// meta/sizes.

package bcolz

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/blosc/blosc1"
	"github.com/hyperslab/hyperslab/internal/chunked"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/bcolztree"
	"github.com/hyperslab/hyperslab/internal/grid/boxes"
	"github.com/hyperslab/hyperslab/ndarray"
)

// chunkLocks is the number of locks that the chunk files share.
const chunkLocks = 64

// writable returns ErrReadOnly if the array is not open for writing, and ErrReplaced if another
// program has changed it.
func (b *backend) writable() error {
	if !b.write {
		return ndarray.ErrReadOnly
	}
	return b.unchanged()
}

// WriteRegion replaces elements. The chunk files that r touches are written by at most the given
// number of workers, each file as a whole. A file that r covers only partly is read first. Each
// file is replaced atomically, so a reader sees the old or the new one.
func (b *backend) WriteRegion(ctx context.Context, src []byte, r ndarray.Region, workers int) error {
	if err := errors.Join(ctx.Err(), b.writable()); err != nil {
		return err
	}
	b.shape.RLock()
	defer b.shape.RUnlock()
	if err := b.allowed(r); err != nil {
		return err
	}
	return b.each(ctx, r, workers, func(ctx context.Context, p *chunked.Plan, q *chunked.Piece) error {
		return b.writeFile(ctx, src[q.InBuffer:][:q.Elements*int64(b.meta.DType.Size)], p, q)
	})
}

// rowsOf returns the number of rows in the i-th chunk file.
func (b *backend) rowsOf(i int64) int64 {
	return min(b.tree.Rows()-i*b.tree.Storage.ChunkLen, b.tree.Storage.ChunkLen)
}

// writeFile replaces the elements of q by src.
func (b *backend) writeFile(ctx context.Context, src []byte, p *chunked.Plan, q *chunked.Piece) error {
	i := q.Number
	lock := &b.locks[i%chunkLocks]
	lock.Lock()
	defer lock.Unlock()
	rows := make([]byte, b.rowsOf(i)*b.tree.RowBytes())
	if q.Data {
		copy(rows, src)
	} else {
		if err := b.readFile(ctx, rows, i, nil); err != nil {
			return err
		}
		p.Spread(q, rows, src)
	}
	return b.storeFile(i, rows)
}

// storeFile compresses rows, in native order, and replaces the i-th chunk file by them. It changes
// the content of rows.
func (b *backend) storeFile(i int64, rows []byte) error {
	quantize(rows, b.meta.DType, b.tree.Storage.CParams.Quantize)
	b.meta.DType.ToNative(rows) // to storage order; ToNative is its own inverse
	file := bcolztree.FileHeader{Version: bcolztree.FileVersion, NumChunks: 1}.Append(nil)
	head := len(file)
	file = slices.Grow(file, cblosc.MaxCompressedSize(len(rows)))
	n, err := blosc1.Compress(b.pool, b.cparams, file[head:cap(file)], rows)
	if err != nil {
		return fmt.Errorf("%s: %w", b.tree.FileName(i), err)
	}
	if err := b.dir.replace(b.tree.FileName(i), file[:head+n]); err != nil {
		return err
	}
	if b.fresh != nil {
		b.freshMu.Lock()
		b.fresh[i] = true
		b.freshMu.Unlock()
	}
	return nil
}

// cparams converts bcolz's parameters to those of Blosc1 chunks.
func cparams(p bcolztree.CParams, size int) *cblosc.CParams {
	c := cblosc.DefaultCParams()
	c.Level, c.TypeSize = p.Level, size
	c.Filters = [cblosc.MaxFilters]cblosc.Filter{}
	last := &c.Filters[cblosc.MaxFilters-1]
	switch p.Shuffle {
	case bcolztree.ByteShuffle:
		last.ID = cblosc.Shuffle
	case bcolztree.BitShuffle:
		last.ID = cblosc.BitShuffle
	}
	if codec, err := cblosc.ParseCodec(p.Codec); err == nil {
		c.Codec = codec // Create and Open have rejected all other codecs
	}
	return c
}

// Resize changes the number of rows (carray.resize). The other dimensions cannot change. New
// elements have the fill value. The array keeps its old length until the last of its new chunks is
// on disk. The caller must not read or write rows that a concurrent Resize removes.
//
// It returns ndarray.ErrReadOnly, errors.ErrUnsupported for another rank or a change of another
// dimension, ErrShape for a number of rows out of range, or an error of the file system.
func (b *backend) Resize(ctx context.Context, shape []int64) error {
	if err := errors.Join(ctx.Err(), b.writable()); err != nil {
		return err
	}
	if err := b.CheckResize(shape); err != nil {
		return err
	}
	if shape[0] < 0 || b.tree.RowBytes() > 0 && shape[0] > math.MaxInt64/b.tree.RowBytes() {
		return fmt.Errorf("%w: %d rows", ndarray.ErrShape, shape[0])
	}
	if m := b.meta.MaxShape; m != nil && m[0] != ndarray.Unlimited && shape[0] > m[0] {
		return fmt.Errorf("%w: %d rows, at most %d", ndarray.ErrShape, shape[0], m[0])
	}
	b.shape.Lock()
	defer b.shape.Unlock()
	return b.resize(ctx, shape[0], nil)
}

// CheckResize implements ndarray.ResizeChecker.
func (b *backend) CheckResize(shape []int64) error {
	if err := b.ownLength(); err != nil {
		return err
	}
	old := b.tree.Sizes.Shape
	if len(shape) != len(old) || !slices.Equal(shape[1:], old[1:]) {
		return fmt.Errorf("%w: %v to %v: bcolz arrays grow along the first axis only", errors.ErrUnsupported, old, shape)
	}
	return nil
}

// Append adds rows at the end (carray.append). src must contain whole rows in row-major order and
// native byte order. It has the guarantees of Resize: a program that opens the array sees all of
// the new rows or none.
func (b *backend) Append(ctx context.Context, src []byte) error {
	if err := errors.Join(ctx.Err(), b.writable()); err != nil {
		return err
	}
	if err := b.ownLength(); err != nil {
		return err
	}
	row := b.tree.RowBytes()
	if row <= 0 || int64(len(src))%row != 0 {
		return fmt.Errorf("%w: %d bytes, want whole rows of %d", ndarray.ErrSize, len(src), row)
	}
	b.shape.Lock()
	defer b.shape.Unlock()
	n := b.tree.Rows()
	more := int64(len(src)) / row
	if m := b.meta.MaxShape; more > math.MaxInt64/row-n || m != nil && m[0] != ndarray.Unlimited && n+more > m[0] {
		return fmt.Errorf("%w: %d rows and %d more", ndarray.ErrShape, n, more)
	}
	return b.resize(ctx, n+more, src)
}

// ownLength returns an error if the array shares its length with other columns or parts.
func (b *backend) ownLength() error {
	if b.part {
		return fmt.Errorf("%w: a column of a nested ctable has the length of all of them: resize or append to the whole table", errors.ErrUnsupported)
	}
	return b.canResize()
}

// canResize returns an error for a part of an array.
func (b *backend) canResize() error {
	if b.only != nil {
		return fmt.Errorf("%w: a part of an array has no length of its own", errors.ErrUnsupported)
	}
	return nil
}

// resize changes the number of rows to n. src are the new rows; nil means the fill value.
func (b *backend) resize(ctx context.Context, n int64, src []byte) error {
	old := b.tree
	if n == old.Rows() {
		return nil
	}
	if err := b.prepare(ctx, n, src); err != nil {
		return err
	}
	if err := b.writeSizes(old.WithRows(n)); err != nil {
		b.tree = old
		return err
	}
	return b.completeResize(old, n)
}

// prepare writes the chunk files of an array that will have n rows, and sets that length in b.tree.
// It replaces the old leftover file by one that begins with the same rows, so that the file is also
// valid with the old sizes.
func (b *backend) prepare(ctx context.Context, n int64, src []byte) error {
	if b.fresh != nil { // unwritten files are created while the old length is valid
		if err := b.fillFiles(); err != nil {
			return err
		}
	}
	old := b.tree
	if n <= old.Rows() {
		return nil
	}
	b.tree = old.WithRows(n)
	if err := b.fillRows(ctx, old, src); err != nil {
		b.tree = old
		return err
	}
	return nil
}

// completeResize completes a change to n rows after meta/sizes was written.
func (b *backend) completeResize(old *bcolztree.Array, n int64) error {
	b.tree = old.WithRows(n)
	b.meta.Shape = slices.Clone(b.tree.Sizes.Shape)
	if n < old.Rows() {
		return b.cut(old)
	}
	return nil
}

// fillRows writes the rows after those of old, on up to GOMAXPROCS goroutines.
func (b *backend) fillRows(ctx context.Context, old *bcolztree.Array, src []byte) error {
	first := old.Rows()
	row := b.tree.RowBytes()
	if row == 0 {
		return nil
	}
	shape := slices.Clone(b.tree.Sizes.Shape)
	shape[0] -= first
	r := ndarray.Region{Start: make([]int64, len(shape)), Shape: shape}
	r.Start[0] = first
	return b.each(ctx, r, 0, func(ctx context.Context, _ *chunked.Plan, q *chunked.Piece) error {
		var fresh []byte
		if src != nil {
			fresh = src[q.InBuffer:][:q.Elements*int64(b.meta.DType.Size)]
		}
		return b.extendFile(ctx, old, q, fresh)
	})
}

// extendFile writes a chunk file: the rows that old has in it, then those of q. fresh are the rows
// of q; nil means the fill value.
func (b *backend) extendFile(ctx context.Context, old *bcolztree.Array, q *chunked.Piece, fresh []byte) error {
	row := b.tree.RowBytes()
	rows := make([]byte, b.rowsOf(q.Number)*row)
	kept := q.Start[0]
	if kept > 0 {
		if err := b.readFileOf(ctx, old, rows[:kept*row], q.Number, nil); err != nil {
			return err
		}
	}
	if fresh == nil {
		boxes.Repeat(rows[kept*row:], b.meta.Fill)
	} else {
		copy(rows[kept*row:], fresh)
	}
	return b.storeFile(q.Number, rows)
}

// cut removes the files after the end of the shortened array, and shortens its last file, as bcolz
// does. Both steps only free space.
func (b *backend) cut(old *bcolztree.Array) error {
	var errs []error
	for i := b.tree.NumFiles(); i < old.NumFiles(); i++ {
		if err := b.place.root.Remove(old.FileName(i)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	if last := b.tree.NumFiles() - 1; last >= 0 && b.tree.RowBytes() > 0 && b.rowsOf(last) < b.tree.Storage.ChunkLen {
		rows := make([]byte, b.rowsOf(last)*b.tree.RowBytes())
		if err := b.readFile(context.Background(), rows, last, nil); err != nil {
			return errors.Join(append(errs, err)...)
		}
		errs = append(errs, b.storeFile(last, rows))
	}
	return errors.Join(errs...)
}

// writeSizes writes meta/sizes. cbytes is counted as in bcolz: the compressed bytes of full chunks,
// plus one uncompressed chunk, whether there is a leftover or not.
func (b *backend) writeSizes(t *bcolztree.Array) error {
	s, err := b.sizesOf(t)
	if err != nil {
		return err
	}
	return errors.Join(b.dir.replace(bcolztree.SizesFile, s.Append(nil)), b.see())
}

func (b *backend) sizesOf(t *bcolztree.Array) (bcolztree.Sizes, error) {
	s := t.Sizes
	row := max(t.RowBytes(), 0)
	s.NBytes = t.Rows() * row
	s.CBytes = t.Storage.ChunkLen * row
	if row > 0 {
		for i := range t.Rows() / t.Storage.ChunkLen {
			info, err := fs.Stat(b.place.fsys, t.FileName(i))
			if b.skeleton && errors.Is(err, fs.ErrNotExist) {
				continue // another process writes it
			}
			if err != nil {
				return s, format.Part(err)
			}
			s.CBytes += info.Size() - bcolztree.HeaderSize
		}
	}
	return s, nil
}

// finish writes the missing chunk files of a new array, and its sizes.
func (b *backend) finish() error {
	if err := b.fillFiles(); err != nil || b.part {
		return err // the table writes the sizes of all columns
	}
	return b.writeSizes(b.tree)
}

// fillFiles writes the missing chunk files of a new array.
func (b *backend) fillFiles() error {
	if b.tree.RowBytes() <= 0 || b.skeleton {
		return nil
	}
	var filled [2][]byte // the files of a full chunk and of the leftover, compressed once
	for i := range b.tree.NumFiles() {
		if b.fresh[i] {
			continue
		}
		which := 0
		if b.rowsOf(i) < b.tree.Storage.ChunkLen {
			which = 1
		}
		if filled[which] == nil {
			rows := make([]byte, b.rowsOf(i)*b.tree.RowBytes())
			boxes.Repeat(rows, b.meta.Fill)
			if err := b.storeFile(i, rows); err != nil {
				return err
			}
			file, err := fs.ReadFile(b.place.fsys, b.tree.FileName(i))
			if err != nil {
				return err
			}
			filled[which] = file
			continue
		}
		if err := b.dir.replace(b.tree.FileName(i), filled[which]); err != nil {
			return err
		}
	}
	return nil
}

// abandon closes without finishing.
func (b *backend) abandon() error {
	return errors.Join(b.pool.Close(), b.place.close(), b.lock.Release())
}
