package h5names_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5names"
)

// fill creates groups, datasets with several hard links, hidden names and a cycle, and returns
// references to all objects, of which the last one is not linked any more.
func fill(t *testing.T, f *h5.File) (refs []h5.Ref) {
	t.Helper()
	root := f.Root()
	add := func(name string) {
		r, err := root.Reference(name, h5.ObjectReference)
		require.NoError(t, err)
		refs = append(refs, r)
	}
	dataset := func(name string) {
		d, err := root.CreateDataset(name, h5.Uint(1, h5.LittleEndian), h5.SimpleSpace(3), nil)
		require.NoError(t, err)
		require.NoError(t, d.Close())
		add(name)
	}
	for _, name := range []string{"z", "a", "a/b", ".hidden", "m"} {
		g, err := root.CreateGroup(name)
		require.NoError(t, err)
		require.NoError(t, g.Close())
		add(name)
	}
	for i := range 30 { // dense storage in groups of the newer formats
		dataset(fmt.Sprintf("a/b/d%d", i))
	}
	dataset("late")
	for from, to := range map[string]string{"early": "late", "a/x": "late", "z/y": "a/b/d3", "m/a": "a", "m/b": "a/b/d4", "a/cycle": "a"} {
		require.NoError(t, root.LinkHard(from, to))
	}
	require.NoError(t, root.LinkSoft("a/soft", "/late"))
	add(".")
	r, err := root.ReferenceRegion("a/b/d7", h5.RegionReference, h5.Region{Start: []int64{1}, Count: []int64{2}})
	require.NoError(t, err)
	refs = append(refs, r)
	for _, kind := range []string{"a", "late"} {
		r, err := root.Reference(kind, h5.StandardReference)
		require.NoError(t, err)
		refs = append(refs, r)
	}
	dataset("gone")
	require.NoError(t, root.LinkHard("still", "gone"))
	require.NoError(t, root.Unlink("gone"))
	return refs
}

// requireSame compares Resolve with libhdf5.
func requireSame(t *testing.T, f *h5.File, refs []h5.Ref) {
	t.Helper()
	for range 2 {
		for _, r := range refs {
			want, werr := f.Resolve(r)
			got, err := h5names.Resolve(f, r)
			require.Equal(t, werr == nil, err == nil, "%v: %v", r, err)
			require.Equal(t, want, got)
		}
	}
}

func TestResolve(t *testing.T) {
	for name, o := range map[string]*h5.CreateOptions{"earliest": nil, "latest": {Low: h5.LatestFormat}} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "x.h5")
			f, err := h5.Create(file, o)
			require.NoError(t, err)
			refs := fill(t, f)
			requireSame(t, f, refs)
			t.Run("changed links", func(t *testing.T) {
				root := f.Root()
				require.NoError(t, root.MoveLink("a/b", root, "moved"))
				require.NoError(t, root.Unlink("early"))
				requireSame(t, f, refs)
				require.NoError(t, root.Unlink("still"))
				d, err := root.CreateDataset("a/new", h5.Uint(1, h5.LittleEndian), h5.SimpleSpace(3), nil)
				require.NoError(t, err)
				require.NoError(t, d.Close())
				r, err := root.Reference("a/new", h5.ObjectReference)
				require.NoError(t, err)
				requireSame(t, f, append(refs[:len(refs)-1:len(refs)-1], r))
			})
			require.NoError(t, f.Close())
			f, err = h5.Open(file, h5.ReadOnly)
			require.NoError(t, err)
			requireSame(t, f, refs[:len(refs)-1])
			require.NoError(t, f.Close())
			_, err = h5names.Resolve(f, refs[0])
			require.ErrorIs(t, err, h5.ErrClosed)
		})
	}
}
