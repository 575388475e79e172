// The list of the drivers.

package opener

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/location/urlfile"
	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/internal/tree/carrays"
	"github.com/hyperslab/hyperslab/internal/tree/containers"
	"github.com/hyperslab/hyperslab/internal/tree/directories"
	"github.com/hyperslab/hyperslab/internal/tree/frames"
	"github.com/hyperslab/hyperslab/internal/tree/h5tree"
	"github.com/hyperslab/hyperslab/internal/tree/npyfile"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Formats are drivers, in the order in which they are asked.
type Formats []tree.Format

// All returns the drivers of this module.
func All() Formats {
	return Formats{
		containers.Format(detect.B2E),
		frames.Format(),
		npyfile.Format(),
		containers.Format(detect.B2Z),
		h5tree.Format(),
		carrays.Format(),
		containers.Format(detect.B2D),
		directories.Format(),
	}
}

// Of returns the driver of a source. It returns ndarray.ErrFormat for content that no driver knows.
func (l Formats) Of(s *tree.Source) (*tree.Format, error) {
	var head []byte
	if s.Unknown() != nil {
		var err error
		if head, err = s.Head(); err != nil {
			return nil, err
		}
	}
	for i := range l {
		if l[i].Match(head, s) {
			return &l[i], nil
		}
	}
	if err := s.Unknown(); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("%w: %s", ndarray.ErrFormat, s.Name)
}

// Named returns the driver with a name.
func (l Formats) Named(name string) (*tree.Format, error) {
	for i := range l {
		if l[i].Name == name {
			return &l[i], nil
		}
	}
	return nil, fmt.Errorf("%w: format %q", ndarray.ErrFormat, name)
}

// Creator returns the driver that creates arrays of a format.
func (l Formats) Creator(format string) (*tree.Format, error) {
	for i := range l {
		if f := &l[i]; f.CheckCreate != nil && (f.Name == format || slices.Contains(f.Also, format)) {
			return f, nil
		}
	}
	return nil, fmt.Errorf("%w: format %q", ndarray.ErrParam, format)
}

// Part returns the source of the array at a path, if the format of s stores it in a file or
// directory of its own, its driver, and the path in it. It closes s then, and after an error.
// Otherwise it returns s.
func (l Formats) Part(s *tree.Source, path string) (*tree.Source, *tree.Format, string, error) {
	f, err := l.Of(s)
	if err == nil && f.Part == nil {
		return s, f, path, nil
	}
	var part *tree.Source
	if err == nil {
		part, path, err = f.Part(s, path)
		err = s.Named(err)
	}
	if err = errors.Join(err, s.Close()); err != nil {
		if part != nil {
			err = errors.Join(err, part.Close())
		}
		return nil, nil, "", err
	}
	f, err = l.Of(part)
	if err != nil {
		return nil, nil, "", errors.Join(err, part.Close())
	}
	return part, f, path, nil
}

// Open opens a source with its driver. It takes ownership of the source.
func Open(ctx context.Context, f *tree.Format, s *tree.Source, o *tree.OpenOptions) (tree.Tree, error) {
	t, err := f.Open(ctx, s, o)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if s.Trust != nil {
		t = tree.Guarded(t, s)
	}
	return t, nil
}

// Find opens the file at a path or URL and finds the driver of its format. A Caterva array is B2ND
// here, because the same driver opens it. whole is set for a file at a URL that is read as a whole
// if it is small.
func Find(ctx context.Context, file string, whole bool) (s *tree.Source, f *tree.Format, err error) {
	if urlfile.IsURL(file) {
		s, err = tree.AtURL(ctx, file, whole)
	} else {
		s, err = tree.Local(file)
	}
	if err != nil {
		return nil, nil, err
	}
	if f, err = All().Of(s); err != nil {
		return nil, nil, errors.Join(err, s.Close())
	}
	return s, f, nil
}

// Sniff returns the name of the driver of the file at a path or URL.
func Sniff(ctx context.Context, file string) (string, error) {
	s, f, err := Find(ctx, file, false)
	if err != nil {
		return "", err
	}
	return f.Name, s.Close()
}
