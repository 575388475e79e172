package draft_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/ndarray"
)

func TestCreate_stripes(t *testing.T) {
	spec := ndarray.Spec{Shape: []int64{100, 30}, ChunkShape: []int64{10, 30}, DType: ndarray.DTypeOf[int32]()}
	want := make([]int32, 3000)
	for i := range want {
		want[i] = int32(i)
	}
	for name, inFile := range map[string]string{"new file": "", "copy of a file": "copy", "file in place": "in place"} {
		t.Run(name, func(t *testing.T) {
			dir, ctx := t.TempDir(), t.Context()
			location := filepath.Join(dir, "x.h5") + ":/d"
			names := func() (list []string) {
				entries, err := os.ReadDir(dir)
				require.NoError(t, err)
				for _, e := range entries {
					list = append(list, e.Name())
				}
				return list
			}
			before := []string(nil)
			if inFile != "" {
				d, err := hyperslab.Create(ctx, filepath.Join(dir, "x.h5")+":/other", spec, nil)
				require.NoError(t, err)
				require.NoError(t, d.Commit(ctx))
				before = []string{"x.h5"}
			}
			o := &hyperslab.CreateOptions{Stripes: []string{"a.h5", "b.h5"}, StripeOf: func(at []int64) int { return int(at[0] / 7) }, InPlace: inFile == "in place"}
			discarded, err := hyperslab.Create(ctx, location, spec, o)
			require.NoError(t, err)
			require.FileExists(t, filepath.Join(dir, "a.h5"))
			require.NoError(t, ndarray.Write(ctx, discarded.Array, want, ndarray.Region{Start: []int64{0, 0}, Shape: spec.Shape}))
			require.NoError(t, discarded.Close())
			require.Equal(t, before, names(), "after a discarded draft")

			require.NoError(t, os.WriteFile(filepath.Join(dir, "b.h5"), []byte("other"), 0o644))
			_, err = hyperslab.Create(ctx, location, spec, o)
			require.ErrorIs(t, err, ndarray.ErrExists)
			require.Equal(t, append([]string{"b.h5"}, before...), names(), "after a stripe file that exists")
			require.NoError(t, os.Remove(filepath.Join(dir, "b.h5")))

			d, err := hyperslab.Create(ctx, location, spec, o)
			require.NoError(t, err)
			require.NoError(t, ndarray.Write(ctx, d.Array, want, ndarray.Region{Start: []int64{0, 0}, Shape: spec.Shape}))
			require.NoError(t, d.Commit(ctx))
			require.Equal(t, []string{"a.h5", "b.h5", "x.h5"}, names())
			a, err := hyperslab.Open(ctx, location, nil)
			require.NoError(t, err)
			got, err := ndarray.ReadAll[int32](ctx, a)
			require.NoError(t, err)
			require.Equal(t, want, got)
			require.NoError(t, a.Close())
		})
	}
}

// TestDraft_Commit_stripes checks that Commit removes the stripe files if another program has
// created the target.
func TestDraft_Commit_stripes(t *testing.T) {
	dir, ctx := t.TempDir(), t.Context()
	target := filepath.Join(dir, "x.h5")
	spec := ndarray.Spec{Shape: []int64{10}, ChunkShape: []int64{5}, DType: ndarray.DTypeOf[int32]()}
	d, err := hyperslab.Create(ctx, target+":/d", spec, &hyperslab.CreateOptions{Stripes: []string{"a.h5"}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(target, nil, 0o644))
	require.ErrorIs(t, d.Commit(ctx), ndarray.ErrExists)
	require.NoFileExists(t, filepath.Join(dir, "a.h5"))
	require.FileExists(t, target)
}

func TestCreate_invalidStripes(t *testing.T) {
	dir := t.TempDir()
	spec := ndarray.Spec{Shape: []int64{10}, DType: ndarray.DTypeOf[int32]()}
	for name, c := range map[string]struct {
		file    string
		options hyperslab.CreateOptions
	}{
		"b2nd":            {"x.b2nd", hyperslab.CreateOptions{Stripes: []string{"a.h5"}}},
		"no files":        {"x.h5:/d", hyperslab.CreateOptions{Stripes: []string{}}},
		"placement alone": {"x.h5:/d", hyperslab.CreateOptions{StripeOf: func([]int64) int { return 0 }}},
		"virtual b2nd":    {"x.b2nd", hyperslab.CreateOptions{Mappings: []h5.Mapping{}}},
		"external b2nd":   {"x.b2nd", hyperslab.CreateOptions{External: []h5.ExternalFile{}}},
		"two locations":   {"x.h5:/d", hyperslab.CreateOptions{External: []h5.ExternalFile{{Name: "a", Size: 80}}, Stripes: []string{"a.h5"}}},
		"other placement": {"x.h5:/d", hyperslab.CreateOptions{Stripes: []string{"a.h5"}, StripeOf: func([]int64) int { return 1 }}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := hyperslab.Create(t.Context(), filepath.Join(dir, c.file), spec, &c.options)
			require.ErrorIs(t, err, ndarray.ErrParam)
			entries, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Empty(t, entries)
		})
	}
}
