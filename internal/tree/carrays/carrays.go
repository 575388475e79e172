// The driver, and the arrays of a directory.

package carrays

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/format/bcolztree"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/bcolz"
)

// Format returns the driver.
func Format() tree.Format {
	return tree.Format{
		Name:   detect.Bcolz,
		Match:  func(_ []byte, s *tree.Source) bool { return s.Is(detect.Bcolz) },
		Open:   Open,
		Target: newTarget,

		CheckCreate: func(_ ndarray.Spec, o *tree.CreateOptions) error {
			if !tree.IsRoot(o.Path) {
				return fmt.Errorf("%w: a bcolz carray holds one array, it has no %s", ndarray.ErrParam, o.Path)
			}
			return o.Check(tree.Creates{})
		},
		Create: create,
	}
}

// create creates a carray, or a ctable for structures of one dimension.
func create(dir string, spec ndarray.Spec, o *tree.CreateOptions) (ndarray.Backend, error) {
	x := &bcolz.CreateOptions{Name: o.Name}
	if spec.DType.Kind == ndarray.Struct && len(spec.Shape) == 1 {
		return bcolz.CreateRecords(dir, spec, x)
	}
	return bcolz.Create(dir, spec, x)
}

// directory is a carray or a ctable.
type directory struct{ s *tree.Source }

// Open opens a directory. The metadata of an untrusted one is checked: that of the column at the
// path o.Path if the tree is opened for it alone.
func Open(ctx context.Context, s *tree.Source, o *tree.OpenOptions) (tree.Tree, error) {
	if s.Trust != nil {
		column := ""
		if o != nil && o.Alone {
			column = strings.Trim(o.Path, "/")
		}
		if err := errors.Join(ctx.Err(), tree.Failed(check(ctx, s, column))); err != nil {
			return nil, err
		}
	}
	return &directory{s}, nil
}

func (d *directory) Close() error { return d.s.Close() }

// check checks the metadata of a carray, or of a column. The backend checks each chunk before it
// decodes it.
func check(ctx context.Context, s *tree.Source, column string) error {
	dir, err := s.FS(ctx)
	if err != nil {
		return err
	}
	kind, err := bcolztree.Detect(dir, ".")
	if err != nil {
		return err
	}
	l := limitsOf(s.Trust)
	if kind == bcolztree.NestedTree {
		return nil // only the backend reads the metadata, and it uses the same limits
	}
	if kind != bcolztree.TableTree {
		_, err = bcolztree.ReadArray(dir, ".", &l)
		return err
	}
	t, err := bcolztree.ReadTable(dir, ".", &l)
	if err != nil {
		return err
	}
	if column == "" {
		return nil // the backend reads the metadata of all columns with the same limits
	}
	if _, err = t.Column(column); errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ndarray.ErrCorrupt) {
		return errs.Mark(err, ndarray.ErrNotFound)
	}
	return err
}

func limitsOf(trust *tree.Trust) bcolztree.Limits {
	return bcolztree.Limits{Metadata: trust.Limits.Metadata, Chunk: min(trust.Limits.Chunk, bcolztree.DefaultLimits().Chunk)}
}

// options returns the options of package bcolz.
func (d *directory) options(o *tree.ArrayOptions) *bcolz.OpenOptions {
	out := &bcolz.OpenOptions{}
	if o != nil {
		out.Write, out.AllowLossy, out.Lock = o.Write, o.AllowLossy, o.Lock
	}
	if d.s.Trust != nil {
		l := limitsOf(d.s.Trust)
		out.MaxMetadata, out.MaxChunk = l.Metadata, l.Chunk
	}
	return out
}

// table opens a ctable.
func (d *directory) table(ctx context.Context, o *bcolz.OpenOptions) (*bcolz.Table, error) {
	if !d.s.IsDir() {
		return bcolz.OpenTable(d.s.Path, o)
	}
	files, err := d.s.FS(ctx)
	if err != nil {
		return nil, err
	}
	return bcolz.OpenTableFS(files, ".", o)
}

// carray opens a carray.
func (d *directory) carray(ctx context.Context, o *bcolz.OpenOptions) (ndarray.Backend, error) {
	if !d.s.IsDir() {
		return bcolz.Open(d.s.Path, o)
	}
	files, err := d.s.FS(ctx)
	if err != nil {
		return nil, err
	}
	return bcolz.OpenFS(files, ".", o)
}

// Open opens a carray, the column of a ctable at a path, or a ctable as an array of structures.
func (d *directory) Open(ctx context.Context, path string, o *tree.ArrayOptions) (ndarray.Backend, error) {
	if err := d.s.Ready(ctx); err != nil {
		return nil, err
	}
	if o != nil {
		if err := tree.CheckTyped(detect.Bcolz, o); err != nil {
			return nil, err
		}
	}
	b, err := d.array(ctx, path, d.options(o))
	if err != nil || !d.s.IsDir() {
		return b, err
	}
	return &tree.Member{Backend: b, Name: d.s.At(path)}, nil
}

// array opens the array at a path.
func (d *directory) array(ctx context.Context, path string, opts *bcolz.OpenOptions) (ndarray.Backend, error) {
	column := strings.Trim(path, "/")
	t, err := d.table(ctx, opts)
	switch {
	case errors.Is(err, ndarray.ErrFormat) && column == "":
		return d.carray(ctx, opts)
	case errors.Is(err, ndarray.ErrFormat):
		return nil, isCarray(path)
	case err != nil:
		return nil, err
	case column == "":
		return t.Records()
	}
	return t.Column(column)
}

func isCarray(path string) error {
	return fmt.Errorf("%w: a bcolz carray is one array, it has no %s", ndarray.ErrParam, path)
}

// GroupAttrs reads the attributes of a ctable. Groups in a nested ctable have none.
func (d *directory) GroupAttrs(ctx context.Context, path string) (attrs ndarray.Attrs, err error) {
	if err := d.s.Ready(ctx); err != nil {
		return attrs, err
	}
	t, err := d.table(ctx, d.options(nil))
	if errors.Is(err, ndarray.ErrFormat) {
		return attrs, fmt.Errorf("%w: a bcolz carray is one array and has no groups", ndarray.ErrParam)
	}
	if err != nil {
		return attrs, err
	}
	if tree.IsRoot(path) {
		return t.Attrs, nil
	}
	if !hasGroup(t, strings.Trim(path, "/")) {
		return attrs, fmt.Errorf("%w: a bcolz ctable has columns and no groups", ndarray.ErrParam)
	}
	return attrs, nil
}
