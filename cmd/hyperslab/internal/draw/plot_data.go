// Data of plots: an array reduced to the number of values that fit into a picture.

package draw

import (
	"context"
	"encoding/binary"
	"errors"
	"math"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/internal/cf"
	"github.com/hyperslab/hyperslab/internal/hdf5/dimscale"
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
func floats(ctx context.Context, x shell.Reading, uniform bool, f func(r ndarray.Region, values []float64) error) (err error) {
	d := x.Arr.DType()
	if uniform && !x.Arr.Meta().Nullable { // equal elements may be null or not
		if x.Uniform, err = x.Arr.Uniform(ctx); err != nil {
			return err
		}
	}
	to := ndarray.DTypeOf[float64]()
	var values []float64
	var raw []byte
	return x.Each(ctx, func(r ndarray.Region, e *shell.Batch) error {
		if need := 8 * e.N; cap(raw) < need {
			raw, values = make([]byte, need), make([]float64, e.N)
		}
		if err := ndarray.Convert(raw[:8*e.N], to, e.Data, d.Native(), true); err != nil {
			return err
		}
		for i := range e.N {
			if values[i] = math.Float64frombits(binary.NativeEndian.Uint64(raw[8*i:])); e.Null(i) {
				values[i] = math.NaN()
			}
		}
		return f(r, values[:e.N])
	})
}

// reduceGrid reduces an array of two axes to at most rows × columns cells, of logarithms if
// log is set.
func reduceGrid(ctx context.Context, arr *ndarray.Array, memory int64, rows, columns int, log bool, progress func(bytes int64)) (*picture.Grid, error) {
	g := picture.NewGrid(arr.Shape(), rows, columns)
	err := floats(ctx, shell.Reading{Arr: arr, Limit: drawnAtOnce(arr.DType(), memory), Progress: progress}, true, func(r ndarray.Region, values []float64) error {
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
	err := floats(ctx, shell.Reading{Arr: arr, Limit: drawnAtOnce(arr.DType(), memory), Progress: progress}, true, func(r ndarray.Region, values []float64) error {
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
func axesOf(ctx context.Context, a *shell.App, location string, p *shell.Part) ([]picture.Axis, error) {
	m := p.Meta()
	whole := p.Array
	if p.Source != nil {
		whole = p.Source
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
		coordinates, units, err := coordinatesOf(ctx, a, p, location, name, length)
		if err != nil {
			return nil, err
		}
		for i := range out {
			along, err := p.Indexes(ctx, k, i)
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

// coordinatesOf reads the array of that name in the group of the array at a location, if it has one
// axis of that length and is numeric.
func coordinatesOf(ctx context.Context, a *shell.App, p *shell.Part, location, name string, length int64) (values []float64, units string, err error) {
	if name == "" || length > shell.LongestAxis {
		return nil, "", nil
	}
	loc, err := shell.Beside(location, name)
	if err != nil {
		return nil, "", err
	}
	arr, err := a.OpenNear(ctx, p, loc)
	if err != nil {
		return nil, "", nil //nolint:nilerr // no such array: the axis has indexes
	}
	defer func() { err = errors.Join(err, arr.Close()) }()
	if len(arr.Shape()) != 1 || arr.NumElems() != length || !drawable(arr.DType()) {
		return nil, "", nil
	}
	attrs, err := shell.AttrsOf(ctx, arr)
	if err != nil || dimscale.IsPlaceholder(attrs.List) {
		return nil, "", err
	}
	values = make([]float64, 0, length)
	err = floats(ctx, shell.Reading{Arr: arr, Limit: shell.CoordinatesBlock, Progress: func(int64) {}}, false, func(_ ndarray.Region, v []float64) error {
		values = append(values, v...)
		return nil
	})
	if err != nil {
		return nil, "", err
	}
	return values, cf.Text(attrs, "units"), nil
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
