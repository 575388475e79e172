// The contract of tree.Tree.

package treetest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Object is an object that a tree must have.
type Object struct {
	Path   string
	Kind   tree.Kind
	Attrs  int    // number of attributes
	Values []byte // of an Array, in native byte order
}

// Subject is an implementation of tree.Tree under test.
type Subject struct {
	Open    func() (tree.Tree, error) // opens the same tree again
	Objects []Object                  // all objects in the order of the walk; the first one is the root

	OneWalk bool // another walk ends the one in progress
}

var bg = context.Background()

// Test runs the contract.
func Test(t *testing.T, s Subject) {
	t.Run("walk", s.walk)
	t.Run("prune", s.prune)
	t.Run("walk from a path", s.walkFrom)
	t.Run("stop", s.stop)
	t.Run("arrays", s.arrays)
	t.Run("groups", s.groups)
	t.Run("metadata", s.metadata)
	t.Run("missing paths", s.missing)
	t.Run("cancelled", s.cancelled)
	t.Run("concurrent", s.concurrent)
	t.Run("closed", s.closed)
}

// open opens the tree for a test.
func (s *Subject) open(t *testing.T) tree.Tree {
	t.Helper()
	x, err := s.Open()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, x.Close()) })
	return x
}

// list returns the entries from a path on, without the members of the groups for which prune
// returns true.
func list(t *testing.T, x tree.Tree, path string, o *tree.WalkOptions, prune func(tree.Entry) bool) (out []tree.Entry) {
	t.Helper()
	err := x.Walk(bg, path, o, func(e tree.Entry) (bool, error) {
		out = append(out, e)
		return prune == nil || !prune(e), nil
	})
	require.NoError(t, err, path)
	return out
}

// same compares entries with the wanted objects.
func same(t *testing.T, want []Object, got []tree.Entry) {
	t.Helper()
	paths := func(n int, path func(i int) string) (out []string) {
		for i := range n {
			out = append(out, path(i))
		}
		return out
	}
	require.Equal(t, paths(len(want), func(i int) string { return want[i].Path }), paths(len(got), func(i int) string { return got[i].Path }))
	for i, e := range got {
		require.Equal(t, want[i].Kind, e.Kind, e.Path)
		require.Equal(t, want[i].Attrs, e.Attrs, e.Path)
		require.NoError(t, e.Err, e.Path)
		require.NotContains(t, e.Meta.Path, "/proc/self/fd", e.Path)
	}
}

// below reports whether an object is at a path or below it.
func below(path, group string) bool {
	return path == group || strings.HasPrefix(path, strings.TrimSuffix(group, "/")+"/")
}

func (s Subject) walk(t *testing.T) {
	x := s.open(t)
	for _, root := range []string{"", "/"} {
		same(t, s.Objects, list(t, x, root, nil, nil))
	}
	for _, e := range list(t, x, "", &tree.WalkOptions{NoSizes: true}, nil) {
		if e.Kind == tree.Array {
			require.Equal(t, int64(-1), e.Storage.StoredBytes, e.Path)
		}
	}
}

func (s Subject) prune(t *testing.T) {
	x := s.open(t)
	for _, group := range s.Objects {
		if group.Kind != tree.Group {
			continue
		}
		want := slices.DeleteFunc(slices.Clone(s.Objects), func(o Object) bool { return o.Path != group.Path && below(o.Path, group.Path) })
		same(t, want, list(t, x, "", nil, func(e tree.Entry) bool { return e.Path == group.Path }))
	}
}

func (s Subject) walkFrom(t *testing.T) {
	x := s.open(t)
	for _, from := range s.Objects {
		want := slices.DeleteFunc(slices.Clone(s.Objects), func(o Object) bool { return !below(o.Path, from.Path) })
		same(t, want, list(t, x, from.Path, nil, nil))
	}
}

func (s Subject) stop(t *testing.T) {
	x := s.open(t)
	enough := errors.New("enough")
	for n := range s.Objects {
		count := 0
		err := x.Walk(bg, "", nil, func(tree.Entry) (bool, error) {
			if count++; count > n {
				return true, enough
			}
			return true, nil
		})
		require.ErrorIs(t, err, enough)
		require.Equal(t, n+1, count, "visit is not called after its error")
	}
}

// read reads all elements of the array at a path, and returns its attributes too.
func read(x tree.Tree, path string) (meta ndarray.Meta, values []byte, attrs ndarray.Attrs, err error) {
	b, err := x.Open(bg, path, nil)
	if err != nil {
		return meta, nil, attrs, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	meta = b.Meta()
	values = make([]byte, meta.NumElems()*int64(meta.DType.Size))
	if err := b.ReadRegion(bg, values, ndarray.Whole(meta.Shape), 0); err != nil {
		return meta, nil, attrs, err
	}
	attrs, err = tree.AttrsOf(bg, b)
	return meta, values, attrs, err
}

func (s Subject) arrays(t *testing.T) {
	x := s.open(t)
	listed := make(map[string]tree.Entry)
	for _, e := range list(t, x, "", nil, nil) {
		listed[e.Path] = e
	}
	for _, o := range s.Objects {
		if o.Kind != tree.Array {
			b, err := x.Open(bg, o.Path, nil)
			if err == nil { // a table
				require.Equal(t, ndarray.Struct, b.Meta().DType.Kind, "%s is no array", o.Path)
				require.NoError(t, b.Close())
			}
			continue
		}
		meta, values, attrs, err := read(x, o.Path)
		require.NoError(t, err, o.Path)
		require.Equal(t, o.Values, values, o.Path)
		require.Len(t, attrs.List, o.Attrs, o.Path)
		e := listed[o.Path].Meta
		require.Equal(t, e.Shape, meta.Shape, o.Path)
		require.Equal(t, e.ChunkShape, meta.ChunkShape, o.Path)
		require.True(t, e.DType.Equal(meta.DType), o.Path)
		require.True(t, meta.ReadOnly, o.Path)
		require.NotContains(t, meta.Path, "/proc/self/fd", o.Path)
	}
}

func (s Subject) groups(t *testing.T) {
	x := s.open(t)
	for _, o := range s.Objects {
		attrs, err := x.GroupAttrs(bg, o.Path)
		if o.Kind == tree.Group {
			require.NoError(t, err, o.Path)
			require.Len(t, attrs.List, o.Attrs, o.Path)
			continue
		}
		require.Error(t, err, "%s is no group", o.Path)
	}
}

func (s Subject) metadata(t *testing.T) {
	x := s.open(t)
	for _, o := range s.Objects {
		if _, err := x.Metadata(bg, o.Path); !errors.Is(err, errors.ErrUnsupported) {
			require.NoError(t, err, o.Path)
		}
	}
}

// calls are the calls of a tree that return only an error.
func calls(x tree.Tree) map[string]func(ctx context.Context, path string) error {
	return map[string]func(ctx context.Context, path string) error{
		"walk": func(ctx context.Context, path string) error {
			return x.Walk(ctx, path, nil, func(tree.Entry) (bool, error) { return true, nil })
		},
		"open":     func(ctx context.Context, path string) error { _, err := x.Open(ctx, path, nil); return err },
		"group":    func(ctx context.Context, path string) error { _, err := x.GroupAttrs(ctx, path); return err },
		"metadata": func(ctx context.Context, path string) error { _, err := x.Metadata(ctx, path); return err },
	}
}

func (s Subject) missing(t *testing.T) {
	for what, call := range calls(s.open(t)) {
		for _, path := range []string{"/none", "/none/below"} {
			err := call(bg, path)
			require.True(t, errors.Is(err, ndarray.ErrNotFound) || errors.Is(err, ndarray.ErrParam), "%s %s: %v", what, path, err)
			require.NotContains(t, err.Error(), "/proc/self/fd", "%s %s", what, path)
		}
	}
}

func (s Subject) cancelled(t *testing.T) {
	x := s.open(t)
	ctx, cancel := context.WithCancel(bg)
	cancel()
	path := s.Objects[len(s.Objects)-1].Path
	for what, call := range calls(x) {
		require.ErrorIs(t, call(ctx, path), context.Canceled, what)
	}
	if len(s.Objects) == 1 {
		return
	}
	ctx, cancel = context.WithCancel(bg)
	defer cancel()
	count := 0
	err := x.Walk(ctx, "", nil, func(tree.Entry) (bool, error) {
		cancel()
		count++
		return true, nil
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 1, count)
}

func (s Subject) concurrent(t *testing.T) {
	x := s.open(t)
	var group sync.WaitGroup
	errs := make(chan error, 4*len(s.Objects)+1)
	for range 4 {
		for _, o := range s.Objects {
			group.Go(func() {
				if o.Kind == tree.Group {
					_, err := x.GroupAttrs(bg, o.Path)
					errs <- err
					return
				}
				_, values, _, err := read(x, o.Path)
				if err == nil && !slices.Equal(values, o.Values) {
					err = errors.New("other values")
				}
				errs <- err
			})
		}
	}
	group.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
	if s.OneWalk {
		return
	}
	err := x.Walk(bg, "", nil, func(tree.Entry) (bool, error) {
		same(t, s.Objects, list(t, x, "", nil, nil))
		return true, nil
	})
	require.NoError(t, err, "a walk in a walk")
}

func (s Subject) closed(t *testing.T) {
	x, err := s.Open()
	require.NoError(t, err)
	require.NoError(t, x.Close())
	path := s.Objects[len(s.Objects)-1].Path
	for what, call := range calls(x) {
		require.ErrorIs(t, call(bg, path), ndarray.ErrClosed, what)
	}
}
