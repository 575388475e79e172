// ctables: carrays of the same length, in one directory or, in the nested form of bcolz's format
// document, below data/.

package bcolz

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/format/bcolztree"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Table is the metadata of a ctable's directory. It keeps no files open.
type Table struct {
	Path   string
	Names  []string // columns in their order; their paths, for example "a/b", in a nested ctable
	Attrs  ndarray.Attrs
	Nested bool // the nested form: columns below data/, at any depth

	open    func() (place, error)
	options OpenOptions
	members bcolztree.Attrs
	columns []component // of a nested ctable, one per element of Names
}

// OpenTable reads the column names and the attributes of the ctable in the directory path. It does
// not open the columns. A ctable is as long as its first column. The errors are those of Open, with
// ErrFormat for anything except a ctable.
func OpenTable(path string, o *OpenOptions) (*Table, error) {
	if o == nil {
		o = &OpenOptions{}
	}
	t, err := openTable(path, o, func() (place, error) { return openPlace(path) })
	return t, ndarray.Wrap("open", path, err)
}

// OpenTableFS is OpenTable for the directory dir of fsys, for reading.
func OpenTableFS(fsys fs.FS, dir string, o *OpenOptions) (*Table, error) {
	if o == nil {
		o = &OpenOptions{}
	}
	t, err := openTable(dir, o, func() (place, error) { return placeIn(fsys, dir, o) })
	return t, ndarray.Wrap("open", dir, err)
}

func openTable(path string, o *OpenOptions, open func() (place, error)) (_ *Table, err error) {
	p, err := open()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	t := &Table{Path: path, open: open, options: *o}
	kind, err := bcolztree.Detect(p.fsys, ".")
	switch {
	case err != nil:
		return nil, err
	case kind == bcolztree.NestedTree:
		t.Nested = true
		err = t.readNested(p)
	default:
		if err := expect(p, bcolztree.TableTree); err != nil {
			return nil, err
		}
		var tree *bcolztree.Table
		if tree, err = bcolztree.ReadTable(p.fsys, ".", o.limits()); err == nil {
			t.Names, t.members = tree.Names, tree.Attrs
		}
	}
	if err != nil {
		return nil, err
	}
	rec, err := readRecord(p.fsys, bcolztree.TableRecordFile)
	if err != nil {
		return nil, err
	}
	t.Attrs = attrsWith(t.members, rec)
	return t, nil
}

// Column opens one column. It returns ErrNotFound for a name that is not in Names, and ErrCorrupt
// if the table has no valid carray of that name. The other errors are those of Open.
func (t *Table) Column(name string) (ndarray.Backend, error) {
	b, err := t.column(name)
	if err != nil {
		return nil, ndarray.Wrap("open", filepath.Join(t.Path, filepath.FromSlash(name)), err)
	}
	return b, nil
}

func (t *Table) column(name string) (_ *backend, err error) {
	i := slices.Index(t.Names, name)
	if i < 0 {
		return nil, fmt.Errorf("%w: column %q", ndarray.ErrNotFound, name)
	}
	lock, err := t.options.lock(t.Path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, lock.Release())
		}
	}()
	table, err := t.open()
	if err != nil {
		return nil, err
	}
	if t.Nested && t.columns[i].dir == "" {
		b, err := t.component(t.columns[i], table) // takes ownership of the place
		if err != nil {
			return nil, errors.Join(err, table.close())
		}
		b.lock = lock
		return b, nil
	}
	defer func() { err = errors.Join(err, table.close()) }()
	p, err := table.sub(t.directory(name))
	if err != nil {
		return nil, errs.Mark(err, ndarray.ErrCorrupt)
	}
	b, err := newBackend(filepath.Join(t.Path, filepath.FromSlash(name)), p, &t.options)
	if errors.Is(err, ndarray.ErrFormat) {
		err = errs.Mark(err, ndarray.ErrCorrupt)
	}
	if err == nil {
		b.lock, err = lock, b.see()
	}
	return b, err
}

// directory returns the directory of a column that is a complete carray.
func (t *Table) directory(name string) string {
	if t.Nested {
		return t.columns[slices.Index(t.Names, name)].dir
	}
	return name
}
