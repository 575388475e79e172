// A driver of a toy format: a new format is one package and one line in the list of package opener.

package treetest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/ndarray"
)

// A toy file is "TOY", the number of arrays and the number of their elements as bytes, and for each
// array its name of one byte and its elements of one byte. The arrays are in the root group.
const toyMagic = "TOY"

func toyFormat() tree.Format {
	return tree.Format{
		Name:  "toy",
		Match: func(head []byte, _ *tree.Source) bool { return bytes.HasPrefix(head, []byte(toyMagic)) },
		Open: func(ctx context.Context, s *tree.Source, _ *tree.OpenOptions) (tree.Tree, error) {
			return openToy(ctx, s)
		},
	}
}

type toy struct {
	s     *tree.Source
	names string
	each  int64
}

func openToy(ctx context.Context, s *tree.Source) (tree.Tree, error) {
	head := make([]byte, len(toyMagic)+2)
	if _, err := s.File.ReadAt(head, 0); err != nil {
		return nil, fmt.Errorf("%w: header: %w", ndarray.ErrCorrupt, err)
	}
	n, each := int64(head[len(toyMagic)]), int64(head[len(toyMagic)+1])
	if want := int64(len(head)) + n*(1+each); s.Size != want {
		return nil, fmt.Errorf("%w: got %d bytes, want %d", ndarray.ErrCorrupt, s.Size, want)
	}
	t := &toy{s: s, each: each}
	for i := range n {
		name := make([]byte, 1)
		if _, err := s.File.ReadAt(name, int64(len(head))+i*(1+each)); err != nil {
			return nil, err
		}
		t.names += string(name)
	}
	return t, ctx.Err()
}

// find returns the number of the array at a path, or -1 for the root.
func (t *toy) find(ctx context.Context, path string) (int, error) {
	if err := t.s.Ready(ctx); err != nil || tree.IsRoot(path) {
		return -1, err
	}
	i := strings.Index(t.names, strings.Trim(path, "/"))
	if i < 0 {
		return -1, fmt.Errorf("%w: no array %s", ndarray.ErrNotFound, path)
	}
	return i, nil
}

func (t *toy) Walk(ctx context.Context, path string, o *tree.WalkOptions, visit tree.Visit) error {
	first, err := t.find(ctx, path)
	if err != nil {
		return err
	}
	visit = tree.Visitor(ctx, o, visit)
	last := first
	if first < 0 {
		first, last = 0, len(t.names)-1
		if descend, err := visit(tree.Entry{Path: "/", Kind: tree.Group}); err != nil || !descend {
			return err
		}
	}
	for _, name := range t.names[first : last+1] {
		b, err := t.Open(ctx, string(name), nil)
		if err != nil {
			return err
		}
		e, err := tree.Describe(ctx, "/"+string(name), b)
		if err == nil {
			err = visit.Leaf(e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *toy) Open(ctx context.Context, path string, _ *tree.ArrayOptions) (ndarray.Backend, error) {
	i, err := t.find(ctx, path)
	if err != nil {
		return nil, err
	}
	if i < 0 {
		return nil, tree.CheckNamed("a toy holds", t.s.Name, path)
	}
	m := ndarray.Meta{Format: "toy", Path: t.s.At(path), Shape: []int64{t.each}, DType: ndarray.DTypeOf[uint8](), ReadOnly: true}
	return &toyArray{t, int64(len(toyMagic)) + 3 + int64(i)*(1+t.each), m}, nil
}

func (t *toy) GroupAttrs(ctx context.Context, path string) (ndarray.Attrs, error) {
	i, err := t.find(ctx, path)
	if err == nil && i >= 0 {
		err = tree.NoGroups("toy")
	}
	return ndarray.Attrs{}, err
}

func (t *toy) Metadata(ctx context.Context, path string) (tree.Metadata, error) {
	_, err := t.find(ctx, path)
	return tree.Metadata{}, err
}

func (t *toy) Close() error { return t.s.Close() }

// toyArray is an array of a toy file.
type toyArray struct {
	*toy
	at   int64
	meta ndarray.Meta
}

func (a *toyArray) Meta() ndarray.Meta { return a.meta }
func (a *toyArray) Close() error       { return nil }

func (a *toyArray) ReadRegion(ctx context.Context, dst []byte, r ndarray.Region, _ int) error {
	_, err := a.s.File.ReadAt(dst, a.at+r.Start[0])
	return errors.Join(err, ctx.Err())
}

func (a *toyArray) Attrs(ctx context.Context) (ndarray.Attrs, error) {
	return ndarray.Attrs{}, ctx.Err()
}

func (a *toyArray) Storage(ctx context.Context) (ndarray.Storage, error) {
	return ndarray.Storage{StoredBytes: a.each}, ctx.Err()
}
