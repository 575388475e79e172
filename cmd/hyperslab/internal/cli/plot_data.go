// Data of plots: an array reduced to the number of values that fit into a picture.

package cli

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"path"
	"path/filepath"

	"github.com/hyperslab/hyperslab/internal/cf"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/internal/hdf5/dimscale"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/internal/picture"
	"github.com/hyperslab/hyperslab/ndarray"
)

// plotBlock is the maximum number of bytes of elements that are read at a time for a plot.
const plotBlock = 32 << 20

// drawnAtOnce returns how many bytes of elements of type d are processed at once within memory.
// Each element needs memory when it is decoded, as it is read, and twice as a number.
func drawnAtOnce(d ndarray.DType, memory int64) int64 {
	size := int64(d.Size)
	return min(plotBlock, max(memory/(2*size+16)*size, size))
}

// floats reads the elements as numbers, piece by piece. With uniform it passes one value for a
// piece whose elements are known to be equal.
func floats(ctx context.Context, x reading, uniform bool, f func(r ndarray.Region, values []float64) error) (err error) {
	d := x.arr.DType()
	if uniform && !x.arr.Meta().Nullable { // equal elements may be null or not
		if x.uniform, err = x.arr.Uniform(ctx); err != nil {
			return err
		}
	}
	to := ndarray.DTypeOf[float64]()
	var values []float64
	var raw []byte
	return x.each(ctx, func(r ndarray.Region, e *batch) error {
		if need := 8 * e.n; cap(raw) < need {
			raw, values = make([]byte, need), make([]float64, e.n)
		}
		if err := ndarray.Convert(raw[:8*e.n], to, e.data, d.Native(), true); err != nil {
			return err
		}
		for i := range e.n {
			if values[i] = math.Float64frombits(binary.NativeEndian.Uint64(raw[8*i:])); e.null(i) {
				values[i] = math.NaN()
			}
		}
		return f(r, values[:e.n])
	})
}

// reduceGrid reduces an array of two axes to at most rows × columns cells, of logarithms if
// log is set.
func reduceGrid(ctx context.Context, arr *ndarray.Array, memory int64, rows, columns int, log bool, progress func(bytes int64)) (*picture.Grid, error) {
	g := picture.NewGrid(arr.Shape(), rows, columns)
	err := floats(ctx, reading{arr: arr, limit: drawnAtOnce(arr.DType(), memory), progress: progress}, true, func(r ndarray.Region, values []float64) error {
		if log {
			picture.Logarithms(values)
		}
		g.Add(r, values)
		return nil
	})
	g.Finish()
	return g, err
}

// reduceLine reduces an array of one axis to at most n stretches, of logarithms if log is
// set.
func reduceLine(ctx context.Context, arr *ndarray.Array, memory int64, n int, log bool, progress func(bytes int64)) (*picture.Envelope, error) {
	e := picture.NewEnvelope(arr.Shape()[0], n)
	err := floats(ctx, reading{arr: arr, limit: drawnAtOnce(arr.DType(), memory), progress: progress}, true, func(r ndarray.Region, values []float64) error {
		if log {
			picture.Logarithms(values)
		}
		e.Add(r, values)
		return nil
	})
	return e, err
}

// axesOf returns names and coordinates of the axes of a part. The coordinates are the indexes in
// the whole array. If the axis is named after an array of the same length in the same group, as in
// netCDF files and with HDF5 dimension scales, they are that array's values, provided that these
// are evenly spaced.
func (a *app) axesOf(ctx context.Context, location string, p *part) ([]picture.Axis, error) {
	m := p.Meta()
	whole := p.Array
	if p.source != nil {
		whole = p.source
	}
	out := make([]picture.Axis, len(m.Shape))
	for i := range out {
		out[i].Last = float64(max(m.Shape[i]-1, 0))
	}
	for k, length := range whole.Shape() {
		name := ""
		if names := whole.Meta().AxisNames; names != nil {
			name = names[k]
		}
		coordinates, units, err := a.coordinatesOf(ctx, p, location, name, length)
		if err != nil {
			return nil, err
		}
		for i := range out {
			along, err := p.indexes(ctx, k, i)
			if err != nil {
				return nil, err
			}
			if len(along) == 0 {
				continue
			}
			x := &out[i]
			x.Label = name
			x.First, x.Last = float64(along[0]), float64(along[len(along)-1])
			if even(coordinates, along) {
				x.First, x.Last, x.Known = coordinates[along[0]], coordinates[along[len(along)-1]], true
				if units != "" {
					x.Label += " [" + units + "]"
				}
			}
		}
	}
	return out, nil
}

// even reports whether the values at some indexes increase or decrease in equal steps.
func even(values []float64, at []int64) bool {
	if values == nil || len(at) < 2 {
		return false
	}
	first, last := values[at[0]], values[at[len(at)-1]]
	step := (last - first) / float64(len(at)-1)
	for i, k := range at {
		if !(math.Abs(values[k]-(first+step*float64(i))) <= 1e-3*math.Abs(step)) {
			return false
		}
	}
	return step != 0
}

// longestAxis is the maximum number of coordinates that are read.
const longestAxis = 1 << 22

// coordinatesBlock is the bytes of coordinates that are read at a time.
const coordinatesBlock = 4 << 20

// beside returns the location of the array of that name in the group of the array at a location: in
// its HDF5 file or ctable, or in its directory, if a tree was converted to one file per array. A
// name cannot lead out of a directory of arrays.
func beside(location, name string) (locate.Location, error) {
	loc, err := locate.Parse(location)
	if err == nil && loc.Object == "" {
		loc = locate.Location{File: filepath.Dir(filepath.Clean(loc.File)), Object: "/"}
	}
	loc.Object = path.Join(path.Dir(loc.Object), name)
	return loc, err
}

// coordinatesOf reads the array of that name in the group of the array at a location, if it has one
// axis of that length and is numeric.
func (a *app) coordinatesOf(ctx context.Context, p *part, location, name string, length int64) (values []float64, units string, err error) {
	if name == "" || length > longestAxis {
		return nil, "", nil
	}
	loc, err := beside(location, name)
	if err != nil {
		return nil, "", err
	}
	arr, err := a.openNear(ctx, p, loc)
	if err != nil {
		return nil, "", nil //nolint:nilerr // no such array: the axis has indexes
	}
	defer func() { err = errors.Join(err, arr.Close()) }()
	if len(arr.Shape()) != 1 || arr.NumElems() != length || !drawable(arr.DType()) {
		return nil, "", nil
	}
	attrs, err := attrsOf(ctx, arr)
	if err != nil || dimscale.IsPlaceholder(attrs.List) {
		return nil, "", err
	}
	values = make([]float64, 0, length)
	err = floats(ctx, reading{arr: arr, limit: coordinatesBlock, progress: func(int64) {}}, false, func(_ ndarray.Region, v []float64) error {
		values = append(values, v...)
		return nil
	})
	if err != nil {
		return nil, "", err
	}
	return values, cf.Text(attrs, "units"), nil
}

// textAttr returns the text of an attribute, or "" without one.
func textAttr(ctx context.Context, arr *ndarray.Array, name string) (string, error) {
	attrs, err := attrsOf(ctx, arr)
	return cf.Text(attrs, name), err
}

// drawable reports whether elements of type d can be drawn as numbers.
func drawable(d ndarray.DType) bool {
	switch d.Kind {
	case ndarray.Bool, ndarray.Int, ndarray.Uint, ndarray.Enum, ndarray.BFloat:
		return true
	case ndarray.Float:
		return d.Size <= 8
	}
	return false
}

// indexes returns the indexes of axis k of the whole array along axis i of the part, or nil if axis
// i does not run along axis k.
func (p *part) indexes(ctx context.Context, k, i int) ([]int64, error) {
	n := p.Shape()[i]
	if n > longestAxis || p.NumElems() == 0 {
		return nil, nil
	}
	if p.source == nil {
		if k != i {
			return nil, nil
		}
		out := make([]int64, n)
		for at := range out {
			out[at] = int64(at)
		}
		return out, nil
	}
	// An array of the same shape, whose elements are their own indexes, gives the indexes through
	// the same selection.
	index, err := ndarray.New(&indexArray{shape: p.source.Shape(), axis: k})
	if err != nil {
		return nil, err
	}
	view, err := ndarray.View(index, p.selection)
	if err != nil {
		return nil, err
	}
	rank := len(view.Shape())
	if i >= rank { // a dimension of a sub-array in a field
		return nil, errors.Join(view.Close(), index.Close())
	}
	r := ndarray.Region{Start: make([]int64, rank), Shape: make([]int64, rank)}
	for axis := range r.Shape {
		r.Shape[axis] = 1
	}
	r.Shape[i] = n
	out := make([]int64, n)
	if err := errors.Join(ndarray.Read(ctx, view, out, r), view.Close(), index.Close()); err != nil {
		return nil, err
	}
	for _, at := range out[1:] {
		if at != out[0] {
			return out, nil
		}
	}
	return nil, nil
}

// indexArray is an array whose elements are their index along one axis.
type indexArray struct {
	shape []int64
	axis  int
}

// Meta implements ndarray.Backend.
func (x *indexArray) Meta() ndarray.Meta {
	return ndarray.Meta{Format: "mem", Shape: x.shape, DType: ndarray.DTypeOf[int64](), ReadOnly: true}
}

// ReadRegion implements ndarray.Backend.
func (x *indexArray) ReadRegion(_ context.Context, dst []byte, r ndarray.Region, workers int) error {
	inner, _ := grid.Product(r.Shape[x.axis+1:])
	for i := range r.NumElems() {
		at := r.Start[x.axis] + i/inner%r.Shape[x.axis]
		binary.NativeEndian.PutUint64(dst[8*i:], uint64(at))
	}
	return nil
}

// Close implements ndarray.Backend.
func (x *indexArray) Close() error { return nil }
