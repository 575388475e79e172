package plan_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cblosc/frameio"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/plan"
)

// requireEqual checks that two locations have equal elements and attributes.
func requireEqual(t testing.TB, want, got string) {
	t.Helper()
	a, err := hyperslab.Open(t.Context(), want, nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, a.Close()) }()
	b, err := hyperslab.Open(t.Context(), got, nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, b.Close()) }()
	c, err := ndarray.Compare(t.Context(), b, a, nil)
	require.NoError(t, err)
	require.True(t, c.Equal(), "%d different elements", c.NumDiffs)
}

// TestPlan_Commit_virtual checks the default HDF5 target: a virtual dataset over the parts.
func TestPlan_Commit_virtual(t *testing.T) {
	dir := t.TempDir()
	wave(t, dir+"/a.b2nd", floats([]int64{37, 50, 61}, []int64{8, 20, 61}))
	change := func(s *ndarray.Spec) {
		s.ChunkShape, s.Fill, s.AxisNames = []int64{10, 10, 10}, []byte{0, 0, 128, 63}, []string{"t", "", "x"}
	}
	convert := func(t *testing.T, name string) (p *plan.Plan, out string) {
		out = t.TempDir()
		p = planned(t, "convert", dir+"/a.b2nd", out+"/"+name+":/g/x", change, plan.Options{ShardBytes: 60_000})
		all(t, p)
		require.NoError(t, p.Commit(t.Context(), nil))
		return p, out
	}
	p, out := convert(t, "out.h5")
	require.NoDirExists(t, out+"/out.h5.parts")
	t.Run("elements", func(t *testing.T) { requireEqual(t, dir+"/a.b2nd", out+"/out.h5:/g/x") })
	t.Run("same bytes again", func(t *testing.T) {
		_, again := convert(t, "out.h5")
		requireSame(t, out, again)
		require.Len(t, content(t, out), int(p.Stages[0].Shards)+1)
	})
	t.Run("repeated commit", func(t *testing.T) {
		before := content(t, out)
		require.NoError(t, p.Commit(t.Context(), nil))
		require.Equal(t, before, content(t, out))
	})
	t.Run("moved with its parts", func(t *testing.T) {
		to := t.TempDir()
		require.NoError(t, os.CopyFS(to+"/moved", os.DirFS(out)))
		requireEqual(t, dir+"/a.b2nd", to+"/moved/out.h5:/g/x")
		require.NoError(t, os.Remove(to+"/moved/out.h5.shards/000000001.h5"))
		a, err := hyperslab.Open(t.Context(), to+"/moved/out.h5:/g/x", nil)
		require.NoError(t, err)
		defer func() { require.NoError(t, a.Close()) }()
		require.ErrorIs(t, a.Read(t.Context(), make([]byte, a.NBytes()), ndarray.Whole(a.Shape())), ndarray.ErrNotFound)
	})
	t.Run("name with percent", func(t *testing.T) {
		_, out := convert(t, "50%b.h5")
		requireEqual(t, dir+"/a.b2nd", out+"/50%b.h5:/g/x")
	})
	t.Run("h5py", func(t *testing.T) {
		python := testenv.Python(t, "h5py")
		code := `import sys, h5py, numpy as np
with h5py.File(sys.argv[1]) as f, h5py.File(sys.argv[2]) as g:
    d, want = f["/g/x"], g["/x"]
    assert d.is_virtual and d.fillvalue == 1 and d.attrs["scale"] == 2.5 and [x.label for x in d.dims] == ["t", "", "x"]
    assert {s.file_name for s in d.virtual_sources()} == {"out.h5.shards/%09d.h5" % i for i in range(int(sys.argv[3]))}
    np.testing.assert_array_equal(d[...], want[...])`
		single(t, dir+"/a.b2nd", dir+"/want.h5:/x", func(*ndarray.Spec) {}, nil)
		cmd := exec.Command(python, "-c", code, out+"/out.h5", dir+"/want.h5", fmt.Sprint(p.Stages[0].Shards))
		cmd.Dir = t.TempDir()
		b, err := cmd.CombinedOutput()
		require.NoError(t, err, string(b))
	})
	t.Run("h5dump", func(t *testing.T) {
		cmd := exec.Command(testenv.Tool(t, "h5dump"), "-d", "/g/x", "-s", "36,49,59", "-c", "1,1,2", out+"/out.h5")
		cmd.Dir = t.TempDir()
		b, err := cmd.CombinedOutput()
		require.NoError(t, err, string(b))
		a, err := hyperslab.Open(t.Context(), dir+"/a.b2nd", nil)
		require.NoError(t, err)
		defer func() { require.NoError(t, a.Close()) }()
		v := make([]float32, 2)
		require.NoError(t, ndarray.Read(t.Context(), a, v, ndarray.Region{Start: []int64{36, 49, 59}, Shape: []int64{1, 1, 2}}))
		require.Contains(t, string(b), "(36,49,59): "+number(v[0])+", "+number(v[1]))
	})
	t.Run("existing shards", func(t *testing.T) {
		out := t.TempDir()
		require.NoError(t, os.MkdirAll(out+"/out.h5.shards", 0o777))
		_, err := plan.New(t.Context(), "convert", dir+"/a.b2nd", out+"/out.h5:/x", nil)
		require.ErrorIs(t, err, ndarray.ErrExists)
		require.NoError(t, os.Remove(out+"/out.h5.shards"))
		p := planned(t, "convert", dir+"/a.b2nd", out+"/out.h5:/x", change, plan.Options{ShardBytes: 60_000})
		all(t, p)
		require.NoError(t, os.Mkdir(out+"/out.h5.shards", 0o777))
		require.NoError(t, os.WriteFile(out+"/out.h5.shards/000000000.h5", []byte("other"), 0o666))
		requireUnchanged(t, out, ndarray.ErrExists, func() error { return p.Commit(t.Context(), nil) })
	})
	t.Run("stopped after the parts were moved", func(t *testing.T) {
		out := t.TempDir()
		p := planned(t, "convert", dir+"/a.b2nd", out+"/out.h5:/x", change, plan.Options{ShardBytes: 60_000})
		all(t, p)
		require.NoError(t, os.CopyFS(out+"/kept", os.DirFS(out+"/out.h5.parts")))
		require.NoError(t, p.Commit(t.Context(), nil))
		before := content(t, out+"/out.h5")
		require.NoError(t, os.Remove(out+"/out.h5"))
		require.NoError(t, os.Rename(out+"/kept", out+"/out.h5.parts"))
		require.NoError(t, p.Commit(t.Context(), nil))
		require.Equal(t, before, content(t, out+"/out.h5"))
	})
	t.Run("growing target", func(t *testing.T) {
		out := t.TempDir()
		growing := func(s *ndarray.Spec) { s.MaxShape = []int64{-1, 60, 61} }
		p := planned(t, "convert", dir+"/a.b2nd", out+"/out.h5:/x", growing, plan.Options{ShardBytes: 60_000})
		all(t, p)
		require.NoError(t, p.Commit(t.Context(), nil))
		requireEqual(t, dir+"/a.b2nd", out+"/out.h5:/x")
		a, err := hyperslab.Open(t.Context(), out+"/out.h5:/x", nil)
		require.NoError(t, err)
		defer func() { require.NoError(t, a.Close()) }()
		require.Equal(t, []int64{-1, 60, 61}, a.Meta().MaxShape)
		b, err := exec.Command(testenv.Tool(t, "h5dump"), "-d", "/x", "-s", "36,49,60", "-c", "1,1,1", out+"/out.h5").CombinedOutput()
		require.NoError(t, err, string(b))
		require.Contains(t, string(b), "( 37, 50, 61 ) / ( H5S_UNLIMITED, 60, 61 )")
	})
}

// frames returns the compressed chunks of a frame.
func frames(t *testing.T, path string) (chunks [][]byte) {
	t.Helper()
	f, err := frameio.Open(path, nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	for i := range f.NumChunks() {
		c, err := f.Chunk(nil, i)
		require.NoError(t, err)
		chunks = append(chunks, c)
	}
	return chunks
}

// TestPlan_Commit_noRecompression writes parts with a level of compression that the plan of the
// target does not have, and finds their compressed bytes in the target.
func TestPlan_Commit_noRecompression(t *testing.T) {
	for _, test := range []struct {
		name string
		plan.Options
	}{{"contiguous", plan.Options{}}, {"sparse", plan.Options{Sparse: true}}} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			wave(t, dir+"/a.b2nd", floats([]int64{40, 40, 40}, []int64{10, 40, 40}))
			test.ShardBytes = 64_000
			p := planned(t, "convert", dir+"/a.b2nd", dir+"/out.b2nd", func(*ndarray.Spec) {}, test.Options)
			require.Equal(t, int64(4), p.Stages[0].Shards)
			all(t, p)
			parts, err := filepath.Glob(dir + "/out.b2nd.parts/1-*-*")
			require.NoError(t, err)
			require.Len(t, parts, 4)
			slices.Sort(parts)
			var want [][]byte
			var files []os.FileInfo
			for _, part := range parts {
				want = append(want, frames(t, part)...)
				if test.Sparse {
					info, err := os.Stat(part + "/00000000.chunk")
					require.NoError(t, err)
					files = append(files, info)
				}
			}
			require.NoError(t, p.Commit(t.Context(), nil))
			require.Equal(t, want, frames(t, dir+"/out.b2nd"))
			for i, file := range files { // commit has not written the chunks again
				info, err := os.Stat(dir + "/out.b2nd/0000000" + string(rune('0'+i)) + ".chunk")
				require.NoError(t, err)
				require.True(t, os.SameFile(file, info))
			}
		})
	}
}

// TestPlan_Commit_sparse compares a sparse target with that of one process: chunks of zeros, fill
// values, and few chunks that are stored.
func TestPlan_Commit_sparse(t *testing.T) {
	dir := t.TempDir()
	for _, test := range []struct {
		name  string
		write map[int64]float32 // rows that are written, with their value
		fill  []byte
	}{
		{"no chunks", nil, nil},
		{"one chunk", map[int64]float32{7: 1}, nil},
		{"few chunks", map[int64]float32{0: 1, 3: 2, 4: 0, 9: 5}, nil},
		{"fill value", map[int64]float32{0: 1, 3: 2, 4: 0, 9: 5}, []byte{0, 0, 128, 63}},
	} {
		t.Run(test.name, func(t *testing.T) {
			out := t.TempDir()
			spec := ndarray.Spec{Shape: []int64{10, 64}, ChunkShape: []int64{1, 64}, DType: ndarray.DTypeOf[float32](), Fill: test.fill}
			src := filepath.Join(dir, test.name+".h5:/x")
			d, err := hyperslab.Create(t.Context(), src, spec, nil)
			require.NoError(t, err)
			for _, row := range slices.Sorted(maps.Keys(test.write)) {
				v := slices.Repeat([]float32{test.write[row]}, 64)
				v[3] = float32(row)
				require.NoError(t, ndarray.Write(t.Context(), d.Array, v, ndarray.Region{Start: []int64{row, 0}, Shape: []int64{1, 64}}))
			}
			require.NoError(t, d.Commit(t.Context()))
			same := func(*ndarray.Spec) {}
			single(t, src, out+"/single.b2nd", same, &hyperslab.CreateOptions{Sparse: true})
			p := planned(t, "convert", src, out+"/out.b2nd", same, plan.Options{Sparse: true, ShardBytes: 512})
			require.Equal(t, int64(5), p.Stages[0].Shards)
			all(t, p)
			require.NoError(t, p.Commit(t.Context(), nil))
			requireSame(t, out+"/single.b2nd", out+"/out.b2nd")
			requireEqual(t, src, out+"/out.b2nd")
		})
	}
}

// number formats a float as h5dump.
func number(v float32) string { return strconv.FormatFloat(float64(v), 'g', 6, 32) }
