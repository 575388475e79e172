// Copies of trees to a ctable of bcolz.

package carrays

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/bcolz"
)

// target is a ctable: columns of the same length, and attributes.
type target struct {
	tree.PlainTarget
	c   tree.Copier
	dir string
}

func newTarget(c tree.Copier, _ bool) tree.Target { return &target{c: c} }

func (t *target) Traits() tree.Traits {
	return tree.Traits{
		Format: detect.Bcolz, Compression: bcolz.DefaultCompression(), GroupAttrs: true,
		Adopt: func(s *ndarray.Spec) { s.ChunkShape = nil }, // chunks of other formats may divide rows
	}
}

func (t *target) CheckName(path string, group bool) error {
	switch {
	case path == "/":
		return nil
	case group:
		return fmt.Errorf("%w: a ctable holds columns and no groups", errors.ErrUnsupported)
	}
	return bcolz.CheckColumns([]string{strings.TrimPrefix(path, "/")})
}

func (t *target) Check(_ string, spec ndarray.Spec, rows int64) error {
	if err := bcolz.Check(spec); err != nil {
		return err
	}
	if rows >= 0 && rows != spec.Shape[0] {
		return fmt.Errorf("%w: got %d rows in a column of a ctable, want %d as in the first column", errors.ErrUnsupported, spec.Shape[0], rows)
	}
	return nil
}

// Stores reports whether JSON can represent an attribute.
func (t *target) Stores(raw ndarray.Attr) bool {
	one := ndarray.Spec{Shape: []int64{0}, DType: ndarray.DTypeOf[bool](), Attrs: []ndarray.Attr{raw}}
	return !raw.Fixed && bcolz.Check(one) == nil
}

// Write writes a ctable, with the names of its columns last.
func (t *target) Write(ctx context.Context, dir string) error {
	if err := os.Mkdir(dir, 0o777); err != nil {
		return err
	}
	t.dir = dir
	if err := t.c.CopyArrays(ctx, t); err != nil {
		return err
	}
	var names []string
	for _, item := range t.c.Plan().Arrays {
		if !t.c.LeftOut(item.From) {
			names = append(names, strings.TrimPrefix(item.Path, "/"))
		}
	}
	var attrs []ndarray.Attr
	for _, root := range t.c.Plan().Groups { // at most one
		attrs = root.Attrs
	}
	return bcolz.GatherTable(dir, names, attrs)
}

func (t *target) Create(item *tree.Item) (ndarray.Backend, error) {
	return bcolz.Create(filepath.Join(t.dir, item.Path), *item.Spec, nil)
}

func (t *target) Remove(item *tree.Item) error {
	return os.RemoveAll(filepath.Join(t.dir, item.Path))
}
