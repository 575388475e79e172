package hdf5_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
)

// pipelines returns all codecs with every filter that can precede them, with and without a
// checksum.
func pipelines() (all []*ndarray.Compression) {
	for _, codec := range hdf5.Codecs() {
		_, _, usual, _ := hdf5.Levels(codec)
		before := [][]string{nil, {"shuffle"}, {"bitshuffle"}}
		if strings.HasPrefix(codec, "bitshuffle/") {
			before = before[:1]
		}
		for _, filters := range before {
			for _, checksum := range []bool{false, true} {
				c := &ndarray.Compression{Codec: codec, Level: usual, Filters: slices.Clone(filters)}
				if checksum {
					c.Filters = append(c.Filters, "fletcher32")
				}
				all = append(all, c)
			}
		}
	}
	return all
}

// TestArray_Codecs checks that data written with any codec can be read by workers, by libhdf5, and
// by h5py with third-party plug-ins, and that the storage properties are reported.
func TestArray_Codecs(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	const rows, columns = 70, 30
	values := make([]int32, rows*columns)
	data := make([]byte, 4*len(values))
	for i := range values {
		values[i] = int32(i * i >> 7)
		binary.LittleEndian.PutUint32(data[4*i:], uint32(values[i]))
	}
	var names []string
	for i, c := range pipelines() {
		file := filepath.Join(dir, fmt.Sprintf("%03d.h5", i))
		spec := ndarray.Spec{Shape: []int64{rows, columns}, ChunkShape: []int64{32, 30}, DType: ndarray.DTypeOf[int32](), Compression: c}
		require.NoError(t, hdf5.Check("x", spec), "%v", c)
		b, err := hdf5.Create(file, "x", spec, nil)
		require.NoError(t, err, "%v", c)
		require.NoError(t, b.(ndarray.RegionWriter).WriteRegion(ctx, data, ndarray.Whole(spec.Shape), 0), "%v", c)
		require.NoError(t, b.Close())
		for _, library := range []bool{false, true} {
			b, err := hdf5.Open(file, "x", &hdf5.OpenOptions{Library: library})
			require.NoError(t, err, "%v", c)
			require.Equal(t, c, b.Meta().Compression)
			got := make([]byte, len(data))
			require.NoError(t, b.ReadRegion(ctx, got, ndarray.Whole(spec.Shape), 0), "%v", c)
			require.Equal(t, data, got, "%v library %v", c, library)
			stored, err := b.(ndarray.StorageReporter).Storage(ctx)
			require.NoError(t, err)
			if c.Codec != "none" && slices.Contains(c.Filters, "shuffle") {
				require.Less(t, stored.StoredBytes, int64(len(data)), "%v", c)
			}
			require.NoError(t, b.Close())
		}
		if c.Codec != "szip" { // not every libhdf5 of h5py has szip
			names = append(names, file)
		}
	}
	python := os.Getenv("HYPERSLAB_PYTHON")
	if python == "" {
		if os.Getenv("CI") != "" {
			t.Fatal("HYPERSLAB_PYTHON is not set (make peers)")
		}
		t.Skip("HYPERSLAB_PYTHON is not set (make peers)")
	}
	out, err := exec.Command(python, append([]string{"-c", `
import sys, h5py, hdf5plugin, numpy as np
want = (np.arange(70 * 30, dtype="i8") ** 2 >> 7).astype("i4").reshape(70, 30)
for name in sys.argv[1:]:
    with h5py.File(name) as f:
        assert np.array_equal(f["x"][...], want), name
print("same", len(sys.argv) - 1)
`}, names...)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, fmt.Sprintf("same %d\n", len(names)), string(out))
}

// TestSzip_unsupported checks that szip is rejected for types that it does not support, because
// libhdf5 would silently omit it.
func TestSzip_unsupported(t *testing.T) {
	for _, dtype := range []string{"S3", "<c16", "<f2"} {
		d, err := ndarray.ParseDType(dtype)
		require.NoError(t, err)
		err = hdf5.Check("x", ndarray.Spec{Shape: []int64{40}, ChunkShape: []int64{20}, DType: d, Compression: &ndarray.Compression{Codec: "szip"}})
		if dtype == "<f2" {
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, errors.ErrUnsupported, dtype)
	}
}
