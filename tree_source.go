// The tree that CopyTree reads.

package hyperslab

import (
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/blosc/stores"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5attr"
	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/internal/tree/converted"
	"github.com/hyperslab/hyperslab/internal/tree/directories"
	"github.com/hyperslab/hyperslab/internal/tree/textview"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
)

// copySource is the source of a copy, with the facts that Tree does not return.
type copySource struct{ *Tree }

// root returns the path of the copied group in its file.
func (s copySource) root() string { return "/" + strings.Trim(s.location.Object, "/") }

// prefix returns the root, or "" for "/".
func (s copySource) prefix() string { return strings.TrimSuffix(s.root(), "/") }

// frame opens the frame at a path of the source and returns the extension of its file. The frame is
// nil if the source is not a tree of frames, or if it is untrusted and therefore read by workers
// only.
func (s copySource) frame(at string) (*stores.Frame, string, error) {
	if c := s.stores(); c != nil {
		x, err := c.Object(at)
		if err != nil || x.Table != nil || x.Kind != "" || x.Embedded.Remote != "" {
			return nil, "", nil // opening the array returns the reason
		}
		f, err := c.Frame(x)
		return f, path.Ext(x.Member.Name), err
	}
	x, ok := tree.As[directories.Holder](s.tree)
	if !ok {
		return nil, "", nil
	}
	file, err := x.Frame(at)
	if err != nil || file == "" {
		return nil, "", err
	}
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
		return nil, "", err // a sparse frame
	}
	f, err := stores.OpenFrame(file)
	return f, filepath.Ext(file), err
}

// table returns the table that the source is, or nil. It also returns nil for the table of an
// untrusted file, which a worker reads.
func (s copySource) table() *stores.Table {
	if c := s.stores(); c != nil {
		return c.Table(s.root())
	}
	return nil
}

// userBlock returns the size of the user block of an HDF5 file, if the whole file is copied.
func (s copySource) userBlock() (int64, error) {
	if s.hdf5() == nil || s.root() != "/" {
		return 0, nil
	}
	creation, err := s.hdf5().Creation()
	return creation.UserBlock, err
}

// references returns an attribute of references as strings: the paths in the copy and the
// selections. It returns false if one of them leads out of the copied group.
func (s copySource) references(at string, u ndarray.UnsupportedAttr) (a ndarray.Attr, ok bool) {
	if s.hdf5() == nil || !strings.HasPrefix(u.Type, "H5T_REFERENCE") {
		return a, false
	}
	o, done, err := objectAt(s.hdf5(), at)
	if err != nil {
		return a, false
	}
	v, err := hdf5.ReferenceAttr(o, u.Name)
	if err = errors.Join(err, done()); err != nil {
		return a, false
	}
	root := s.prefix()
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
	o, err := s.hdf5().Root().OpenObject(at)
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
	attrs  ndarray.Attrs
	nulls  int64

	// The compression and the blocks of Blosc2 chunks that need no recompression.
	compression *ndarray.Compression
	blocks      []int64

	noText error // the reason why the target cannot store the strings, or nil
}

// facts reads the facts of an open array.
func (c *treeCopy) facts(ctx context.Context, a *ndarray.Array) (f arrayFacts, err error) {
	f.Meta = a.Meta()
	f.stored = f.DType
	k := c.target.traits()
	if k.frames {
		if f.compression, f.blocks, err = converted.Blosc2(ctx, a); err != nil {
			return f, err
		}
	}
	if !k.text {
		f.DType, err = textview.Type(ctx, a, k.variable, c.strings())
		if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, ndarray.ErrValue) {
			f.noText, err = err, nil
		}
	}
	if err == nil && !k.copiesAttrs {
		f.attrs, err = a.Attrs(ctx)
	}
	if err == nil && f.Nullable {
		f.nulls, err = ndarray.CountNulls(ctx, a)
	}
	return f, err
}
