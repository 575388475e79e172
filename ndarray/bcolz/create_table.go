// New ctables, from a structure whose fields become columns, or from existing carrays.

package bcolz

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/format/bcolztree"
	"github.com/hyperslab/hyperslab/ndarray"
)

// CreateRecords creates a ctable in the directory path, which must not exist. The table is filled
// with the fill value and open for writing. spec must be an array with one dimension whose elements
// are structures. Each field becomes a column, in the order of the fields; a SubArray becomes a
// column whose rows have its shape. The chunk length and the compression of spec apply to each
// column. If they are nil, each column uses bcolz's defaults.
//
// Until Close the directory is not a ctable. After an error CreateRecords deletes its files, unless
// deleting fails too.
//
// It returns the errors of Create, and errors.ErrUnsupported for another rank, other elements,
// fields that are structures, names that cannot be directory names, and a fill value that differs
// inside a SubArray.
func CreateRecords(path string, spec ndarray.Spec, o *CreateOptions) (ndarray.Backend, error) {
	if o == nil {
		o = &CreateOptions{}
	}
	name := o.Name
	if name == "" {
		name = path
	}
	layOut := createRecords
	if o.Nested {
		layOut = createNested
	}
	r, err := layOut(path, name, spec, o)
	if err != nil {
		return nil, ndarray.Wrap("create", name, err)
	}
	return r, nil
}

func createRecords(path, name string, spec ndarray.Spec, o *CreateOptions) (_ *records, err error) {
	columns, err := columnSpecs(spec)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(columns))
	for i, f := range spec.DType.Fields {
		names[i] = f.Name
	}
	if err := CheckColumns(names); err != nil {
		return nil, err
	}
	for i, c := range columns {
		if _, _, err := plan(&c, o); err != nil {
			return nil, fmt.Errorf("column %q: %w", names[i], err)
		}
	}
	if err := os.Mkdir(path, 0o777); err != nil {
		return nil, err
	}
	r := &records{write: true, fresh: true}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.abandon(), os.RemoveAll(path))
		}
	}()
	if r.place, err = openPlace(path); err != nil {
		return nil, err
	}
	for i, c := range columns {
		b, err := create(filepath.Join(path, names[i]), name+":/"+names[i], c, o)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", names[i], err)
		}
		r.columns = append(r.columns, b)
	}
	if r.meta, err = tableMeta(name, names, r.columns); err != nil {
		return nil, err
	}
	rec := &record{MaxShape: slices.Clone(spec.MaxShape), AxisNames: slices.Clone(spec.AxisNames)}
	if !sameType(spec.DType, r.meta.DType) {
		rec.DType = &recordType{spec.DType}
	}
	rec.applyTable(&r.meta)
	r.setFields()
	r.setAttributes(nil, rec, false)
	return r, r.attrs.setAll(spec.Attrs)
}

// columnSpecs returns the Spec of each column of an array of structures.
func columnSpecs(spec ndarray.Spec) ([]ndarray.Spec, error) {
	if err := checkAttrs(&spec); err != nil {
		return nil, err
	}
	switch {
	case spec.Null || len(spec.Shape) != 1:
		return nil, fmt.Errorf("%w: a ctable has one axis, its rows, not the shape %v", errors.ErrUnsupported, spec.Shape)
	case spec.BlockShape != nil:
		return nil, fmt.Errorf("%w: bcolz chunks have no blocks of a shape", errors.ErrUnsupported)
	case spec.Comment != "":
		return nil, errComment
	case spec.DType.Kind != ndarray.Struct:
		return nil, fmt.Errorf("%w: a ctable of %v: its elements are structures", errors.ErrUnsupported, spec.DType)
	}
	var out []ndarray.Spec
	for _, f := range spec.DType.Fields {
		base, dims, ok := columnOf(f.Type, nil)
		if !ok {
			return nil, fmt.Errorf("%w: column %q of structures", errors.ErrUnsupported, f.Name)
		}
		c := ndarray.Spec{Shape: append([]int64{spec.Shape[0]}, dims...), DType: base, Compression: spec.Compression}
		if spec.ChunkShape != nil {
			c.ChunkShape = append([]int64{spec.ChunkShape[0]}, dims...)
		}
		if spec.Fill != nil {
			all := spec.Fill[f.Offset : f.Offset+f.Type.Size]
			c.Fill = slices.Clone(all[:base.Size])
			if !slices.Equal(slices.Repeat(c.Fill, len(all)/base.Size), all) {
				return nil, fmt.Errorf("%w: column %q: a fill value that differs inside a row", errors.ErrUnsupported, f.Name)
			}
		}
		out = append(out, c)
	}
	return out, nil
}

// columnOf separates the dimensions of a field's type from its element type. ok is false for
// structures.
func columnOf(d ndarray.DType, dims []int64) (base ndarray.DType, all []int64, ok bool) {
	if d.Kind == ndarray.SubArray {
		return columnOf(*d.Base, append(dims, d.Dims...))
	}
	return d, dims, d.Kind != ndarray.Struct
}

// CheckColumns returns errors.ErrUnsupported for column names that a ctable cannot have: names that
// are not UTF-8, are not directory names, are used by bcolz itself, or occur twice.
func CheckColumns(names []string) error {
	for _, n := range names {
		if n == bcolztree.AttrsFile || n == bcolztree.RootDirsFile || n == bcolztree.TableRecordFile || len(n) > 255 {
			return fmt.Errorf("%w: a column called %.40q", errors.ErrUnsupported, n)
		}
	}
	d, err := bcolztree.ParseRootDirs(bcolztree.RootDirs{Names: names}.Append(nil))
	if err == nil && !slices.Equal(d.Names, names) {
		err = fmt.Errorf("%w: names that are not UTF-8", errors.ErrUnsupported)
	}
	if err != nil {
		return errs.Mark(err, errors.ErrUnsupported)
	}
	return nil
}

// GatherTable turns the directory path, in which each of names is a carray, into a ctable with
// those columns and attributes. The carrays must be closed.
//
// It returns ndarray.ErrExists if the directory is already a ctable, the errors of CheckColumns and
// Open, and ErrShape for carrays of different lengths.
func GatherTable(path string, names []string, attrs []ndarray.Attr) error {
	return ndarray.Wrap("create", path, gatherTable(path, names, attrs))
}

func gatherTable(path string, names []string, attrs []ndarray.Attr) (err error) {
	if err := CheckColumns(names); err != nil {
		return err
	}
	p, err := openPlace(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	if kind, err := bcolztree.Detect(p.fsys, "."); err != nil || kind != bcolztree.NotATree {
		return errors.Join(err, fmt.Errorf("%w: %s", ndarray.ErrExists, kind))
	}
	first := int64(-1)
	for _, name := range names {
		a, err := bcolztree.ReadArray(p.fsys, name, nil)
		if err != nil {
			return fmt.Errorf("column %q: %w", name, err)
		}
		if first < 0 {
			first = a.Rows()
		}
		if a.Rows() != first {
			return fmt.Errorf("%w: column %q has %d rows, the first column has %d", ndarray.ErrShape, name, a.Rows(), first)
		}
	}
	x := attributes{dir: store{root: p.root, durable: true}, recordFile: bcolztree.TableRecordFile, record: &record{}}
	if err := x.setAll(attrs); err != nil {
		return err
	}
	return x.dir.replace(bcolztree.RootDirsFile, bcolztree.RootDirs{Names: names}.Append(nil))
}
