// Null rows of the columns of a CTable.

package containers

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/hyperslab/hyperslab/internal/blosc/stores"
	"github.com/hyperslab/hyperslab/internal/elements/numbers"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/b2store"
	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/ndarray"
)

// findNulls sets nulls of a column whose values do not contain them: by the mask beside the values,
// or by the value of the schema that marks a null.
func (c *column) findNulls(s *stores.Store, t *stores.Table, of b2store.Column, key string) error {
	switch {
	case of.Mask && t.Part(key+b2store.NotNull) != nil:
		m, err := openPart(s, t, key+b2store.NotNull, "")
		if err != nil {
			return err
		}
		c.parts = append(c.parts, m)
		if meta := m.Meta(); meta.DType.Kind != ndarray.Bool || len(meta.Shape) != 1 || meta.Shape[0] < c.rows.end() {
			return tableError(t, key+b2store.NotNull, fmt.Sprintf("%v of shape %v", meta.DType, meta.Shape), "one dimension of bool, with a value for each row", format.ErrCorrupt)
		}
		c.nulls = func(ctx context.Context, dst []bool, first int64) error { return nullMask(ctx, m, dst, first) }
	case of.Null == nil:
	case of.Kind == "utf8":
		var text string
		if err := json.Unmarshal(of.Null, &text); err != nil {
			return nullError(t, of)
		}
		c.nulls = c.nullTexts(text)
	case c.text == nil:
		is, err := nullElement(c.parts[0].Meta().DType, of.Null)
		if err != nil {
			return nullError(t, of)
		}
		c.nulls = func(ctx context.Context, dst []bool, first int64) error { return c.nullValues(ctx, dst, first, is) }
	}
	return nil
}

func nullError(t *stores.Table, of b2store.Column) error {
	return tableError(t, "null value of column "+of.Name, fmt.Sprintf("%.60s", of.Null), "a value of the kind "+of.Kind, format.ErrCorrupt)
}

// nullMask reads the marks of a mask, which has the opposite meaning.
func nullMask(ctx context.Context, m *tree.Member, dst []bool, first int64) error {
	b := make([]byte, len(dst))
	if err := m.ReadRegion(ctx, b, rowRegion(first, int64(len(dst))), 0); err != nil {
		return err
	}
	for i, valid := range b {
		dst[i] = valid == 0
	}
	return nil
}

// nullTexts returns a function that finds the strings that are equal to one.
func (c *column) nullTexts(null string) func(ctx context.Context, dst []bool, first int64) error {
	return func(ctx context.Context, dst []bool, first int64) error {
		strs := make([]string, len(dst))
		err := c.text(ctx, strs, first)
		for i, s := range strs {
			dst[i] = err == nil && s == null
		}
		return err
	}
}

// nullValues finds the rows whose elements are all null values.
func (c *column) nullValues(ctx context.Context, dst []bool, first int64, is func(b []byte) bool) error {
	m := c.parts[0].Meta()
	r := ndarray.Whole(m.Shape)
	r.Start[0], r.Shape[0] = first, int64(len(dst))
	b := make([]byte, r.NumElems()*int64(m.DType.Size))
	if len(b) == 0 {
		return ctx.Err()
	}
	if err := c.parts[0].ReadRegion(ctx, b, r, 0); err != nil {
		return err
	}
	row := len(b) / len(dst)
	for i := range dst {
		dst[i] = true
		for at := i * row; at < (i+1)*row && dst[i]; at += m.DType.Size {
			dst[i] = is(b[at : at+m.DType.Size])
		}
	}
	return nil
}

// nullElement returns a function that reports whether an element of d is the value in JSON. NaN is
// equal to every NaN, as in python-blosc2.
func nullElement(d ndarray.DType, value json.RawMessage) (func(b []byte) bool, error) {
	equal := func(want []byte) (func(b []byte) bool, error) {
		return func(b []byte) bool { return bytes.Equal(b, want) }, nil
	}
	switch d.Kind {
	case ndarray.Float:
		x, err := nullFloat(value)
		float := func(b []byte) float64 {
			f, _ := strconv.ParseFloat(ndarray.FormatElement(d, b), 64)
			return f
		}
		if math.IsNaN(x) {
			return func(b []byte) bool { return ndarray.FormatElement(d, b)[0] == 'N' }, err
		}
		if d.Size == 4 {
			x = float64(float32(x))
		}
		return func(b []byte) bool { return ndarray.FormatElement(d, b)[0] != 'N' && float(b) == x }, err
	case ndarray.Unicode:
		var text string
		want := make([]byte, d.Size)
		if err := json.Unmarshal(value, &text); err != nil {
			return nil, err
		}
		if numbers.PutUTF32(want, text) != nil { // longer than every element
			return func([]byte) bool { return false }, nil
		}
		return equal(want)
	case ndarray.Bytes:
		text, err := nullBytes(value)
		if err != nil || len(text) > d.Size {
			return func([]byte) bool { return false }, err
		}
		return equal(append(text, make([]byte, d.Size-len(text))...))
	case ndarray.Bool, ndarray.Int, ndarray.Uint, ndarray.DateTime, ndarray.TimeDelta:
		return nullInteger(d, value)
	}
	return nil, fmt.Errorf("%w: a null value of %v", errors.ErrUnsupported, d)
}

// nullInteger is nullElement for integers. A value out of range is never equal.
func nullInteger(d ndarray.DType, value json.RawMessage) (func(b []byte) bool, error) {
	text := string(value)
	if f, err := strconv.ParseFloat(text, 64); err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		text = strconv.FormatInt(int64(f), 10) // for example 255.0
	}
	switch text {
	case "true":
		text = "1"
	case "false":
		text = "0"
	}
	if _, err := strconv.ParseInt(text, 10, 64); err != nil {
		if _, err := strconv.ParseUint(text, 10, 64); err != nil {
			return nil, err
		}
	}
	number := ndarray.DType{Kind: ndarray.Int, Size: d.Size, Order: d.Order}
	if d.Kind == ndarray.Uint || d.Kind == ndarray.Bool {
		number.Kind = ndarray.Uint
	}
	return func(b []byte) bool { return ndarray.FormatElement(number, b) == text }, nil
}

func nullFloat(value json.RawMessage) (float64, error) {
	var text string
	if json.Unmarshal(value, &text) != nil {
		text = string(value)
	}
	return strconv.ParseFloat(text, 64)
}

// nullBytes returns bytes, which python-blosc2 stores in base64, or the bytes of a string.
func nullBytes(value json.RawMessage) ([]byte, error) {
	var o struct {
		Base64 *string `json:"base64"`
	}
	if err := json.Unmarshal(value, &o); err == nil && o.Base64 != nil {
		return base64.StdEncoding.DecodeString(*o.Base64)
	}
	var text string
	err := json.Unmarshal(value, &text)
	return []byte(text), err
}

// ReadNulls implements ndarray.NullReader: all elements of a null row are null.
func (c *column) ReadNulls(ctx context.Context, dst []bool, region ndarray.Region) error {
	if c.nulls == nil {
		return nil
	}
	each := int64(len(dst)) / region.Shape[0]
	marks := make([]bool, min(region.Shape[0], rowsAtOnce))
	return c.rows.runs(region.Start[0], region.Shape[0], func(first, n int64) error {
		for n > 0 {
			k := min(n, rowsAtOnce)
			if err := c.nulls(ctx, marks[:k], first); err != nil {
				return err
			}
			for _, null := range marks[:k] {
				for i := range dst[:each] {
					dst[i] = null
				}
				dst = dst[each:]
			}
			first, n = first+k, n-k
		}
		return ctx.Err()
	})
}

// ReadNulls implements ndarray.NullReader: a mark for each column of each row.
func (r *records) ReadNulls(ctx context.Context, dst []bool, region ndarray.Region) error {
	for k, c := range r.columns {
		if c.nulls == nil {
			continue
		}
		marks := make([]bool, region.Shape[0])
		rows := ndarray.Region{Start: region.Start[:1], Shape: region.Shape[:1]}
		if err := c.ReadNulls(ctx, marks, rows); err != nil {
			return err
		}
		for i, null := range marks {
			dst[i*len(r.columns)+k] = null
		}
	}
	return nil
}
