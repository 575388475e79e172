// The tree that is copied.

package treecopy

import (
	"context"
	"errors"
	"strings"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5attr"
	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/internal/tree/converted"
	"github.com/hyperslab/hyperslab/internal/tree/h5tree"
	"github.com/hyperslab/hyperslab/internal/tree/opened"
	"github.com/hyperslab/hyperslab/internal/tree/textview"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
)

// copySource is the source of a copy, with the facts that a tree does not return.
type copySource struct {
	*opened.Tree
	as tree.CopySource // for the target
}

func newSource(t *opened.Tree) copySource {
	return copySource{t, tree.CopySource{Tree: t.Tree, Root: tree.Root(t.Location.Object), ExternalDir: t.Arrays.ExternalDir}}
}

// userBlock returns the size of the user block of an HDF5 file, if the whole file is copied.
func (s copySource) userBlock() (int64, error) {
	if s.HDF5() == nil || s.as.Root != "/" {
		return 0, nil
	}
	creation, err := s.HDF5().Creation()
	return creation.UserBlock, err
}

// references returns an attribute of references as strings: the paths in the copy and the
// selections. It returns false if one of them leads out of the copied group.
func (s copySource) references(at string, u ndarray.UnsupportedAttr) (a ndarray.Attr, ok bool) {
	if s.HDF5() == nil || !strings.HasPrefix(u.Type, "H5T_REFERENCE") {
		return a, false
	}
	o, done, err := h5tree.ObjectAt(s.HDF5(), at)
	if err != nil {
		return a, false
	}
	v, err := hdf5.ReferenceAttr(o, u.Name)
	if err = errors.Join(err, done()); err != nil {
		return a, false
	}
	root := s.as.Prefix()
	for i, text := range v.Strings {
		inside, found := strings.CutPrefix(text, root)
		switch {
		case root == "" || text == "":
		case !found || inside != "" && !strings.ContainsRune("/@", rune(inside[0])):
			return a, false
		case inside == "" || inside[0] != '/':
			v.Strings[i] = "/" + inside
		default:
			v.Strings[i] = inside
		}
	}
	return ndarray.Attr{Name: u.Name, Value: v}, true
}

// properties reads the storage properties of an object of an HDF5 file that a Spec does not
// contain, and the fill value of a dataset of strings.
func (s copySource) properties(at string) (p h5attr.Properties, fill string, err error) {
	o, err := s.HDF5().Root().OpenObject(at)
	if err != nil {
		return p, "", err
	}
	p, err = h5attr.ReadProperties(o)
	if d, ok := o.(*h5.Dataset); ok && err == nil {
		fill, err = textview.Fill(d)
	}
	return p, fill, errors.Join(err, o.Close())
}

// arrayFacts are the properties of an array of the source that decide how it is copied.
type arrayFacts struct {
	ndarray.Meta
	stored ndarray.DType // in the source; that of Meta is in the target
	viewed bool          // Options.View shows the array in another form
	attrs  ndarray.Attrs
	nulls  int64

	// The compression and the blocks of Blosc2 chunks that need no recompression.
	compression *ndarray.Compression
	blocks      []int64

	noText error // the reason why the target cannot store the strings, or nil
}

// array opens an array of the source as Options.View shows it, and reports whether that is another
// array.
func (c *copier) array(ctx context.Context, at string) (a *ndarray.Array, viewed bool, err error) {
	a, err = c.source.Array(ctx, at, false)
	if err != nil || c.options.View == nil {
		return a, false, err
	}
	shown, err := c.options.View(at, a)
	if err != nil {
		return nil, false, errors.Join(err, a.Close())
	}
	return shown, shown != a, nil
}

// retyped returns the attributes of an array that Options.View shows with another type. shown is
// the array as shown.
func (c *copier) retyped(ctx context.Context, at string, shown *ndarray.Array) (changed []ndarray.Attr, err error) {
	a, err := c.source.Array(ctx, at, false)
	if err != nil {
		return nil, err
	}
	before, err := a.Attrs(ctx)
	if err = errors.Join(err, a.Close()); err != nil {
		return nil, err
	}
	after, err := shown.Attrs(ctx)
	for i, x := range after.List {
		if i < len(before.List) && !x.Value.DType.Equal(before.List[i].Value.DType) {
			changed = append(changed, x)
		}
	}
	return changed, err
}

// facts reads the facts of an open array.
func (c *copier) facts(ctx context.Context, a *ndarray.Array) (f arrayFacts, err error) {
	f.Meta = a.Meta()
	f.stored = f.DType
	k := c.target.Traits()
	if k.Frames {
		if f.compression, f.blocks, err = converted.Blosc2(ctx, a); err != nil {
			return f, err
		}
	}
	if !k.Text {
		f.DType, err = textview.Type(ctx, a, k.Variable, c.strings())
		if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, ndarray.ErrValue) {
			f.noText, err = err, nil
		}
	}
	if err == nil && !k.CopiesAttrs {
		f.attrs, err = a.Attrs(ctx)
	}
	if err == nil && f.Nullable {
		f.nulls, err = ndarray.CountNulls(ctx, a)
	}
	return f, err
}
