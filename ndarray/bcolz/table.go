// ctables: carrays of one length, side by side.

package bcolz

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/hyperslab/hyperslab/format/bcolz"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Table is what a ctable's directory says. It holds nothing open.
type Table struct {
	Path  string
	Names []string // columns in their order
	Attrs ndarray.Attrs

	options OpenOptions
	members bcolz.Attrs
}

// OpenTable reads the names of the columns, and the attributes, of the ctable in
// the directory path. The columns are not looked at; a ctable is as long as its
// first one. The errors are those of Open, with ErrFormat for anything but a
// ctable.
func OpenTable(path string, o *OpenOptions) (*Table, error) {
	if o == nil {
		o = &OpenOptions{}
	}
	t, err := openTable(path, o)
	return t, ndarray.Wrap("open", path, err)
}

func openTable(path string, o *OpenOptions) (_ *Table, err error) {
	root, err := openRoot(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	if err := expect(root, bcolz.TableTree); err != nil {
		return nil, err
	}
	tree, err := bcolz.ReadTable(root.FS(), ".", o.Limits)
	if err != nil {
		return nil, translate(err)
	}
	rec, err := readRecord(root, TableRecordFile)
	if err != nil {
		return nil, err
	}
	return &Table{Path: path, Names: tree.Names, Attrs: attrsWith(tree.Attrs, rec), options: *o, members: tree.Attrs}, nil
}

// Column opens one column. A name that is not among Names is ErrNotFound; one
// that is and has no carray of the table's own is ErrCorrupt. The other errors are
// those of Open.
func (t *Table) Column(name string) (*Backend, error) {
	b, err := t.column(name)
	return b, ndarray.Wrap("open", filepath.Join(t.Path, name), err)
}

func (t *Table) column(name string) (_ *Backend, err error) {
	if !slices.Contains(t.Names, name) {
		return nil, fmt.Errorf("%w: column %q", ndarray.ErrNotFound, name)
	}
	table, err := openRoot(t.Path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, table.Close()) }()
	root, err := table.OpenRoot(name)
	if err != nil {
		return nil, ndarray.Mark(err, ndarray.ErrCorrupt)
	}
	b, err := newBackend(filepath.Join(t.Path, name), root, &t.options)
	if errors.Is(err, ndarray.ErrFormat) {
		err = ndarray.Mark(err, ndarray.ErrCorrupt)
	}
	return b, err
}
