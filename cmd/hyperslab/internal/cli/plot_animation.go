// Animations: a picture for each index of the first dimension.

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/internal/cf"
	"github.com/hyperslab/hyperslab/internal/picture"
	"github.com/hyperslab/hyperslab/ndarray"
)

// maxFrames is the maximum number of bytes of all frames of an animation, one for each pixel.
const maxFrames = 512 << 20

// animate draws a GIF file with a frame for each index of the first dimension. All frames have the
// same range of values, and therefore each frame is read twice unless --range is given.
func (a *app) animate(ctx context.Context, address, file string, o *plotFlags, memory int64, width, height int) (_ *drawing, err error) {
	low, high, clipped, err := o.limitsOf()
	if err != nil {
		return nil, err
	}
	from, to, err := o.percentiles()
	if err != nil {
		return nil, err
	}
	arr, err := a.openInTree(ctx, address)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, arr.Close()) }()
	shape := arr.Shape()
	if len(shape) != 2 && len(shape) != 3 {
		return nil, usagef("%s has %s; an animation has two, for lines, or three, for heat maps", address, axesText(len(shape)))
	}
	kind := map[int]string{2: kindLine, 3: kindHeat}[len(shape)]
	if o.kind != kindAuto && o.kind != kind {
		return nil, usagef("%s has %s; its animation has frames of kind %s", address, axesText(len(shape)), kind)
	}
	if !drawable(arr.DType()) || arr.NumElems() == 0 {
		return nil, usagef("%s has %d elements of type %v; an animation needs numbers", address, arr.NumElems(), arr.DType())
	}
	if bytes := shape[0] * int64(width) * int64(height); bytes > maxFrames {
		return nil, usagef("%s has %d frames of %dx%d pixels, %d bytes, the limit is %d; a smaller --size or a selection as in [::10] takes less", address, shape[0], width, height, bytes, maxFrames)
	}
	arr.SetWorkers(o.job.jobs)
	p := &drawing{picture.Picture{Kind: kind, Shape: shape, Low: low, High: high, Clipped: clipped, Log: o.log}}
	location, _ := splitSelection(address)
	if err := p.describe(ctx, a, address, location, arr, o.title); err != nil {
		return nil, err
	}
	values := arr.Array
	if !o.asIs {
		if values, _, err = meant(ctx, arr.Array, cf.Options{Real: true}); err != nil {
			return nil, err
		}
		if values != arr.Array {
			defer func() { err = errors.Join(err, values.Close()) }()
		}
	}
	passes := int64(1)
	if !clipped {
		passes = 2
	}
	m := term.NewMeter(o.job.progress, a.stderr, "plot", passes*values.NBytes(), time.Now).SetSources(ctx, arr.stored())
	defer m.Finish()
	planes := &planes{drawing: p, values: values, memory: memory, width: width, height: height, update: m.Update}
	frame := func(i int64, low, high float64, clipped bool) (*picture.Picture, error) {
		f, name, err := planes.at(ctx, i)
		if err != nil {
			return nil, err
		}
		f.Low, f.High, f.Clipped = low, high, clipped
		f.Title = p.Title + ", " + name
		return f, nil
	}
	if !clipped {
		low, high = math.NaN(), math.NaN()
		for i := range shape[0] {
			f, err := frame(i, 0, 0, false)
			if err != nil {
				return nil, err
			}
			least, most := f.Percentiles(from, to)
			if !math.IsNaN(least) {
				if !(low <= least) {
					low = least
				}
				if !(high >= most) {
					high = most
				}
			}
		}
		low, high = picture.Bounds(low, high)
	}
	if !(low < high) || math.IsInf(high-low, 0) {
		return nil, fmt.Errorf("%w: no finite range of values to draw, from %v to %v; --range LOW,HIGH gives one", ndarray.ErrValue, low, high)
	}
	colors := picture.Gradients[o.colors]
	out := picture.NewAnimation(width, height, o.delay, colors)
	for i := range shape[0] {
		f, err := frame(i, low, high, clipped || o.clip != "")
		if err == nil {
			err = out.Add(f, colors)
		}
		if err != nil {
			return nil, err
		}
	}
	return p, out.Save(file)
}

// planes are the parts of an array at the indexes of its first dimension, as pictures.
type planes struct {
	*drawing
	values        *ndarray.Array
	memory        int64
	width, height int
	update        func(bytes int64)
	done          int64
}

// at reads the part at an index, and returns the name of the index: its coordinate.
func (s *planes) at(ctx context.Context, i int64) (f *picture.Picture, name string, err error) {
	along := &s.Axes[0]
	x := s.Picture
	x.Axes, x.Shape, x.Lines, x.Panels = append([]picture.Axis{}, s.Axes[1:]...), s.Shape[1:], nil, nil
	name = cmp.Or(along.Label, "index") + " " + picture.Number(along.At(float64(i), s.Shape[0]))
	plane, err := ndarray.View(s.values, ndarray.Select(ndarray.At(i)))
	if err != nil {
		return nil, "", err
	}
	progress := func(n int64) { s.update(s.done + n) }
	if s.Kind == kindHeat {
		x.Grid, err = reduceGrid(ctx, plane, s.memory, s.height, s.width, s.Log, progress)
	} else {
		var e *picture.Envelope
		e, err = reduceLine(ctx, plane, s.memory, s.width, s.Log, progress)
		x.Lines = []picture.Series{{Envelope: e}}
	}
	s.done += plane.NBytes()
	return &x, name, errors.Join(err, plane.Close())
}
