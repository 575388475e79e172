// dump --csv --coords: columns with the coordinates of each element.

package inspect

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/internal/elements/encode"
	"github.com/hyperslab/hyperslab/internal/elements/indexes"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/cf"
)

// coords are the columns with the coordinates of a part, one for each dimension of the whole array.
type coords struct {
	names   []string
	cells   [][]string       // by the index along the dimension; nil: the index itself
	indexes []*ndarray.Array // for each dimension: the index of each element of the part
	read    [][]int64        // indexes of a block
	inner   int64            // elements of the block at one index: those of a sub-array in a field
}

// coordsOf finds the coordinates of all dimensions of an array.
func (j *dumpJob) coordsOf(ctx context.Context, address string, p *shell.Part) (c *coords, err error) {
	v, err := j.WholeOf(ctx, p, address)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	list, err := v.Coords(ctx)
	if err != nil {
		return nil, err
	}
	j.NoteWarnings("dump", v)
	m := v.Array.Meta()
	c = &coords{}
	for k := range m.Shape {
		index, err := ndarray.New(&indexes.Array{Shape: m.Shape, Axis: k})
		if err == nil && p.Source != nil {
			index, err = ndarray.View(index, p.Selection)
		}
		if err != nil {
			return nil, err
		}
		name := fmt.Sprintf("axis%d", k)
		if m.AxisNames != nil && m.AxisNames[k] != "" {
			name = m.AxisNames[k]
		}
		var cells []string
		for _, x := range list {
			if x.Dimension && x.Dims[0] == k && x.Variable != v {
				if cells, err = j.coordCells(ctx, x.Variable); err != nil {
					return nil, err
				}
			}
		}
		c.names, c.cells, c.indexes = append(c.names, name), append(c.cells, cells), append(c.indexes, index)
	}
	c.read = make([][]int64, len(c.indexes))
	return c, nil
}

// coordCells formats the coordinates of a dimension.
func (j *dumpJob) coordCells(ctx context.Context, v *cf.Variable) (cells []string, err error) {
	if n := v.Array.NumElems(); n > indexes.Longest {
		return nil, shell.Usagef("--coords: coordinates of %s: got %d, want at most %d", term.Safe(v.Path), n, int64(indexes.Longest))
	}
	values := v.Array
	if j.unpack {
		j.NoteWarnings("dump", v)
		opts := &cf.ValueOptions{Dates: true}
		if values, err = v.Values(opts); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, values.Close()) }()
		defer j.NoteUndated(v)
	}
	d := values.DType()
	err = encode.EachText(ctx, values, shell.CoordinatesBlock, func(int64) {}, func(_ ndarray.Region, e *encode.Batch) error {
		for i := range e.N {
			cells = append(cells, encode.Cell(d, e.Plain(i), j.csvSafe))
		}
		return nil
	})
	return cells, err
}

// Names returns the names of the columns.
func (c *coords) Names() []string { return c.names }

// Block reads the indexes of the elements in a region of the part.
func (c *coords) Block(ctx context.Context, r ndarray.Region) error {
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

// Append appends the coordinates of element i of the block.
func (c *coords) Append(line []string, i int) []string {
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
