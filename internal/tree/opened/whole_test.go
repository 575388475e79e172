package opened_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/testkit/filetest"
	"github.com/hyperslab/hyperslab/ndarray"
)

// read returns the elements as bytes or as strings.
func read(t *testing.T, a *ndarray.Array) any {
	t.Helper()
	if a.Meta().Null {
		return nil
	}
	whole := ndarray.Whole(a.Shape())
	if a.DType().Kind == ndarray.String {
		strs := make([]string, a.NumElems())
		require.NoError(t, a.ReadStrings(bg, strs, whole))
		return strs
	}
	b := make([]byte, a.NBytes())
	require.NoError(t, a.Read(bg, b, whole))
	return b
}

// requireSameInside compares all objects of two trees of the same file.
func requireSameInside(t *testing.T, want, got *hyperslab.Tree) (arrays, groups int) {
	t.Helper()
	for e, err := range got.Walk(bg, nil) {
		require.NoError(t, err)
		if e.Err != nil {
			continue // requireSameWalk compares the errors
		}
		switch e.Kind {
		case hyperslab.Group:
			groups++
			x, err := want.GroupAttrs(bg, e.Path)
			require.NoError(t, err)
			y, err := got.GroupAttrs(bg, e.Path)
			require.NoError(t, err)
			require.Equal(t, x, y, e.Path)
		case hyperslab.Array:
			arrays++
			x, err := want.Open(bg, e.Path)
			require.NoError(t, err)
			y, err := got.Open(bg, e.Path)
			require.NoError(t, err, e.Path)
			m := x.Meta()
			m.Path, m.ReadOnly = y.Meta().Path, true
			require.Equal(t, m, y.Meta())
			require.Equal(t, read(t, x), read(t, y), e.Path)
			p, err := x.Attrs(bg)
			require.NoError(t, err)
			q, err := y.Attrs(bg)
			require.NoError(t, err)
			require.Equal(t, p, q)
			require.NoError(t, x.Close())
			require.NoError(t, y.Close())
		default:
			continue
		}
		x, err := want.Metadata(bg, e.Path)
		require.NoError(t, err)
		y, err := got.Metadata(bg, e.Path)
		require.NoError(t, err)
		require.Equal(t, x, y, e.Path)
	}
	return arrays, groups
}

func open(t *testing.T, location string) *hyperslab.Tree {
	t.Helper()
	x, err := hyperslab.OpenTree(bg, location, nil)
	require.NoError(t, err)
	return x
}

// TestOpenTree_untrusted checks that a tree has the same content with and without Untrusted.
func TestOpenTree_untrusted(t *testing.T) {
	locations, _ := everyKind(t, t.TempDir())
	filetest.EveryWay(t, func(t *testing.T, u hyperslab.Untrusted) {
		u.ExternalLinks, u.VirtualSources, u.ExternalFiles = true, true, true // a worker does not need these permissions
		arrays, groups := 0, 0
		for _, l := range locations {
			y, err := hyperslab.OpenTree(bg, l, &hyperslab.OpenOptions{Untrusted: &u})
			require.NoError(t, err)
			a, g := requireSameInside(t, open(t, l), y)
			arrays, groups = arrays+a, groups+g
			require.NoError(t, y.Close())
		}
		require.Greater(t, arrays, 20)
		require.Greater(t, groups, 5)
	})
}

// TestTree_untrustedConcurrent checks that arrays of one tree can be read alternately and
// concurrently. A walk must return an error if another walk of the tree starts before it ends.
func TestTree_untrustedConcurrent(t *testing.T) {
	file := filetest.In(t.TempDir(), "a.h5")
	f, err := h5.Create(file, nil)
	require.NoError(t, err)
	for _, name := range []string{"x", "y"} {
		d, err := f.Root().CreateDataset(name, h5.Int(4, h5.LittleEndian), h5.SimpleSpace(500), &h5.DatasetOptions{ChunkShape: []int64{64}})
		require.NoError(t, err)
		require.NoError(t, h5value.Write(d, filetest.Count(500), h5.SimpleSpace(500).All()))
		require.NoError(t, d.Close())
	}
	require.NoError(t, f.Close())
	filetest.EveryWay(t, func(t *testing.T, u hyperslab.Untrusted) {
		tree, err := hyperslab.OpenTree(bg, file, &hyperslab.OpenOptions{Untrusted: &u})
		require.NoError(t, err)
		x, err := tree.Open(bg, "/x")
		require.NoError(t, err)
		y, err := tree.Open(bg, "/y")
		require.NoError(t, err)
		failed := make(chan error)
		for range 64 {
			go func() {
				for _, a := range []*ndarray.Array{x, y, x} {
					got, err := ndarray.ReadAll[int32](bg, a)
					if err == nil && (len(got) != 500 || got[499] != 499) {
						err = ndarray.ErrValue
					}
					failed <- err
				}
			}()
		}
		for range 3 * 64 {
			require.NoError(t, <-failed)
		}
		var ends error
		for _, err := range tree.Walk(bg, &hyperslab.WalkOptions{Prune: func(hyperslab.Entry) bool { return false }}) {
			if ends = err; err != nil {
				break
			}
			for _, err := range tree.Walk(bg, nil) {
				require.NoError(t, err)
			}
		}
		if u.InProcess {
			require.NoError(t, ends)
		} else {
			require.ErrorIs(t, ends, ndarray.ErrParam)
		}
		require.NoError(t, x.Close())
		require.NoError(t, y.Close())
		require.NoError(t, tree.Close())
	})
}

// TestOpenTree_goroutines checks that 64 goroutines can use one tree concurrently. Each one walks
// the tree, opens and reads its own arrays, and reads an array that all of them share.
func TestOpenTree_goroutines(t *testing.T) {
	dir := t.TempDir()
	f, err := h5.Create(filetest.In(dir, "a.h5"), nil)
	require.NoError(t, err)
	for _, name := range []string{"g/x", "y"} {
		d, err := f.Root().CreateDataset(name, h5.Int(4, h5.LittleEndian), h5.SimpleSpace(500), &h5.DatasetOptions{ChunkShape: []int64{64}, Filters: []h5.Filter{h5.Deflate(1)}})
		require.NoError(t, err)
		require.NoError(t, h5value.Write(d, filetest.Count(500), h5.SimpleSpace(500).All()))
	}
	require.NoError(t, f.Close())
	for _, file := range []string{"a.b2nd", "a.bcolz"} {
		filetest.Save(t, filetest.In(dir, file), filetest.Int32s(500, 7), nil)
	}
	for root, arrays := range map[string]int{"a.h5": 2, "a.b2nd": 1, "a.bcolz": 1} {
		tree, err := hyperslab.OpenTree(bg, filetest.In(dir, root), nil)
		require.NoError(t, err)
		var paths []string
		var shared *ndarray.Array
		for e, err := range tree.Walk(bg, nil) {
			require.NoError(t, err)
			if e.Kind == hyperslab.Array {
				paths = append(paths, e.Path)
			}
		}
		require.Len(t, paths, arrays)
		shared, err = tree.Open(bg, paths[0])
		require.NoError(t, err)
		want, err := ndarray.ReadAll[int32](bg, shared)
		require.NoError(t, err)
		errs := make([]error, 64)
		var g sync.WaitGroup
		for k := range errs {
			g.Go(func() {
				errs[k] = func() error {
					for i := range 4 {
						a, err := tree.Open(bg, paths[(k+i)%arrays])
						if err != nil {
							return err
						}
						for _, a := range []*ndarray.Array{a, shared} {
							if got, err := ndarray.ReadAll[int32](bg, a); err != nil || !slices.Equal(want, got) {
								return fmt.Errorf("other values, %w", err)
							}
						}
						seen := 0
						for _, err := range tree.Walk(bg, nil) {
							if err != nil {
								return err
							}
							seen++
						}
						if err := a.Close(); err != nil || seen < arrays {
							return fmt.Errorf("%d entries, %w", seen, err)
						}
					}
					return nil
				}()
			})
		}
		g.Wait()
		require.NoError(t, errors.Join(errs...))
		require.NoError(t, shared.Close())
		require.NoError(t, tree.Close())
	}
}

func TestOpenTreeRefuses(t *testing.T) {
	dir := t.TempDir()
	filetest.Save(t, filetest.In(dir, "a.h5:/x"), filetest.Int32s(500, 7), nil)
	filetest.Save(t, filetest.In(dir, "a.bcolz"), filetest.Int32s(500, 7), nil)
	_, err := hyperslab.OpenTree(bg, filetest.In(dir, "none.h5"), nil)
	require.ErrorIs(t, err, ndarray.ErrNotFound)
	ctx, cancel := context.WithCancel(bg)
	cancel()
	_, err = hyperslab.OpenTree(ctx, filetest.In(dir, "a.h5"), nil)
	require.ErrorIs(t, err, context.Canceled)
	b, err := os.ReadFile(filetest.In(dir, "a.h5"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filetest.In(dir, "cut.h5"), b[:len(b)*2/3], 0o666))
	filetest.EveryWay(t, func(t *testing.T, u hyperslab.Untrusted) {
		for name, want := range map[string]error{"none.h5": ndarray.ErrNotFound, "cut.h5": ndarray.ErrCorrupt} {
			_, err := hyperslab.OpenTree(bg, filetest.In(dir, name), &hyperslab.OpenOptions{Untrusted: &u})
			require.ErrorIs(t, err, want)
			_, err = filetest.CopyTree(bg, filetest.In(dir, "copy"), filetest.In(dir, name), nil, &hyperslab.OpenOptions{Untrusted: &u})
			require.ErrorIs(t, err, want)
			require.NoDirExists(t, filetest.In(dir, "copy"))
		}
		_, err = hyperslab.OpenTree(ctx, filetest.In(dir, "a.h5"), &hyperslab.OpenOptions{Untrusted: &u})
		require.ErrorIs(t, err, context.Canceled)
		tree, err := hyperslab.OpenTree(bg, filetest.In(dir, "a.h5"), &hyperslab.OpenOptions{Untrusted: &u})
		require.NoError(t, err)
		_, err = tree.Open(bg, "/nope")
		require.ErrorIs(t, err, ndarray.ErrNotFound)
		require.NotContains(t, err.Error(), "/proc/self/fd")
		_, err = tree.Open(bg, "")
		require.ErrorIs(t, err, ndarray.ErrParam)
		_, err = tree.GroupAttrs(bg, "/nope")
		require.ErrorIs(t, err, ndarray.ErrNotFound)
		_, err = tree.Metadata(bg, "/nope")
		require.ErrorIs(t, err, ndarray.ErrNotFound)
		_, err = tree.Metadata(ctx, "/x")
		require.ErrorIs(t, err, context.Canceled)
		a, err := tree.Open(bg, "/x") // the tree is still usable after errors
		require.NoError(t, err)
		require.NoError(t, a.Close())
		require.NoError(t, tree.Close())

		tight := u
		tight.MaxMetadata = 64
		tree, err = hyperslab.OpenTree(bg, filetest.In(dir, "a.bcolz"), &hyperslab.OpenOptions{Untrusted: &tight})
		if err == nil {
			_, err = tree.Metadata(bg, "/")
			require.NoError(t, tree.Close())
		}
		require.ErrorIs(t, err, format.ErrLimit)
	})
}

// TestCopyTreeUntrusted checks that the copy of an untrusted tree equals the copy of the trusted
// tree, except for named datatypes.
func TestCopyTreeUntrusted(t *testing.T) {
	dir := t.TempDir()
	filetest.WriteObjects(t, filetest.In(dir, "tree.h5"))
	f, err := h5.Open(filetest.In(dir, "tree.h5"), h5.ReadWrite)
	require.NoError(t, err)
	named, err := f.Root().CommitDatatype("named", h5.Int(4, h5.LittleEndian))
	require.NoError(t, err)
	require.NoError(t, named.Close())
	require.NoError(t, f.Close())
	all := func(hyperslab.Problem) bool { return true }
	for _, target := range []string{"copy.h5", "copy"} {
		_, err := filetest.CopyTree(bg, filetest.In(dir, target), filetest.In(dir, "tree.h5"), &hyperslab.TreeOptions{Accept: all})
		require.NoError(t, err)
	}
	filetest.EveryWay(t, func(t *testing.T, u hyperslab.Untrusted) {
		u.ExternalLinks, u.VirtualSources, u.ExternalFiles = true, true, true
		for _, target := range []string{"copy.h5", "copy"} {
			made := filetest.In(t.TempDir(), target)
			_, err := filetest.CopyTree(bg, made, filetest.In(dir, "tree.h5"), &hyperslab.TreeOptions{Accept: all}, &hyperslab.OpenOptions{Untrusted: &u})
			require.NoError(t, err)
			arrays, _ := requireSameInside(t, open(t, filetest.In(dir, target)), open(t, made))
			require.Positive(t, arrays)
		}
		var lost []string
		_, err = filetest.CopyTree(bg, filetest.In(t.TempDir(), "x.h5"), filetest.In(dir, "tree.h5"), &hyperslab.TreeOptions{
			DryRun: true,
			Accept: func(p hyperslab.Problem) bool { lost = append(lost, p.String()); return true },
		}, &hyperslab.OpenOptions{Untrusted: &u})
		require.NoError(t, err)
		require.Contains(t, strings.Join(lost, "\n"), "/named: datatype: unsupported operation: the committed datatype H5T_STD_I32LE of an untrusted file")
	})
}
