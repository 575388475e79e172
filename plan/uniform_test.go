package plan_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/plan"
)

// TestPlan_unstored does plans of 4 GiB of a fill value, which would take much time and disk space
// if each chunk was read and written, and checks that the targets store almost nothing.
func TestPlan_unstored(t *testing.T) {
	dir := t.TempDir()
	src := filepath.Join(dir, "src.h5") + ":/a"
	spec := ndarray.Spec{Shape: []int64{1 << 13, 1 << 16}, ChunkShape: []int64{1 << 10, 1 << 10}, DType: ndarray.DTypeOf[float64](), Fill: []byte{0, 0, 0, 0, 0, 0, 28, 64}}
	d, err := hyperslab.Create(t.Context(), src, spec, nil)
	require.NoError(t, err)
	require.NoError(t, ndarray.Write(t.Context(), d.Array, []float64{1, 2, 3}, ndarray.Region{Start: []int64{5000, 60000}, Shape: []int64{1, 3}}))
	require.NoError(t, d.Commit(t.Context()))
	rows := func(s *ndarray.Spec) {
		s.ChunkShape, s.BlockShape, s.Compression = []int64{4, 1 << 16}, nil, nil
	}
	for _, tt := range []struct {
		operation, target string
		change            func(*ndarray.Spec)
		o                 plan.Options
		stages            int
	}{
		{"convert", "same.b2nd", func(*ndarray.Spec) {}, plan.Options{}, 1},
		{"convert", "joined.h5:/x", func(*ndarray.Spec) {}, plan.Options{Compact: true}, 1},
		{"convert", "virtual.h5:/x", func(*ndarray.Spec) {}, plan.Options{}, 1},
		{"rechunk", "rows.h5:/x", rows, plan.Options{Compact: true, ShardBytes: 64 << 20}, 2},
	} {
		t.Run(tt.target, func(t *testing.T) {
			target := filepath.Join(dir, tt.target)
			p := planned(t, tt.operation, src, target, tt.change, tt.o)
			require.Len(t, p.Stages, tt.stages)
			all(t, p)
			require.NoError(t, p.Commit(t.Context(), nil))
			a, err := hyperslab.Open(t.Context(), src, nil)
			require.NoError(t, err)
			defer func() { require.NoError(t, a.Close()) }()
			b, err := hyperslab.Open(t.Context(), target, nil)
			require.NoError(t, err)
			defer func() { require.NoError(t, b.Close()) }()
			if strings.HasPrefix(tt.target, "virtual") {
				v := make([]float64, 5)
				require.NoError(t, ndarray.Read(t.Context(), b, v, ndarray.Region{Start: []int64{5000, 59999}, Shape: []int64{1, 5}}))
				require.Equal(t, []float64{7, 1, 2, 3, 7}, v)
				return // the library reads each element of a virtual dataset
			}
			c, err := ndarray.Compare(t.Context(), a, b, nil)
			require.NoError(t, err)
			require.Zero(t, c.NumDiffs)
			file, _, _ := strings.Cut(target, ":")
			info, err := os.Stat(file)
			require.NoError(t, err)
			require.Less(t, info.Size(), int64(4<<20))
		})
	}
	t.Run("verify", func(t *testing.T) {
		doc := outcomeOf(t, src, filepath.Join(dir, "verify.json"), "verify", nil)
		require.EqualValues(t, 8*64, doc["chunks"])
		require.EqualValues(t, 0, doc["corrupt"])
	})
	t.Run("stats", func(t *testing.T) {
		doc := outcomeOf(t, src, filepath.Join(dir, "stats.json"), "stats", nil)
		require.EqualValues(t, 1<<29, doc["count"])
	})
}

// outcomeOf does a plan whose target is a JSON document and returns it.
func outcomeOf(t *testing.T, src, target, operation string, o *plan.Options) (doc map[string]any) {
	p, err := plan.New(t.Context(), operation, src, target, o)
	require.NoError(t, err)
	all(t, p)
	require.NoError(t, p.Commit(t.Context(), nil))
	text, err := os.ReadFile(target)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &doc))
	return doc
}

// TestPlan_checksumUnstored checks that the digest of elements that are not stored is that of the
// same elements.
func TestPlan_checksumUnstored(t *testing.T) {
	dir := t.TempDir()
	spec := ndarray.Spec{Shape: []int64{70, 50}, ChunkShape: []int64{20, 30}, DType: ndarray.DTypeOf[int16](), Fill: []byte{7, 1}}
	write := func(name string, n int64) string {
		location := filepath.Join(dir, name) + ":/a"
		d, err := hyperslab.Create(t.Context(), location, spec, nil)
		require.NoError(t, err)
		v := make([]int16, n*50)
		for i := range v {
			v[i] = 0x107
		}
		v[3] = 9
		require.NoError(t, ndarray.Write(t.Context(), d.Array, v, ndarray.Region{Start: []int64{0, 0}, Shape: []int64{n, 50}}))
		require.NoError(t, d.Commit(t.Context()))
		return location
	}
	part := outcomeOf(t, write("part.h5", 1), filepath.Join(dir, "part.json"), "checksum", nil)["sha256"]
	whole := outcomeOf(t, write("whole.h5", 70), filepath.Join(dir, "whole.json"), "checksum", nil)["sha256"]
	require.Equal(t, whole, part)
	require.Len(t, whole, hex.EncodedLen(sha256.Size))
}
