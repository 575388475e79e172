package opened_test

import (
	"bytes"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/testkit/filetest"
	"github.com/hyperslab/hyperslab/ndarray"
)

// TestClaims_unstoredElements checks that summaries, histograms and comparisons of an array of 2^40
// elements are exact and fast in every format if few elements are stored. Reading each element
// would take hours.
func TestClaims_unstoredElements(t *testing.T) {
	dir := t.TempDir()
	u2, err := ndarray.ParseDType("<u2")
	require.NoError(t, err)
	spec := func(chunk ...int64) ndarray.Spec {
		return ndarray.Spec{Shape: []int64{1 << 20, 1 << 20}, ChunkShape: chunk, DType: u2}
	}
	filled := spec(1<<10, 1<<10)
	filled.Fill = []byte{3, 0}
	contiguous := spec()
	contiguous.Compression = &ndarray.Compression{Codec: "none"}
	odd := spec(1000, 3000)
	row := ndarray.Region{Start: []int64{1<<20 - 3, 1<<20 - 10}, Shape: []int64{3, 10}}
	open := func(name string, spec ndarray.Spec, write bool) *ndarray.Array {
		address := filepath.Join(dir, name)
		d, err := hyperslab.Create(bg, address, spec, nil)
		require.NoError(t, err)
		if write {
			require.NoError(t, d.Write(bg, bytes.Repeat([]byte{5, 0}, 30), row))
		}
		require.NoError(t, d.Commit(bg))
		a, err := hyperslab.Open(bg, address, nil)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, a.Close()) })
		return a
	}
	const n = 1 << 40
	for _, tt := range []struct {
		name string
		spec ndarray.Spec
		fill int64
		few  bool
	}{
		{"nothing.h5:/x", spec(1<<10, 1<<10), 0, false},
		{"contiguous.h5:/x", contiguous, 0, false},
		{"few.h5:/x", filled, 3, true},
		{"odd.h5:/x", odd, 0, true},
		{"nothing.b2nd", spec(1<<10, 1<<10), 0, false},
		{"few.b2nd", odd, 0, true},
	} {
		a := open(tt.name, tt.spec, tt.few)
		s, err := ndarray.Summarize(bg, a, nil)
		require.NoError(t, err, tt.name)
		require.Equal(t, int64(n), s.Count, tt.name)
		want := big.NewInt(tt.fill * n)
		if tt.few {
			want.Add(want, big.NewInt(30*(5-tt.fill)))
		}
		require.Zero(t, s.ExactSum.Cmp(want), "%s: sum %v, want %v", tt.name, s.ExactSum, want)
		h, err := ndarray.CountBins(bg, a, float64(tt.fill), float64(tt.fill)+1, 1, nil)
		require.NoError(t, err, tt.name)
		require.Equal(t, int64(n), h.Bins[0]+h.Above, tt.name)
		require.Equal(t, tt.few, h.Above == 30, tt.name)
		same, err := ndarray.Compare(bg, a, a, nil)
		require.NoError(t, err, tt.name)
		require.True(t, same.Equal(), tt.name)
	}

	// The formats of the two arrays differ, and their chunk borders are unrelated.
	x, y := open("x.h5:/x", spec(1<<10, 1<<10), true), open("y.b2nd", odd, true)
	c, err := ndarray.Compare(bg, x, y, &ndarray.CompareOptions{IgnoreAttrs: true})
	require.NoError(t, err)
	require.Zero(t, c.NumDiffs)
	c, err = ndarray.Compare(bg, open("z.h5:/x", filled, false), y, &ndarray.CompareOptions{IgnoreAttrs: true, MaxDiffs: 3})
	require.NoError(t, err)
	require.Equal(t, int64(n), c.NumDiffs)
	require.Equal(t, []ndarray.Difference{{Index: []int64{0, 0}, A: "3", B: "0"}, {Index: []int64{0, 1}, A: "3", B: "0"}, {Index: []int64{0, 2}, A: "3", B: "0"}}, c.Diffs)
}

// TestClaims_unstoredElements_untrusted checks the same for untrusted files, in the process and in
// a worker, opened directly and from a tree.
func TestClaims_unstoredElements_untrusted(t *testing.T) {
	dir := t.TempDir()
	const n, extent = 1 << 36, 1 << 18
	contiguous := ndarray.Spec{Shape: []int64{extent, extent}, DType: ndarray.DTypeOf[int32](), Compression: &ndarray.Compression{Codec: "none"}}
	chunked := ndarray.Spec{Shape: []int64{extent, extent}, ChunkShape: []int64{1000, 3000}, DType: ndarray.DTypeOf[int32]()}
	for name, spec := range map[string]ndarray.Spec{"contiguous.h5:/x": contiguous, "chunked.h5:/x": chunked, "frame.b2nd": chunked} {
		location := filetest.In(dir, name)
		d, err := hyperslab.Create(bg, location, spec, nil)
		require.NoError(t, err)
		if spec.ChunkShape != nil {
			require.NoError(t, d.Write(bg, bytes.Repeat([]byte{5, 0, 0, 0}, 30), ndarray.Region{Start: []int64{extent - 3, extent - 10}, Shape: []int64{3, 10}}))
		}
		require.NoError(t, d.Commit(bg))
		check := func(t *testing.T, a *ndarray.Array) {
			s, err := ndarray.Summarize(bg, a, nil)
			require.NoError(t, err)
			require.EqualValues(t, n, s.Count)
			want := int64(0)
			if spec.ChunkShape != nil {
				want = 150
			}
			require.Zero(t, s.ExactSum.Cmp(big.NewInt(want)), "%v", s.ExactSum)
		}
		t.Run(name, func(t *testing.T) {
			filetest.EveryWay(t, func(t *testing.T, u hyperslab.Untrusted) {
				g, err := hyperslab.Open(bg, location, &hyperslab.OpenOptions{Untrusted: &u})
				require.NoError(t, err)
				check(t, g)
				require.NoError(t, g.Close())
				file, object, _ := strings.Cut(name, ":/")
				path := "/" + object
				tree, err := hyperslab.OpenTree(bg, filetest.In(dir, file), &hyperslab.OpenOptions{Untrusted: &u})
				require.NoError(t, err)
				a, err := tree.Open(bg, path)
				require.NoError(t, err)
				check(t, a)
				require.NoError(t, a.Close())
				require.NoError(t, tree.Close())
			})
		})
	}
}

// TestCopy_unstored copies arrays without stored chunks, which keep their file size and take no
// time, and arrays with few of them.
func TestCopy_unstored(t *testing.T) {
	dir := t.TempDir()
	spec := ndarray.Spec{Shape: []int64{1 << 17, 1 << 16}, ChunkShape: []int64{256, 1024}, DType: ndarray.DTypeOf[int32]()}
	filled := spec
	filled.Fill = []byte{7, 0, 0, 0}
	create := func(t *testing.T, location string, spec ndarray.Spec) *hyperslab.Draft {
		d, err := hyperslab.Create(bg, location, spec, nil)
		require.NoError(t, err)
		return d
	}
	for name, spec := range map[string]ndarray.Spec{"zeros": spec, "fill": filled} {
		src := create(t, filepath.Join(dir, name+".h5")+":/a", spec)
		part := ndarray.Region{Start: []int64{1000, 3000}, Shape: []int64{300, 2000}}
		last := ndarray.Region{Start: []int64{1<<17 - 1, 1<<16 - 5}, Shape: []int64{1, 5}}
		for _, stored := range []bool{false, true} {
			if stored {
				require.NoError(t, ndarray.Write(bg, src.Array, slices.Repeat([]int32{3}, 600_000), part))
				require.NoError(t, ndarray.Write(bg, src.Array, []int32{1, 2, 3, 4, 5}, last))
			}
			targets := []string{"x.h5:/b"}
			if name == "zeros" {
				targets = append(targets, "x.b2nd")
			}
			for _, target := range targets {
				t.Run(fmt.Sprint(name, " ", stored, " ", target), func(t *testing.T) {
					own, location := spec, filepath.Join(t.TempDir(), target)
					own.ChunkShape = []int64{512, 512} // no chunk is copied as stored
					dst := create(t, location, own)
					_, err := ndarray.Copy(bg, dst.Array, src.Array, nil)
					require.NoError(t, err)
					require.NoError(t, dst.Commit(bg))
					require.NoError(t, dst.Close())
					file, _, _ := strings.Cut(location, ":/b")
					info, err := os.Stat(file)
					require.NoError(t, err)
					require.Less(t, info.Size(), int64(8<<20))
					got, err := hyperslab.Open(bg, location, nil)
					require.NoError(t, err)
					defer got.Close()
					c, err := ndarray.Compare(bg, got, src.Array, &ndarray.CompareOptions{IgnoreAttrs: true})
					require.NoError(t, err)
					require.Zero(t, c.NumDiffs)
					if stored {
						end := make([]int32, 6)
						require.NoError(t, ndarray.Read(bg, got, end, ndarray.Region{Start: []int64{1<<17 - 1, 1<<16 - 6}, Shape: []int64{1, 6}}))
						require.Equal(t, []int32{map[string]int32{"zeros": 0, "fill": 7}[name], 1, 2, 3, 4, 5}, end)
					}
				})
			}
		}
		require.NoError(t, src.Close())
	}
}

// TestCopy_unstoredBytes checks that a frame with a fill value does not depend on how the source
// stores elements with this value, on the number of workers or on the memory.
func TestCopy_unstoredBytes(t *testing.T) {
	dir := t.TempDir()
	spec := ndarray.Spec{Shape: []int64{1000, 1300}, ChunkShape: []int64{64, 100}, DType: ndarray.DTypeOf[int32](), Fill: []byte{7, 0, 0, 0}}
	own := spec
	own.ChunkShape, own.BlockShape = []int64{60, 70}, []int64{16, 70}
	part := ndarray.Region{Start: []int64{100, 300}, Shape: []int64{30, 200}}
	var frames [][]byte
	for _, stored := range []bool{false, true} {
		src, err := hyperslab.Create(bg, filetest.In(dir, fmt.Sprint(stored, ".h5:/a")), spec, nil)
		require.NoError(t, err)
		if stored {
			require.NoError(t, ndarray.Write(bg, src.Array, slices.Repeat([]int32{7}, 1_300_000), ndarray.Whole(spec.Shape)))
		}
		require.NoError(t, ndarray.Write(bg, src.Array, slices.Repeat([]int32{3}, 6000), part))
		for i, o := range []ndarray.CopyOptions{{Workers: 1}, {Workers: 3}, {Workers: 2, Memory: 1 << 20}} {
			file := filetest.In(dir, fmt.Sprint(stored, i, ".b2nd"))
			dst, err := hyperslab.Create(bg, file, own, nil)
			require.NoError(t, err)
			_, err = ndarray.Copy(bg, dst.Array, src.Array, &o)
			require.NoError(t, err)
			c, err := ndarray.Compare(bg, dst.Array, src.Array, nil)
			require.NoError(t, err)
			require.Zero(t, c.NumDiffs)
			require.NoError(t, dst.Commit(bg))
			require.NoError(t, dst.Close())
			b, err := os.ReadFile(file)
			require.NoError(t, err)
			frames = append(frames, b)
		}
		require.NoError(t, src.Close())
	}
	for i, b := range frames[1:] {
		require.Equal(t, len(frames[0]), len(b), i+1)
		require.True(t, bytes.Equal(frames[0], b), i+1)
	}
}
