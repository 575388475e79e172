// Trees at locations.

package opened

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"runtime/trace"
	"time"

	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/internal/location/urlfile"
	"github.com/hyperslab/hyperslab/internal/meter"
	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/internal/tree/isolated"
	"github.com/hyperslab/hyperslab/internal/tree/opener"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Open opens the tree at a location.
func Open(ctx context.Context, location string, o *Options) (*Tree, error) {
	return openTree(ctx, location, o, "open", false)
}

// List yields the object at a location and the objects below it, and at the end the error of
// opening or walking, if there is one. The file is open during the iteration. It uses Unlocked and
// Untrusted of the options.
func List(ctx context.Context, location string, o *Options, w WalkOptions) iter.Seq2[tree.Entry, error] {
	return func(yield func(tree.Entry, error) bool) {
		// A file at a URL stays open, so that requests for more than its beginning are not stopped.
		t, err := openTree(ctx, location, o, "list", true)
		if err == nil {
			var going bool
			going, err = each(ctx, t.Tree, t.Location.Object, w, func(e tree.Entry) bool { return yield(e, nil) })
			if err = errors.Join(err, t.Close()); !going {
				return
			}
			err = t.wrap("list", location, err)
		}
		if err != nil {
			yield(tree.Entry{}, err)
		}
	}
}

// openTree opens the tree at a location. op is the operation in messages. whole is set if a file at
// a URL is read as a whole if it is small.
func openTree(ctx context.Context, location string, o *Options, op string, whole bool) (t *Tree, err error) {
	defer trace.StartRegion(ctx, meter.Open).End()
	began := time.Now()
	if o.Untrusted != nil {
		op += " untrusted"
		t, err = untrustedTree(ctx, location, o)
	} else {
		t, err = trustedTree(ctx, location, o, whole)
	}
	err = ndarray.Wrap(op, urlfile.Redact(location), err)
	record(ctx, o.Logger, op, location, began, err)
	if err != nil {
		return nil, err
	}
	t.Logger = o.Logger
	return t, nil
}

func trustedTree(ctx context.Context, location string, o *Options, whole bool) (*Tree, error) {
	if err := o.checkTree(ctx); err != nil {
		return nil, err
	}
	l, err := locate.Parse(location)
	if err != nil {
		return nil, err
	}
	s, f, err := opener.Find(ctx, l.File, whole)
	if err != nil {
		return nil, err
	}
	return o.trustedTreeIn(ctx, s, f, l)
}

// checkTree checks the options for a trusted tree.
func (o *Options) checkTree(ctx context.Context) error {
	if o.DType != nil || o.Write || o.Durable || o.Library || o.Shards != nil {
		return fmt.Errorf("%w: OpenOptions.DType, Write, Durable, Library and Shards are for Open", ndarray.ErrParam)
	}
	return ctx.Err()
}

// trustedTreeIn opens a trusted source. It takes ownership of the source.
func (o *Options) trustedTreeIn(ctx context.Context, s *tree.Source, f *tree.Format, l locate.Location) (*Tree, error) {
	t, err := opener.Open(ctx, f, s, &tree.OpenOptions{Unlocked: o.Unlocked})
	if err != nil {
		return nil, err
	}
	arrays := tree.ArrayOptions{Metadata: o.Metadata, Checksums: o.Checksums, ExternalDir: o.ExternalDir, Missing: o.Missing}
	return &Tree{Tree: t, Format: f.Name, Location: l, Arrays: arrays}, nil
}

func untrustedTree(ctx context.Context, location string, o *Options) (*Tree, error) {
	if o.DType != nil {
		return nil, fmt.Errorf("%w: OpenOptions.DType is for Open", ndarray.ErrParam)
	}
	s, l, err := untrustedSource(ctx, location, o)
	if err != nil {
		return nil, err
	}
	f, err := opener.All().Of(s)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return o.untrustedTreeIn(ctx, s, f, l)
}

// untrustedTreeIn opens an untrusted source. It takes ownership of the source.
func (o *Options) untrustedTreeIn(ctx context.Context, s *tree.Source, f *tree.Format, l locate.Location) (*Tree, error) {
	t, err := o.openUntrusted(ctx, f, s, &isolated.Options{})
	if err != nil {
		return nil, err
	}
	return &Tree{Tree: t, Format: f.Name, Location: l, Untrusted: true}, nil
}

// ReaderTree opens the tree in size bytes that r reads. name is the name of the file in messages.
func ReaderTree(ctx context.Context, r io.ReaderAt, size int64, name string, o *Options) (*Tree, error) {
	return o.treeIn(ctx, name, func(trust *tree.Trust) (*tree.Source, error) { return tree.Reader(ctx, r, size, name, trust) })
}

// FSTree opens the tree in the file or the directory with a name in a file system.
func FSTree(ctx context.Context, fsys fs.FS, name string, o *Options) (*Tree, error) {
	return o.treeIn(ctx, name, func(trust *tree.Trust) (*tree.Source, error) { return tree.FS(ctx, fsys, name, trust) })
}

// treeIn opens the tree of a source without a path, which open returns.
func (o *Options) treeIn(ctx context.Context, name string, open func(*tree.Trust) (*tree.Source, error)) (*Tree, error) {
	op := "open"
	if o.Untrusted != nil {
		op = "open untrusted"
	}
	t, err := o.openIn(ctx, name, open)
	return t, ndarray.Wrap(op, name, err)
}

func (o *Options) openIn(ctx context.Context, name string, open func(*tree.Trust) (*tree.Source, error)) (*Tree, error) {
	var trust *tree.Trust
	err := o.checkTree(ctx)
	switch {
	case err == nil && o.Untrusted != nil:
		trust, err = o.checkUntrusted(ctx)
	case err == nil && (o.ExternalDir != "" || o.Missing != nil):
		err = fmt.Errorf("%w: OpenOptions.ExternalDir and Missing are for files at a location", ndarray.ErrParam)
	}
	if err != nil {
		return nil, err
	}
	s, err := open(trust)
	if err != nil {
		return nil, err
	}
	f, err := opener.All().Of(s)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	l := locate.Location{File: name}
	if trust != nil {
		return o.untrustedTreeIn(ctx, s, f, l)
	}
	return o.trustedTreeIn(ctx, s, f, l)
}

// Sniff detects the format of a file, directory or URL by its content. A Blosc2 frame is
// detect.B2ND unless its header identifies it as Caterva.
func Sniff(file string) (string, error) {
	if !urlfile.IsURL(file) {
		f, err := detect.Content(file)
		return f, ndarray.Wrap("look at", file, err)
	}
	s, f, err := opener.Find(context.Background(), file, false)
	if err != nil {
		return "", ndarray.Wrap("look at", urlfile.Redact(file), err)
	}
	is := f.Name
	if s.File != nil {
		is = detect.WithCaterva(is, s.File, s.Size)
	}
	return is, ndarray.Wrap("look at", urlfile.Redact(file), s.Close())
}
