package kerchunk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/location/urlfile"
	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/internal/tree/opened"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Options are the options of WriteFile.
type Options struct {
	Format    Format
	URL       string // location in the references; "": file
	Overwrite bool
}

// WriteFile writes the references of an HDF5 file or URL to dst, completely or not at all:
// hyperslab.WriteReferences documents it.
func WriteFile(ctx context.Context, dst, file string, o Options) (err error) {
	t, err := opened.Open(ctx, file, &opened.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	if t.Format != detect.HDF5 {
		return errs.Mark(fmt.Errorf("%s is %s: kerchunk references need HDF5, because Zarr has no codec for the chunks",
			urlfile.Redact(file), t.Format), errors.ErrUnsupported)
	}
	s := &Source{
		URL: o.URL, File: t.HDF5(), Attrs: t.GroupAttrs,
		Arrays: func(ctx context.Context, path string) (*ndarray.Array, error) { return t.Array(ctx, path, false) },
	}
	switch {
	case s.URL != "":
	case !urlfile.IsURL(file):
		if s.URL, err = filepath.Abs(file); err != nil {
			return err
		}
	case urlfile.Redact(file) != file:
		return fmt.Errorf("%w: %s: the query of the URL may be secret, and the references would contain it", ndarray.ErrParam,
			urlfile.Redact(file))
	default:
		s.URL = file
	}
	for e, err := range t.All(ctx, opened.WalkOptions{}) {
		if err != nil {
			return err
		}
		if e.Kind == tree.Group || e.Kind == tree.Array {
			s.Objects = append(s.Objects, Object{Path: e.Path, Group: e.Kind == tree.Group, Err: e.Err})
		}
	}
	done, err := s.open(ctx, file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	return s.create(ctx, dst, file, o)
}

// open opens the bytes of the file.
func (s *Source) open(ctx context.Context, file string) (done func() error, err error) {
	if urlfile.IsURL(file) {
		o, err := urlfile.Get().Open(ctx, file)
		if err != nil {
			return nil, err
		}
		s.Bytes, s.Size = o, o.Size()
		return o.Close, nil
	}
	f, info, err := regularfile.Open(file)
	if err != nil {
		return nil, err
	}
	s.Bytes, s.Size = io.ReaderAt(f), info.Size()
	return f.Close, nil
}

// create writes the references to a new output.
func (s *Source) create(ctx context.Context, dst, file string, o Options) error {
	out, err := atomicfile.Create(ctx, dst, atomicfile.Options{Overwrite: o.Overwrite})
	if err != nil {
		return ndarray.Wrap("create", dst, err)
	}
	err = Write(ctx, out.Path(), o.Format, s)
	if at, ok := errors.AsType[*Error](err); ok {
		err = fmt.Errorf("%s:%s: %w", urlfile.Redact(file), at.Path, at.Err)
	}
	if err == nil {
		err = out.Commit()
	}
	if err != nil {
		return errors.Join(err, out.Abort())
	}
	return nil
}
