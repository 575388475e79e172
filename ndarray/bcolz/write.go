// Writing: regions, growth, and the order that keeps a tree readable whenever a
// writer dies.
//
// In a tree that others may open, what is new is on the disk before meta/sizes says
// so, and what goes away goes after: the old sizes read right up to the one rename of
// the file that holds them.

package bcolz

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/format/bcolz"
	"github.com/hyperslab/hyperslab/internal/boxes"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/internal/strided"
)

// chunkLocks is how many locks the chunk files share.
const chunkLocks = 64

// writable says why nothing can be written.
func (b *Backend) writable() error {
	if !b.write {
		return ndarray.ErrReadOnly
	}
	return nil
}

// WriteRegion replaces elements. The chunk files that r touches are written on up
// to GOMAXPROCS goroutines, each as a whole: one that r covers only in part is read
// first. Each file is replaced at once; a reader sees the old or the new one.
func (b *Backend) WriteRegion(ctx context.Context, src []byte, r ndarray.Region) error {
	if err := errors.Join(ctx.Err(), b.writable()); err != nil {
		return err
	}
	b.shape.RLock()
	defer b.shape.RUnlock()
	if err := b.allowed(r); err != nil {
		return err
	}
	workers, failed := errgroup.WithContext(ctx)
	workers.SetLimit(ndarray.Workers(ctx))
	for i, part := range b.parts(r) {
		if failed.Err() != nil {
			break
		}
		row := r.NumElems() / r.Shape[0] * int64(b.meta.DType.Size)
		at := (part.Start[0] - r.Start[0]) * row
		from := src[at : at+part.Shape[0]*row]
		workers.Go(func() error {
			if err := failed.Err(); err != nil {
				return err
			}
			return b.writeFile(from, i, part)
		})
	}
	if err := workers.Wait(); err != nil {
		return err
	}
	return ctx.Err()
}

// parts yields the chunk files that r touches, with the part of r in each.
func (b *Backend) parts(r ndarray.Region) func(yield func(int64, ndarray.Region) bool) {
	length := b.tree.Storage.ChunkLen
	first, end := r.Start[0], r.Start[0]+r.Shape[0] // rows
	return func(yield func(int64, ndarray.Region) bool) {
		for i := first / length; i <= (end-1)/length; i++ {
			part := r.Clone()
			part.Start[0] = max(first, i*length)
			// end-i*length cannot overflow, (i+1)*length can.
			part.Shape[0] = min(end-i*length, length) + i*length - part.Start[0]
			if !yield(i, part) {
				return
			}
		}
	}
}

// rowsOf is how many rows the i-th chunk file holds.
func (b *Backend) rowsOf(i int64) int64 {
	return min(b.tree.Rows()-i*b.tree.Storage.ChunkLen, b.tree.Storage.ChunkLen)
}

// writeFile replaces the elements of r, all in the i-th chunk file, by src.
func (b *Backend) writeFile(src []byte, i int64, r ndarray.Region) error {
	lock := &b.locks[i%chunkLocks]
	lock.Lock()
	defer lock.Unlock()
	shape := slices.Clone(b.tree.Sizes.Shape)
	shape[0] = b.rowsOf(i)
	whole := ndarray.Region{Start: make([]int64, len(shape)), Shape: shape}
	rows := make([]byte, whole.NumElems()*int64(b.meta.DType.Size))
	part := r.Clone()
	part.Start[0] -= i * b.tree.Storage.ChunkLen
	if part.Equal(whole) {
		copy(rows, src)
	} else {
		all := whole.Clone()
		all.Start[0] = i * b.tree.Storage.ChunkLen
		if err := b.readFile(rows, i, all); err != nil {
			return err
		}
		strided.Copy(strided.Box{Data: rows, Shape: shape, Start: part.Start},
			strided.Box{Data: src, Shape: part.Shape, Start: make([]int64, len(shape))}, part.Shape, b.meta.DType.Size)
	}
	return b.storeFile(i, rows)
}

// storeFile compresses rows, in native order, which it spoils, and replaces the
// i-th chunk file by them.
func (b *Backend) storeFile(i int64, rows []byte) error {
	quantize(rows, b.meta.DType, b.tree.Storage.CParams.Quantize)
	b.meta.DType.ToNative(rows) // to the order of storage: swapping is its own inverse
	file := bcolz.FileHeader{Version: bcolz.FileVersion, NumChunks: 1}.Append(nil)
	head := len(file)
	file = slices.Grow(file, cblosc.MaxCompressedSize(len(rows)))
	n, err := b.pool.CompressBlosc1(file[head:cap(file)], rows)
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

// cparams are the parameters of bcolz for Blosc1.
func cparams(p bcolz.CParams, size int) *cblosc.CParams {
	c := cblosc.DefaultCParams()
	c.Level, c.TypeSize = p.Level, size
	c.Filters = [cblosc.MaxFilters]cblosc.Filter{}
	last := &c.Filters[cblosc.MaxFilters-1]
	switch p.Shuffle {
	case bcolz.ByteShuffle:
		last.ID = cblosc.Shuffle
	case bcolz.BitShuffle:
		last.ID = cblosc.BitShuffle
	}
	if codec, err := cblosc.ParseCodec(p.Codec); err == nil {
		c.Codec = codec // Create and Open have refused all others
	}
	return c
}

// Resize changes the number of rows (carray.resize): the other axes stay. New
// elements are the fill value. The array is as long as before until the last of its
// new chunks is on the disk. It must not run beside reads and writes of rows that
// it takes away.
//
// It returns ndarray.ErrReadOnly, ErrShape for another rank or a change of a further
// axis, or an error of the file system.
func (b *Backend) Resize(ctx context.Context, shape []int64) error {
	if err := errors.Join(ctx.Err(), b.writable()); err != nil {
		return err
	}
	if err := b.ownLength(); err != nil {
		return err
	}
	old := b.tree.Sizes.Shape
	if len(shape) != len(old) || !slices.Equal(shape[1:], old[1:]) {
		return fmt.Errorf("%w: %v to %v: bcolz arrays grow along the first axis only", errors.ErrUnsupported, old, shape)
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

// Append adds rows at the end (carray.append). src holds whole rows in row-major
// order and native byte order. It has the guarantees of Resize: who opens the array
// sees all of the new rows or none.
func (b *Backend) Append(ctx context.Context, src []byte) error {
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

// ownLength refuses what has its length from elsewhere.
func (b *Backend) ownLength() error {
	if b.part {
		return fmt.Errorf("%w: a column of a nested ctable has the length of all of them: resize or append to the whole table", errors.ErrUnsupported)
	}
	return b.canResize()
}

// canResize refuses a part of an array.
func (b *Backend) canResize() error {
	if b.only != nil {
		return fmt.Errorf("%w: a part of an array has no length of its own", errors.ErrUnsupported)
	}
	return nil
}

// resize makes the array n rows long; src are the new rows, nil for the fill value.
func (b *Backend) resize(ctx context.Context, n int64, src []byte) error {
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
	return b.settle(old, n)
}

// prepare makes the chunk files of an array that is to be n rows long, by that length.
// The old leftover file is replaced by one that begins with the same rows: sizes that
// say the old length still read it right.
func (b *Backend) prepare(ctx context.Context, n int64, src []byte) error {
	if b.fresh != nil { // what was never written gets its files while the old length counts
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

// settle makes n rows, which sizes say by now, the length of what was old.
func (b *Backend) settle(old *bcolz.Array, n int64) error {
	b.tree = old.WithRows(n)
	b.meta.Shape = slices.Clone(b.tree.Sizes.Shape)
	if n < old.Rows() {
		return b.cut(old)
	}
	return nil
}

// fillRows writes the rows behind those of old, which the files do not have yet, on up
// to GOMAXPROCS goroutines.
func (b *Backend) fillRows(ctx context.Context, old *bcolz.Array, src []byte) error {
	first := old.Rows()
	row := b.tree.RowBytes()
	if row == 0 {
		return nil
	}
	shape := slices.Clone(b.tree.Sizes.Shape)
	shape[0] -= first
	r := ndarray.Region{Start: make([]int64, len(shape)), Shape: shape}
	r.Start[0] = first
	workers, failed := errgroup.WithContext(ctx)
	workers.SetLimit(ndarray.Workers(ctx))
	for i, part := range b.parts(r) {
		if failed.Err() != nil {
			break
		}
		workers.Go(func() error {
			if err := failed.Err(); err != nil {
				return err
			}
			var fresh []byte
			if src != nil {
				at := (part.Start[0] - first) * row
				fresh = src[at : at+part.Shape[0]*row]
			}
			return b.extendFile(old, i, part, fresh)
		})
	}
	if err := workers.Wait(); err != nil {
		return err
	}
	return ctx.Err() // the loop may have ended early
}

// extendFile writes the i-th chunk file with the rows that old has in it and those of
// part behind them: fresh, or nil for the fill value.
func (b *Backend) extendFile(old *bcolz.Array, i int64, part ndarray.Region, fresh []byte) error {
	row := b.tree.RowBytes()
	from := i * b.tree.Storage.ChunkLen
	rows := make([]byte, b.rowsOf(i)*row)
	kept := part.Start[0] - from
	if kept > 0 {
		all := part.Clone()
		all.Start[0], all.Shape[0] = from, kept
		if err := b.readFileOf(old, rows[:kept*row], i, all); err != nil {
			return err
		}
	}
	if fresh == nil {
		boxes.Repeat(rows[kept*row:], b.meta.Fill)
	} else {
		copy(rows[kept*row:], fresh)
	}
	return b.storeFile(i, rows)
}

// cut removes the files that the shorter array does not reach, and shortens its
// last, as bcolz does. Both only give back space.
func (b *Backend) cut(old *bcolz.Array) error {
	var errs []error
	for i := b.tree.NumFiles(); i < old.NumFiles(); i++ {
		if err := b.place.root.Remove(old.FileName(i)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	if last := b.tree.NumFiles() - 1; last >= 0 && b.tree.RowBytes() > 0 && b.rowsOf(last) < b.tree.Storage.ChunkLen {
		shape := slices.Clone(b.tree.Sizes.Shape)
		r := ndarray.Region{Start: make([]int64, len(shape)), Shape: shape}
		r.Start[0] = last * b.tree.Storage.ChunkLen
		r.Shape[0] = b.rowsOf(last)
		rows := make([]byte, r.NumElems()*int64(b.meta.DType.Size))
		if err := b.readFile(rows, last, r); err != nil {
			return errors.Join(append(errs, err)...)
		}
		errs = append(errs, b.storeFile(last, rows))
	}
	return errors.Join(errs...)
}

// writeSizes writes meta/sizes. cbytes counts as bcolz does: the compressed bytes of
// full chunks, and one chunk that is not compressed, whether there is a leftover or
// not.
func (b *Backend) writeSizes(t *bcolz.Array) error {
	s, err := b.sizesOf(t)
	if err != nil {
		return err
	}
	return b.dir.replace(bcolz.SizesFile, s.Append(nil))
}

func (b *Backend) sizesOf(t *bcolz.Array) (bcolz.Sizes, error) {
	s := t.Sizes
	row := max(t.RowBytes(), 0)
	s.NBytes = t.Rows() * row
	s.CBytes = t.Storage.ChunkLen * row
	if row > 0 {
		for i := range t.Rows() / t.Storage.ChunkLen {
			info, err := fs.Stat(b.place.fsys, t.FileName(i))
			if b.skeleton && errors.Is(err, fs.ErrNotExist) {
				continue // a shard brings it
			}
			if err != nil {
				return s, damage(err)
			}
			s.CBytes += info.Size() - bcolz.HeaderSize
		}
	}
	return s, nil
}

// finish writes the chunk files of a new array that nothing was written to, and its
// sizes.
func (b *Backend) finish() error {
	if err := b.fillFiles(); err != nil || b.part {
		return err // who made all the columns says how long they are
	}
	return b.writeSizes(b.tree)
}

// fillFiles writes the chunk files of a new array that nothing was written to.
func (b *Backend) fillFiles() error {
	if b.tree.RowBytes() <= 0 || b.skeleton {
		return nil
	}
	var filled [2][]byte // the chunk file of a full chunk and of the leftover, compressed once
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
func (b *Backend) abandon() error { return errors.Join(b.pool.Close(), b.place.close()) }
