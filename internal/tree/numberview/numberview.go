// Conversion and the arrays that it shows.

package numberview

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hyperslab/hyperslab/internal/elements/numbers"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Conversion converts the numbers of arrays to one type. It may be used by several goroutines.
type Conversion struct {
	To    ndarray.DType
	Round bool // to the nearest value, ties to even
	Clip  bool // to the minimum or the maximum of the type

	rounded, clipped atomic.Int64
}

// Changes returns the numbers of elements that were rounded and clipped since the last Reset. An
// element that is read twice counts twice.
func (c *Conversion) Changes() (rounded, clipped int64) { return c.rounded.Load(), c.clipped.Load() }

// Reset sets the numbers of Changes to 0.
func (c *Conversion) Reset() {
	c.rounded.Store(0)
	c.clipped.Store(0)
}

// Fits returns ndarray.ErrType unless numbers of type d can be converted.
func (c *Conversion) Fits(d ndarray.DType) error { return ndarray.Convert(nil, c.To, nil, d, false) }

// View returns an array that shows the elements of a, with the fill value and the attributes that
// have their type, as numbers of type To. If a has this type, View returns a. Otherwise a must stay
// open while the result is used; closing the result closes a only if owned is set.
//
// It returns ErrType for elements that cannot be converted, and ndarray.ErrValue for a fill value
// that the type cannot represent. Reads return ErrValue with the first element, in row-major order,
// that it cannot represent.
func (c *Conversion) View(a *ndarray.Array, owned bool) (*ndarray.Array, error) {
	m := a.Meta()
	if m.DType.Equal(c.To) {
		return a, nil
	}
	v := &view{Conversion: c, a: a, owned: owned, meta: m, from: m.DType}
	v.meta.DType, v.meta.ReadOnly = c.To, true
	if err := c.Fits(m.DType); err != nil {
		return nil, ndarray.Wrap("convert", m.Path, err)
	}
	if len(m.Fill) > 0 {
		v.meta.Fill = make([]byte, c.To.Size)
		if _, bad := c.convert(v.meta.Fill, m.Fill, m.DType); bad >= 0 {
			return nil, ndarray.Wrap("convert", m.Path, fmt.Errorf("fill value: %w", c.misfit(m.DType, m.Fill)))
		}
	}
	return ndarray.New(v)
}

// misfit returns the error for an element that the type cannot represent.
func (c *Conversion) misfit(d ndarray.DType, element []byte) error {
	nearest := make([]byte, c.To.Size)
	most := Conversion{To: c.To, Round: true, Clip: true}
	text := "which has no value near it"
	if _, bad := most.convert(nearest, element, d); bad < 0 {
		value := ndarray.FormatElement(c.To, nearest)
		if value == ndarray.FormatElement(d, element) {
			// The shortest digits of a narrower float can be those of the element.
			exact := make([]byte, 8)
			if f8 := ndarray.DTypeOf[float64](); ndarray.Convert(exact, f8, nearest, c.To, false) == nil {
				value = ndarray.FormatElement(f8, exact)
			}
		}
		text = "whose nearest value is " + value
	}
	return fmt.Errorf("%w: got %s, want a value of %v, %s", ndarray.ErrValue, ndarray.FormatElement(d, element), c.To, text)
}

// convert converts elements of type d in native byte order. bad is the index of the first one that
// does not fit, or -1.
func (c *Conversion) convert(dst, src []byte, d ndarray.DType) (changes numbers.Changes, bad int) {
	if !c.Round && !c.Clip && ndarray.Convert(dst, c.To, src, d, false) == nil {
		return changes, -1
	}
	from := integerOf(d)
	to := integerOf(c.To)
	if wide := from; from.Kind == ndarray.Bool || from.Size == 2 && from.Kind != ndarray.Int && from.Kind != ndarray.Uint {
		wide = ndarray.DTypeOf[float64]()
		if from.Kind == ndarray.Bool {
			wide = ndarray.DTypeOf[uint8]()
		}
		b := make([]byte, len(src)/from.Size*wide.Size)
		if ndarray.Convert(b, wide, src, from, false) != nil {
			return changes, 0
		}
		from, src = wide, b
	}
	rules := numbers.Rules{Round: c.Round, Clip: c.Clip, Bool: to.Kind == ndarray.Bool}
	return numbers.Nearest(dst, kindOf(to), src, kindOf(from), rules)
}

// integerOf returns the integer type of an Enum, and other types as they are.
func integerOf(d ndarray.DType) ndarray.DType {
	if d.Kind == ndarray.Enum {
		return *d.Base
	}
	return d
}

// kindOf returns the kind of the numbers of a type that ndarray.Convert accepts, except of a float
// of 2 bytes.
func kindOf(d ndarray.DType) numbers.Kind {
	switch first := numbers.Uint8; d.Kind {
	case ndarray.Int:
		first = numbers.Int8
		fallthrough
	case ndarray.Bool, ndarray.Uint:
		return first + map[int]numbers.Kind{1: 0, 2: 1, 4: 2, 8: 3}[d.Size]
	}
	if d.Size == 4 {
		return numbers.Float32
	}
	return numbers.Float64
}

// view is a Backend for the numbers of another array.
type view struct {
	*Conversion
	a     *ndarray.Array
	owned bool
	meta  ndarray.Meta
	from  ndarray.DType

	once  sync.Once
	first error // about the first element that does not fit
}

// Meta implements ndarray.Backend.
func (v *view) Meta() ndarray.Meta { return v.meta }

// ReadRegion implements ndarray.Backend. It holds at most a slab of the elements of the source.
func (v *view) ReadRegion(ctx context.Context, dst []byte, r ndarray.Region, workers int) error {
	return v.each(ctx, r, workers, func(_ ndarray.Region, b []byte) (done bool, err error) {
		n := len(b) / v.from.Size * v.To.Size
		changes, bad := v.convert(dst[:n], b, v.from)
		if bad >= 0 {
			return true, v.fail(ctx, b[bad*v.from.Size:][:v.from.Size])
		}
		v.rounded.Add(changes.Rounded)
		v.clipped.Add(changes.Clipped)
		dst = dst[n:]
		return false, nil
	})
}

// each calls f for the slabs of a region, in order, with their elements, until it is done.
func (v *view) each(ctx context.Context, r ndarray.Region, workers int, f func(slab ndarray.Region, b []byte) (done bool, err error)) error {
	var b []byte
	for box := range grid.Slabs(v.meta.ChunkShape, v.from.Size, grid.Box(r)) {
		slab := ndarray.Region(box)
		n := int(slab.NumElems()) * v.from.Size
		b = slices.Grow(b[:0], n)[:n]
		if err := v.a.ReadRegion(ctx, b, slab, workers); err != nil {
			return err
		}
		if done, err := f(slab, b); done || err != nil {
			return err
		}
	}
	return nil
}

// fail returns the error for an element that does not fit: that of the first one of the array,
// which is searched once. If the search fails, for example in a pipe, the error is about element.
func (v *view) fail(ctx context.Context, element []byte) error {
	v.once.Do(func() {
		v.first = v.misfit(v.from, element)
		whole := ndarray.Whole(v.meta.Shape)
		var scratch []byte
		_ = v.each(ctx, whole, 1, func(slab ndarray.Region, b []byte) (done bool, err error) {
			n := len(b) / v.from.Size * v.To.Size
			scratch = slices.Grow(scratch[:0], n)[:n]
			_, bad := v.convert(scratch, b, v.from)
			if bad < 0 {
				return false, nil
			}
			v.first = fmt.Errorf("element %v: %w", grid.Box(slab).Index(int64(bad)), v.misfit(v.from, b[bad*v.from.Size:][:v.from.Size]))
			return true, nil
		})
	})
	return errors.Join(ctx.Err(), v.first)
}

// ReadNulls implements ndarray.NullReader.
func (v *view) ReadNulls(ctx context.Context, dst []bool, r ndarray.Region) error {
	return v.a.ReadNulls(ctx, dst, r)
}

// ofElements are the attributes whose type must be that of the elements, by the CF conventions and
// netCDF.
var ofElements = []string{"_FillValue", "missing_value", "valid_min", "valid_max", "valid_range", "flag_values", "flag_masks"}

// Attrs implements ndarray.AttrReader.
func (v *view) Attrs(ctx context.Context) (ndarray.Attrs, error) {
	attrs, err := v.a.Attrs(ctx)
	if err != nil {
		return attrs, err
	}
	attrs.List = slices.Clone(attrs.List)
	for i, x := range attrs.List {
		if !slices.Contains(ofElements, x.Name) || !x.Value.DType.EqualValues(v.from) || x.Value.Null {
			continue
		}
		d := x.Value.DType
		data := make([]byte, len(x.Value.Data)/d.Size*v.To.Size)
		if _, bad := v.convert(data, x.Value.Data, d); bad >= 0 {
			return attrs, fmt.Errorf("attribute %q: %w", x.Name, v.misfit(d, x.Value.Data[bad*d.Size:][:d.Size]))
		}
		attrs.List[i] = ndarray.Attr{Name: x.Name, Value: ndarray.Value{DType: v.To, Shape: x.Value.Shape, Data: data}}
	}
	return attrs, nil
}

// Close implements ndarray.Backend.
func (v *view) Close() error {
	if v.owned {
		return v.a.Close()
	}
	return nil
}
