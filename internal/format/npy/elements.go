// Regions of elements that are stored in one piece.

package npy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/internal/grid/boxes"
	"github.com/hyperslab/hyperslab/ndarray"
)

// spanBytes is the maximum number of bytes in one read from which elements are picked.
const spanBytes = 1 << 20

// ReadRegion fills dst with the elements of r in row-major order and native byte order. src
// contains the file.
func (a *Array) ReadRegion(ctx context.Context, dst []byte, src io.ReaderAt, r ndarray.Region) error {
	size := a.DType.Size
	at, n, from, into := a.region(r)
	read := func(at int64, n, from, into []int64, dst []byte) error {
		span, useful := int64(size), int64(size)
		for i := range n {
			span += (n[i] - 1) * from[i]
			useful *= n[i]
		}
		box := boxes.New(n, into, from, size)
		switch {
		case box.Dense() && useful > spanBytes && len(n) > 0:
			return errPieces
		case box.Dense():
			return readFull(src, dst[:useful], at)
		}
		if span > spanBytes || useful < span/8 && len(n) > 1 {
			return errSplit
		}
		buf := make([]byte, span)
		if err := readFull(src, buf, at); err != nil {
			return err
		}
		box.Copy(dst, buf)
		return nil
	}
	if err := walk(ctx, at, n, from, into, dst, read); err != nil {
		return err
	}
	a.DType.ToNative(dst)
	return nil
}

// WriteRegion writes src, the elements of r in row-major order and native byte order, to dst. It
// returns errors.ErrUnsupported for an array in Fortran order.
func (a *Array) WriteRegion(ctx context.Context, dst io.WriterAt, src []byte, r ndarray.Region) error {
	if a.Fortran && len(a.Shape) > 1 {
		return fmt.Errorf("%w: writing to .npy in Fortran order", errors.ErrUnsupported)
	}
	size := a.DType.Size
	at, n, to, from := a.region(r)
	if !a.DType.IsNative() {
		src = slices.Clone(src)
		a.DType.ToNative(src) // swaps the bytes, in either direction
	}
	return walk(ctx, at, n, to, from, src, func(at int64, n, to, from []int64, src []byte) error {
		bytes := int64(size)
		for _, x := range n {
			bytes *= x
		}
		switch box := boxes.New(n, from, to, size); {
		case !box.Dense():
			return errSplit
		case bytes > spanBytes && len(n) > 0:
			return errPieces
		}
		_, err := dst.WriteAt(src[:bytes], at)
		return err
	})
}

// region returns the offset of the first element of r in the file, its lengths, and its strides in
// the file and in memory. In Fortran order the axes are reversed, so that the last stride in the
// file is the smallest.
func (a *Array) region(r ndarray.Region) (at int64, n, file, memory []int64) {
	size := a.DType.Size
	n, file, memory = slices.Clone(r.Shape), boxes.Strides(a.Shape, size), boxes.Strides(r.Shape, size)
	if a.Fortran {
		shape := slices.Clone(a.Shape)
		slices.Reverse(shape)
		file = boxes.Strides(shape, size)
		slices.Reverse(file)
	}
	at = a.Offset
	for i, start := range r.Start {
		at += start * file[i]
	}
	if a.Fortran {
		slices.Reverse(n)
		slices.Reverse(file)
		slices.Reverse(memory)
	}
	return at, n, file, memory
}

// errSplit is returned by the callback of walk for a box that must be split into the indexes of its
// first axis, and errPieces for one that is too long for one call, because a context must be able
// to stop it.
var (
	errSplit  = errors.New("split the box")
	errPieces = errors.New("divide the box")
)

// walk calls f for a box whose first element is at an offset of the file. It splits the box along
// its first axis where f requests it. A box with one axis is always split into pieces.
func walk(ctx context.Context, at int64, n, file, memory []int64, buf []byte, f func(at int64, n, file, memory []int64, buf []byte) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := f(at, n, file, memory, buf)
	if !errors.Is(err, errSplit) && !errors.Is(err, errPieces) {
		return err
	}
	step, inner := int64(1), 1
	if pieces := spanBytes / file[0]; len(n) == 1 || errors.Is(err, errPieces) && pieces > 1 {
		step, inner = max(pieces, 1), 0
	}
	for i := int64(0); i < n[0]; i += step {
		box := slices.Clone(n[inner:])
		if inner == 0 {
			box[0] = min(step, n[0]-i)
		}
		if err := walk(ctx, at+i*file[0], box, file[inner:], memory[inner:], buf[i*memory[0]:], f); err != nil {
			return err
		}
	}
	return nil
}

// readFull reads len(p) bytes. It returns ndarray.ErrCorrupt at the end of the file, because the
// size was checked when the file was opened.
func readFull(r io.ReaderAt, p []byte, at int64) error {
	n, err := r.ReadAt(p, at)
	if n == len(p) {
		return nil
	}
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("%w: the file ends at byte %d, want %d", ndarray.ErrCorrupt, at+int64(n), at+int64(len(p)))
	}
	return err
}

// CheckSize returns ndarray.ErrCorrupt if a file of that many bytes is too short for the elements.
func (a *Array) CheckSize(size int64) error {
	n, ok := grid.Product(a.Shape)
	if item := int64(a.DType.Size); !ok || n > (math.MaxInt64-a.Offset)/item || a.Offset+n*item > size {
		return fmt.Errorf("%w: %d bytes of elements, want %v of %v", ndarray.ErrCorrupt, max(size-a.Offset, 0), a.Shape, a.DType)
	}
	return nil
}
