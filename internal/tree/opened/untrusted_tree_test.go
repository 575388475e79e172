package opened_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/internal/testkit/filetest"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
)

// everyKind creates arrays of several formats, an HDF5 file with every kind of object and a
// directory with a copy of that file. It returns their locations, those of the bcolz golden files,
// and the Spec of the arrays.
func everyKind(t *testing.T, dir string) (locations []string, spec ndarray.Spec) {
	t.Helper()
	attrs := []ndarray.Attr{{Name: "unit", Value: ndarray.Text("m")}}
	spec = ndarray.Spec{Shape: []int64{30, 20}, ChunkShape: []int64{7, 20}, DType: ndarray.DTypeOf[int32](), Attrs: attrs}
	filetest.Save(t, filetest.In(dir, "a.b2nd"), spec, nil)
	filetest.Save(t, filetest.In(dir, "a.bcolz"), spec, nil)
	filetest.WriteObjects(t, filetest.In(dir, "tree.h5"))
	_, err := filetest.CopyTree(bg, filetest.In(dir, "tree"), filetest.In(dir, "tree.h5"), &hyperslab.TreeOptions{Accept: func(hyperslab.Problem) bool { return true }})
	require.NoError(t, err)
	locations = []string{filetest.In(dir, "a.b2nd"), filetest.In(dir, "a.bcolz"), filetest.In(dir, "tree.h5"), filetest.In(dir, "tree")}
	golden := testenv.Module(t, "internal/format/bcolztree/testdata")
	tables, err := os.ReadDir(golden)
	require.NoError(t, err)
	for _, e := range tables {
		if e.IsDir() {
			locations = append(locations, filepath.Join(golden, e.Name()))
		}
	}
	return locations, spec
}

func TestWalk_untrusted(t *testing.T) {
	dir := t.TempDir()
	locations, spec := everyKind(t, dir)
	filetest.Save(t, filetest.In(dir, "sparse.b2nd"), spec, &hyperslab.CreateOptions{Sparse: true})
	require.NoError(t, os.Symlink("/etc", filetest.In(dir, "tree/link")))
	require.NoError(t, os.WriteFile(filetest.In(dir, "tree/bad.b2nd"), []byte("no frame at all"), 0o666))
	require.NoError(t, hyperslab.EditGroupAttrs(bg, filetest.In(dir, "tree"), spec.Attrs, nil))
	locations = append(locations, filetest.In(dir, "sparse.b2nd"), filetest.In(dir, "tree.h5:/"))
	filetest.EveryWay(t, func(t *testing.T, u hyperslab.Untrusted) {
		u.ExternalLinks, u.VirtualSources, u.ExternalFiles = true, true, true // a worker does not need these permissions
		groups := 0
		for _, l := range locations {
			require.Positive(t, filetest.RequireSameWalk(t, l, u, nil), l)
			for e, err := range hyperslab.Walk(bg, l, nil) {
				require.NoError(t, err)
				if e.Kind == hyperslab.Group && groups < 12 {
					at := locate.Location{File: strings.TrimSuffix(l, ":/"), Object: e.Path}.String()
					want, err := filetest.GroupAttrs(at, nil)
					require.NoError(t, err)
					got, err := filetest.GroupAttrs(at, &hyperslab.OpenOptions{Untrusted: &u})
					require.NoError(t, err)
					require.Equal(t, want, got, at)
					groups++
				}
			}
		}
		require.Greater(t, groups, 5)
		top := func(e hyperslab.Entry) bool { return e.Path != "/" }
		shallow := filetest.RequireSameWalk(t, filetest.In(dir, "tree.h5"), u, top)
		require.Less(t, shallow, filetest.RequireSameWalk(t, filetest.In(dir, "tree.h5"), u, nil))
		filetest.RequireSameWalk(t, filetest.In(dir, "tree"), u, top)
	})
}

// TestWalk_untrustedMany checks walks whose entries arrive in many messages, and that the worker
// ends when the loop over the entries ends early.
func TestWalk_untrustedMany(t *testing.T) {
	file := filetest.In(t.TempDir(), "many.h5")
	f, err := h5.Create(file, nil)
	require.NoError(t, err)
	for i := range 3000 {
		g, err := f.Root().CreateGroup(fmt.Sprintf("%04d %s", i, strings.Repeat("long ", 40)))
		require.NoError(t, err)
		require.NoError(t, g.Close())
	}
	require.NoError(t, f.Close())
	filetest.EveryWay(t, func(t *testing.T, u hyperslab.Untrusted) {
		require.Equal(t, 3001, filetest.RequireSameWalk(t, file, u, nil))
		n := 0
		for _, err := range hyperslab.Walk(bg, file, &hyperslab.WalkOptions{Untrusted: &u}) {
			require.NoError(t, err)
			if n++; n == 5 {
				break
			}
		}
		require.Equal(t, 5, n)
		ctx, cancel := context.WithCancel(bg)
		cancel()
		for _, err := range hyperslab.Walk(ctx, file, &hyperslab.WalkOptions{Untrusted: &u}) {
			require.ErrorIs(t, err, context.Canceled)
		}
	})
}

func TestWalk_untrustedRefused(t *testing.T) {
	dir := t.TempDir()
	filetest.Save(t, filetest.In(dir, "a.b2nd"), filetest.Int32s(500, 7), nil)
	filetest.Save(t, filetest.In(dir, "a.h5:/x"), filetest.Int32s(500, 7), nil)
	for _, name := range []string{"a.b2nd", "a.h5"} {
		b, err := os.ReadFile(filetest.In(dir, name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filetest.In(dir, "cut-"+name), b[:len(b)*2/3], 0o666))
	}
	require.NoError(t, os.WriteFile(filetest.In(dir, "text"), []byte("not one of ours"), 0o666))
	require.NoError(t, os.Mkdir(filetest.In(dir, "tree"), 0o755))
	filetest.Save(t, filetest.In(dir, "tree/x.b2nd"), filetest.Int32s(500, 7), nil)
	require.NoError(t, os.Rename(filetest.In(dir, "cut-a.b2nd"), filetest.In(dir, "tree/cut.b2nd")))
	require.NoError(t, syscall.Mkfifo(filetest.In(dir, "tree/pipe.b2nd"), 0o666))
	outside, err := h5.Create(filetest.In(dir, "links.h5"), nil)
	require.NoError(t, err)
	require.NoError(t, outside.Root().LinkExternal("out", "other.h5", "/x"))
	require.NoError(t, outside.Close())
	filetest.EveryWay(t, func(t *testing.T, u hyperslab.Untrusted) {
		one := func(name string, prune func(hyperslab.Entry) bool) (e hyperslab.Entry, err error) {
			for e, err = range hyperslab.Walk(bg, filetest.In(dir, name), &hyperslab.WalkOptions{Prune: prune, Untrusted: &u}) {
				if err != nil {
					return e, err
				}
			}
			return e, nil
		}
		for name, want := range map[string]error{
			"cut-a.h5": ndarray.ErrCorrupt, "text": ndarray.ErrFormat, "none.h5": ndarray.ErrNotFound,
			"a.b2nd:/x": ndarray.ErrParam, "a.h5:/y": ndarray.ErrNotFound, "tree:/y": ndarray.ErrNotFound,
		} {
			_, err := one(name, nil)
			require.ErrorIs(t, err, want, name)
			require.Contains(t, err.Error(), name)
			require.NotContains(t, err.Error(), "/proc/self/fd")
		}
		_, err := hyperslab.OpenTree(bg, filetest.In(dir, "a.h5"), &hyperslab.OpenOptions{Write: true, Untrusted: &u})
		require.ErrorIs(t, err, ndarray.ErrParam)
		bad := map[string]error{}
		for e, err := range hyperslab.Walk(bg, filetest.In(dir, "tree"), &hyperslab.WalkOptions{Untrusted: &u}) {
			require.NoError(t, err)
			bad[e.Path] = e.Err
			if e.Err != nil {
				require.NotContains(t, e.Err.Error(), "/proc/self/fd")
			}
		}
		require.NoError(t, bad["/x"])
		require.ErrorIs(t, bad["/cut"], ndarray.ErrCorrupt)
		require.ErrorIs(t, bad["/pipe"], ndarray.ErrFormat)

		e, err := one("links.h5", nil)
		if u.InProcess {
			require.ErrorIs(t, err, errors.ErrUnsupported)
		} else {
			require.NoError(t, err)
			require.Equal(t, "other.h5:/x", e.Target)
		}
		_, err = filetest.GroupAttrs(filetest.In(dir, "a.b2nd"), &hyperslab.OpenOptions{Untrusted: &u})
		require.ErrorIs(t, err, ndarray.ErrParam)
		_, err = filetest.GroupAttrs(filetest.In(dir, "cut-a.h5:/"), &hyperslab.OpenOptions{Untrusted: &u})
		require.ErrorIs(t, err, ndarray.ErrCorrupt)
		tight := u
		tight.MaxMetadata = 64
		for _, err := range hyperslab.Walk(bg, filetest.In(dir, "a.h5"), &hyperslab.WalkOptions{Untrusted: &tight}) {
			require.ErrorIs(t, err, format.ErrLimit)
		}
		tight.Memory = -1
		for _, err := range hyperslab.Walk(bg, filetest.In(dir, "a.h5"), &hyperslab.WalkOptions{Untrusted: &tight}) {
			require.ErrorIs(t, err, ndarray.ErrParam)
		}
	})
}
