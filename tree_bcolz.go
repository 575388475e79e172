// CopyTree to a ctable of bcolz.

package hyperslab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/bcolz"
)

// bcolzTarget is a ctable: columns of the same length, and attributes.
type bcolzTarget struct {
	plainTarget
	dir string
}

func (t *bcolzTarget) traits() traits {
	return traits{
		format: Bcolz, compression: bcolz.DefaultCompression(), groupAttrs: true,
		adopt: func(s *ndarray.Spec) { s.ChunkShape = nil }, // chunks of other formats may divide rows
	}
}

func (t *bcolzTarget) checkName(path string, group bool) error {
	switch {
	case path == "/":
		return nil
	case group:
		return fmt.Errorf("%w: a ctable holds columns and no groups", errors.ErrUnsupported)
	}
	return bcolz.CheckColumns([]string{strings.TrimPrefix(path, "/")})
}

func (t *bcolzTarget) check(_ string, spec ndarray.Spec, rows int64) error {
	if err := bcolz.Check(spec); err != nil {
		return err
	}
	if rows >= 0 && rows != spec.Shape[0] {
		return fmt.Errorf("%w: got %d rows in a column of a ctable, want %d as in the first column", errors.ErrUnsupported, spec.Shape[0], rows)
	}
	return nil
}

// stores reports whether JSON can represent an attribute.
func (t *bcolzTarget) stores(raw ndarray.Attr) bool {
	one := ndarray.Spec{Shape: []int64{0}, DType: ndarray.DTypeOf[bool](), Attrs: []ndarray.Attr{raw}}
	return !raw.Fixed && bcolz.Check(one) == nil
}

// write writes a ctable, with the names of its columns last.
func (t *bcolzTarget) write(ctx context.Context, dir string) error {
	if err := os.Mkdir(dir, 0o777); err != nil {
		return err
	}
	t.dir = dir
	if err := t.c.copyArrays(ctx, t); err != nil {
		return err
	}
	var names []string
	for _, item := range t.c.arrays {
		if !t.c.leftOut(item.from) {
			names = append(names, strings.TrimPrefix(item.path, "/"))
		}
	}
	var attrs []ndarray.Attr
	for _, root := range t.c.groups { // at most one
		attrs = root.attrs
	}
	return bcolz.GatherTable(dir, names, attrs)
}

func (t *bcolzTarget) create(item *treeItem) (ndarray.Backend, error) {
	return bcolz.Create(filepath.Join(t.dir, item.path), *item.spec, nil)
}

func (t *bcolzTarget) remove(item *treeItem) error {
	return os.RemoveAll(filepath.Join(t.dir, item.path))
}
