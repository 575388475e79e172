// The drivers, and the arrays of a store.

package containers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"

	"github.com/hyperslab/hyperslab/internal/blosc/stores"
	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
	"github.com/hyperslab/hyperslab/internal/format/b2store"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/internal/tree/frames"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/b2nd"
)

// Table is the type of a group that is a table.
const Table = "ctable"

// Format returns the driver of one kind of store: B2Z, B2D or B2E of package detect.
func Format(kind string) tree.Format {
	return tree.Format{
		Name:  kind,
		Match: func(_ []byte, s *tree.Source) bool { return s.Is(kind) },
		Open: func(ctx context.Context, s *tree.Source, _ *tree.OpenOptions) (tree.Tree, error) {
			return open(ctx, s, kind)
		},
		Target: func(c tree.Copier, table bool) tree.Target { return newTarget(c, kind, table) },

		CheckCreate: checkCreate,
		Create:      create,
		Many:        true,
		Member: func(ctx context.Context, held *ndarray.Lock, overwrite bool, o *tree.CreateOptions) (*atomicfile.Output, error) {
			return stores.Add(ctx, held, o.File, kind, tree.Root(o.Path), b2store.ArrayExt, overwrite)
		},
	}
}

// Holder is the ability of a trusted store to hand out its frames.
type Holder interface {
	// Store returns the open store, which belongs to the tree. It is nil for an untrusted one.
	Store() *stores.Store
}

// store is an open store.
type store struct {
	s    *tree.Source
	kind string
	open *stores.Store
}

var (
	_ Holder        = (*store)(nil)
	_ frames.Opener = (*store)(nil)
)

// OpenFrame implements frames.Opener.
func (t *store) OpenFrame(at string) (*stores.Frame, string, error) {
	s := t.Store()
	if s == nil {
		return nil, "", nil
	}
	x, err := s.Object(at)
	if err != nil || x.Table != nil || x.Kind != "" || x.Embedded.Remote != "" {
		return nil, "", nil // opening the array returns the reason
	}
	f, err := s.Frame(x)
	return f, path.Ext(x.Member.Name), err
}

// open opens a store. The structure of an untrusted one is checked, and each frame in it when it is
// opened.
func open(ctx context.Context, s *tree.Source, kind string) (tree.Tree, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var o stores.Options
	if s.Trust != nil {
		most := s.Trust.Limits
		o = stores.Options{Limits: b2store.Limits{Directory: most.Metadata}, Metadata: most.Metadata, Embedded: most.Chunk}
		o.Check = func(r io.ReaderAt, size int64) error { return frames.Check(r, size, s.Trust) }
	}
	var opened *stores.Store
	var err error
	switch {
	case s.File != nil:
		opened, err = stores.OpenReaderAt(s.Take(), s.Size, kind, o)
	case s.Path != "":
		opened, err = stores.Open(s.Path, kind, o)
	default:
		var files fs.FS
		if files, err = s.FS(ctx); err == nil {
			opened, err = stores.OpenFS(files, o)
		}
	}
	if err != nil {
		return nil, err
	}
	return &store{s, kind, opened}, nil
}

// Store implements Holder.
func (t *store) Store() *stores.Store {
	if t.s.Trust != nil {
		return nil
	}
	return t.open
}

// Close closes the store.
func (t *store) Close() error {
	return errors.Join(t.open.Close(), t.s.Close())
}

// Open opens the array at a path, for reading.
func (t *store) Open(ctx context.Context, path string, o *tree.ArrayOptions) (ndarray.Backend, error) {
	if err := t.s.Ready(ctx); err != nil {
		return nil, err
	}
	if o == nil {
		o = &tree.ArrayOptions{}
	}
	switch {
	case o.Write:
		return nil, fmt.Errorf("%w: changes in place of an array of format %s", errors.ErrUnsupported, t.kind)
	case o.Library:
		return nil, fmt.Errorf("%w: C-Blosc2 does not read arrays of format %s", ndarray.ErrParam, t.kind)
	}
	return openMember(t.open, tree.Root(path), t.s.At(path), &b2nd.OpenOptions{DType: o.DType, Metadata: o.Metadata, Checksums: o.Checksums || t.s.Trust != nil})
}

// openMember opens the array at a key of a store.
func openMember(s *stores.Store, key, name string, o *b2nd.OpenOptions) (ndarray.Backend, error) {
	if t := s.Table(key); t != nil {
		if t.Err != nil {
			return nil, t.Err
		}
		if err := noDType(o); err != nil {
			return nil, err
		}
		r, err := openRecords(s, t, name)
		if err != nil {
			return nil, err
		}
		return r, nil
	}
	if key == "/" {
		return nil, fmt.Errorf("%w: a store holds many arrays, name one as FILE:/path", ndarray.ErrParam)
	}
	x, err := s.Object(key)
	if err != nil {
		return nil, err
	}
	if x.Table != nil {
		if err := noDType(o); err != nil {
			return nil, err
		}
		c, err := openColumn(s, x, name)
		if err != nil {
			return nil, err
		}
		return c, nil
	}
	f, err := s.Frame(x)
	if err != nil {
		return nil, err
	}
	r, err := b2nd.OpenReaderAt(f, f.Size, name, o)
	if errors.Is(err, ndarray.ErrFormat) {
		err = errs.Mark(err, ndarray.ErrCorrupt) // because its name or the map marks it as a frame
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &tree.Member{Backend: r, Done: f.Close}, nil
}

// noDType returns an error if the options set the dtype of an array of a table.
func noDType(o *b2nd.OpenOptions) error {
	if o.DType == nil {
		return nil
	}
	return fmt.Errorf("%w: got the dtype %s, want none, because a table stores the dtypes of its columns", ndarray.ErrParam, o.DType)
}

// GroupAttrs reads the attributes of a group.
func (t *store) GroupAttrs(ctx context.Context, path string) (attrs ndarray.Attrs, err error) {
	if err := t.s.Ready(ctx); err != nil {
		return attrs, err
	}
	key := tree.Root(path)
	if _, ok := t.open.Members(key); !ok {
		if _, err := t.open.Object(key); err != nil {
			return attrs, err
		}
		return attrs, fmt.Errorf("%w: %s is an array, not a group", ndarray.ErrParam, key)
	}
	return groupAttrs(ctx, t.open, t.s.Name, key)
}

// groupAttrs reads the attributes of the group with a key.
func groupAttrs(ctx context.Context, s *stores.Store, file, key string) (attrs ndarray.Attrs, err error) {
	x := s.Attrs(key)
	if x == nil {
		return attrs, nil
	}
	f, err := s.Frame(x)
	if err != nil {
		return attrs, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	r, err := b2nd.OpenReaderAt(f, f.Size, locate.Location{File: file, Object: x.Key}.String(), nil)
	if err != nil {
		return attrs, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return tree.AttrsOf(ctx, r)
}

// Metadata reads the metalayers of an array or a group.
func (t *store) Metadata(ctx context.Context, path string) (m tree.Metadata, err error) {
	if err := t.s.Ready(ctx); err != nil {
		return m, err
	}
	key := tree.Root(path)
	x := t.open.Attrs(key)
	if _, group := t.open.Members(key); !group {
		if x, err = t.open.Object(key); err != nil {
			return m, err
		}
	}
	if x == nil || x.Table != nil {
		return m, nil
	}
	frame, err := t.open.Frame(x)
	if err != nil {
		return m, err
	}
	err = errors.Join(frames.Layers(frame, frame.Size, &m), frame.Close())
	return m, err
}
