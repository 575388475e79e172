package hdf5

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
)

// TestLongDouble_h5py checks that long doubles have the same datatype as those of libhdf5. If the
// normalisation differs, h5py can show the type but not the values.
func TestLongDouble_h5py(t *testing.T) {
	interpreter := testenv.Python(t, "h5py", "numpy")
	path := filepath.Join(t.TempDir(), "x.h5")
	f, err := h5.Create(path, nil)
	require.NoError(t, err)
	for name, order := range map[string]h5.Order{"little": h5.LittleEndian, "big": h5.BigEndian} {
		d, err := f.Root().CreateDataset(name, floatType(ndarray.Float, 16, order), h5.SimpleSpace(2), nil)
		require.NoError(t, err)
		require.NoError(t, h5value.Write(d, []float64{1.5, -0.25}, h5.All))
	}
	require.NoError(t, f.Close())
	out, err := exec.Command(interpreter, "-c", `
import h5py, numpy as np, sys
with h5py.File(sys.argv[1]) as f:
    for n in ["little", "big"]:
        assert f[n][:].astype("f8").tolist() == [1.5, -0.25], f[n][:]
    assert f["little"].dtype == np.longdouble, f["little"].dtype
`, path).CombinedOutput()
	require.NoError(t, err, "%s", out)
}
