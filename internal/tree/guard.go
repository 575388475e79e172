// Trees and arrays of untrusted files.

package tree

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/sandbox/worker"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Guarded returns the tree of an untrusted Source with the rules that hold in every format: its
// arrays are read-only, and have at most the allowed size.
func Guarded(t Tree, s *Source) Tree { return &guarded{t, s} }

type guarded struct {
	Tree
	source *Source
}

// Unwrap returns the tree of the driver.
func (g *guarded) Unwrap() Tree { return g.Tree }

// named returns an error with the name of the file in place of the path of its descriptor, and
// without the operation on that path, because the caller adds its own. In a worker the program does
// this.
func (g *guarded) named(err error) error {
	if !g.source.Trust.Direct {
		return err
	}
	return g.source.Named(err)
}

// Named returns the error of an untrusted Source with its name in place of the path of its
// descriptor, and without the operation on that path.
func (s *Source) Named(err error) error {
	if err == nil || s.Trust == nil || s.Path == "" {
		return err
	}
	if e, ok := errors.AsType[*ndarray.Error](err); ok && strings.HasPrefix(e.Path, filepath.Dir(s.Path)+"/") {
		err = e.Err
	}
	if !strings.Contains(err.Error(), s.Path) {
		return err
	}
	return worker.Renamed(err, worker.Replacer(map[string]string{s.Path: s.Name}))
}

// Walk implements Tree.
func (g *guarded) Walk(ctx context.Context, path string, o *WalkOptions, visit Visit) error {
	var stopped error // by visit
	err := g.Tree.Walk(ctx, path, o, func(e Entry) (descend bool, err error) {
		if e.Kind == Array {
			e.Meta.ReadOnly = true
		}
		e.Err = g.named(e.Err)
		descend, stopped = visit(e)
		return descend, stopped
	})
	if stopped != nil {
		return stopped
	}
	return g.named(err)
}

// GroupAttrs implements Tree.
func (g *guarded) GroupAttrs(ctx context.Context, path string) (ndarray.Attrs, error) {
	attrs, err := g.Tree.GroupAttrs(ctx, path)
	return attrs, g.named(err)
}

// Metadata implements Tree.
func (g *guarded) Metadata(ctx context.Context, path string) (Metadata, error) {
	m, err := g.Tree.Metadata(ctx, path)
	return m, g.named(err)
}

// Open implements Tree.
func (g *guarded) Open(ctx context.Context, path string, o *ArrayOptions) (ndarray.Backend, error) {
	b, err := g.Tree.Open(ctx, path, o)
	if err != nil {
		return nil, g.named(err)
	}
	if err := g.check(b); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return &guard{Backend: b, name: g.source.At(path)}, nil
}

// check returns an error for an array that is too large, or whose elements cannot be read.
func (g *guarded) check(b ndarray.Backend) error {
	m := b.Meta()
	if n := m.NumElems(); m.DType.Size > 0 && n > g.source.Trust.Limits.Array/int64(m.DType.Size) {
		return &format.Error{Format: m.Format, What: "shape", Got: fmt.Sprintf("%d elements of %d bytes", n, m.DType.Size), Want: fmt.Sprintf("at most %d bytes", g.source.Trust.Limits.Array), Err: format.ErrLimit}
	}
	if d, ok := ndarray.As[ndarray.ExternalElements](b); ok && g.source.Trust.Listed {
		if files := d.Elsewhere(); len(files) > 0 { // without access to them libhdf5 would return fill values
			return fmt.Errorf("%w: elements in other files, for example %q, which a worker cannot open", errors.ErrUnsupported, files[0])
		}
	}
	return nil
}

// guard is an array of an untrusted file.
type guard struct {
	ndarray.Backend
	ReadOnly
	name string
}

var (
	_ ndarray.StringReader    = (*guard)(nil)
	_ ndarray.AttrReader      = (*guard)(nil)
	_ ndarray.StorageReporter = (*guard)(nil)
	_ ndarray.ChunkMeasurer   = (*guard)(nil)
	_ ndarray.UniformTeller   = (*guard)(nil)
	_ ndarray.NullReader      = (*guard)(nil)
	_ ndarray.ScaleReader     = (*guard)(nil)
)

func (g *guard) Meta() ndarray.Meta {
	m := g.Backend.Meta()
	m.Path = g.name
	m.ReadOnly = true
	return m
}

func (g *guard) ReadStrings(ctx context.Context, dst []string, r ndarray.Region) error {
	return ReadStrings(ctx, g.Backend, dst, r)
}

func (g *guard) ReadNulls(ctx context.Context, dst []bool, r ndarray.Region) error {
	n, ok := ndarray.As[ndarray.NullReader](g.Backend)
	if !ok {
		return ctx.Err()
	}
	return n.ReadNulls(ctx, dst, r)
}

func (g *guard) Scales(ctx context.Context) ([]string, error) { return ScalesOf(ctx, g.Backend) }

func (g *guard) Attrs(ctx context.Context) (ndarray.Attrs, error) { return AttrsOf(ctx, g.Backend) }

func (g *guard) Storage(ctx context.Context) (ndarray.Storage, error) {
	return StorageOf(ctx, g.Backend)
}

func (g *guard) ChunkBytes(ctx context.Context, n int64) (int64, error) {
	return ChunkBytes(ctx, g.Backend, n)
}

func (g *guard) Uniform(ctx context.Context, within ndarray.Region) (func(ndarray.Region) bool, error) {
	u, ok := ndarray.As[ndarray.UniformTeller](g.Backend)
	if !ok {
		return nil, ctx.Err()
	}
	return u.Uniform(ctx, within)
}

// ReadOnly makes every write of a backend return ndarray.ErrReadOnly.
type ReadOnly struct{}

var (
	_ ndarray.RegionWriter = ReadOnly{}
	_ ndarray.StringWriter = ReadOnly{}
	_ ndarray.Resizer      = ReadOnly{}
	_ ndarray.AttrWriter   = ReadOnly{}
)

// WriteRegion implements ndarray.RegionWriter.
func (ReadOnly) WriteRegion(context.Context, []byte, ndarray.Region, int) error {
	return ndarray.ErrReadOnly
}

// WriteStrings implements ndarray.StringWriter.
func (ReadOnly) WriteStrings(context.Context, []string, ndarray.Region) error {
	return ndarray.ErrReadOnly
}

// Resize implements ndarray.Resizer.
func (ReadOnly) Resize(context.Context, []int64) error { return ndarray.ErrReadOnly }

// SetAttr implements ndarray.AttrWriter.
func (ReadOnly) SetAttr(context.Context, ndarray.Attr) error { return ndarray.ErrReadOnly }

// DeleteAttr implements ndarray.AttrWriter.
func (ReadOnly) DeleteAttr(context.Context, string) error { return ndarray.ErrReadOnly }
