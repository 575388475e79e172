// Nested ctables: the form in bcolz's format document that bcolz itself never wrote. The columns
// are directories below data/, at any depth. Either each of them is a complete carray, or they
// contain only chunk files and one meta/ describes all of them with a structured type.

package bcolz

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/format/bcolztree"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
)

// maxDepth is the maximum nesting depth of columns.
const maxDepth = grid.MaxRank

// component is one column of a nested ctable.
type component struct {
	dir   string        // of a complete carray, from the root; "": the root's meta/ describes it
	field ndarray.Field // for such a column: its path, type, and offset in the structure
}

// readNested finds the columns of the nested ctable in p.
func (t *Table) readNested(p place) error {
	b, err := bcolztree.ReadAttrs(p.fsys, ".", t.options.limits())
	if err != nil {
		return err
	}
	t.members = b
	return t.nestedIn(p, ".", "", 0)
}

// nestedIn adds the columns below the directory dir, whose names begin with prefix.
func (t *Table) nestedIn(p place, dir, prefix string, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("%w: columns nested deeper than %d", errors.ErrUnsupported, maxDepth)
	}
	kind, err := bcolztree.Detect(p.fsys, dir)
	switch {
	case err != nil:
		return err
	case kind == bcolztree.ArrayTree:
		t.add(prefix, component{dir: dir})
		return nil
	case kind != bcolztree.NestedTree:
		return fmt.Errorf("%w: column %q is %s, want a carray or columns in %s", ndarray.ErrCorrupt, prefix, kind, bcolztree.DataDir)
	}
	whole, err := bcolztree.ReadArray(p.fsys, dir, t.options.limits())
	switch {
	case err == nil && dir == ".":
		return t.describedBy(whole)
	case err == nil:
		return fmt.Errorf("%w: column %q is a nested ctable with a %s of its own", errors.ErrUnsupported, prefix, bcolztree.StorageFile)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	names, err := bcolztree.Components(p.fsys, dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := t.nestedIn(p, path.Join(dir, bcolztree.DataDir, name), path.Join(prefix, name), depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (t *Table) add(name string, c component) {
	t.Names = append(t.Names, name)
	t.columns = append(t.columns, c)
}

// describedBy adds the fields of the structured type in a root's meta/.
func (t *Table) describedBy(whole *bcolztree.Array) error {
	_, d, err := structured(whole)
	if err != nil {
		return err
	}
	for _, f := range leafFields(d, "", 0) {
		t.add(f.Name, component{field: f})
	}
	return nil
}

// structured returns the array with the size of its elements, and their type.
func structured(whole *bcolztree.Array) (*bcolztree.Array, ndarray.DType, error) {
	d, err := dtypeOf(whole.Storage.DType)
	if err != nil {
		return nil, d, err
	}
	if d.Kind != ndarray.Struct || len(whole.Sizes.Shape) != 1 {
		return nil, d, fmt.Errorf("%w: columns below %s of shape %v and type %s, want structures along one axis",
			ndarray.ErrCorrupt, bcolztree.DataDir, whole.Sizes.Shape, whole.Storage.DType.Text)
	}
	if err := checkNames(d); err != nil {
		return nil, d, err
	}
	whole, err = whole.WithItemSize(int64(d.Size))
	return whole, d, err
}

// checkNames returns the errors of CheckColumns for the fields of a structure and of nested
// structures. Each of them is the name of a directory.
func checkNames(d ndarray.DType) error {
	var names []string
	for _, f := range d.Fields {
		names = append(names, f.Name)
		if f.Type.Kind == ndarray.Struct {
			if err := checkNames(f.Type); err != nil {
				return err
			}
		}
	}
	return CheckColumns(names)
}

// leafFields returns the fields of a structure and its nested structures that are not structures
// themselves. Their names are paths, and their offsets are those in the outermost structure.
func leafFields(d ndarray.DType, prefix string, at int) []ndarray.Field {
	var out []ndarray.Field
	for _, f := range d.Fields {
		f.Name, f.Offset = path.Join(prefix, f.Name), at+f.Offset
		if f.Type.Kind == ndarray.Struct {
			out = append(out, leafFields(f.Type, f.Name, f.Offset)...)
		} else {
			out = append(out, f)
		}
	}
	return out
}

// component opens a column that the root's meta/ describes. It takes ownership of p, the root.
func (t *Table) component(c component, p place) (*backend, error) {
	whole, err := bcolztree.ReadArray(p.fsys, ".", t.options.limits())
	if err != nil {
		return nil, err
	}
	whole, d, err := structured(whole)
	if err != nil {
		return nil, err
	}
	fill, err := fillOf(whole.Storage.Default, d)
	if err != nil {
		return nil, err
	}
	return componentOf(filepath.Join(t.Path, filepath.FromSlash(c.field.Name)), p, whole, c.field, fill, &t.options)
}

// componentOf returns the backend of one field of a nested ctable.
func componentOf(name string, p place, whole *bcolztree.Array, f ndarray.Field, fill []byte, o *OpenOptions) (*backend, error) {
	base, dims, ok := columnOf(f.Type, nil)
	if !ok {
		return nil, fmt.Errorf("%w: column %q of arrays of structures", errors.ErrUnsupported, f.Name)
	}
	text, err := textOf(base)
	if err != nil {
		return nil, fmt.Errorf("column %q: %w", f.Name, err)
	}
	tree, err := whole.Component(strings.Split(f.Name, "/"), text, dims)
	if err != nil {
		return nil, err
	}
	tree.Storage.Default = bcolztree.Int(0)
	if v, ok := plain(make([]byte, base.Size), base); ok {
		tree.Storage.Default = v
	}
	tree, meta, err := metaOf(name, tree)
	if err != nil {
		return nil, err
	}
	meta.DType = base
	if fill != nil {
		meta.Fill = slices.Clone(fill[f.Offset : f.Offset+base.Size])
	}
	b, err := backendOf(p, tree, meta, &record{}, o)
	if err != nil {
		return nil, err
	}
	b.part = true
	return b, nil
}

// createNested is createRecords for the nested form.
func createNested(dir, name string, spec ndarray.Spec, o *CreateOptions) (_ *records, err error) {
	storage, rec, err := planNested(spec, o)
	if err != nil {
		return nil, err
	}
	if err := os.Mkdir(dir, 0o777); err != nil {
		return nil, err
	}
	r := &records{write: true, fresh: true, nested: &storage}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.abandon(), os.RemoveAll(dir))
		}
	}()
	if err := os.Mkdir(filepath.Join(dir, path.Dir(bcolztree.StorageFile)), 0o777); err != nil {
		return nil, err
	}
	if r.place, err = openPlace(dir); err != nil {
		return nil, err
	}
	whole := bcolztree.NewArray(r.place.fsys, bcolztree.Sizes{Shape: slices.Clone(spec.Shape)}, storage)
	r.fields = leafFields(spec.DType, "", 0)
	for _, f := range r.fields {
		if err := os.MkdirAll(filepath.Join(dir, bcolztree.DataDir, filepath.FromSlash(f.Name)), 0o777); err != nil {
			return nil, err
		}
		p, err := openPlace(dir)
		if err != nil {
			return nil, err
		}
		b, err := componentOf(name+":/"+f.Name, p, whole, f, spec.Fill, &OpenOptions{Write: true})
		if err != nil {
			return nil, errors.Join(err, p.close())
		}
		b.fresh, b.skeleton, b.dir.durable = make(map[int64]bool), o.Skeleton, false
		r.columns = append(r.columns, b)
	}
	r.meta = ndarray.Meta{
		Format: "bcolz", Path: name, Shape: slices.Clone(spec.Shape), ChunkShape: []int64{storage.ChunkLen},
		DType: spec.DType, Fill: slices.Clone(spec.Fill), Compression: compression(storage.CParams),
	}
	r.setAttributes(nil, rec, false)
	rec.applyAxes(&r.meta)
	return r, r.attrs.setAll(spec.Attrs)
}

// planNested returns the meta/storage for all columns and the record.
func planNested(spec ndarray.Spec, o *CreateOptions) (s bcolztree.Storage, rec *record, err error) {
	if err := checkAttrs(&spec); err != nil {
		return s, nil, err
	}
	if spec.Null || len(spec.Shape) != 1 || spec.DType.Kind != ndarray.Struct || spec.BlockShape != nil {
		return s, nil, fmt.Errorf("%w: a nested ctable of shape %v and %v: want structures along one axis", errors.ErrUnsupported, spec.Shape, spec.DType)
	}
	if spec.Comment != "" {
		return s, nil, errComment
	}
	if err := checkNames(spec.DType); err != nil {
		return s, nil, err
	}
	for _, f := range leafFields(spec.DType, "", 0) {
		base, dims, ok := columnOf(f.Type, nil)
		if !ok {
			return s, nil, fmt.Errorf("%w: column %q of arrays of structures", errors.ErrUnsupported, f.Name)
		}
		if _, _, err := plan(&ndarray.Spec{Shape: append([]int64{spec.Shape[0]}, dims...), DType: base, Compression: spec.Compression}, o); err != nil {
			return s, nil, fmt.Errorf("column %q: %w", f.Name, err)
		}
		if fill := spec.Fill; fill != nil {
			all := fill[f.Offset : f.Offset+f.Type.Size]
			if !slices.Equal(slices.Repeat(all[:base.Size], len(all)/base.Size), all) {
				return s, nil, fmt.Errorf("%w: column %q: a fill value that differs inside a row", errors.ErrUnsupported, f.Name)
			}
		}
	}
	if s.CParams, err = cparamsOf(spec.Compression, o.Quantize); err != nil {
		return s, nil, err
	}
	if s.ExpectedLen = o.ExpectedLen; s.ExpectedLen == 0 {
		s.ExpectedLen = spec.Shape[0]
	}
	s.ChunkLen = bcolztree.AutoChunkLen(s.ExpectedLen, int64(spec.DType.Size))
	if spec.ChunkShape != nil {
		s.ChunkLen = spec.ChunkShape[0]
	}
	if s.DType, err = bcolztree.ParseDType(spec.DType.NumPy().String()); err != nil {
		return s, nil, errs.Mark(err, errors.ErrUnsupported)
	}
	rec = &record{MaxShape: slices.Clone(spec.MaxShape), AxisNames: slices.Clone(spec.AxisNames)}
	if back, err := dtypeOf(s.DType); err != nil || !sameType(back, spec.DType) {
		rec.DType = &recordType{spec.DType}
	}
	fill := spec.Fill
	if fill == nil {
		fill = make([]byte, spec.DType.Size)
	}
	var ok bool
	if s.Default, ok = plainStruct(fill, spec.DType); ok {
		if back, err := fillOf(s.Default, spec.DType.NumPy()); err == nil && (slices.Equal(back, spec.Fill) || back == nil && isZero(fill)) {
			return s, rec, nil
		}
	}
	rec.Fill = spec.Fill
	s.Default, _ = plainStruct(make([]byte, spec.DType.Size), spec.DType)
	return s, rec, nil
}

func isZero(b []byte) bool { return !slices.ContainsFunc(b, func(c byte) bool { return c != 0 }) }

// plainStruct converts an element to JSON as NumPy's tolist does: a structure becomes the list of
// its fields.
func plainStruct(e []byte, d ndarray.DType) (v bcolztree.Value, ok bool) {
	switch d.Kind {
	case ndarray.Struct:
		v = bcolztree.Value{Kind: bcolztree.List, List: []bcolztree.Value{}}
		ok = true
		for _, f := range d.Fields {
			x, has := plainStruct(e[f.Offset:f.Offset+f.Type.Size], f.Type)
			v.List = append(v.List, x)
			ok = ok && has
		}
		return v, ok
	case ndarray.SubArray:
		base, dims, _ := columnOf(d, nil)
		leaf := make([]bcolztree.Value, len(e)/base.Size)
		ok = true
		for i := range leaf {
			x, has := plainStruct(e[i*base.Size:(i+1)*base.Size], base)
			leaf[i], ok = x, ok && has
		}
		return nest(leaf, dims), ok
	}
	return plain(e, d)
}

// finishNested writes the metadata that makes the directory a nested ctable.
func (r *records) finishNested() error {
	return errors.Join(r.writeNestedSizes(r.meta.Shape[0]), r.attrs.dir.replace(bcolztree.StorageFile, r.nested.Append(nil)))
}

// writeNestedSizes writes the meta/sizes of all columns with n rows.
func (r *records) writeNestedSizes(n int64) error {
	s := bcolztree.Sizes{Shape: []int64{n}}
	for _, b := range r.columns {
		one, err := b.sizesOf(b.tree.WithRows(n))
		if err != nil {
			return err
		}
		s.NBytes += one.NBytes
		s.CBytes += one.CBytes
	}
	return r.attrs.dir.replace(bcolztree.SizesFile, s.Append(nil))
}

// resizeNested changes the number of rows of columns that share one meta/ to n. The chunk files of
// every column contain new rows before the rename of meta/sizes makes them visible. Removed rows
// are deleted from the files after it. src are the new records; nil means the fill value.
func (r *records) resizeNested(ctx context.Context, n int64, src []byte) (err error) {
	if n == r.meta.Shape[0] {
		return nil
	}
	old := make([]*bcolztree.Array, len(r.columns))
	for i, b := range r.columns {
		old[i] = b.tree
	}
	defer func() {
		if err != nil && r.meta.Shape[0] != n {
			for i, b := range r.columns {
				b.tree = old[i]
			}
		}
	}()
	for i, b := range r.columns {
		if err := b.prepare(ctx, n, r.columnFrom(i, src)); err != nil {
			return fmt.Errorf("column %q: %w", r.fields[i].Name, err)
		}
	}
	if r.nested == nil { // for a new table Close writes the sizes
		if err := r.writeNestedSizes(n); err != nil {
			return err
		}
	}
	r.meta.Shape = []int64{n}
	var errs []error
	for i, b := range r.columns {
		if err := b.completeResize(old[i], n); err != nil {
			errs = append(errs, fmt.Errorf("column %q: %w", r.fields[i].Name, err))
		}
	}
	return errors.Join(errs...)
}
