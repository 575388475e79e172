package formats_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/format/cframe"
	"github.com/hyperslab/hyperslab/format/chunk"
	"github.com/hyperslab/hyperslab/internal/need"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/formats"
	"github.com/hyperslab/hyperslab/ndarray/ndarraytest"
)

// Files that are written with default options use no feature that HDF5 1.14 or C-Blosc2 2.17 does
// not read.
func TestCreate_olderReaders(t *testing.T) {
	write := func(t *testing.T, location string, d ndarray.DType) bool {
		t.Helper()
		spec := ndarray.Spec{Shape: []int64{50, 7}, DType: d}
		a, err := formats.Create(t.Context(), location, spec)
		if err != nil {
			require.ErrorIs(t, err, errors.ErrUnsupported, location)
			return false
		}
		src := make([]byte, a.NBytes())
		require.NoError(t, a.Write(t.Context(), src, ndarray.Whole(spec.Shape)))
		require.NoError(t, a.Commit(t.Context()))
		require.NoError(t, a.Close())
		return true
	}
	t.Run("HDF5", func(t *testing.T) {
		h5dump := need.Tool(t, "h5dump")
		version, err := exec.Command(h5dump, "-V").Output()
		require.NoError(t, err)
		require.Contains(t, string(version), "1.14.")
		path, written := filepath.Join(t.TempDir(), "a.h5"), 0
		for i, d := range ndarraytest.DTypes() {
			if write(t, fmt.Sprintf("%s:/a%d", path, i), d) {
				written++
			}
		}
		require.Greater(t, written, 15)
		out, err := exec.Command(h5dump, "-p", path).CombinedOutput()
		require.NoError(t, err, "%.2000s", out)
		require.NotContains(t, string(out), "unable to print data")
	})
	t.Run("C-Blosc2", func(t *testing.T) {
		dir, written := t.TempDir(), 0
		for i, d := range ndarraytest.DTypes() {
			path := filepath.Join(dir, fmt.Sprintf("a%d.b2nd", i))
			if !write(t, path, d) {
				continue
			}
			written++
			b, err := os.Open(path)
			require.NoError(t, err)
			info, err := b.Stat()
			require.NoError(t, err)
			f, err := cframe.Read(b, info.Size())
			require.NoError(t, err)
			require.LessOrEqual(t, f.Version(), 2, "%v", d)
			require.False(t, f.VariableChunks() || f.VLBlocks(), "%v", d)
			for k, filter := range f.Filters {
				require.True(t, filter != chunk.Shuffle || f.FiltersMeta[k] == 0, "%v: the shuffle of all bytes of an element", d)
			}
			require.NoError(t, b.Close())
		}
		require.Greater(t, written, 15)
	})
}
