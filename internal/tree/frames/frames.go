// The driver, and the frame as a tree of one array.

package frames

import (
	"context"
	"errors"
	"fmt"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/cblosc/frameio"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/format/b2ndmeta"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/b2nd"
)

// Format returns the driver.
func Format() tree.Format {
	return tree.Format{
		Name:  detect.B2ND,
		Match: func(_ []byte, s *tree.Source) bool { return s.Is(detect.B2ND) },
		Open:  func(ctx context.Context, s *tree.Source, _ *tree.OpenOptions) (tree.Tree, error) { return Open(ctx, s) },

		Also:        []string{detect.Caterva},
		CheckCreate: checkCreate,
		Create:      create,
	}
}

func checkCreate(_ ndarray.Spec, o *tree.CreateOptions) error {
	if err := tree.CheckOne(o.Format, o.Path); err != nil {
		return err
	}
	return o.Check(tree.Creates{Sparse: true, Plain: o.Format == detect.B2ND})
}

func create(file string, spec ndarray.Spec, o *tree.CreateOptions) (ndarray.Backend, error) {
	if o.Plain {
		return b2nd.Create(file, spec, &b2nd.CreateOptions{Plain: true, Name: o.Name})
	}
	return b2nd.Create(file, spec, &b2nd.CreateOptions{Sparse: o.Sparse, Caterva: o.Format == detect.Caterva, Name: o.Name, Library: o.Library})
}

// frame is an open frame.
type frame struct{ s *tree.Source }

// Open opens a frame. That of an untrusted Source is checked.
func Open(ctx context.Context, s *tree.Source) (tree.Tree, error) {
	if s.Trust != nil {
		if err := errors.Join(ctx.Err(), tree.Failed(check(ctx, s))); err != nil {
			return nil, err
		}
	}
	return &frame{s}, nil
}

func (f *frame) Close() error { return f.s.Close() }

// Open opens the array. C-Blosc2 opens the file again if it must read or write the array.
func (f *frame) Open(ctx context.Context, path string, o *tree.ArrayOptions) (ndarray.Backend, error) {
	if err := errors.Join(f.s.Ready(ctx), tree.CheckOne(detect.B2ND, path)); err != nil {
		return nil, err
	}
	if o == nil {
		o = &tree.ArrayOptions{}
	}
	return f.array(ctx, b2nd.OpenOptions{
		DType: o.DType, Metadata: o.Metadata, Write: o.Write, Durable: o.Durable, AllowLossy: o.AllowLossy, Library: o.Library,
		Lock: o.Lock, Checksums: o.Checksums || f.s.Trust != nil,
	})
}

// array opens the array: through the open file or the files of the directory if possible, and
// otherwise by its path.
func (f *frame) array(ctx context.Context, o b2nd.OpenOptions) (ndarray.Backend, error) {
	s := f.s
	if s.Trust != nil && !o.Metadata {
		o.Allow = cblosc.Allow{Codecs: s.Trust.Policy.Codecs, Filters: s.Trust.Policy.Filters}
	}
	allows := len(o.Allow.Codecs)+len(o.Allow.Filters) > 0
	library := o.Write || o.Library || allows
	o.Checksums = o.Checksums && !allows // C-Blosc2 reads the elements, which does not compare them
	switch {
	case s.Path != "" && (library || s.File == nil && !s.IsDir()):
		return openPath(s.Path, &o)
	case s.File != nil:
		b, err := b2nd.OpenReaderAt(s.File, s.Size, s.Name, &o)
		if s.Path != "" && errors.Is(err, errors.ErrUnsupported) {
			return openPath(s.Path, &o)
		}
		if err != nil {
			return nil, err
		}
		return &tree.Member{Backend: b, OS: s.OS}, nil
	}
	files, err := s.FS(ctx)
	if err != nil {
		return nil, err
	}
	b, err := b2nd.OpenFS(files, &o)
	if e, ok := errors.AsType[*ndarray.Error](err); ok { // its path is that of a file in the directory
		err = ndarray.Wrap("open", s.Name, e.Err)
	}
	if err != nil {
		return nil, err
	}
	return &tree.Member{Backend: b, Name: s.Name}, nil
}

// openPath opens a b2nd or Caterva array, or a plain frame as an array with one dimension.
func openPath(file string, o *b2nd.OpenOptions) (ndarray.Backend, error) {
	b, err := b2nd.Open(file, o)
	if !isPlain(file, err) {
		return b, err
	}
	if o.Write || o.Durable {
		return nil, fmt.Errorf("%w: writing to a frame without an array", errors.ErrUnsupported)
	}
	return b2nd.OpenFrame(file, &b2nd.OpenOptions{DType: o.DType, Metadata: o.Metadata, AnyType: o.AnyType, Checksums: o.Checksums})
}

// isPlain reports whether opening a frame failed because it contains no array.
func isPlain(file string, err error) bool {
	if errors.Is(err, errors.ErrUnsupported) {
		return IsObjects(file)
	}
	if !errors.Is(err, ndarray.ErrFormat) {
		return false
	}
	f, err := frameio.Open(file, nil)
	if err != nil {
		return false
	}
	h := f.Header()
	_, isB2nd := h.Metalayer(b2ndmeta.Name)
	_, isCaterva := h.Metalayer(b2ndmeta.CatervaName)
	return f.Close() == nil && !isB2nd && !isCaterva
}

// IsObjects reports whether a file is an array of Python objects.
func IsObjects(file string) bool {
	f, info, err := regularfile.Open(file)
	if err != nil {
		return false
	}
	is := detect.IsObjects(f, info.Size())
	return f.Close() == nil && is
}

// Listing returns the options of arrays that are listed: their elements may be unreadable.
func Listing() b2nd.OpenOptions { return b2nd.OpenOptions{AnyType: true, Metadata: true} }

// Walk visits the array, even if ndarray does not have its element type.
func (f *frame) Walk(ctx context.Context, path string, o *tree.WalkOptions, visit tree.Visit) error {
	if err := errors.Join(f.s.Ready(ctx), tree.CheckOne(detect.B2ND, path)); err != nil {
		return err
	}
	name := f.s.Name
	b, err := f.array(ctx, Listing())
	if err != nil {
		return ndarray.Wrap("open", name, err)
	}
	e, err := tree.DescribeFrame(ctx, name, "/", b)
	if err != nil {
		return err
	}
	e.Meta.Path = name
	return tree.Visitor(ctx, o, visit).Leaf(e)
}

// GroupAttrs returns an error.
func (f *frame) GroupAttrs(ctx context.Context, _ string) (ndarray.Attrs, error) {
	return ndarray.Attrs{}, errors.Join(f.s.Ready(ctx), tree.NoGroups(detect.B2ND))
}

// Metadata reads the metalayers.
func (f *frame) Metadata(ctx context.Context, path string) (m tree.Metadata, err error) {
	if err := errors.Join(f.s.Ready(ctx), tree.CheckOne(detect.B2ND, path)); err != nil {
		return m, err
	}
	switch s := f.s; {
	case s.File != nil:
		err = Layers(s.File, s.Size, &m)
	case s.Path != "":
		err = layersAt(s.Path, &m)
	default:
		err = fmt.Errorf("%w: metalayers of a sparse frame at a URL", errors.ErrUnsupported)
	}
	return m, err
}
