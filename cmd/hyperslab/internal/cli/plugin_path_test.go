package cli_test

import (
	"encoding/json"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

// TestRun_pluginPath reads datasets with filters that are only available as plugins of hdf5plugin.
// Each command runs as a process, because libhdf5 does not unload plugins.
func TestRun_pluginPath(t *testing.T) {
	python := testenv.Python(t, "h5py", "hdf5plugin")
	t.Chdir(t.TempDir())
	out, err := exec.Command(python, "-c", `
import h5py, hdf5plugin, json, numpy
a = numpy.arange(4096, dtype='<u2').reshape(64, 64)
filters = {'zfp': hdf5plugin.Zfp(reversible=True), 'sperr': hdf5plugin.Sperr(rate=16), 'fcidecomp': hdf5plugin.FciDecomp()}
want = {}
with h5py.File('x.h5', 'w') as f:
    for name, filter in filters.items():
        f.create_dataset(name, data=a if name == 'fcidecomp' else a.astype('<f4'), chunks=(32, 32), **filter)
        want[name] = f[name][1, :4].tolist()
print(json.dumps({'dir': hdf5plugin.PLUGIN_PATH, 'want': want}))
`).Output()
	require.NoError(t, err)
	var x struct {
		Dir  string
		Want map[string][]float64
	}
	require.NoError(t, json.Unmarshal(out, &x))
	require.Len(t, x.Want, 3)
	for name, want := range x.Want {
		t.Run(name, func(t *testing.T) {
			address := "x.h5:/" + name + "[1,:4]"
			out, err := exec.Command("hyperslab", "dump", address).CombinedOutput()
			require.Error(t, err)
			require.Contains(t, string(out), "filter not available")
			require.Contains(t, string(out), "--plugin-path")

			out, err = exec.Command("hyperslab", "dump", "--json", address, "--plugin-path", x.Dir).Output()
			require.NoError(t, err)
			var doc struct{ Values []float64 }
			require.NoError(t, json.Unmarshal(out, &doc), "%s", out)
			require.Equal(t, want, doc.Values)
		})
	}
}
