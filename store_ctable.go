// CopyTree to a CTable of python-blosc2.

package hyperslab

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/internal/blosc/stores"
	"github.com/hyperslab/hyperslab/internal/format/b2store"
	"github.com/hyperslab/hyperslab/internal/format/msgpack"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/b2nd"
)

// textRows is the number of strings that are copied in one step.
const textRows = 1 << 14

// sourceTable returns the table that the source is, or nil. It also returns nil for the table of an
// untrusted file, which a worker reads.
func (c *treeCopy) sourceTable() *stores.Table {
	if c.source.store == nil || !c.fromTable {
		return nil
	}
	return c.source.store.Table("/" + strings.Trim(c.source.location.Object, "/"))
}

// columnOf returns the name of a column in the schema for the path of an array in the target. The
// paths of the columns of a table have its escapes.
func (c *treeCopy) columnOf(at string) string {
	at = strings.TrimPrefix(at, "/")
	if !c.fromTable {
		return b2store.ColumnName(at)
	}
	if t := c.sourceTable(); t != nil {
		if i := slices.IndexFunc(t.Columns, func(of b2store.Column) bool { return of.Path == at }); i >= 0 {
			return t.Columns[i].Name
		}
	}
	return b2store.ColumnOf(at)
}

// columnFile returns the key of the array of a column, without the extension.
func columnFile(column string) string {
	return "/" + b2store.TableColumns + "/" + b2store.ColumnPath(column)
}

// checkColumn returns an error unless an array can be a column of the table: by its name, its
// elements and its number of rows.
func (c *treeCopy) checkColumn(at string, spec ndarray.Spec) error {
	name := strings.TrimPrefix(at, "/")
	if strings.HasPrefix(name, "_") {
		return fmt.Errorf("%w: column name %q: got an underscore at the start, which is reserved in a CTable", errors.ErrUnsupported, name)
	}
	if err := b2store.CheckKey(columnFile(c.columnOf(at))); err != nil {
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
	if rows := c.rows(); rows >= 0 && rows != spec.Shape[0] {
		return fmt.Errorf("%w: got %d rows in a column of a table, want %d as in the first column", errors.ErrUnsupported, spec.Shape[0], rows)
	}
	return nil
}

// rows returns the number of rows of the table, or -1 before its first column.
func (c *treeCopy) rows() int64 {
	if len(c.arrays) == 0 {
		return -1
	}
	return c.arrays[0].spec.Shape[0]
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

// planRecords plans a column for each field of an array of structures.
func (c *treeCopy) planRecords(item treeItem) error {
	d := item.spec.DType
	if d.Kind != ndarray.Struct || len(item.spec.Shape) != 1 {
		return fmt.Errorf("%w: %v of shape %v as a table: want one dimension of structures, or a group of columns", errors.ErrUnsupported, d, item.spec.Shape)
	}
	c.groups = append(c.groups, treeItem{from: item.from, path: "/", attrs: item.spec.Attrs})
	for i := range d.Fields {
		f := &d.Fields[i]
		field := treeItem{from: item.from, path: "/" + f.Name, entry: item.entry, most: item.most, field: f}
		field.spec = ndarray.Spec{Shape: item.spec.Shape, DType: f.Type, Compression: item.spec.Compression}
		field.bytes = item.spec.Shape[0] * int64(f.Type.Size)
		if err := c.checkColumn(field.path, field.spec); err != nil {
			c.lose(item.from, "field "+f.Name, err)
			continue
		}
		c.addArray(field)
	}
	return nil
}

// writeCTable writes a table to files.
func (c *treeCopy) writeCTable(ctx context.Context, files storeFiles) error {
	for i := range c.arrays {
		item := &c.arrays[i]
		item.column = c.columnOf(item.path)
		item.path = columnFile(item.column)
		switch {
		case item.spec.DType.Kind == ndarray.String:
			item.write = func(ctx context.Context) error { return c.writeText(ctx, item, files) }
		case item.spec.Shape[0] == 0:
			item.write = func(ctx context.Context) error { return c.writeEmpty(item, files) }
		}
	}
	c.sortColumns()
	var columns []map[string]any
	rows := max(c.rows(), 0)
	err := c.copyArrays(ctx, func(item treeItem) (ndarray.Backend, error) {
		kind, err := columnKind(item.spec)
		if err != nil {
			return nil, err
		}
		return c.createColumn(files, item.path, columnSpec(item.spec, kind))
	}, func(item treeItem) error { return files.drop(item.path, b2store.ArrayExt) },
		func(item treeItem) error {
			entry, err := columnEntry(&item)
			if err != nil {
				return err
			}
			columns = append(columns, entry)
			if item.write == nil {
				err = files.finish(item.path, b2store.ArrayExt)
			}
			if err != nil {
				return err
			}
			return c.writeMask(ctx, &item, files)
		})
	if err != nil {
		return err
	}
	return c.writeTableMeta(ctx, files, rows, columns)
}

// sortColumns arranges the columns of a table in its order, which groups of nested names interrupt.
func (c *treeCopy) sortColumns() {
	t := c.sourceTable()
	if t == nil {
		return
	}
	slices.SortStableFunc(c.arrays, func(a, b treeItem) int {
		place := func(item treeItem) int {
			return slices.IndexFunc(t.Columns, func(of b2store.Column) bool { return of.Name == item.column })
		}
		return place(a) - place(b)
	})
}

// columnEntry returns the entry of a column in the schema.
func columnEntry(item *treeItem) (map[string]any, error) {
	entry := map[string]any{"kind": "utf8"}
	if item.spec.DType.Kind != ndarray.String {
		var err error
		if entry, err = columnKind(item.spec); err != nil {
			return nil, err
		}
	}
	entry["name"] = item.column
	if item.nullable {
		entry["nullable"], entry["null_storage"] = true, "mask"
	}
	return entry, nil
}

// writeTableMeta writes everything of a table except its columns.
func (c *treeCopy) writeTableMeta(ctx context.Context, files storeFiles, rows int64, columns []map[string]any) error {
	version := 1
	if slices.ContainsFunc(columns, func(entry map[string]any) bool { return entry["nullable"] != nil }) {
		version = 3 // masks
	}
	schema, err := json.Marshal(map[string]any{"version": version, "columns": append([]map[string]any{}, columns...), "n_rows": rows})
	if err != nil {
		return err
	}
	valid := ndarray.Spec{Shape: []int64{max(rows, 1)}, DType: ndarray.DTypeOf[bool]()}
	if rows > 0 {
		valid.Fill = []byte{1}
	}
	if err := c.writeColumn(ctx, files, "/"+b2store.TableRows, valid, nil); err != nil {
		return err
	}
	for _, group := range c.groups { // at most one
		if len(group.attrs) == 0 {
			continue
		}
		if err := writeFrame(files, "/"+b2store.TableAttrs, b2store.FrameExt, 0, group.attrs); err != nil {
			return err
		}
	}
	raw := func(name string, v any) ndarray.Attr {
		return ndarray.Attr{Name: name, Raw: msgpack.Append(nil, v)}
	}
	err = writeFrame(files, "/"+b2store.TableMeta, b2store.FrameExt, 0, []ndarray.Attr{
		raw("kind", "ctable"), raw("version", int64(1)), raw("schema", string(schema)),
	})
	if err != nil {
		return err
	}
	return writeEmbed(files)
}

// createColumn creates an array of the table.
func (c *treeCopy) createColumn(files storeFiles, key string, spec ndarray.Spec) (ndarray.Backend, error) {
	name, err := files.begin(key, b2store.ArrayExt)
	if err != nil {
		return nil, err
	}
	return b2nd.Create(name, spec, &b2nd.CreateOptions{Name: key})
}

// writeColumn creates an array of the table. fill writes its elements; nil: none is written.
func (c *treeCopy) writeColumn(ctx context.Context, files storeFiles, key string, spec ndarray.Spec, fill func(ndarray.Backend) error) error {
	b, err := c.createColumn(files, key, spec)
	if err != nil {
		return err
	}
	if fill != nil {
		err = fill(b)
	}
	if err := errors.Join(err, b.Close()); err != nil {
		return err
	}
	return files.finish(key, b2store.ArrayExt)
}

// writeEmpty writes a column of a table without rows.
func (c *treeCopy) writeEmpty(item *treeItem, files storeFiles) error {
	kind, err := columnKind(item.spec)
	if err != nil {
		return err
	}
	return c.writeColumn(context.Background(), files, item.path, columnSpec(item.spec, kind), nil)
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
func (c *treeCopy) writeText(ctx context.Context, item *treeItem, files storeFiles) (err error) {
	src, err := c.openItem(ctx, *item)
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
	err = c.writeColumn(ctx, files, item.path, offsets, func(b ndarray.Backend) error {
		w, err := regionWriter(b)
		if err != nil {
			return err
		}
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
	return c.writeColumn(ctx, files, item.path+b2store.TextData, data, func(b ndarray.Backend) error {
		w, err := regionWriter(b)
		if err != nil {
			return err
		}
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

// openItem opens the source of an array of the target.
func (c *treeCopy) openItem(ctx context.Context, item treeItem) (*ndarray.Array, error) {
	a, err := c.source.Open(ctx, item.from)
	if err == nil && item.notNull {
		return newNotNull(a)
	}
	if err != nil || !c.table() || item.spec.DType.Kind == ndarray.String {
		return a, err
	}
	kind, err := columnKind(item.spec)
	if err != nil {
		return nil, errors.Join(err, a.Close())
	}
	spec := columnSpec(item.spec, kind)
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

// writeFrame writes a frame without values.
func writeFrame(files storeFiles, key, ext string, chunk int, attrs []ndarray.Attr) error {
	name, err := files.begin(key, ext)
	if err != nil {
		return err
	}
	if err := b2nd.CreateFrame(name, chunk, nil, attrs); err != nil {
		return err
	}
	return files.finish(key, ext)
}

// writeEmbed writes the frame with the embedded objects, which contains none.
func writeEmbed(files storeFiles) error {
	ext := filepath.Ext(b2store.EmbedFile)
	return writeFrame(files, "/"+strings.TrimSuffix(b2store.EmbedFile, ext), ext, embedChunk, embedAttrs("b2tree", msgpack.Map{}, 0))
}

// embedAttrs returns the metalayers of a frame that embeds other frames.
func embedAttrs(layer string, ranges msgpack.Map, end int64) []ndarray.Attr {
	return []ndarray.Attr{
		{Name: layer, Fixed: true, Raw: msgpack.Append(nil, msgpack.Map{{Key: "version", Value: int64(1)}})},
		{Name: b2store.MapLayer, Raw: msgpack.Append(nil, msgpack.Map{{Key: "embed_map", Value: ranges}, {Key: "current_offset", Value: end}})},
	}
}
