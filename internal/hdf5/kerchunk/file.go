// References of files and URLs.

package kerchunk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/location/urlfile"
	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/internal/tree/opened"
	"github.com/hyperslab/hyperslab/ndarray"
)

// FileOptions are the options of WriteFiles.
type FileOptions struct {
	Options
	URL       string // location of the file in the references, or of the directory of several; "": the files
	Overwrite bool
}

// WriteFiles writes the references of HDF5 files or URLs to dst, completely or not at all:
// hyperslab.WriteReferences documents it.
func WriteFiles(ctx context.Context, dst string, files []string, o FileOptions) (stats Stats, err error) {
	p := &pool{files: files, url: o.URL, open: make([]*Source, len(files))}
	if err := p.check(); err != nil {
		return Stats{}, err
	}
	defer func() { err = errors.Join(err, p.close(0)) }()
	out, err := atomicfile.Create(ctx, dst, atomicfile.Options{Overwrite: o.Overwrite})
	if err != nil {
		return Stats{}, ndarray.Wrap("create", dst, err)
	}
	stats, err = Write(ctx, out.Path(), o.Options, p)
	if err == nil {
		err = out.Commit()
	}
	if err != nil {
		return Stats{}, errors.Join(err, out.Abort())
	}
	return stats, nil
}

// maxOpen is the maximum number of open files.
const maxOpen = 64

// pool keeps the files open that were used last.
type pool struct {
	files []string
	url   string
	at    []string  // locations of the files in the references, from check
	open  []*Source // by file; nil: not open
	used  []int     // open files, the last used at the end
}

// check determines the locations of the files. Files with one URL of their directory must have
// different names.
func (p *pool) check() error {
	seen := make(map[string]string)
	for _, file := range p.files {
		at, err := p.location(file)
		if err != nil {
			return err
		}
		if other, ok := seen[at]; ok {
			return fmt.Errorf("%w: %s and %s would have the location %s", ndarray.ErrParam, other, file, at)
		}
		seen[at], p.at = file, append(p.at, at)
	}
	return nil
}

func (p *pool) Len() int { return len(p.files) }

func (p *pool) Source(ctx context.Context, i int) (*Source, error) {
	if at := slices.Index(p.used, i); at >= 0 {
		p.used = append(slices.Delete(p.used, at, at+1), i)
		return p.open[i], nil
	}
	if err := p.close(maxOpen - 1); err != nil {
		return nil, err
	}
	s, err := openSource(ctx, p.files[i])
	if err != nil {
		return nil, err
	}
	s.URL = p.at[i]
	p.open[i], p.used = s, append(p.used, i)
	return s, nil
}

// close closes the files that were not used for the longest time, until most are open.
func (p *pool) close(most int) (err error) {
	for len(p.used) > most {
		i := p.used[0]
		err = errors.Join(err, p.open[i].done())
		p.open[i], p.used = nil, p.used[1:]
	}
	return err
}

// location returns the location of a file in the references.
func (p *pool) location(file string) (string, error) {
	switch {
	case p.url != "" && len(p.files) > 1:
		base := filepath.Base(file)
		if urlfile.IsURL(file) {
			base = urlfile.Base(file)
		}
		if base == "" {
			return "", fmt.Errorf("%w: %s: want a URL that ends in the name of a file", ndarray.ErrParam, urlfile.Redact(file))
		}
		dir := forReaders(p.url)
		if urlfile.IsURL(dir) && !strings.HasPrefix(dir, "s3:") {
			return urlfile.Join(dir, base), nil
		}
		return strings.TrimSuffix(dir, "/") + "/" + base, nil
	case p.url != "":
		return forReaders(p.url), nil
	case !urlfile.IsURL(file):
		return filepath.Abs(file)
	case urlfile.Redact(file) != file:
		return "", fmt.Errorf("%w: %s: the query of the URL may be secret, and the references would contain it", ndarray.ErrParam,
			urlfile.Redact(file))
	}
	return forReaders(file), nil
}

// forReaders returns a location as fsspec reads it: the scheme of a URL in lower case, and a key of
// S3 that is not escaped.
func forReaders(at string) string {
	scheme, rest, found := strings.Cut(at, "://")
	if !found {
		return at
	}
	scheme = strings.ToLower(scheme)
	if raw, err := url.PathUnescape(rest); err == nil && scheme == "s3" {
		rest = raw
	}
	return scheme + "://" + rest
}

// openSource opens a file and lists its objects.
func openSource(ctx context.Context, file string) (_ *Source, err error) {
	t, err := opened.Open(ctx, file, &opened.Options{})
	if err != nil {
		return nil, err
	}
	s := &Source{Name: urlfile.Redact(file), done: t.Close}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.done())
		}
	}()
	if t.Format != detect.HDF5 {
		return nil, errs.Mark(fmt.Errorf("%s is %s: kerchunk references need HDF5, because Zarr has no codec for the chunks",
			s.Name, t.Format), errors.ErrUnsupported)
	}
	s.File, s.Attrs = t.HDF5(), t.GroupAttrs
	s.Arrays = func(ctx context.Context, path string) (*ndarray.Array, error) { return t.Array(ctx, path, false) }
	for e, err := range t.All(ctx, opened.WalkOptions{}) {
		if err != nil {
			return nil, err
		}
		if e.Kind == tree.Group || e.Kind == tree.Array {
			s.Objects = append(s.Objects, Object{Path: e.Path, Group: e.Kind == tree.Group, Err: e.Err})
		}
	}
	closeBytes, err := s.openBytes(ctx, file)
	if err != nil {
		return nil, err
	}
	s.done = func() error { return errors.Join(closeBytes(), t.Close()) }
	return s, nil
}

// openBytes opens the bytes of the file.
func (s *Source) openBytes(ctx context.Context, file string) (done func() error, err error) {
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
