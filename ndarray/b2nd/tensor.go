// Plain frames with the metalayer of save_tensor: the values of an array, without its chunk grid.

package b2nd

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/format/msgpack"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
)

// maxFrameChunk is the maximum number of bytes of the values of a chunk (BLOSC2_MAX_BUFFERSIZE).
const maxFrameChunk = math.MaxInt32 - 32

// plainWriter is an array that is written as a plain frame. It implements ndarray.RegionWriter.
type plainWriter struct {
	meta ndarray.Meta

	mu sync.Mutex // guards the following
	s  *cblosc.SChunk
}

func createPlain(path, name string, spec ndarray.Spec) (_ *plainWriter, err error) {
	if err := checkPlain(spec); err != nil {
		return nil, err
	}
	spec, _, cp, err := prepare(spec)
	if err != nil {
		return nil, err
	}
	dtype, err := descrOf(spec.DType.NumPy())
	if err != nil {
		return nil, err
	}
	chunk, bytes, err := rowChunk(spec)
	if err != nil {
		return nil, err
	}
	shape := []any{msgpack.TupleMark}
	for _, n := range spec.Shape {
		shape = append(shape, n)
	}
	layer := ndarray.Attr{Name: packLayer, Raw: msgpack.Append(nil, []any{msgpack.TupleMark, "numpy", shape, dtype})}
	fixed, attrs := splitFixed(spec.Attrs)
	s, err := cblosc.CreateSChunk(cblosc.Storage{Path: path, Contiguous: true, CParams: cp})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close(), remove(path))
		}
	}()
	for _, l := range fixed {
		if err := s.Meta().Add(l.Name, l.Content); err != nil {
			return nil, err
		}
	}
	vl, r := s.VLMeta(), &record{}
	for _, attr := range append([]ndarray.Attr{layer}, attrs...) {
		if err := r.put(vl, attr); err != nil {
			return nil, err
		}
	}
	if err := r.write(vl); err != nil {
		return nil, err
	}
	n, _ := grid.Product(spec.Shape)
	if n > 0 {
		if err := s.Fill(n, cblosc.Zeros, bytes); err != nil {
			return nil, err
		}
	}
	m := ndarray.Meta{Format: "b2nd", Path: name, Shape: slices.Clone(spec.Shape), ChunkShape: chunk, DType: spec.DType, Compression: compression(cp)}
	return &plainWriter{meta: m, s: s}, nil
}

// checkPlain returns an error for properties that a plain frame cannot represent.
func checkPlain(spec ndarray.Spec) error {
	for _, x := range []struct {
		has  bool
		what string
	}{
		{spec.Null, "an array without a shape"},
		{spec.MaxShape != nil && !slices.Equal(spec.MaxShape, spec.Shape), "a maximum shape"},
		{slices.ContainsFunc(spec.AxisNames, func(name string) bool { return name != "" }), "dimension names"},
		{slices.ContainsFunc(spec.Fill, func(b byte) bool { return b != 0 }), "a fill value other than zero"},
	} {
		if x.has {
			return fmt.Errorf("%w: %s in a plain frame", errors.ErrUnsupported, x.what)
		}
	}
	return nil
}

// rowChunk returns a chunk shape whose chunks are consecutive elements, and its size in bytes.
func rowChunk(spec ndarray.Spec) ([]int64, int, error) {
	at := 0 // the first dimension that is divided; those before it have the length 1
	for at < len(spec.Shape)-1 && spec.Shape[at] == 1 {
		at++
	}
	size := int64(spec.DType.Size)
	if len(spec.Shape) == 0 {
		return nil, int(size), nil
	}
	row, ok := grid.Product(spec.Shape[at+1:])
	if !ok || max(row, 1) > maxFrameChunk/size {
		return nil, 0, fmt.Errorf("%w: rows of %v elements of %d bytes in a plain frame: want at most %d bytes", errors.ErrUnsupported, spec.Shape[at+1:], size, int64(maxFrameChunk))
	}
	row = max(row, 1) * size
	want, _ := grid.Product(spec.ChunkShape)
	n := min(max(want*size/row, 1), max(spec.Shape[at], 1), maxFrameChunk/row)
	chunk := slices.Clone(spec.Shape)
	chunk[at] = n
	for i := range chunk {
		chunk[i] = max(chunk[i], 1)
	}
	return chunk, int(n * row), nil
}

// descrOf returns dtype.str of NumPy, or dtype.descr for a structure.
func descrOf(d ndarray.DType) (any, error) {
	if d.Kind != ndarray.Struct {
		return d.String(), nil
	}
	fields := []any{}
	end := 0
	for _, f := range d.Fields {
		if f.Offset != end {
			return nil, fmt.Errorf("%w: field %q at byte %d of a structure in a plain frame: want %d, without padding", errors.ErrUnsupported, f.Name, f.Offset, end)
		}
		end += f.Type.Size
		field := []any{msgpack.TupleMark, f.Name}
		of, dims := f.Type, []int64(nil)
		if of.Kind == ndarray.SubArray {
			of, dims = *of.Base, of.Dims
		}
		inner, err := descrOf(of)
		if err != nil {
			return nil, err
		}
		field = append(field, inner)
		if dims != nil {
			shape := []any{msgpack.TupleMark}
			for _, n := range dims {
				shape = append(shape, n)
			}
			field = append(field, shape)
		}
		fields = append(fields, field)
	}
	if end != d.Size {
		return nil, fmt.Errorf("%w: a structure of %d bytes in a plain frame: want %d, without padding", errors.ErrUnsupported, d.Size, end)
	}
	return fields, nil
}

// Meta describes the array.
func (w *plainWriter) Meta() ndarray.Meta { return w.meta }

// runs calls f with the number of the first element and the bytes of each run of consecutive
// elements of a region.
func (w *plainWriter) runs(ctx context.Context, b []byte, region ndarray.Region, f func(b []byte, first int64) error) error {
	shape, size := w.meta.Shape, w.meta.DType.Size
	k := len(shape) - 1 // dimensions after k are whole
	for k > 0 && region.Start[k] == 0 && region.Shape[k] == shape[k] {
		k--
	}
	run, at := size, slices.Clone(region.Start)
	for i := max(k, 0); i < len(shape); i++ {
		run *= int(region.Shape[i])
	}
	for len(b) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		first := int64(0)
		for i, n := range at {
			first = first*shape[i] + n
		}
		if err := f(b[:run], first); err != nil {
			return err
		}
		b = b[run:]
		for i := k - 1; i >= 0; i-- {
			if at[i]++; at[i] < region.Start[i]+region.Shape[i] {
				break
			}
			at[i] = region.Start[i]
		}
	}
	return nil
}

// ReadRegion reads elements.
func (w *plainWriter) ReadRegion(ctx context.Context, dst []byte, region ndarray.Region, workers int) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.runs(ctx, dst, region, func(b []byte, first int64) error { return w.s.ReadItems(b, first) })
	w.meta.DType.ToNative(dst)
	return err
}

// WriteRegion writes elements.
func (w *plainWriter) WriteRegion(ctx context.Context, src []byte, region ndarray.Region, workers int) error {
	stored := slices.Clone(src)
	w.meta.DType.ToNative(stored) // to storage order; ToNative is its own inverse
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.runs(ctx, stored, region, w.write)
}

// write writes consecutive elements. C-Blosc2 cannot write up to the length of the shorter last
// chunk in another chunk. Such a write then includes the next element, which is read first.
func (w *plainWriter) write(b []byte, first int64) error {
	err := w.s.WriteItems(b, first)
	if !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	size := w.meta.DType.Size
	longer := make([]byte, len(b)+size)
	if err := w.s.ReadItems(longer[len(b):], first+int64(len(b)/size)); err != nil {
		return err
	}
	copy(longer, b)
	return w.s.WriteItems(longer, first)
}

// Close closes the frame.
func (w *plainWriter) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.s.Close()
}
