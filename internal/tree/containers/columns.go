// Columns of a CTable of python-blosc2.

package containers

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"sort"

	"github.com/hyperslab/hyperslab/internal/blosc/stores"
	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/b2store"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/b2nd"
)

const (
	maxTableRows = 1 << 32 // stored rows of a table, with the deleted ones
	rowsAtOnce   = 1 << 16 // rows that are selected in one step
)

// tableRows are the stored rows that are not deleted.
type tableRows struct {
	first  []int64 // first stored row of each run of rows
	before []int64 // number of rows before each run; one more than first
}

// len returns the number of rows.
func (r *tableRows) len() int64 { return r.before[len(r.first)] }

// end returns the number of stored rows up to the last one that is not deleted.
func (r *tableRows) end() int64 {
	if len(r.first) == 0 {
		return 0
	}
	last := len(r.first) - 1
	return r.first[last] + r.before[last+1] - r.before[last]
}

// runs calls f for each run of stored rows among the rows from start on.
func (r *tableRows) runs(start, n int64, f func(first, n int64) error) error {
	for k := sort.Search(len(r.first), func(k int) bool { return r.before[k+1] > start }); n > 0; k++ {
		skip := start - r.before[k]
		part := min(r.before[k+1]-start, n)
		if err := f(r.first[k]+skip, part); err != nil {
			return err
		}
		start, n = start+part, n-part
	}
	return nil
}

// rowsOf returns the rows of a table.
func rowsOf(ctx context.Context, s *stores.Store, t *stores.Table) (*tableRows, error) {
	t.Mu.Lock()
	defer t.Mu.Unlock()
	if t.Rows == nil {
		rows, err := readRows(ctx, s, t)
		if err != nil {
			return nil, err
		}
		t.Rows = rows
	}
	return t.Rows.(*tableRows), nil
}

func readRows(ctx context.Context, s *stores.Store, t *stores.Table) (_ *tableRows, err error) {
	m, err := openPart(s, t, b2store.TableRows, "")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	meta := m.Meta()
	if meta.DType.Kind != ndarray.Bool || len(meta.Shape) != 1 {
		return nil, tableError(t, b2store.TableRows, fmt.Sprintf("%v of shape %v", meta.DType, meta.Shape), "one dimension of bool", format.ErrCorrupt)
	}
	total := meta.Shape[0]
	if total > maxTableRows {
		return nil, tableError(t, b2store.TableRows, fmt.Sprintf("%d rows", total), fmt.Sprintf("at most %d", int64(maxTableRows)), format.ErrLimit)
	}
	r := &tableRows{before: []int64{0}}
	valid := make([]byte, min(total, 1<<20))
	next := int64(-1) // the stored row after the last run
	for at := int64(0); at < total; at += int64(len(valid)) {
		valid = valid[:min(total-at, int64(len(valid)))]
		if err := m.ReadRegion(ctx, valid, ndarray.Region{Start: []int64{at}, Shape: []int64{int64(len(valid))}}, 0); err != nil {
			return nil, err
		}
		for i, v := range valid {
			if v == 0 {
				continue
			}
			if row := at + int64(i); row != next {
				r.first = append(r.first, row)
				r.before = append(r.before, r.before[len(r.before)-1])
				next = row
			}
			r.before[len(r.before)-1]++
			next++
		}
	}
	return r, nil
}

func tableError(t *stores.Table, what, got, want string, err error) error {
	sentinel := ndarray.ErrCorrupt
	if !errors.Is(err, format.ErrCorrupt) {
		sentinel = err
	}
	return errs.Mark(&format.Error{Format: "ctable", What: fmt.Sprintf("%s of %.60s", what, t.Key), Got: got, Want: want, Err: err}, sentinel)
}

// openPart opens the array at a key below that of a table. name is for errors; "": the key.
func openPart(s *stores.Store, t *stores.Table, key, name string) (*tree.Member, error) {
	x := t.Part(key)
	if x == nil {
		return nil, tableError(t, key, "none", "an array", format.ErrCorrupt)
	}
	f, err := s.Frame(x)
	if err != nil {
		return nil, err
	}
	r, err := b2nd.OpenReaderAt(f, f.Size, cmp.Or(name, x.Key), nil)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &tree.Member{Backend: r, Done: f.Close}, nil
}

// column is a column of a table, without its deleted rows.
type column struct {
	rows  *tableRows
	meta  ndarray.Meta
	parts []*tree.Member // the arrays of the column; its values or their index first

	// text reads stored rows of a column of strings; nil: the rows of the first part are the
	// values.
	text func(ctx context.Context, dst []string, first int64) error

	// nulls sets the marks of stored rows that are null; nil: no row is.
	nulls func(ctx context.Context, dst []bool, first int64) error
}

// openColumn opens a column of a table.
func openColumn(s *stores.Store, x *stores.Object, name string) (_ *column, err error) {
	t, ctx := x.Table, context.Background()
	c := &column{}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close())
		}
	}()
	if c.rows, err = rowsOf(ctx, s, t); err != nil {
		return nil, err
	}
	key := b2store.TableColumns + "/" + x.Column.Path
	part := func(key string) (*tree.Member, error) {
		m, err := openPart(s, t, key, name)
		if err == nil {
			c.parts = append(c.parts, m)
		}
		return m, err
	}
	values, err := part(key)
	if err != nil {
		return nil, err
	}
	c.meta = values.Meta()
	if len(c.meta.Shape) == 0 {
		return nil, tableError(t, key, "no dimension", "one or more", format.ErrCorrupt)
	}
	switch x.Column.Kind {
	case "utf8":
		data, err := part(key + b2store.TextData)
		if err != nil {
			return nil, err
		}
		err = c.utf8(t, key, data)
		if err != nil {
			return nil, err
		}
	case "dictionary":
		words, err := part(key + b2store.Values)
		if err != nil {
			return nil, err
		}
		if err := c.dictionary(ctx, t, x.Column, words); err != nil {
			return nil, err
		}
	case "vlstring":
		c.meta.Format = detect.B2ND
		c.text = func(ctx context.Context, dst []string, first int64) error {
			return jsonStrings(ctx, values, dst, nil, first)
		}
		c.nulls = func(ctx context.Context, dst []bool, first int64) error {
			return jsonStrings(ctx, values, make([]string, len(dst)), dst, first)
		}
	case "vlbytes", "object", "struct", "list":
		c.text = func(ctx context.Context, dst []string, first int64) error {
			return tree.ReadStrings(ctx, values, dst, rowRegion(first, int64(len(dst))))
		}
		c.nulls = c.nullTexts("null")
	case "timestamp":
		if d := c.meta.DType; d.Kind == ndarray.Int && d.Size == 8 && x.Column.Unit != "" {
			order := "<"
			if d.String()[0] == '>' {
				order = ">"
			}
			if c.meta.DType, err = ndarray.ParseDType(order + "M8[" + x.Column.Unit + "]"); err != nil {
				return nil, err
			}
		}
	}
	if err := c.findNulls(s, t, x.Column, key); err != nil {
		return nil, err
	}
	stored := int64(0)
	if len(c.meta.Shape) > 0 {
		stored = c.meta.Shape[0]
	}
	if x.Column.Kind == "utf8" {
		stored = max(stored-1, 0) // one offset more than strings
	}
	if c.rows.end() > stored {
		return nil, tableError(t, key, fmt.Sprintf("%d rows", stored), fmt.Sprintf("at least %d", c.rows.end()), format.ErrCorrupt)
	}
	if c.text != nil {
		c.meta.DType, c.meta.ChunkShape, c.meta.BlockShape, c.meta.Fill = ndarray.Text("").DType, nil, nil, nil
		c.meta.Shape = []int64{0}
	}
	c.meta.Path, c.meta.ReadOnly, c.meta.MaxShape, c.meta.Nullable = name, true, nil, c.nulls != nil
	c.meta.Shape = slices.Clone(c.meta.Shape)
	c.meta.Shape[0] = c.rows.len()
	if n := c.meta.Shape[0]; c.meta.ChunkShape != nil && n > 0 { // the capacity of a table exceeds its rows
		c.meta.ChunkShape, c.meta.BlockShape = slices.Clone(c.meta.ChunkShape), slices.Clone(c.meta.BlockShape)
		c.meta.ChunkShape[0] = min(c.meta.ChunkShape[0], n)
		if c.meta.BlockShape != nil {
			c.meta.BlockShape[0] = min(c.meta.BlockShape[0], c.meta.ChunkShape[0])
		}
	}
	return c, nil
}

// rowRegion returns the region of n rows of an array of one dimension.
func rowRegion(first, n int64) ndarray.Region {
	return ndarray.Region{Start: []int64{first}, Shape: []int64{n}}
}

// jsonStrings reads strings that are stored as JSON. A null one is "", and has a mark in nulls
// unless that is nil.
func jsonStrings(ctx context.Context, m *tree.Member, dst []string, nulls []bool, first int64) error {
	if err := tree.ReadStrings(ctx, m, dst, rowRegion(first, int64(len(dst)))); err != nil {
		return err
	}
	for i, text := range dst {
		var v *string
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			return fmt.Errorf("%w: stored row %d: got %.40s, want a string", ndarray.ErrCorrupt, first+int64(i), text)
		}
		if nulls != nil {
			nulls[i] = v == nil
		}
		if dst[i] = ""; v != nil {
			dst[i] = *v
		}
	}
	return nil
}

// dictionary prepares the strings of a column of codes.
func (c *column) dictionary(ctx context.Context, t *stores.Table, of b2store.Column, words *tree.Member) error {
	codes, m := c.parts[0], c.parts[0].Meta()
	list := words.Meta()
	if m.DType.Kind != ndarray.Int || m.DType.Size != 4 || len(m.Shape) != 1 || list.Format != detect.Objects {
		return tableError(t, of.Path, fmt.Sprintf("%v of shape %v", m.DType, m.Shape), "one dimension of int32 codes and a list of values", format.ErrCorrupt)
	}
	if list.Shape[0] > 1<<24 {
		return tableError(t, of.Path, fmt.Sprintf("%d distinct values", list.Shape[0]), fmt.Sprintf("at most %d", 1<<24), format.ErrLimit)
	}
	strs := make([]string, list.Shape[0])
	if err := jsonStrings(ctx, words, strs, nil, 0); err != nil {
		return err
	}
	read := func(ctx context.Context, n int, first int64) ([]byte, error) {
		b := make([]byte, 4*n)
		return b, codes.ReadRegion(ctx, b, rowRegion(first, int64(n)), 0)
	}
	c.nulls = func(ctx context.Context, dst []bool, first int64) error {
		b, err := read(ctx, len(dst), first)
		for i := range dst {
			dst[i] = err == nil && int64(int32(binary.NativeEndian.Uint32(b[4*i:]))) == of.NullCode
		}
		return err
	}
	c.text = func(ctx context.Context, dst []string, first int64) error {
		b, err := read(ctx, len(dst), first)
		if err != nil {
			return err
		}
		for i := range dst {
			code := int64(int32(binary.NativeEndian.Uint32(b[4*i:])))
			switch {
			case code == of.NullCode:
				dst[i] = ""
				continue
			case code < 0 || code >= int64(len(strs)):
				return tableError(t, of.Path, fmt.Sprintf("code %d", code), fmt.Sprintf("0 to %d", len(strs)-1), format.ErrCorrupt)
			}
			dst[i] = strs[code]
		}
		return nil
	}
	return nil
}

// utf8 prepares the strings of a column of offsets.
func (c *column) utf8(t *stores.Table, key string, data *tree.Member) error {
	offsets, m, d := c.parts[0], c.parts[0].Meta(), data.Meta()
	if m.DType.Kind != ndarray.Int || m.DType.Size != 8 || len(m.Shape) != 1 || d.DType.Kind != ndarray.Uint || d.DType.Size != 1 || len(d.Shape) != 1 {
		return tableError(t, key, fmt.Sprintf("%v and %v", m.DType, d.DType), "one dimension of int64 offsets and one of bytes", format.ErrCorrupt)
	}
	c.text = func(ctx context.Context, dst []string, first int64) error {
		b := make([]byte, 8*(len(dst)+1))
		if err := offsets.ReadRegion(ctx, b, rowRegion(first, int64(len(dst)+1)), 0); err != nil {
			return err
		}
		at := func(i int) int64 { return int64(binary.NativeEndian.Uint64(b[8*i:])) }
		for i := range dst {
			if at(i) < 0 || at(i+1) < at(i) || at(i+1) > d.Shape[0] {
				return tableError(t, key, fmt.Sprintf("a string from byte %d to %d", at(i), at(i+1)), fmt.Sprintf("increasing offsets up to %d", d.Shape[0]), format.ErrCorrupt)
			}
		}
		n := at(len(dst)) - at(0)
		if n > math.MaxInt32 {
			return tableError(t, key, fmt.Sprintf("%d bytes in %d rows", n, len(dst)), fmt.Sprintf("at most %d", math.MaxInt32), format.ErrLimit)
		}
		bytes := make([]byte, n)
		if err := data.ReadRegion(ctx, bytes, rowRegion(at(0), n), 0); err != nil {
			return err
		}
		for i := range dst {
			dst[i] = string(bytes[at(i)-at(0) : at(i+1)-at(0)])
		}
		return nil
	}
	return nil
}

// Meta describes the column.
func (c *column) Meta() ndarray.Meta { return c.meta }

// ReadRegion reads values.
func (c *column) ReadRegion(ctx context.Context, dst []byte, region ndarray.Region, workers int) error {
	if c.text != nil {
		return fmt.Errorf("%w: bytes of a column of strings", errors.ErrUnsupported)
	}
	if region.NumElems() == 0 {
		return ctx.Err()
	}
	row := int64(len(dst)) / region.Shape[0]
	read := func(dst []byte, first, n int64) error {
		return c.parts[0].ReadRegion(ctx, dst, ndarray.Region{
			Start: append([]int64{first}, region.Start[1:]...), Shape: append([]int64{n}, region.Shape[1:]...),
		}, workers)
	}
	var near []byte
	for at := int64(0); at < region.Shape[0]; at += rowsAtOnce {
		n := min(region.Shape[0]-at, rowsAtOnce)
		part := dst[at*row:][:n*row]
		first, end, runs := int64(-1), int64(0), 0
		_ = c.rows.runs(region.Start[0]+at, n, func(f, k int64) error {
			if first < 0 {
				first = f
			}
			end, runs = f+k, runs+1
			return nil
		})
		if runs == 1 || end-first > 4*n { // one read for each run
			err := c.rows.runs(region.Start[0]+at, n, func(f, k int64) error {
				err := read(part[:k*row], f, k)
				part = part[k*row:]
				return err
			})
			if err != nil {
				return err
			}
			continue
		}
		if size := (end - first) * row; int64(cap(near)) < size {
			near = make([]byte, size)
		}
		near = near[:(end-first)*row]
		if err := read(near, first, end-first); err != nil {
			return err
		}
		_ = c.rows.runs(region.Start[0]+at, n, func(f, k int64) error {
			copy(part, near[(f-first)*row:][:k*row])
			part = part[k*row:]
			return nil
		})
	}
	return nil
}

// ReadStrings reads values of a column of strings.
func (c *column) ReadStrings(ctx context.Context, dst []string, region ndarray.Region) error {
	if c.text == nil {
		return fmt.Errorf("%w: strings in a column of %v", errors.ErrUnsupported, c.meta.DType)
	}
	return c.rows.runs(region.Start[0], region.Shape[0], func(first, n int64) error {
		for n > 0 {
			k := min(n, rowsAtOnce)
			if err := c.text(ctx, dst[:k], first); err != nil {
				return err
			}
			dst, first, n = dst[k:], first+k, n-k
		}
		return ctx.Err()
	})
}

// Attrs reads the attributes of the column's array.
func (c *column) Attrs(ctx context.Context) (ndarray.Attrs, error) {
	return tree.AttrsOf(ctx, c.parts[0])
}

// Storage reports the compressed bytes of all arrays of the column, with those of deleted rows.
func (c *column) Storage(ctx context.Context) (total ndarray.Storage, err error) {
	for _, m := range c.parts {
		s, err := tree.StorageOf(ctx, m)
		if err != nil {
			return total, err
		}
		total.StoredBytes += s.StoredBytes
		total.NumChunks += s.NumChunks
	}
	return total, nil
}

var (
	_ ndarray.StoredTyper = (*column)(nil)
	_ ndarray.StoredTyper = (*records)(nil)
)

// StoredDType returns the element type as stored, or "" for strings.
func (c *column) StoredDType() string {
	if c.text != nil {
		return ""
	}
	return tree.StoredDType(c.parts[0])
}

// Close closes the column.
func (c *column) Close() (err error) {
	for _, m := range c.parts {
		err = errors.Join(err, m.Close())
	}
	return err
}

// records is a table as an array of structures.
type records struct {
	meta    ndarray.Meta
	columns []*column
	attrs   func(ctx context.Context) (ndarray.Attrs, error) // of the table
}

// openRecords opens a table as an array of structures. It returns errors.ErrUnsupported for a table
// without columns, and for columns of strings of variable length.
func openRecords(s *stores.Store, t *stores.Table, name string) (_ *records, err error) {
	r := &records{}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.Close())
		}
	}()
	var fields []ndarray.Field
	for _, of := range t.Columns {
		x, err := s.Object(path.Join(t.Key, of.Path))
		if err != nil {
			return nil, err
		}
		c, err := openColumn(s, x, name)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", of.Name, err)
		}
		r.columns = append(r.columns, c)
		d := c.meta.DType
		if c.text != nil {
			return nil, fmt.Errorf("%w: column %q of variable strings in an array of structures; each column is an array", errors.ErrUnsupported, of.Name)
		}
		if row := c.meta.Shape[1:]; len(row) > 0 {
			d = ndarray.SubArrayOf(d, row...)
		}
		fields = append(fields, ndarray.Field{Name: of.Name, Type: d})
	}
	if len(fields) == 0 {
		return nil, fmt.Errorf("%w: a table without columns as an array", errors.ErrUnsupported)
	}
	first := r.columns[0].meta
	nullable := slices.ContainsFunc(r.columns, func(c *column) bool { return c.meta.Nullable })
	r.meta = ndarray.Meta{Nullable: nullable, Format: first.Format, Path: name, Shape: first.Shape[:1], DType: ndarray.StructOf(false, fields...), Compression: first.Compression, ReadOnly: true}
	if err := r.meta.DType.Validate(); err != nil {
		return nil, err
	}
	r.attrs = func(ctx context.Context) (ndarray.Attrs, error) {
		return groupAttrs(ctx, s, name, t.Key)
	}
	return r, grid.Check(r.meta.Shape, r.meta.DType.Size)
}

// Meta describes the array.
func (r *records) Meta() ndarray.Meta { return r.meta }

// ReadRegion reads rows.
func (r *records) ReadRegion(ctx context.Context, dst []byte, region ndarray.Region, workers int) error {
	size := r.meta.DType.Size
	clear(dst)
	for at := int64(0); at < region.Shape[0]; at += rowsAtOnce {
		n := min(region.Shape[0]-at, rowsAtOnce)
		part := dst[at*int64(size):][:n*int64(size)]
		for i, f := range r.meta.DType.Fields {
			c := r.columns[i]
			values := make([]byte, n*int64(f.Type.Size))
			whole := ndarray.Whole(c.meta.Shape)
			whole.Start[0], whole.Shape[0] = region.Start[0]+at, n
			if err := c.ReadRegion(ctx, values, whole, workers); err != nil {
				return err
			}
			for k := range int(n) {
				copy(part[k*size+f.Offset:], values[k*f.Type.Size:][:f.Type.Size])
			}
		}
	}
	return ctx.Err()
}

// Attrs reads the attributes of the table.
func (r *records) Attrs(ctx context.Context) (ndarray.Attrs, error) { return r.attrs(ctx) }

// Storage reports the compressed bytes of all columns.
func (r *records) Storage(ctx context.Context) (total ndarray.Storage, err error) {
	for _, c := range r.columns {
		s, err := c.Storage(ctx)
		if err != nil {
			return total, err
		}
		total.StoredBytes += s.StoredBytes
		total.NumChunks += s.NumChunks
	}
	return total, nil
}

// StoredDType returns the element type.
func (r *records) StoredDType() string { return r.meta.DType.NumPy().String() }

// Close closes all columns.
func (r *records) Close() (err error) {
	for _, c := range r.columns {
		err = errors.Join(err, c.Close())
	}
	return err
}
