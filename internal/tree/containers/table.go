// Copies of trees to a CTable of python-blosc2.

package containers

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/internal/blosc/stores"
	"github.com/hyperslab/hyperslab/internal/format/b2store"
	"github.com/hyperslab/hyperslab/internal/format/msgpack"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/internal/tree/frames"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/b2nd"
)

const (
	textRows = 1 << 14 // strings that are copied in one step
	maskRows = 1 << 16 // marks of null rows that are copied in one step
)

// tableTarget is a CTable in a .b2z or .b2d. Its arrays are columns.
type tableTarget struct {
	frames.Target
	kind      string           // B2Z or B2D
	fromTable bool             // the source is a table too
	columns   []map[string]any // entries of the schema
}

func (t *tableTarget) Traits() tree.Traits {
	k := t.Target.Traits()
	k.Text, k.Nulls = true, true
	return k
}

func (t *tableTarget) CheckName(at string, group bool) error {
	if at != "/" && group && !t.fromTable {
		return fmt.Errorf("%w: a CTable holds columns and no groups", errors.ErrUnsupported)
	}
	return nil // check examines the column
}

// Plan leaves out the groups of a table, which are parts of the names of its columns.
func (t *tableTarget) Plan(item *tree.Item) (bool, error) {
	if item.Entry.Kind != tree.Group {
		return false, nil
	}
	if item.Path == "/" {
		t.fromTable = item.Entry.Type == Table
		return false, nil
	}
	return true, nil
}

// Complete removes the masks of the source. A CTable has its own.
func (t *tableTarget) Complete(context.Context) error {
	masks := make(map[string]bool)
	for _, item := range t.Copy.Plan().Arrays {
		if item.Nullable {
			masks[item.Path+b2store.NotNull] = true
		}
	}
	t.Copy.Plan().Arrays = slices.DeleteFunc(t.Copy.Plan().Arrays, func(item *tree.Item) bool {
		if masks[item.Path] {
			t.Copy.Plan().Counts.Arrays--
			t.Copy.Plan().Counts.Bytes -= item.Bytes
		}
		return masks[item.Path]
	})
	return nil
}

// sourceTable returns the table that the source is, or nil. It also returns nil for the table of an
// untrusted file, which a worker reads.
func (t *tableTarget) sourceTable() *stores.Table {
	s := storeOf(t.Copy)
	if !t.fromTable || s == nil {
		return nil
	}
	return s.Table(t.Copy.Source().Root)
}

// columnOf returns the name of a column in the schema for the path of an array in the target. The
// paths of the columns of a table have its escapes.
func (t *tableTarget) columnOf(at string) string {
	at = strings.TrimPrefix(at, "/")
	if !t.fromTable {
		return b2store.ColumnName(at)
	}
	if from := t.sourceTable(); from != nil {
		if i := slices.IndexFunc(from.Columns, func(of b2store.Column) bool { return of.Path == at }); i >= 0 {
			return from.Columns[i].Name
		}
	}
	return b2store.ColumnOf(at)
}

// columnFile returns the key of the array of a column, without the extension.
func columnFile(column string) string {
	return "/" + b2store.TableColumns + "/" + b2store.ColumnPath(column)
}

// Check returns an error unless an array can be a column of the table: by its name, its elements
// and its number of rows.
func (t *tableTarget) Check(at string, spec ndarray.Spec, rows int64) error {
	name := strings.TrimPrefix(at, "/")
	if strings.HasPrefix(name, "_") {
		return fmt.Errorf("%w: column name %q: got an underscore at the start, which is reserved in a CTable", errors.ErrUnsupported, name)
	}
	if err := b2store.CheckKey(columnFile(t.columnOf(at))); err != nil {
		return err
	}
	if len(spec.Shape) == 0 {
		return fmt.Errorf("%w: a column without rows: got a scalar or null array, want one dimension or more", errors.ErrUnsupported)
	}
	stored := spec
	if spec.DType.Kind != ndarray.String {
		kind, err := columnKind(spec)
		if err != nil {
			return err
		}
		stored = columnSpec(spec, kind)
	} else {
		stored.DType, stored.Fill = ndarray.DTypeOf[int64](), nil
		if len(spec.Shape) > 1 {
			return fmt.Errorf("%w: strings in %d dimensions, a column of strings has one", errors.ErrUnsupported, len(spec.Shape))
		}
	}
	if err := b2nd.Check(stored); err != nil {
		return err
	}
	if rows >= 0 && rows != spec.Shape[0] {
		return fmt.Errorf("%w: got %d rows in a column of a table, want %d as in the first column", errors.ErrUnsupported, spec.Shape[0], rows)
	}
	return nil
}

// columnKind returns the entry of a column in the schema, without its name.
func columnKind(spec ndarray.Spec) (map[string]any, error) {
	d := spec.DType
	row := slices.Clone(spec.Shape[1:])
	for d.Kind == ndarray.SubArray {
		row = append(row, d.Dims...)
		d = *d.Base
	}
	known := false
	switch d.Kind {
	case ndarray.Bool, ndarray.Int, ndarray.Uint, ndarray.Complex:
		known = true
	case ndarray.Float:
		known = d.Size == 4 || d.Size == 8 || len(row) > 0 && d.Size == 2
	case ndarray.Unicode, ndarray.Bytes:
		known = d.Size > 0 && len(row) == 0 && d.CharSet == ndarray.ASCII && d.Pad == ndarray.NullPad
	case ndarray.DateTime:
		known = len(row) == 0 && d.Unit.Count == 1 && slices.Contains([]string{"s", "ms", "us", "ns"}, d.Unit.Name)
	}
	if !known || d.Validate() != nil {
		return nil, fmt.Errorf("%w: a column of %v: a CTable has no such kind", errors.ErrUnsupported, spec.DType)
	}
	if len(row) > 0 {
		return map[string]any{"kind": "ndarray", "item_shape": row, "dtype_str": littleEndian(d).NumPy().String()}, nil
	}
	switch bits := 8 * d.Size; d.Kind {
	case ndarray.Bool:
		return map[string]any{"kind": "bool"}, nil
	case ndarray.Int:
		return map[string]any{"kind": fmt.Sprintf("int%d", bits)}, nil
	case ndarray.Uint:
		return map[string]any{"kind": fmt.Sprintf("uint%d", bits)}, nil
	case ndarray.Float:
		return map[string]any{"kind": fmt.Sprintf("float%d", bits)}, nil
	case ndarray.Complex:
		return map[string]any{"kind": fmt.Sprintf("complex%d", bits)}, nil
	case ndarray.Unicode:
		return map[string]any{"kind": "string", "max_length": d.Size / 4}, nil
	case ndarray.Bytes:
		return map[string]any{"kind": "bytes", "max_length": d.Size}, nil
	}
	return map[string]any{"kind": "timestamp", "unit": d.Unit.Name}, nil
}

// littleEndian returns a type with the byte order of CTable.
func littleEndian(d ndarray.DType) ndarray.DType {
	return d.MapParts(func(d ndarray.DType) ndarray.DType {
		if d.Order == ndarray.Big {
			d.Order = ndarray.Little
		}
		return d
	})
}

// columnSpec returns the array of a column: little-endian, with the dimensions of a sub-array after
// that of the rows, and with integers for timestamps. A table of python-blosc2 has space for at
// least one row.
func columnSpec(spec ndarray.Spec, kind map[string]any) ndarray.Spec {
	spec.DType, spec.MaxShape = littleEndian(spec.DType), nil
	for spec.DType.Kind == ndarray.SubArray {
		spec.Shape = append(slices.Clone(spec.Shape), spec.DType.Dims...)
		spec.DType, spec.ChunkShape, spec.BlockShape, spec.Fill = *spec.DType.Base, nil, nil, nil
	}
	if kind["kind"] == "timestamp" {
		spec.DType = ndarray.DTypeOf[int64]()
		spec.DType.Order = ndarray.Little
	}
	if spec.Shape[0] == 0 {
		spec.Shape = slices.Clone(spec.Shape)
		spec.Shape[0], spec.ChunkShape, spec.BlockShape = 1, nil, nil
	}
	return spec
}

// columnSource is a source array, or a field of its structures, in the shape and type of a column.
type columnSource struct {
	from  *ndarray.Array
	field *ndarray.Field // nil: the whole elements
	meta  ndarray.Meta
}

func (s *columnSource) Meta() ndarray.Meta { return s.meta }

// ReadRegion reads rows. The dimensions of a sub-array are read completely and then selected.
func (s *columnSource) ReadRegion(ctx context.Context, dst []byte, r ndarray.Region, workers int) error {
	rank := len(s.from.Shape())
	outer := ndarray.Region{Start: r.Start[:rank], Shape: r.Shape[:rank]}
	inner := s.meta.Shape[rank:]
	if s.field == nil && slices.Equal(r.Shape[rank:], inner) {
		return s.from.ReadRegion(ctx, dst, outer, workers)
	}
	size := s.from.DType().Size
	offset, width := 0, size
	if s.field != nil {
		offset, width = s.field.Offset, s.field.Type.Size
	}
	b := make([]byte, int(outer.NumElems())*size)
	if err := s.from.ReadRegion(ctx, b, outer, workers); err != nil {
		return err
	}
	each := len(dst) / int(outer.NumElems())
	part := grid.Box{Start: r.Start[rank:], Shape: r.Shape[rank:]}
	for i := range int(outer.NumElems()) {
		grid.Copy(dst[i*each:][:each], part, b[i*size+offset:][:width], grid.Whole(inner), part, s.meta.DType.Size)
	}
	return nil
}

// Close closes the source.
func (s *columnSource) Close() error { return s.from.Close() }

// Source returns the elements of a column.
func (t *tableTarget) Source(a *ndarray.Array, item *tree.Item) (*ndarray.Array, error) {
	if item.Spec.DType.Kind == ndarray.String {
		return a, nil
	}
	kind, err := columnKind(*item.Spec)
	if err != nil {
		return nil, errors.Join(err, a.Close())
	}
	spec := columnSpec(*item.Spec, kind)
	m := a.Meta()
	m.DType, m.Shape, m.ReadOnly, m.Nullable, m.MaxShape, m.AxisNames, m.Fill = spec.DType, spec.Shape, true, false, nil, nil, nil
	if len(m.Shape) != len(a.Shape()) || item.Field != nil {
		m.ChunkShape, m.BlockShape = nil, nil
		if at := a.Meta().ChunkShape; at != nil {
			m.ChunkShape = append(slices.Clone(at), m.Shape[len(at):]...)
		}
	}
	return ndarray.New(&columnSource{from: a, field: item.Field, meta: m})
}

// Divide plans a column for each field of an array of structures.
func (t *tableTarget) Divide(item *tree.Item, attrs ndarray.Attrs) (bool, error) {
	d, c := item.Spec.DType, t.Copy
	if item.Path != "/" {
		return false, nil
	}
	kept := c.Keep(item.From, attrs, false)
	if d.Kind != ndarray.Struct || len(item.Spec.Shape) != 1 {
		return false, fmt.Errorf("%w: %v of shape %v as a table: want one dimension of structures, or a group of columns", errors.ErrUnsupported, d, item.Spec.Shape)
	}
	c.Plan().Groups = append(c.Plan().Groups, &tree.Item{From: item.From, Path: "/", Attrs: kept})
	for i := range d.Fields {
		f := &d.Fields[i]
		field := &tree.Item{From: item.From, Path: "/" + f.Name, Workers: item.Workers, Field: f}
		field.Spec = &ndarray.Spec{Shape: item.Spec.Shape, DType: f.Type, Compression: item.Spec.Compression}
		field.Bytes = item.Spec.Shape[0] * int64(f.Type.Size)
		if err := t.Check(field.Path, *field.Spec, c.Rows()); err != nil {
			c.Lose(item.From, "field "+f.Name, err)
			continue
		}
		c.AddArray(field)
	}
	return true, nil
}

func (t *tableTarget) Write(ctx context.Context, file string) error {
	return writeStore(ctx, file, t.kind, func(files frames.Files) error {
		t.Files = files
		return t.writeColumns(ctx)
	})
}

// writeColumns writes the table.
func (t *tableTarget) writeColumns(ctx context.Context) error {
	for _, item := range t.Copy.Plan().Arrays {
		item.Column = t.columnOf(item.Path)
		item.Path = columnFile(item.Column)
	}
	t.sortColumns()
	rows := max(t.Copy.Rows(), 0)
	if err := t.Copy.CopyArrays(ctx, t); err != nil {
		return err
	}
	return t.writeMeta(rows)
}

// Own writes columns of strings, and those of a table without rows.
func (t *tableTarget) Own(ctx context.Context, item *tree.Item) (bool, error) {
	if item.Spec.DType.Kind == ndarray.String {
		return true, t.writeText(ctx, item)
	}
	if item.Spec.Shape[0] > 0 {
		return false, nil
	}
	b, err := t.Create(item)
	if err != nil {
		return false, err
	}
	return true, b.Close()
}

func (t *tableTarget) Create(item *tree.Item) (ndarray.Backend, error) {
	kind, err := columnKind(*item.Spec)
	if err != nil {
		return nil, err
	}
	return t.createColumn(item.Path, columnSpec(*item.Spec, kind))
}

// Finish adds a column to the schema, and writes its mask.
func (t *tableTarget) Finish(ctx context.Context, item *tree.Item) error {
	entry, err := columnEntry(item)
	if err != nil {
		return err
	}
	t.columns = append(t.columns, entry)
	if item.Spec.DType.Kind != ndarray.String { // writeText has finished its files
		if err := t.Files.Finish(item.Path, b2store.ArrayExt); err != nil {
			return err
		}
	}
	return t.writeMask(ctx, item)
}

// sortColumns arranges the columns of a table in its order, which groups of nested names interrupt.
func (t *tableTarget) sortColumns() {
	from := t.sourceTable()
	if from == nil {
		return
	}
	slices.SortStableFunc(t.Copy.Plan().Arrays, func(a, b *tree.Item) int {
		place := func(item *tree.Item) int {
			return slices.IndexFunc(from.Columns, func(of b2store.Column) bool { return of.Name == item.Column })
		}
		return place(a) - place(b)
	})
}

// columnEntry returns the entry of a column in the schema.
func columnEntry(item *tree.Item) (map[string]any, error) {
	entry := map[string]any{"kind": "utf8"}
	if item.Spec.DType.Kind != ndarray.String {
		var err error
		if entry, err = columnKind(*item.Spec); err != nil {
			return nil, err
		}
	}
	entry["name"] = item.Column
	if item.Nullable {
		entry["nullable"], entry["null_storage"] = true, "mask"
	}
	return entry, nil
}

// writeMeta writes everything of a table except its columns.
func (t *tableTarget) writeMeta(rows int64) error {
	version := 1
	if slices.ContainsFunc(t.columns, func(entry map[string]any) bool { return entry["nullable"] != nil }) {
		version = 3 // masks
	}
	schema, err := json.Marshal(map[string]any{"version": version, "columns": append([]map[string]any{}, t.columns...), "n_rows": rows})
	if err != nil {
		return err
	}
	valid := ndarray.Spec{Shape: []int64{max(rows, 1)}, DType: ndarray.DTypeOf[bool]()}
	if rows > 0 {
		valid.Fill = []byte{1}
	}
	if err := t.writeColumn("/"+b2store.TableRows, valid, nil); err != nil {
		return err
	}
	for _, group := range t.Copy.Plan().Groups { // at most one
		if len(group.Attrs) == 0 {
			continue
		}
		if err := writeFrame(t.Files, "/"+b2store.TableAttrs, b2store.FrameExt, 0, group.Attrs); err != nil {
			return err
		}
	}
	raw := func(name string, v any) ndarray.Attr {
		return ndarray.Attr{Name: name, Raw: msgpack.Append(nil, v)}
	}
	err = writeFrame(t.Files, "/"+b2store.TableMeta, b2store.FrameExt, 0, []ndarray.Attr{
		raw("kind", "ctable"), raw("version", int64(1)), raw("schema", string(schema)),
	})
	if err != nil {
		return err
	}
	return writeEmbed(t.Files)
}

// createColumn creates an array of the table.
func (t *tableTarget) createColumn(key string, spec ndarray.Spec) (ndarray.Backend, error) {
	name, err := t.Files.Begin(key, b2store.ArrayExt)
	if err != nil {
		return nil, err
	}
	return b2nd.Create(name, spec, &b2nd.CreateOptions{Name: key})
}

// writeColumn creates an array of the table. fill writes its elements; nil: none is written.
func (t *tableTarget) writeColumn(key string, spec ndarray.Spec, fill func(ndarray.RegionWriter) error) error {
	b, err := t.createColumn(key, spec)
	if err != nil {
		return err
	}
	if fill != nil {
		var w ndarray.RegionWriter
		if w, err = regionWriter(b); err == nil {
			err = fill(w)
		}
	}
	if err := errors.Join(err, b.Close()); err != nil {
		return err
	}
	return t.Files.Finish(key, b2store.ArrayExt)
}

func regionWriter(b ndarray.Backend) (ndarray.RegionWriter, error) {
	w, ok := ndarray.As[ndarray.RegionWriter](b)
	if !ok {
		return nil, fmt.Errorf("%w: writes to a column", errors.ErrUnsupported)
	}
	return w, nil
}

// writeText writes a column of strings: the offsets of their bytes, and then the bytes. It reads
// the strings twice, because a store receives one file after the other.
func (t *tableTarget) writeText(ctx context.Context, item *tree.Item) (err error) {
	src, err := t.Copy.OpenItem(ctx, item)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	rows, total := item.Spec.Shape[0], int64(0)
	each := func(f func(at int64, strs []string) error) error {
		strs := make([]string, min(rows, textRows))
		for at := int64(0); at < rows; at += textRows {
			part := strs[:min(rows-at, textRows)]
			if err := src.ReadStrings(ctx, part, rowRegion(at, int64(len(part)))); err != nil {
				return err
			}
			if err := f(at, part); err != nil {
				return err
			}
		}
		return nil
	}
	offsets := ndarray.Spec{Shape: []int64{rows + 1}, DType: ndarray.DTypeOf[int64](), Attrs: item.Spec.Attrs}
	err = t.writeColumn(item.Path, offsets, func(w ndarray.RegionWriter) error {
		return each(func(at int64, strs []string) error {
			ends := make([]byte, 0, 8*len(strs))
			for _, text := range strs {
				total += int64(len(text))
				ends = binary.NativeEndian.AppendUint64(ends, uint64(total))
			}
			return w.WriteRegion(ctx, ends, rowRegion(at+1, int64(len(strs))), 0)
		})
	})
	if err != nil {
		return err
	}
	data := ndarray.Spec{Shape: []int64{max(total, 1)}, DType: ndarray.DTypeOf[uint8]()}
	return t.writeColumn(item.Path+b2store.TextData, data, func(w ndarray.RegionWriter) error {
		next := int64(0)
		return each(func(_ int64, strs []string) error {
			all := []byte(strings.Join(strs, ""))
			if len(all) == 0 {
				return nil
			}
			next += int64(len(all))
			if next > total {
				return fmt.Errorf("%w: %d bytes of strings in the second read, %d in the first", ndarray.ErrCorrupt, next, total)
			}
			return w.WriteRegion(ctx, all, rowRegion(next-int64(len(all)), int64(len(all))), 0)
		})
	})
}

// writeMask writes the mask of a column with null elements.
func (t *tableTarget) writeMask(ctx context.Context, item *tree.Item) (err error) {
	if item.Nulls == 0 {
		return nil
	}
	masked := *item
	masked.NotNull = true
	src, err := t.Copy.OpenItem(ctx, &masked)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	spec := ndarray.Spec{Shape: src.Shape(), DType: src.DType()}
	return t.writeColumn(item.Path+b2store.NotNull, spec, func(w ndarray.RegionWriter) error {
		buf := make([]byte, min(spec.Shape[0], maskRows))
		for at := int64(0); at < spec.Shape[0]; at += maskRows {
			part := buf[:min(spec.Shape[0]-at, maskRows)]
			r := rowRegion(at, int64(len(part)))
			if err := src.Read(ctx, part, r); err != nil {
				return err
			}
			if err := w.WriteRegion(ctx, part, r, 0); err != nil {
				return err
			}
		}
		return nil
	})
}
