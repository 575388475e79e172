// Carrays of Python objects. Each object is a pickle in its own file.

package bcolz

import (
	"errors"
	"fmt"
	"iter"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/format/bcolztree"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Objects is an open carray of type object, for which ndarray has no element type. It returns the
// pickles as stored.
//
// WARNING: loading a pickle in Python runs any code in it. Hyperslab never loads pickles. Load
// these bytes in Python only if you trust their source.
type Objects struct {
	place place
	tree  *bcolztree.Array
	attrs ndarray.Attrs
	pool  *cblosc.Pool
}

// OpenObjects opens the carray of objects in the directory path, for reading. It
// returns the errors of Open, and ErrType for elements of any other type.
func OpenObjects(path string, o *OpenOptions) (*Objects, error) {
	if o == nil {
		o = &OpenOptions{}
	}
	p, err := openPlace(path)
	if err != nil {
		return nil, ndarray.Wrap("open", path, err)
	}
	x, err := newObjects(p, o)
	return x, ndarray.Wrap("open", path, err)
}

// Objects opens a column of type object, like OpenObjects.
func (t *Table) Objects(name string) (*Objects, error) {
	x, err := t.objects(name)
	return x, ndarray.Wrap("open", t.Path+":/"+name, err)
}

func (t *Table) objects(name string) (_ *Objects, err error) {
	b, err := t.Column(name)
	if err == nil {
		return nil, errors.Join(fmt.Errorf("%w: elements are %v, not objects", ndarray.ErrType, b.Meta().DType), b.Close())
	}
	if !errors.Is(err, ndarray.ErrType) { // not found, corrupt, …
		return nil, err
	}
	table, err := t.open()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, table.close()) }()
	p, err := table.sub(t.directory(name))
	if err != nil {
		return nil, errs.Mark(err, ndarray.ErrCorrupt)
	}
	return newObjects(p, &t.options)
}

// newObjects reads the metadata of the carray in p. It takes ownership of p.
func newObjects(p place, o *OpenOptions) (_ *Objects, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close())
		}
	}()
	if err := expect(p, bcolztree.ArrayTree); err != nil {
		return nil, err
	}
	tree, err := bcolztree.ReadArray(p.fsys, ".", o.limits())
	if err != nil {
		return nil, err
	}
	switch {
	case tree.Storage.DType.Kind != 'O':
		return nil, fmt.Errorf("%w: elements are %s, not objects", ndarray.ErrType, tree.Storage.DType.Text)
	case len(tree.Sizes.Shape) != 1:
		return nil, fmt.Errorf("%w: objects of shape %v, bcolz has them along one axis", ndarray.ErrCorrupt, tree.Sizes.Shape)
	case o.Write:
		return nil, fmt.Errorf("%w: objects are only read", errors.ErrUnsupported)
	}
	rec, err := readRecord(p.fsys, bcolztree.RecordFile)
	if err != nil {
		return nil, err
	}
	pool, err := cblosc.NewPool(nil, nil)
	return &Objects{place: p, tree: tree, attrs: attrsWith(tree.Attrs, rec), pool: pool}, err
}

// Len returns the number of objects.
func (x *Objects) Len() int64 { return x.tree.Rows() }

// Attrs returns the attributes.
func (x *Objects) Attrs() ndarray.Attrs { return x.attrs }

// Pickle returns the bytes of object i as Python's pickle module wrote them. The caller owns them.
// See the warning at Objects.
//
// It returns ErrRegion for an i outside Len, ErrCorrupt, or an error of the file system.
func (x *Objects) Pickle(i int64) ([]byte, error) {
	b, err := x.pickle(i)
	return b, ndarray.Wrap("read", x.tree.FileName(i), err)
}

func (x *Objects) pickle(i int64) ([]byte, error) {
	if i < 0 || i >= x.Len() {
		return nil, fmt.Errorf("%w: object %d of %d", ndarray.ErrRegion, i, x.Len())
	}
	chunks, err := x.tree.ReadChunks(i)
	if err != nil {
		return nil, err
	}
	return decompress(x.pool, nil, chunks)
}

// All yields the pickles in order. It ends after the first error, which it yields.
func (x *Objects) All() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for i := range x.Len() {
			b, err := x.Pickle(i)
			if !yield(b, err) || err != nil {
				return
			}
		}
	}
}

// Close frees the contexts and closes the directory.
func (x *Objects) Close() error { return errors.Join(x.pool.Close(), x.place.close()) }
