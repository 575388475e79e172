// dump --csv --coords: columns with the coordinates of each element.

package inspect

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/internal/cf"
	"github.com/hyperslab/hyperslab/internal/hdf5/dimscale"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/ndarray"
)

// coords are the columns with the coordinates of a part, one for each dimension of the whole array.
type coords struct {
	names   []string
	cells   [][]string       // by the index along the dimension; nil: the index itself
	indexes []*ndarray.Array // for each dimension: the index of each element of the part
	read    [][]int64        // indexes of a block
	inner   int64            // elements of the block at one index: those of a sub-array in a field
}

// coordsOf finds the coordinates of all dimensions of an array. They are its dimension scale in
// HDF5, and otherwise the array with the name of the dimension in the same group or a group above.
// In untrusted HDF5 files, they are the dimension scale of that name in one of these groups.
func (j *dumpJob) coordsOf(ctx context.Context, address string, p *shell.Part) (c *coords, err error) {
	location, _ := shell.SplitSelection(address)
	whole := p.Array
	if p.Source != nil {
		whole = p.Source
	}
	m := whole.Meta()
	c = &coords{}
	for k, length := range m.Shape {
		index, err := ndarray.New(&shell.IndexArray{Shape: m.Shape, Axis: k})
		if err == nil && p.Source != nil {
			index, err = ndarray.View(index, p.Selection)
		}
		if err != nil {
			return nil, err
		}
		name := fmt.Sprintf("axis%d", k)
		var cells []string
		if m.AxisNames != nil && m.AxisNames[k] != "" {
			name = m.AxisNames[k]
			if cells, err = j.coordCells(ctx, p, dimension{location, name, k, length}); err != nil {
				return nil, err
			}
		}
		c.names, c.cells, c.indexes = append(c.names, name), append(c.cells, cells), append(c.indexes, index)
	}
	c.read = make([][]int64, len(c.indexes))
	return c, nil
}

// dimension is one of an array.
type dimension struct {
	location string // of the array
	name     string
	axis     int
	length   int64
}

// coordCells formats the coordinates of a dimension. It returns nil if there are none of that
// length.
func (j *dumpJob) coordCells(ctx context.Context, p *shell.Part, of dimension) (cells []string, err error) {
	arr, err := j.openCoords(ctx, p, of)
	if arr == nil || err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, arr.Close()) }()
	if of.length > shell.LongestAxis {
		return nil, shell.Usagef("--coords: coordinates of %s: got %d, want at most %d", of.name, of.length, int64(shell.LongestAxis))
	}
	values := arr
	if j.unpack {
		if values, _, err = shell.Meant(ctx, arr, cf.Options{Times: true}); err != nil {
			return nil, err
		}
		if values != arr {
			defer func() { err = errors.Join(err, values.Close()) }()
			defer func() { j.NoteUndated(values) }()
		}
	}
	d := values.DType()
	err = shell.EachText(ctx, values, shell.CoordinatesBlock, func(int64) {}, func(_ ndarray.Region, e *shell.Batch) error {
		for i := range e.N {
			cells = append(cells, j.cell(d, e.Plain(i)))
		}
		return nil
	})
	return cells, err
}

// openCoords opens the coordinates of a dimension. It returns nil if there are none of that length.
func (j *dumpJob) openCoords(ctx context.Context, p *shell.Part, of dimension) (*ndarray.Array, error) {
	at, err := shell.Beside(of.location, of.name)
	if err != nil {
		return nil, err
	}
	candidates := []locate.Location{at}
	for dir := path.Dir(at.Object); dir != "/" && dir != "."; {
		dir = path.Dir(dir)
		candidates = append(candidates, locate.Location{File: at.File, Object: path.Join(dir, of.name)})
	}
	if scale, err := scalePath(j.App, p.Stored(), of.axis); err != nil {
		return nil, err
	} else if scale != "" {
		candidates = []locate.Location{{File: at.File, Object: scale}}
	}
	for _, loc := range candidates {
		arr, err := j.OpenNear(ctx, p, loc)
		if noArray(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		shape := arr.Shape()
		attrs, err := shell.AttrsOf(ctx, arr)
		if err != nil {
			return nil, errors.Join(err, arr.Close())
		}
		if dimscale.IsPlaceholder(attrs.List) {
			return nil, arr.Close()
		}
		if len(shape) == 1 && shape[0] == of.length && (p.Whole().Format != string(hyperslab.HDF5) || dimscale.IsScale(attrs.List)) {
			return arr, nil
		}
		if err := arr.Close(); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// noArray reports whether an error of opening means that there is no array of that name, or one
// that cannot be coordinates.
func noArray(err error) bool {
	return slices.ContainsFunc([]error{ndarray.ErrNotFound, ndarray.ErrParam, ndarray.ErrFormat, ndarray.ErrType, errors.ErrUnsupported},
		func(reason error) bool { return errors.Is(err, reason) })
}

// block reads the indexes of the elements in a region of the part.
func (c *coords) block(ctx context.Context, r ndarray.Region) error {
	c.inner = 1
	for k, index := range c.indexes {
		rank := len(index.Shape()) // the further dimensions are those of a sub-array in a field
		outer := ndarray.Region{Start: r.Start[:rank], Shape: r.Shape[:rank]}
		c.read[k] = make([]int64, outer.NumElems())
		if err := ndarray.Read(ctx, index, c.read[k], outer); err != nil {
			return err
		}
		c.inner = r.NumElems() / max(outer.NumElems(), 1)
	}
	return nil
}

// append adds the coordinates of element i of the block to a line.
func (c *coords) append(line []string, i int) []string {
	for k, cells := range c.cells {
		n := c.read[k][int64(i)/c.inner]
		if cells == nil {
			line = append(line, strconv.FormatInt(n, 10))
		} else {
			line = append(line, cells[n])
		}
	}
	return line
}
