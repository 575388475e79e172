// Arrays at locations.

package opened

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/hyperslab/hyperslab/internal/files/filelock"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/internal/location/urlfile"
	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/internal/tree/isolated"
	"github.com/hyperslab/hyperslab/internal/tree/opener"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Options are the options of Array, Reader and Open: OpenOptions of package hyperslab, which
// documents them.
type Options struct {
	tree.ArrayOptions
	Shards    []string
	Untrusted *Untrusted
	Logger    *slog.Logger
}

// Untrusted are the rules for an untrusted file: Untrusted of package hyperslab, which documents
// them.
type Untrusted struct {
	InProcess, FullIsolation bool

	Limits    format.Limits // zero means the default
	CPU, Wall time.Duration
	Policy    tree.Policy
}

// trust returns the rules for the source, with defaults for bounds that are zero.
func (u *Untrusted) trust() (*tree.Trust, error) {
	limits, err := u.Limits.Filled()
	if err == nil && (u.CPU < 0 || u.Wall < 0) {
		err = fmt.Errorf("%w: limits of %v and %v", ndarray.ErrParam, u.CPU, u.Wall)
	}
	if err == nil && u.InProcess && u.FullIsolation {
		err = fmt.Errorf("%w: full isolation in the program's own process", ndarray.ErrParam)
	}
	return &tree.Trust{Limits: limits, Policy: u.Policy, Direct: u.InProcess}, err
}

// Array opens the array at a location.
func Array(ctx context.Context, location string, o *Options) (*ndarray.Array, error) {
	op, open := "open", trustedArray
	if o.Untrusted != nil {
		op, open = "open untrusted", untrustedArray
	}
	return logged(ctx, o.Logger, op, location, func() (*ndarray.Array, error) {
		a, err := open(ctx, location, *o)
		return a, ndarray.Wrap(op, urlfile.Redact(location), err)
	})
}

func trustedArray(ctx context.Context, location string, o Options) (*ndarray.Array, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l, err := locate.Parse(location)
	if err != nil {
		return nil, err
	}
	o.Write = o.Write || o.Durable
	switch {
	case urlfile.IsURL(l.File) && (o.Write || o.Library || o.Shards != nil):
		return nil, fmt.Errorf("%w: writing to a URL, or reading it with a C library alone or in shards", errors.ErrUnsupported)
	case o.Write && o.Shards == nil:
		return lockedArray(ctx, l, &o)
	}
	s, f, err := opener.Find(ctx, l.File, false)
	if err != nil {
		return nil, err
	}
	if o.Shards != nil {
		err = s.Close()
		if err == nil {
			s, err = shardSource(l.File, f.Name, &o)
		}
		if err != nil {
			return nil, err
		}
	}
	return arrayIn(ctx, s, f, l.Object, &o)
}

// lockedArray opens an array for writing under the lock of its file, of which the array keeps a
// reference until Close.
func lockedArray(ctx context.Context, l locate.Location, o *Options) (_ *ndarray.Array, err error) {
	lock, format, err := LockFormat(ctx, o.Lock, l)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	o.Lock = lock
	f, err := opener.All().Named(format)
	if err != nil {
		return nil, err
	}
	var a *ndarray.Array
	err = filelock.Retry(ctx, l.File, func() error { // it observes ctx
		a, err = arrayIn(context.WithoutCancel(ctx), tree.ByPath(l.File, f.Name), f, l.Object, o)
		return err
	})
	return a, err
}

// arrayIn opens the array at a path of a source, and takes ownership of the source.
func arrayIn(ctx context.Context, s *tree.Source, f *tree.Format, path string, o *Options) (*ndarray.Array, error) {
	t, err := opener.Open(ctx, f, s, &tree.OpenOptions{Alone: true, Path: path})
	if err != nil {
		return nil, err
	}
	return tree.NewArray(tree.OpenArray(ctx, t, path, &o.ArrayOptions))
}

// shardSource opens the source of an array of which each directory has some of the chunks or
// columns.
func shardSource(file, format string, o *Options) (*tree.Source, error) {
	switch {
	case o.Write || o.Library:
		return nil, fmt.Errorf("%w: writing to shards, or reading them with a C library alone", errors.ErrUnsupported)
	case format != detect.B2ND && format != detect.Bcolz || format == detect.Bcolz && o.DType != nil:
		return nil, fmt.Errorf("%w: OpenOptions.Shards, with DType or for an array of format %s", ndarray.ErrParam, format)
	}
	return tree.Shards(file, format, o.Shards)
}

// Reader opens an array of an untrusted file of size bytes that r reads. l is its location in
// messages.
func Reader(ctx context.Context, r io.ReaderAt, size int64, l locate.Location, o *Options) (*ndarray.Array, error) {
	const op = "open untrusted"
	at := l.String()
	return logged(ctx, o.Logger, op, at, func() (*ndarray.Array, error) {
		a, err := readerArray(ctx, r, size, l, o)
		return a, ndarray.Wrap(op, at, err)
	})
}

func readerArray(ctx context.Context, r io.ReaderAt, size int64, l locate.Location, o *Options) (*ndarray.Array, error) {
	trust, err := o.checkUntrusted(ctx)
	if err != nil {
		return nil, err
	}
	s, err := tree.Reader(ctx, r, size, l.File, trust)
	if err != nil {
		return nil, err
	}
	return untrustedArrayIn(ctx, s, l.Object, o)
}

// checkUntrusted checks the options for an untrusted file, and returns the rules for it.
func (o *Options) checkUntrusted(ctx context.Context) (*tree.Trust, error) {
	if o.Write || o.Durable || o.Library || o.ExternalDir != "" || o.Missing != nil || o.Shards != nil {
		return nil, fmt.Errorf("%w: an untrusted file is opened with OpenOptions.DType and no other option", ndarray.ErrParam)
	}
	trust, err := o.Untrusted.trust()
	return trust, errors.Join(err, ctx.Err())
}

// untrustedArray opens the array at a location. Of a directory of arrays only its own file is
// opened.
func untrustedArray(ctx context.Context, location string, o Options) (*ndarray.Array, error) {
	s, l, err := untrustedSource(ctx, location, &o)
	if err != nil {
		return nil, err
	}
	return untrustedArrayIn(ctx, s, l.Object, &o)
}

// untrustedSource opens the file of a location for a check.
func untrustedSource(ctx context.Context, location string, o *Options) (s *tree.Source, l locate.Location, err error) {
	trust, err := o.checkUntrusted(ctx)
	if err != nil {
		return nil, l, err
	}
	if l, err = locate.Parse(location); err != nil {
		return nil, l, err
	}
	s, err = tree.Untrusted(ctx, l.File, trust)
	return s, l, err
}

// untrustedArrayIn opens the array at a path of an untrusted source, in this process or in a
// worker. It takes ownership of the source.
func untrustedArrayIn(ctx context.Context, s *tree.Source, path string, o *Options) (*ndarray.Array, error) {
	s, f, path, err := opener.All().Part(s, path)
	if err != nil {
		return nil, err
	}
	t, err := o.openUntrusted(ctx, f, s, &isolated.Options{Alone: true, Path: path, DType: o.DType})
	if err != nil {
		return nil, err
	}
	return tree.NewArray(tree.OpenArray(ctx, t, path, &tree.ArrayOptions{DType: o.DType}))
}

// openUntrusted opens an untrusted source, in this process or in a worker. It takes ownership of
// the source.
func (o *Options) openUntrusted(ctx context.Context, f *tree.Format, s *tree.Source, x *isolated.Options) (tree.Tree, error) {
	if o.Untrusted.InProcess {
		return opener.Open(ctx, f, s, &tree.OpenOptions{Alone: x.Alone, Path: x.Path})
	}
	x.CPU, x.Wall, x.Full = o.Untrusted.CPU, o.Untrusted.Wall, o.Untrusted.FullIsolation
	return isolated.Open(ctx, f, s, x)
}
