// Records: a ctable as one array of structures, whose fields are its columns.

package bcolz

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/hyperslab/hyperslab/format/bcolz"
	"github.com/hyperslab/hyperslab/internal/boxes"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/internal/strided"
)

// Records is an open ctable: an array of one axis whose elements are structures with
// a field for each column. It implements every interface that Backend does.
//
// A ctable is as long as its first column. It grows there last and shrinks there
// first: whenever a writer dies, all columns hold all rows that count. What the
// others hold beyond is cut off before the table changes its length again. A nested
// ctable with one meta/ for all columns is as long as that says.
type Records struct {
	place   place
	columns []*Backend      // in the order of the fields
	fields  []ndarray.Field // of each column: its place in the structure
	nested  *bcolz.Storage  // of a new nested ctable: what its meta/storage will be
	meta    ndarray.Meta
	attrs   attributes
	write   bool
	fresh   bool // a new table: __rootdirs__ comes with Close

	shape sync.RWMutex // held for writing while the number of rows changes
}

// OpenRecords opens the ctable in the directory path with all its columns. Rows of a
// column that are arrays are SubArray fields.
//
// The errors are those of OpenTable and Open, ErrCorrupt for a column shorter than the
// first, and errors.ErrUnsupported for a ctable without columns, and for columns whose
// rows hold no element.
func OpenRecords(path string, o *OpenOptions) (*Records, error) {
	t, err := OpenTable(path, o)
	if err != nil {
		return nil, err
	}
	return t.Records()
}

// Records opens all columns as one array of structures, as OpenRecords does.
func (t *Table) Records() (*Records, error) {
	r, err := openRecords(t.Path, t, &t.options)
	return r, ndarray.Wrap("open", t.Path, err)
}

func openRecords(path string, table *Table, o *OpenOptions) (_ *Records, err error) {
	r := &Records{write: o.Write}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.abandon())
		}
	}()
	for _, name := range table.Names {
		b, err := table.column(name)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", name, err)
		}
		r.columns = append(r.columns, b)
	}
	if r.place, err = table.open(); err != nil {
		return nil, err
	}
	rec, err := readRecord(r.place.fsys, TableRecordFile)
	if err != nil {
		return nil, err
	}
	r.setAttributes(table.members, rec, true)
	if described := len(table.columns) > 0 && table.columns[0].dir == ""; described {
		r.meta, err = nestedMeta(path, r.place, r.columns[0], o)
	} else {
		r.meta, err = tableMeta(path, table.Names, r.columns)
	}
	if err != nil {
		return nil, err
	}
	rec.applyTable(&r.meta)
	r.setFields()
	r.meta.ReadOnly = !o.Write
	return r, nil
}

// setFields finds the place of each column in the structure.
func (r *Records) setFields() {
	if r.fields = r.meta.DType.Fields; len(r.columns) > 0 && r.columns[0].part {
		r.fields = leafFields(r.meta.DType, "", 0)
	}
}

func (r *Records) setAttributes(members bcolz.Attrs, rec *record, durable bool) {
	r.attrs.dir = store{root: r.place.root, durable: durable}
	r.attrs.recordFile, r.attrs.members, r.attrs.record = TableRecordFile, slices.Clone(members), rec
}

// tableMeta describes a ctable as an array.
func tableMeta(path string, names []string, columns []*Backend) (ndarray.Meta, error) {
	if len(columns) == 0 {
		return ndarray.Meta{}, fmt.Errorf("%w: a ctable without columns as an array", errors.ErrUnsupported)
	}
	first := columns[0].Meta()
	m := ndarray.Meta{Format: "bcolz", Path: path, Shape: []int64{first.Shape[0]}, ChunkShape: []int64{1}, Compression: first.Compression}
	var fields []ndarray.Field
	filled := false
	for i, b := range columns {
		c := b.Meta()
		if c.Shape[0] < m.Shape[0] {
			return m, fmt.Errorf("%w: column %q has %d rows, the first column has %d", ndarray.ErrCorrupt, names[i], c.Shape[0], m.Shape[0])
		}
		m.ChunkShape[0] = max(m.ChunkShape[0], c.ChunkShape[0])
		d := c.DType
		if row := c.Shape[1:]; len(row) > 0 {
			if n, _ := ndarray.Product(row); n == 0 {
				return m, fmt.Errorf("%w: column %q with rows of shape %v as a field", errors.ErrUnsupported, names[i], row)
			}
			d = ndarray.SubArrayOf(d, row...)
		}
		fields = append(fields, ndarray.Field{Name: names[i], Type: d})
		filled = filled || c.Fill != nil
	}
	m.DType = ndarray.StructOf(false, fields...)
	if err := m.DType.Validate(); err != nil {
		return m, err
	}
	if err := ndarray.CheckShape(m.Shape, m.DType.Size); err != nil {
		return m, err
	}
	if filled {
		m.Fill = make([]byte, m.DType.Size)
		for i, f := range m.DType.Fields {
			boxes.Repeat(m.Fill[f.Offset:f.Offset+f.Type.Size], columns[i].Meta().Fill)
		}
	}
	return m, nil
}

// nestedMeta describes a ctable whose root has the metadata of all columns, as an
// array.
func nestedMeta(path string, p place, first *Backend, o *OpenOptions) (ndarray.Meta, error) {
	whole, err := bcolz.ReadArray(p.fsys, ".", o.Limits)
	if err != nil {
		return ndarray.Meta{}, translate(err)
	}
	whole, _, err = structured(whole)
	if err != nil {
		return ndarray.Meta{}, translate(err)
	}
	_, m, err := metaOf(path, whole)
	m.Shape = first.Meta().Shape[:1]
	return m, err
}

// applyTable lets the record say how the structure is laid out, as far as it has
// the columns of the table.
func (r *record) applyTable(m *ndarray.Meta) {
	if r.DType != nil && r.DType.Validate() == nil && sameFields(*r.DType, m.DType) {
		fill := m.Fill
		if fill != nil {
			fill = make([]byte, r.DType.Size)
			was := leafFields(m.DType, "", 0)
			for i, f := range leafFields(*r.DType, "", 0) {
				from := was[i]
				copy(fill[f.Offset:], m.Fill[from.Offset:from.Offset+from.Type.Size])
			}
		}
		m.DType, m.Fill = *r.DType, fill
	}
	r.applyAxes(m)
}

// sameFields reports whether two structures have the same fields in the same order,
// wherever they lie.
func sameFields(a, b ndarray.DType) bool {
	return a.Kind == ndarray.Struct && b.Kind == ndarray.Struct && slices.EqualFunc(a.Fields, b.Fields, func(x, y ndarray.Field) bool {
		if x.Type.Kind == ndarray.Struct {
			return x.Name == y.Name && sameFields(x.Type, y.Type)
		}
		bx, dx, okx := columnOf(x.Type, nil)
		by, dy, oky := columnOf(y.Type, nil)
		return okx && oky && x.Name == y.Name && bx.Equal(by) && slices.Equal(dx, dy)
	})
}

// Meta describes the table as an array. Its chunks are as long as the longest of any
// column.
func (r *Records) Meta() ndarray.Meta { return r.meta }

// ReadRegion reads rows, column by column; each reads its chunk files on up to
// GOMAXPROCS goroutines. Bytes between fields are zero.
func (r *Records) ReadRegion(ctx context.Context, dst []byte, region ndarray.Region) error {
	r.shape.RLock()
	defer r.shape.RUnlock()
	clear(dst)
	return r.each(ctx, dst, region, func(b *Backend, rows ndarray.Region, record, column strided.Box) error {
		if err := b.ReadRegion(ctx, column.Data, rows); err != nil {
			return err
		}
		strided.Copy(record, column, column.Shape, 1)
		return nil
	})
}

// WriteRegion replaces rows, column by column, as Backend does it for one. Bytes
// between fields have no place in a ctable.
func (r *Records) WriteRegion(ctx context.Context, src []byte, region ndarray.Region) error {
	if err := r.writable(ctx); err != nil {
		return err
	}
	r.shape.RLock()
	defer r.shape.RUnlock()
	return r.each(ctx, src, region, func(b *Backend, rows ndarray.Region, record, column strided.Box) error {
		strided.Copy(column, record, column.Shape, 1)
		return b.WriteRegion(ctx, column.Data, rows)
	})
}

// each calls f for each slab of a region and each column: with the rows in the
// column, their place in the records, in bytes, and a buffer for them alone.
func (r *Records) each(ctx context.Context, records []byte, region ndarray.Region, f func(b *Backend, rows ndarray.Region, record, column strided.Box) error) error {
	size := int64(r.meta.DType.Size)
	var buffer []byte
	for s := range r.meta.Slabs(region) {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := s.Shape[0]
		for i, field := range r.fields {
			buffer = slices.Grow(buffer[:0], int(n)*field.Type.Size)[:int(n)*field.Type.Size]
			err := f(r.columns[i], r.columns[i].rows(s.Start[0], n),
				strided.Box{Data: records[:n*size], Shape: []int64{n, size}, Start: []int64{0, int64(field.Offset)}},
				strided.Box{Data: buffer, Shape: []int64{n, int64(field.Type.Size)}, Start: []int64{0, 0}})
			if err != nil {
				return fmt.Errorf("column %q: %w", field.Name, err)
			}
		}
		records = records[n*size:]
	}
	return nil
}

// rows is the region of n whole rows from start on.
func (b *Backend) rows(start, n int64) ndarray.Region {
	r := ndarray.Whole(slices.Clone(b.meta.Shape))
	r.Start[0], r.Shape[0] = start, n
	return r
}

func (r *Records) writable(ctx context.Context) error {
	if !r.write {
		return ndarray.ErrReadOnly
	}
	return ctx.Err()
}

// Resize changes the number of rows of every column (ctable.resize). New elements are
// the columns' fill values. It returns the errors of Backend.Resize.
func (r *Records) Resize(ctx context.Context, shape []int64) error {
	if err := r.writable(ctx); err != nil {
		return err
	}
	if len(shape) != 1 {
		return fmt.Errorf("%w: a ctable of %v rows to %v", ndarray.ErrShape, r.meta.Shape, shape)
	}
	r.shape.Lock()
	defer r.shape.Unlock()
	return r.resize(ctx, shape[0], nil)
}

// Append adds rows at the end of every column (ctable.append). src holds whole records
// in native byte order. Who opens the table sees all of them or none, also after a
// crash.
//
// It returns ndarray.ErrReadOnly, ErrSize for a part of a record, or the errors of
// Backend.Append.
func (r *Records) Append(ctx context.Context, src []byte) error {
	if err := r.writable(ctx); err != nil {
		return err
	}
	size := int64(r.meta.DType.Size)
	if int64(len(src))%size != 0 {
		return fmt.Errorf("%w: %d bytes, want whole records of %d", ndarray.ErrSize, len(src), size)
	}
	r.shape.Lock()
	defer r.shape.Unlock()
	return r.resize(ctx, r.meta.Shape[0]+int64(len(src))/size, src)
}

// resize makes the table n rows long; src are the new records, nil for the fill value.
func (r *Records) resize(ctx context.Context, n int64, src []byte) error {
	if n < 0 || n > math.MaxInt64/int64(r.meta.DType.Size) {
		return fmt.Errorf("%w: %d rows", ndarray.ErrShape, n)
	}
	if m := r.meta.MaxShape; m != nil && m[0] != ndarray.Unlimited && n > m[0] {
		return fmt.Errorf("%w: %d rows, at most %d", ndarray.ErrShape, n, m[0])
	}
	if err := r.columns[0].canResize(); err != nil {
		return err
	}
	if r.columns[0].part {
		return r.resizeNested(ctx, n, src)
	}
	return r.resizeColumns(ctx, n, src)
}

// columnFrom takes the elements of the i-th column out of whole records; nil of nil.
func (r *Records) columnFrom(i int, records []byte) []byte {
	if records == nil {
		return nil
	}
	f, size := r.fields[i], int64(r.meta.DType.Size)
	n := int64(len(records)) / size
	shape := []int64{n, int64(f.Type.Size)}
	column := make([]byte, n*int64(f.Type.Size))
	strided.Copy(strided.Box{Data: column, Shape: shape, Start: []int64{0, 0}},
		strided.Box{Data: records, Shape: []int64{n, size}, Start: []int64{0, int64(f.Offset)}}, shape, 1)
	return column
}

// resizeColumns brings all columns to n rows: the first one, which the length of the
// table is read from, grows last and shrinks first.
func (r *Records) resizeColumns(ctx context.Context, n int64, src []byte) error {
	was := r.meta.Shape[0]
	// What an unfinished growth has left behind the rows that count.
	for i, b := range r.columns {
		if b.meta.Shape[0] == was {
			continue
		}
		if err := b.Resize(context.Background(), append([]int64{was}, b.meta.Shape[1:]...)); err != nil {
			return fmt.Errorf("column %q: %w", r.fields[i].Name, err)
		}
	}
	order := make([]int, len(r.columns))
	for i := range order {
		order[i] = i
	}
	if n > was {
		slices.Reverse(order)
	}
	for _, i := range order {
		var err error
		if column := r.columnFrom(i, src); column != nil {
			err = r.columns[i].Append(ctx, column)
		} else {
			err = r.columns[i].Resize(ctx, append([]int64{n}, r.columns[i].meta.Shape[1:]...))
		}
		if i == 0 {
			r.meta.Shape = []int64{r.columns[0].meta.Shape[0]} // what others read from now on
		}
		if err != nil {
			return fmt.Errorf("column %q: %w", r.fields[i].Name, err)
		}
	}
	return nil
}

// Attrs returns the attributes of the table; those of its columns are the columns'.
func (r *Records) Attrs(ctx context.Context) (ndarray.Attrs, error) { return r.attrs.list(ctx) }

// SetAttr writes an attribute of the table.
func (r *Records) SetAttr(ctx context.Context, a ndarray.Attr) error {
	if err := r.writable(ctx); err != nil {
		return err
	}
	return r.attrs.set(a)
}

// DeleteAttr removes an attribute of the table.
func (r *Records) DeleteAttr(ctx context.Context, name string) error {
	if err := r.writable(ctx); err != nil {
		return err
	}
	return r.attrs.remove(name)
}

// Storage adds up the columns; chunks are chunk files.
func (r *Records) Storage(ctx context.Context) (ndarray.Storage, error) {
	var sum ndarray.Storage
	for _, b := range r.columns {
		s, err := b.Storage(ctx)
		if err != nil {
			return sum, err
		}
		sum.StoredBytes += s.StoredBytes
		sum.NumChunks += s.NumChunks
	}
	return sum, nil
}

// ChunkBytes adds up the columns; errors.ErrUnsupported if their chunks differ in rows.
func (r *Records) ChunkBytes(ctx context.Context, n int64) (sum int64, err error) {
	for _, b := range r.columns {
		if own := b.Meta().ChunkShape[0]; own != r.meta.ChunkShape[0] {
			return 0, fmt.Errorf("%w: columns with chunks of %d and %d rows have no chunks in common", errors.ErrUnsupported, own, r.meta.ChunkShape[0])
		}
		size, err := b.ChunkBytes(ctx, n)
		if err != nil {
			return 0, err
		}
		sum += size
	}
	return sum, nil
}

// Close writes what a new table still lacks, and frees all columns.
func (r *Records) Close() error {
	var errs []error
	for _, b := range r.columns {
		errs = append(errs, b.Close())
	}
	r.columns = nil
	if err := errors.Join(errs...); err != nil || !r.fresh {
		return errors.Join(err, r.place.close())
	}
	if r.nested != nil {
		return errors.Join(r.finishNested(), r.place.close())
	}
	// The names come last: a directory without them is no ctable.
	var d bcolz.RootDirs
	for _, f := range r.meta.DType.Fields {
		d.Names = append(d.Names, f.Name)
	}
	return errors.Join(r.attrs.dir.replace(bcolz.RootDirsFile, d.Append(nil)), r.place.close())
}

// abandon closes without finishing.
func (r *Records) abandon() error {
	errs := []error{r.place.close()}
	for _, b := range r.columns {
		errs = append(errs, b.abandon())
	}
	return errors.Join(errs...)
}
