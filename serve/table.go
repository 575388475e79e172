// Tables of elements for pages: values by the CF conventions, with coordinates.

package serve

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"

	"github.com/hyperslab/hyperslab/internal/picture"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/cf"
)

// tableDoc describes a part of an array for a page.
type tableDoc struct {
	Alone    bool      // the file has only this array
	Axes     []axisDoc // the dimensions of the array
	Heads    []string  // numbers of columns, or names of fields
	Over     []string  // coordinates of the columns; nil without coordinates
	Beside   []string  // coordinates of the rows; nil without coordinates
	Rows     [][]string
	Applied  string // attributes that change the values; "": none
	Warnings []string

	Plot, Image, Complex bool // how the elements can be drawn
}

// axisDoc describes a dimension.
type axisDoc struct{ Name, At string } // At is the coordinate of the first selected index, "" without one

// tabulated is the work for a table.
type tabulated struct {
	*cf.Variable
	doc  *tableDoc
	part part
	raw  bool
}

// table answers a request for a table: at most one row dimension and one column dimension.
func (v *variable) table(ctx context.Context, q *request) (_ response, err error) {
	m := v.array.Meta()
	if m.Null {
		return response{}, fail(http.StatusUnprocessableEntity, "the array has no elements")
	}
	t := &tabulated{doc: &tableDoc{Alone: v.alone}, raw: q.Raw}
	if t.part, err = parsePart(q.Selection, m.Shape); err != nil {
		return response{}, err
	}
	if err := t.part.fits(max(m.DType.Size, 1), q.Limit); err != nil {
		return response{}, err
	}
	if !t.part.dense() || len(t.part.shape) > 2 {
		return response{}, fail(http.StatusUnprocessableEntity, "a table has at most two dimensions with step 1, got %q", q.Selection)
	}
	if t.Variable, err = cf.New(ctx, v.array, v.tree, v.path); err != nil {
		return response{}, err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	t.doc.Plot, t.doc.Image, t.doc.Complex = picture.Drawable(m.DType), picture.IsImage(m), m.DType.Kind == ndarray.Complex
	if err := t.describe(ctx); err != nil {
		return response{}, err
	}
	if t.part.elems() > 0 {
		if err := t.fill(ctx); err != nil {
			return response{}, err
		}
	}
	return jsonBody(t.doc, q.Limit)
}

// describe sets the dimensions with their coordinates, and the warnings.
func (t *tabulated) describe(ctx context.Context) error {
	m := t.Array.Meta()
	list, err := t.Coords(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		t.doc.Warnings = append(t.doc.Warnings, "no coordinates: "+bareMessage(err))
	}
	shown := max(len(m.Shape)-2, 0) // the first dimension of the table
	for k := range m.Shape {
		a := axisDoc{}
		if m.AxisNames != nil {
			a.Name = m.AxisNames[k]
		}
		i := slices.IndexFunc(list, func(c cf.Coordinate) bool { return c.Dimension && c.Dims[0] == k && c.Variable != t.Variable })
		if i >= 0 && t.part.count[k] > 0 {
			c := list[i].Variable
			list, err := picture.Strings(ctx, c, ndarray.Region{Start: t.part.start[k : k+1], Shape: t.part.count[k : k+1]}, false)
			if err != nil {
				return err
			}
			switch {
			case k < shown:
				if a.At = list[0]; !c.IsTime() && c.Units != "" {
					a.At += " " + c.Units
				}
			case k == shown:
				t.doc.Beside = list
			default:
				t.doc.Over = list
			}
			for _, w := range c.Warnings() {
				t.doc.Warnings = append(t.doc.Warnings, c.Path+": "+w.Error())
			}
		}
		t.doc.Axes = append(t.doc.Axes, a)
	}
	if t.raw {
		return nil
	}
	t.doc.Applied = t.Describe(&cf.ValueOptions{Dates: true})
	for _, w := range t.Variable.Warnings() {
		t.doc.Warnings = append(t.doc.Warnings, w.Error())
	}
	return nil
}

// fill sets the rows. A structure of an array of one dimension has a column for each field.
func (t *tabulated) fill(ctx context.Context) error {
	r := ndarray.Region{Start: t.part.start, Shape: t.part.count}
	rank, d := len(r.Start), t.Array.DType()
	if rank < 2 && d.Kind == ndarray.Struct {
		return t.fillFields(ctx, r)
	}
	list, err := picture.Strings(ctx, t.Variable, r, t.raw)
	if err != nil {
		return err
	}
	columns := 1
	if rank > 1 {
		columns = int(r.Shape[rank-1])
		for k := range columns {
			t.doc.Heads = append(t.doc.Heads, strconv.FormatInt(r.Start[rank-1]+int64(k), 10))
		}
	}
	for row := range slices.Chunk(list, columns) {
		t.doc.Rows = append(t.doc.Rows, row)
	}
	return nil
}

// fillFields sets a row for each structure.
func (t *tabulated) fillFields(ctx context.Context, r ndarray.Region) error {
	d := t.Array.DType()
	elements, err := picture.Elements(ctx, t.Array, r)
	if err != nil {
		return err
	}
	var nulls []bool
	if t.Array.Meta().Nullable {
		nulls = make([]bool, len(elements)*len(d.Fields))
		if err := t.Array.ReadNulls(ctx, nulls, r); err != nil {
			return err
		}
	}
	for _, f := range d.Fields {
		t.doc.Heads = append(t.doc.Heads, f.Name)
	}
	for i, b := range elements {
		parts, err := d.Split(b)
		if err != nil {
			return err
		}
		row := make([]string, len(parts))
		for k, f := range d.Fields {
			if row[k] = picture.Text(f.Type, parts[k]); nulls != nil && nulls[i*len(d.Fields)+k] {
				row[k] = "null"
			}
		}
		t.doc.Rows = append(t.doc.Rows, row)
	}
	return nil
}
