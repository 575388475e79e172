// A ctable as an array of structures whose fields are the columns.

package bcolz

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/hyperslab/hyperslab/internal/files/filelock"
	"github.com/hyperslab/hyperslab/internal/format/bcolztree"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/internal/grid/boxes"
	"github.com/hyperslab/hyperslab/ndarray"
)

// records is an open ctable: an array with one dimension whose elements are structures with one
// field per column. It implements every interface that backend does.
//
// A ctable is as long as its first column. The first column grows last and shrinks first, so if a
// writer dies, all columns still have all valid rows. Extra rows of the other columns are cut off
// before the table changes its length again. The length of a nested ctable with a single meta/ is
// in that meta/.
type records struct {
	place   place
	columns []*backend         // in the order of the fields
	fields  []ndarray.Field    // of each column: its offset in the structure
	nested  *bcolztree.Storage // of a new nested ctable: its future meta/storage
	meta    ndarray.Meta
	attrs   attributes
	write   bool
	lock    *filelock.Lock
	fresh   bool // a new table: Close writes __rootdirs__

	shape sync.RWMutex // held for writing while the number of rows changes
}

// OpenRecords opens the ctable in the directory path with all its columns. A column whose rows are
// arrays becomes a SubArray field.
//
// The errors are those of OpenTable and Open, ErrCorrupt for a column shorter than the first, and
// errors.ErrUnsupported for a ctable without columns or with columns whose rows are empty.
func OpenRecords(path string, o *OpenOptions) (ndarray.Backend, error) {
	t, err := OpenTable(path, o)
	if err != nil {
		return nil, err
	}
	return t.Records()
}

// Records opens all columns as one array of structures, like OpenRecords.
func (t *Table) Records() (ndarray.Backend, error) {
	r, err := openRecords(t.Path, t, &t.options)
	if err != nil {
		return nil, ndarray.Wrap("open", t.Path, err)
	}
	return r, nil
}

func openRecords(path string, table *Table, o *OpenOptions) (_ *records, err error) {
	r := &records{write: o.Write}
	if r.lock, err = o.lock(path); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.abandon())
		}
	}()
	shared := *table // all columns have references to one lock
	shared.options.Lock = r.lock
	table = &shared
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
	rec, err := readRecord(r.place.fsys, bcolztree.TableRecordFile)
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

// setFields sets the offset of each column in the structure.
func (r *records) setFields() {
	if r.fields = r.meta.DType.Fields; len(r.columns) > 0 && r.columns[0].part {
		r.fields = leafFields(r.meta.DType, "", 0)
	}
}

func (r *records) setAttributes(members bcolztree.Attrs, rec *record, durable bool) {
	r.attrs.dir = store{root: r.place.root, durable: durable}
	r.attrs.recordFile, r.attrs.members, r.attrs.record = bcolztree.TableRecordFile, slices.Clone(members), rec
}

// tableMeta returns the Meta of a ctable as an array.
func tableMeta(path string, names []string, columns []*backend) (ndarray.Meta, error) {
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
			if n, _ := grid.Product(row); n == 0 {
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
	if err := grid.Check(m.Shape, m.DType.Size); err != nil {
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

// nestedMeta returns the Meta of a ctable whose root has the metadata of all columns.
func nestedMeta(path string, p place, first *backend, o *OpenOptions) (ndarray.Meta, error) {
	whole, err := bcolztree.ReadArray(p.fsys, ".", o.limits())
	if err != nil {
		return ndarray.Meta{}, err
	}
	whole, _, err = structured(whole)
	if err != nil {
		return ndarray.Meta{}, err
	}
	_, m, err := metaOf(path, whole)
	m.Shape = first.Meta().Shape[:1]
	return m, err
}

// applyTable sets the layout of the structure from the record, if the record has the same columns
// as the table.
func (r *record) applyTable(m *ndarray.Meta) {
	if r.DType != nil && sameFields(r.DType.DType, m.DType) {
		fill := m.Fill
		if fill != nil {
			fill = make([]byte, r.DType.Size)
			was := leafFields(m.DType, "", 0)
			for i, f := range leafFields(r.DType.DType, "", 0) {
				from := was[i]
				copy(fill[f.Offset:], m.Fill[from.Offset:from.Offset+from.Type.Size])
			}
		}
		m.DType, m.Fill = r.DType.DType, fill
	}
	r.applyAxes(m)
}

// sameFields reports whether two structures have the same fields in the same order, at any offsets.
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

// Meta describes the table as an array. Its chunk length is the largest of all columns.
func (r *records) Meta() ndarray.Meta { return r.meta }

// ReadRegion reads rows, column by column. Each column reads its chunk files on at most the given
// number of workers. Bytes between fields are set to zero.
func (r *records) ReadRegion(ctx context.Context, dst []byte, region ndarray.Region, workers int) error {
	r.shape.RLock()
	defer r.shape.RUnlock()
	clear(dst)
	return r.each(ctx, dst, region, func(b *backend, rows ndarray.Region, column []byte, at fieldBytes) error {
		if err := b.ReadRegion(ctx, column, rows, workers); err != nil {
			return err
		}
		grid.Copy(at.data, at.records, column, at.field, at.field, 1)
		return nil
	})
}

// WriteRegion replaces rows, column by column, like WriteRegion of backend. Bytes between fields
// are not stored.
func (r *records) WriteRegion(ctx context.Context, src []byte, region ndarray.Region, workers int) error {
	if err := r.writable(ctx); err != nil {
		return err
	}
	r.shape.RLock()
	defer r.shape.RUnlock()
	return r.each(ctx, src, region, func(b *backend, rows ndarray.Region, column []byte, at fieldBytes) error {
		grid.Copy(column, at.field, at.data, at.records, at.field, 1)
		return b.WriteRegion(ctx, column, rows, workers)
	})
}

// fieldBytes are the bytes of one field in whole records: boxes of two dimensions, records and
// bytes.
type fieldBytes struct {
	data           []byte
	records, field grid.Box
}

// bytesOf returns the bytes of the i-th field in n records.
func (r *records) bytesOf(i int, data []byte, n int64) fieldBytes {
	f, size := r.fields[i], int64(r.meta.DType.Size)
	return fieldBytes{
		data[:n*size], grid.Whole([]int64{n, size}), grid.Box{Start: []int64{0, int64(f.Offset)}, Shape: []int64{n, int64(f.Type.Size)}},
	}
}

// each calls f for each slab of a region and each column. Its arguments are the rows in the column,
// a buffer for these rows, and the bytes of the field in the records.
func (r *records) each(ctx context.Context, records []byte, region ndarray.Region, f func(b *backend, rows ndarray.Region, column []byte, at fieldBytes) error) error {
	size := int64(r.meta.DType.Size)
	var buffer []byte
	for box := range grid.Slabs(r.meta.ChunkShape, r.meta.DType.Size, grid.Box(region)) {
		s := ndarray.Region(box)
		if err := ctx.Err(); err != nil {
			return err
		}
		n := s.Shape[0]
		for i, field := range r.fields {
			buffer = slices.Grow(buffer[:0], int(n)*field.Type.Size)[:int(n)*field.Type.Size]
			err := f(r.columns[i], r.columns[i].rows(s.Start[0], n), buffer, r.bytesOf(i, records, n))
			if err != nil {
				return fmt.Errorf("column %q: %w", field.Name, err)
			}
		}
		records = records[n*size:]
	}
	return nil
}

// rows returns the region of n whole rows from start on.
func (b *backend) rows(start, n int64) ndarray.Region {
	r := ndarray.Whole(slices.Clone(b.meta.Shape))
	r.Start[0], r.Shape[0] = start, n
	return r
}

func (r *records) writable(ctx context.Context) error {
	if !r.write {
		return ndarray.ErrReadOnly
	}
	for _, b := range r.columns {
		if err := b.unchanged(); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// Resize changes the number of rows of every column (ctable.resize). New elements have the columns'
// fill values. It returns the errors of backend.Resize.
func (r *records) Resize(ctx context.Context, shape []int64) error {
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

// Append adds rows at the end of every column (ctable.append). src must contain whole records in
// native byte order. A program that opens the table sees all of them or none, also after a crash.
//
// It returns ndarray.ErrReadOnly, ErrSize for an incomplete record, or the errors of
// backend.Append.
func (r *records) Append(ctx context.Context, src []byte) error {
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

// resize changes the number of rows to n. src are the new records; nil means the fill value.
func (r *records) resize(ctx context.Context, n int64, src []byte) error {
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

// columnFrom extracts the elements of the i-th column from whole records. It returns nil if records
// is nil.
func (r *records) columnFrom(i int, records []byte) []byte {
	if records == nil {
		return nil
	}
	n := int64(len(records) / r.meta.DType.Size)
	at, column := r.bytesOf(i, records, n), make([]byte, n*int64(r.fields[i].Type.Size))
	grid.Copy(column, at.field, records, at.records, at.field, 1)
	return column
}

// resizeColumns changes the number of rows of all columns to n. The first column, which determines
// the length of the table, grows last and shrinks first.
func (r *records) resizeColumns(ctx context.Context, n int64, src []byte) error {
	was := r.meta.Shape[0]
	// Remove the rows after the valid ones that an unfinished Append or Resize has left.
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
			r.meta.Shape = []int64{r.columns[0].meta.Shape[0]} // from now on readers see this length
		}
		if err != nil {
			return fmt.Errorf("column %q: %w", r.fields[i].Name, err)
		}
	}
	return nil
}

// Attrs returns the attributes of the table, not those of its columns.
func (r *records) Attrs(ctx context.Context) (ndarray.Attrs, error) { return r.attrs.list(ctx) }

// SetAttr writes an attribute of the table.
func (r *records) SetAttr(ctx context.Context, a ndarray.Attr) error {
	if err := r.writable(ctx); err != nil {
		return err
	}
	return r.attrs.set(a)
}

// DeleteAttr removes an attribute of the table.
func (r *records) DeleteAttr(ctx context.Context, name string) error {
	if err := r.writable(ctx); err != nil {
		return err
	}
	return r.attrs.remove(name)
}

// Storage returns the sum over all columns. NumChunks is the number of chunk files.
func (r *records) Storage(ctx context.Context) (ndarray.Storage, error) {
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

// ChunkBytes returns the sum over all columns. It returns errors.ErrUnsupported if the columns have
// different chunk lengths.
func (r *records) ChunkBytes(ctx context.Context, n int64) (sum int64, err error) {
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

// Close writes the missing files of a new table and closes all columns.
func (r *records) Close() error {
	errs := []error{r.lock.Release()}
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
	// The names are written last, because a directory without them is not a ctable.
	var d bcolztree.RootDirs
	for _, f := range r.meta.DType.Fields {
		d.Names = append(d.Names, f.Name)
	}
	return errors.Join(r.attrs.dir.replace(bcolztree.RootDirsFile, d.Append(nil)), r.place.close())
}

// abandon closes without finishing.
func (r *records) abandon() error {
	errs := []error{r.place.close(), r.lock.Release()}
	for _, b := range r.columns {
		errs = append(errs, b.abandon())
	}
	return errors.Join(errs...)
}
