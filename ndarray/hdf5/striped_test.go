package hdf5_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
)

// TestCreate_stripes checks that workers and libhdf5 write and read the same elements of a striped
// dataset.
func TestCreate_stripes(t *testing.T) {
	ctx, run := context.Background(), 0
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		run++
		order := rapid.SampledFrom([]ndarray.Order{ndarray.Little, ndarray.Big}).Draw(t, "order")
		d := ndarray.DType{Kind: ndarray.Int, Size: 4, Order: order}
		shape := []int64{rapid.Int64Range(100, 200).Draw(t, "rows"), rapid.Int64Range(200, 300).Draw(t, "columns")}
		spec := ndarray.Spec{Shape: shape, DType: d, ChunkShape: []int64{rapid.Int64Range(10, 40).Draw(t, "height"), rapid.Int64Range(20, 300).Draw(t, "width")}}
		files := []string{fmt.Sprintf("%d-a.h5", run), fmt.Sprintf("%d-b.h5", run), fmt.Sprintf("%d-c.h5", run)}
		path := filepath.Join(dir, fmt.Sprintf("%d.h5", run))
		b, err := hdf5.Create(path, "d", spec, &hdf5.CreateOptions{Stripes: files, Library: rapid.Bool().Draw(t, "library writes")})
		require.NoError(t, err)
		want := make([]byte, shape[0]*shape[1]*4)
		for i := range want {
			want[i] = byte(i * i >> 3)
		}
		cut := rapid.Int64Range(0, shape[0]).Draw(t, "cut")
		rows := func(from, to int64) (ndarray.Region, []byte) {
			return ndarray.Region{Start: []int64{from, 0}, Shape: []int64{to - from, shape[1]}}, want[from*shape[1]*4 : to*shape[1]*4]
		}
		for _, part := range [][2]int64{{0, cut}, {cut, shape[0]}} {
			r, src := rows(part[0], part[1])
			require.NoError(t, b.(ndarray.RegionWriter).WriteRegion(ctx, src, r, 0))
		}
		whole, _ := rows(0, shape[0])
		got := make([]byte, len(want))
		require.NoError(t, b.ReadRegion(ctx, got, whole, 0))
		require.True(t, bytes.Equal(want, got), "before the array is closed")
		require.NoError(t, b.Close())
		for _, library := range []bool{false, true} {
			b, err := hdf5.Open(path, "d", &hdf5.OpenOptions{Library: library})
			require.NoError(t, err)
			clear(got)
			require.NoError(t, b.ReadRegion(ctx, got, whole, 0))
			require.True(t, bytes.Equal(want, got), "library %v", library)
			r := ndarray.Region{Start: []int64{3, 5}, Shape: []int64{90, 190}}
			part := make([]byte, 90*190*4)
			require.NoError(t, b.ReadRegion(ctx, part, r, 0))
			for i := range int64(90) {
				require.True(t, bytes.Equal(want[((i+3)*shape[1]+5)*4:][:190*4], part[i*190*4:][:190*4]))
			}
			require.NoError(t, b.Close())
		}
	})
}

// TestOpen_missingStripe checks that a deleted stripe file causes an error, also for reads that use
// libhdf5.
func TestOpen_missingStripe(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.h5")
	spec := ndarray.Spec{Shape: []int64{300, 300}, ChunkShape: []int64{100, 100}, DType: ndarray.DTypeOf[int32]()}
	b, err := hdf5.Create(path, "d", spec, &hdf5.CreateOptions{Stripes: []string{"a.h5", "b.h5"}, StripeOf: func(at []int64) int { return int(at[0] % 2) }})
	require.NoError(t, err)
	require.NoError(t, b.Close())
	require.NoError(t, os.Remove(filepath.Join(dir, "b.h5")))
	for _, n := range []int64{1, 300} {
		b, err := hdf5.Open(path, "d", nil)
		require.NoError(t, err)
		err = b.ReadRegion(t.Context(), make([]byte, n*n*4), ndarray.Region{Start: []int64{0, 0}, Shape: []int64{n, n}}, 0)
		require.ErrorIs(t, err, ndarray.ErrNotFound)
		require.NoError(t, b.Close())
	}
}

// TestCreateIn_stripesInMembers checks that stripes are rejected in a file that consists of several
// members, because libhdf5 cannot open stripe files from such a file.
func TestCreateIn_stripesInMembers(t *testing.T) {
	for name, driver := range map[string]h5.Driver{"family": h5.Family{MemberSize: 1 << 20}, "split": h5.Split{}, "multi": h5.Multi{Relax: true}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "x.h5")
			if name == "family" {
				path = filepath.Join(dir, "x%d.h5")
			}
			a := h5.DefaultFileAccess()
			a.Driver = driver
			f, err := h5.Create(path, &h5.CreateOptions{Access: &a})
			require.NoError(t, err)
			defer func() { require.NoError(t, f.Close()) }()
			spec := ndarray.Spec{Shape: []int64{4}, ChunkShape: []int64{2}, DType: ndarray.DTypeOf[int32]()}
			_, err = hdf5.CreateIn(f, "d", spec, &hdf5.CreateOptions{Stripes: []string{"0.h5"}})
			require.True(t, errors.Is(err, errors.ErrUnsupported), "%v", err)
			require.NoFileExists(t, filepath.Join(dir, "0.h5"))
		})
	}
}
