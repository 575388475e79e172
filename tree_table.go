// CopyTree to a CTable of python-blosc2.

package hyperslab

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
	"github.com/hyperslab/hyperslab/internal/tree/containers"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/b2nd"
)

const (
	textRows   = 1 << 14 // strings that are copied in one step
	rowsAtOnce = 1 << 16 // marks of null rows that are copied in one step
)

// tableTarget is a CTable in a .b2z or .b2d. Its arrays are columns.
type tableTarget struct {
	frameTarget
	fromTable bool             // the source is a table too
	columns   []map[string]any // entries of the schema
}

func (t *tableTarget) traits() traits {
	k := t.frameTarget.traits()
	k.text = true
	return k
}

func (t *tableTarget) checkName(at string, group bool) error {
	if at != "/" && group && !t.fromTable {
		return fmt.Errorf("%w: a CTable holds columns and no groups", errors.ErrUnsupported)
	}
	return nil // check examines the column
}

// plan leaves out the groups of a table, which are parts of the names of its columns.
func (t *tableTarget) plan(item *treeItem) (bool, error) {
	if item.entry.Kind != Group {
		return false, nil
	}
	if item.path == "/" {
		t.fromTable = item.entry.Type == containers.Table
		return false, nil
	}
	return true, nil
}

// complete removes the masks of the source. A CTable has its own.
func (t *tableTarget) complete(context.Context) error {
	masks := make(map[string]bool)
	for _, item := range t.c.arrays {
		if item.nullable {
			masks[item.path+b2store.NotNull] = true
		}
	}
	t.c.arrays = slices.DeleteFunc(t.c.arrays, func(item *treeItem) bool {
		if masks[item.path] {
			t.c.stats.Arrays--
			t.c.stats.Bytes -= item.bytes
		}
		return masks[item.path]
	})
	return nil
}

// sourceTable returns the table that the source is, or nil.
func (t *tableTarget) sourceTable() *stores.Table {
	if !t.fromTable {
		return nil
	}
	return t.c.source.table()
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

// check returns an error unless an array can be a column of the table: by its name, its elements
// and its number of rows.
func (t *tableTarget) check(at string, spec ndarray.Spec, rows int64) error {
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

// source returns the elements of a column.
func (t *tableTarget) source(a *ndarray.Array, item *treeItem) (*ndarray.Array, error) {
	if item.spec.DType.Kind == ndarray.String {
		return a, nil
	}
	kind, err := columnKind(*item.spec)
	if err != nil {
		return nil, errors.Join(err, a.Close())
	}
	spec := columnSpec(*item.spec, kind)
	m := a.Meta()
	m.DType, m.Shape, m.ReadOnly, m.Nullable, m.MaxShape, m.AxisNames, m.Fill = spec.DType, spec.Shape, true, false, nil, nil, nil
	if len(m.Shape) != len(a.Shape()) || item.field != nil {
		m.ChunkShape, m.BlockShape = nil, nil
		if at := a.Meta().ChunkShape; at != nil {
			m.ChunkShape = append(slices.Clone(at), m.Shape[len(at):]...)
		}
	}
	return ndarray.New(&columnSource{from: a, field: item.field, meta: m})
}

// divide plans a column for each field of an array of structures.
func (t *tableTarget) divide(item *treeItem, attrs ndarray.Attrs) (bool, error) {
	d, c := item.spec.DType, t.c
	if item.path != "/" {
		return false, nil
	}
	kept := c.keep(item.from, attrs, false)
	if d.Kind != ndarray.Struct || len(item.spec.Shape) != 1 {
		return false, fmt.Errorf("%w: %v of shape %v as a table: want one dimension of structures, or a group of columns", errors.ErrUnsupported, d, item.spec.Shape)
	}
	c.groups = append(c.groups, &treeItem{from: item.from, path: "/", attrs: kept})
	for i := range d.Fields {
		f := &d.Fields[i]
		field := &treeItem{from: item.from, path: "/" + f.Name, most: item.most, field: f}
		field.spec = &ndarray.Spec{Shape: item.spec.Shape, DType: f.Type, Compression: item.spec.Compression}
		field.bytes = item.spec.Shape[0] * int64(f.Type.Size)
		if err := t.check(field.path, *field.spec, c.rows()); err != nil {
			c.lose(item.from, "field "+f.Name, err)
			continue
		}
		c.addArray(field)
	}
	return true, nil
}

func (t *tableTarget) write(ctx context.Context, file string) error {
	return writeStore(ctx, file, t.c.format, func(files frameFiles) error {
		t.files = files
		return t.writeColumns(ctx)
	})
}

// writeColumns writes the table.
func (t *tableTarget) writeColumns(ctx context.Context) error {
	for _, item := range t.c.arrays {
		item.column = t.columnOf(item.path)
		item.path = columnFile(item.column)
	}
	t.sortColumns()
	rows := max(t.c.rows(), 0)
	if err := t.c.copyArrays(ctx, t); err != nil {
		return err
	}
	return t.writeMeta(rows)
}

// own writes columns of strings, and those of a table without rows.
func (t *tableTarget) own(ctx context.Context, item *treeItem) (bool, error) {
	if item.spec.DType.Kind == ndarray.String {
		return true, t.writeText(ctx, item)
	}
	if item.spec.Shape[0] > 0 {
		return false, nil
	}
	b, err := t.create(item)
	if err != nil {
		return false, err
	}
	return true, b.Close()
}

func (t *tableTarget) create(item *treeItem) (ndarray.Backend, error) {
	kind, err := columnKind(*item.spec)
	if err != nil {
		return nil, err
	}
	return t.createColumn(item.path, columnSpec(*item.spec, kind))
}

// finish adds a column to the schema, and writes its mask.
func (t *tableTarget) finish(ctx context.Context, item *treeItem) error {
	entry, err := columnEntry(item)
	if err != nil {
		return err
	}
	t.columns = append(t.columns, entry)
	if item.spec.DType.Kind != ndarray.String { // writeText has finished its files
		if err := t.files.finish(item.path, b2store.ArrayExt); err != nil {
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
	slices.SortStableFunc(t.c.arrays, func(a, b *treeItem) int {
		place := func(item *treeItem) int {
			return slices.IndexFunc(from.Columns, func(of b2store.Column) bool { return of.Name == item.column })
		}
		return place(a) - place(b)
	})
}

// columnEntry returns the entry of a column in the schema.
func columnEntry(item *treeItem) (map[string]any, error) {
	entry := map[string]any{"kind": "utf8"}
	if item.spec.DType.Kind != ndarray.String {
		var err error
		if entry, err = columnKind(*item.spec); err != nil {
			return nil, err
		}
	}
	entry["name"] = item.column
	if item.nullable {
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
	for _, group := range t.c.groups { // at most one
		if len(group.attrs) == 0 {
			continue
		}
		if err := writeFrame(t.files, "/"+b2store.TableAttrs, b2store.FrameExt, 0, group.attrs); err != nil {
			return err
		}
	}
	raw := func(name string, v any) ndarray.Attr {
		return ndarray.Attr{Name: name, Raw: msgpack.Append(nil, v)}
	}
	err = writeFrame(t.files, "/"+b2store.TableMeta, b2store.FrameExt, 0, []ndarray.Attr{
		raw("kind", "ctable"), raw("version", int64(1)), raw("schema", string(schema)),
	})
	if err != nil {
		return err
	}
	return writeEmbed(t.files)
}

// createColumn creates an array of the table.
func (t *tableTarget) createColumn(key string, spec ndarray.Spec) (ndarray.Backend, error) {
	name, err := t.files.begin(key, b2store.ArrayExt)
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
	return t.files.finish(key, b2store.ArrayExt)
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
func (t *tableTarget) writeText(ctx context.Context, item *treeItem) (err error) {
	src, err := t.c.openItem(ctx, item)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	rows, total := item.spec.Shape[0], int64(0)
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
	offsets := ndarray.Spec{Shape: []int64{rows + 1}, DType: ndarray.DTypeOf[int64](), Attrs: item.spec.Attrs}
	err = t.writeColumn(item.path, offsets, func(w ndarray.RegionWriter) error {
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
	return t.writeColumn(item.path+b2store.TextData, data, func(w ndarray.RegionWriter) error {
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
func (t *tableTarget) writeMask(ctx context.Context, item *treeItem) (err error) {
	if item.nulls == 0 {
		return nil
	}
	masked := *item
	masked.notNull = true
	src, err := t.c.openItem(ctx, &masked)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	spec := ndarray.Spec{Shape: src.Shape(), DType: src.DType()}
	return t.writeColumn(item.path+b2store.NotNull, spec, func(w ndarray.RegionWriter) error {
		buf := make([]byte, min(spec.Shape[0], rowsAtOnce))
		for at := int64(0); at < spec.Shape[0]; at += rowsAtOnce {
			part := buf[:min(spec.Shape[0]-at, rowsAtOnce)]
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

// rowRegion returns the region of n rows of an array of one dimension.
func rowRegion(first, n int64) ndarray.Region {
	return ndarray.Region{Start: []int64{first}, Shape: []int64{n}}
}
