// Data of plots: an array reduced to the number of values that fit into a picture.

package draw

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/internal/elements/encode"
	"github.com/hyperslab/hyperslab/internal/picture"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/cf"
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
func floats(ctx context.Context, x encode.Reading, uniform bool, f func(r ndarray.Region, values []float64) error) (err error) {
	d := x.Arr.DType()
	if uniform && !encode.WithNulls(x.Arr).Meta().Nullable { // equal elements may be null or not
		if x.Uniform, err = x.Arr.Uniform(ctx); err != nil {
			return err
		}
	}
	to := ndarray.DTypeOf[float64]()
	var values []float64
	var raw []byte
	return x.Each(ctx, func(r ndarray.Region, e *encode.Batch) error {
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

// reduction describes how arrays are reduced to pictures.
type reduction struct {
	memory        int64 // maximum bytes of the elements in memory
	width, height int   // maximum number of cells or points
	log           bool  // logarithms of the values
	progress      func(bytes int64)
}

// each reads the elements of an array as numbers, piece by piece.
func (o reduction) each(ctx context.Context, arr *ndarray.Array, add func(r ndarray.Region, values []float64)) error {
	reading := encode.Reading{Arr: arr, Limit: drawnAtOnce(arr.DType(), o.memory), Progress: o.progress}
	return floats(ctx, reading, true, func(r ndarray.Region, values []float64) error {
		if o.log {
			picture.Logarithms(values)
		}
		add(r, values)
		return nil
	})
}

// grid reduces an array of two axes to at most width × height cells.
func (o reduction) grid(ctx context.Context, arr *ndarray.Array) (*picture.Grid, error) {
	g := picture.NewGrid(arr.Shape(), o.height, o.width)
	err := o.each(ctx, arr, g.Add)
	g.Finish()
	return g, err
}

// line reduces an array of one axis to at most width stretches.
func (o reduction) line(ctx context.Context, arr *ndarray.Array) (*picture.Envelope, error) {
	e := picture.NewEnvelope(arr.Shape()[0], o.width)
	return e, o.each(ctx, arr, e.Add)
}

// axesOf returns names and coordinates of the axes of a part. The coordinates are the indexes in
// the whole array, or those of the dimension if they are evenly spaced numbers.
func axesOf(ctx context.Context, a *shell.App, address string, p *shell.Part) (out []picture.Axis, err error) {
	v, err := a.WholeOf(ctx, p, address)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	list, err := v.Coords(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		a.Note("%s the axes have indexes: %s", a.Talk.Notice("hyperslab plot:"), term.Safe(err.Error()))
	}
	m, whole := p.Meta(), v.Array.Meta()
	out = make([]picture.Axis, len(m.Shape))
	for i := range out {
		out[i].Last = float64(max(m.Shape[i]-1, 0))
	}
	for k := range whole.Shape {
		name := ""
		if whole.AxisNames != nil {
			name = whole.AxisNames[k]
		}
		coordinates, units, err := coordinatesOf(ctx, list, k, v)
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

// coordinatesOf reads the coordinates of a dimension of v, if they are numbers.
func coordinatesOf(ctx context.Context, list []cf.Coordinate, dimension int, v *cf.Variable) (values []float64, units string, err error) {
	i := slices.IndexFunc(list, func(c cf.Coordinate) bool { return c.Dimension && c.Dims[0] == dimension && c.Variable != v })
	if i < 0 || list[i].Array.NumElems() > shell.LongestAxis || !drawable(list[i].Array.DType()) {
		return nil, "", nil
	}
	c := list[i]
	arr, err := c.Values(&cf.ValueOptions{Float: true})
	if err != nil {
		return nil, "", err
	}
	defer func() { err = errors.Join(err, arr.Close()) }()
	values = make([]float64, 0, arr.NumElems())
	err = floats(ctx, encode.Reading{Arr: arr, Limit: shell.CoordinatesBlock, Progress: func(int64) {}}, false, func(_ ndarray.Region, v []float64) error {
		values = append(values, v...)
		return nil
	})
	return values, c.Units, err
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
