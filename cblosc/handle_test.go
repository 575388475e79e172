package cblosc_test

import (
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/cmem"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

// drop creates one object of each type that owns C memory, and does not close it.
func drop(t *testing.T) {
	t.Helper()
	_, err := cblosc.NewCompressor(nil)
	require.NoError(t, err)
	_, err = cblosc.NewDecompressor(nil)
	require.NoError(t, err)
	_, err = cblosc.CreateSChunk(cblosc.Storage{})
	require.NoError(t, err)
	_, err = cblosc.CreateArray(&cblosc.ArrayParams{})
	require.NoError(t, err)
}

// childEnv makes this test binary leak on purpose.
const childEnv = "HYPERSLAB_CBLOSC_DROP"

// TestHandle_DroppedOwners checks that objects that are dropped without Close are freed. With the
// build tag invariants, they must be reported and the test binary must fail.
func TestHandle_DroppedOwners(t *testing.T) {
	if os.Getenv(childEnv) != "" {
		drop(t)
		return
	}
	if !invariants {
		before, _ := cmem.Live()
		drop(t)
		require.Eventually(t, func() bool {
			runtime.GC()
			now, _ := cmem.Live()
			return now <= before
		}, 5*time.Second, time.Millisecond)
		return
	}
	cmd := testenv.Self("-test.run=^TestHandle_DroppedOwners$")
	cmd.Env = append(os.Environ(), childEnv+"=1")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, "%s", out)
	for _, kind := range []string{"Compressor", "Decompressor", "SChunk", "Array"} {
		require.Contains(t, string(out), "a "+kind+" was dropped without Close")
	}
	require.Contains(t, string(out), "cblosc_test.drop", "the place that made it")
	require.Contains(t, string(out), "4 blocks of C memory are not freed")
}
