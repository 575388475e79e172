// A part of a dataset: the SUBSET block, and its values in h5dump's order.

package ddl

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5elem"
)

// checkPart returns an error if the object does not have the part. It sets default strides and
// blocks.
func (p *printer) checkPart(o h5.Object) error {
	d, ok := o.(*h5.Dataset)
	if !ok {
		return &h5.Error{Op: "read a part", Path: p.o.Object, Err: fmt.Errorf("%w: no dataset", h5.ErrKind)}
	}
	info, err := d.Info()
	if err != nil {
		return err
	}
	part, dims := *p.o.Part, info.Space.Dims
	if len(dims) == 0 {
		return &h5.Error{Op: "read a part", Path: p.o.Object, Err: fmt.Errorf("%w: a dataset without axes has no parts", h5.ErrRegion)}
	}
	if len(part.Start) != len(dims) {
		return &h5.Error{Op: "read a part", Path: p.o.Object, Err: fmt.Errorf("%w: a part of %d axes, the dataset has %d", h5.ErrRegion, len(part.Start), len(dims))}
	}
	if _, err := info.Space.Selected(part); err != nil {
		return err
	}
	ones := make([]int64, len(dims))
	for i := range ones {
		ones[i] = 1
	}
	if part.Stride == nil {
		part.Stride = ones
	}
	if part.Block == nil {
		part.Block = ones
	}
	p.o.Part = &part
	return nil
}

// part writes the selection and the values (h5tools_dump_subsetting_header).
func (p *printer) part(d *h5.Dataset, info h5.DatasetInfo) {
	part := *p.o.Part
	p.line("SUBSET {")
	for _, x := range []struct {
		name string
		list []int64
	}{{"START", part.Start}, {"STRIDE", part.Stride}, {"COUNT", part.Count}, {"BLOCK", part.Block}} {
		digits := make([]string, len(x.list))
		for i, n := range x.list {
			digits[i] = strconv.FormatInt(n, 10)
		}
		p.line("%s ( %s );", x.name, strings.Join(digits, ", "))
	}
	p.datasetValues(d, info)
	p.line("}")
}

// partElements writes the elements of a part (h5tools_display_simple_subset). h5dump reads each
// index of the last axis but one separately, and whole blocks along the axes before it. With blocks
// along those axes, the order is therefore not that of the array. The last of these rows is not
// followed by a comma, even if more elements follow.
func (p *printer) partElements(d *h5.Dataset, t h5.Datatype, s h5.Region) error {
	if s.NumElems() <= 0 {
		return nil
	}
	rank := len(s.Start)
	outer := max(rank-2, 0) // axes before the rows
	rows := []int64{1, 1}   // blocks, and indexes of a block
	if rank > 1 {
		rows = []int64{s.Count[outer], s.Block[outer]}
	}
	steps := append(slices.Clone(s.Count[:outer]), rows...)
	groups := int64(1)
	for _, n := range steps {
		groups *= n // the product divides NumElems
	}
	for n := range groups {
		at := indexOf(n, steps)
		group := h5.Region{Start: slices.Clone(s.Start), Stride: s.Stride, Count: slices.Clone(s.Count), Block: slices.Clone(s.Block)}
		for axis := range outer {
			group.Start[axis] += at[axis] * s.Stride[axis]
			group.Count[axis] = 1
		}
		if rank > 1 {
			group.Start[outer] += at[outer]*s.Stride[outer] + at[outer+1]
			group.Count[outer], group.Block[outer] = 1, 1
		}
		end := at[outer] == rows[0]-1 && at[outer+1] == rows[1]-1
		if err := p.partRow(d, t, group, end); err != nil {
			return err
		}
	}
	return nil
}

// partRow writes the elements of a region as one row. The region has more than one block only along
// its last axis. end is true for the last row.
func (p *printer) partRow(d *h5.Dataset, t h5.Datatype, g h5.Region, end bool) error {
	last := len(g.Start) - 1
	dims := append(slices.Clone(g.Block[:last]), g.Count[last], g.Block[last]) // the last axis becomes two: blocks, and elements of a block
	place := func(at []int64) []int64 {
		index := slices.Clone(g.Start)
		for axis := range last {
			index[axis] += at[axis]
		}
		index[last] += at[last]*g.Stride[last] + at[last+1]
		return index
	}
	n := g.NumElems()
	r := &row{p: p, length: n, index: func(n int64) []int64 { return place(indexOf(n, dims)) }}
	defer r.flush()
	for box := range grid.Cut(grid.Whole(dims), nil, piece) {
		if err := p.unwritable(); err != nil {
			return err
		}
		v, err := d.ReadValues(t, h5.Region{
			Start: place(box.Start), Stride: g.Stride,
			Count: append(slices.Clone(g.Count[:last]), box.Shape[last]),
			Block: append(slices.Clone(box.Shape[:last]), box.Shape[last+1]),
		}, -1)
		if err != nil {
			return err
		}
		for i := range v.N {
			p.element(r, h5elem.ViewOf(&v, i), end && r.next == n-1)
		}
	}
	return nil
}
