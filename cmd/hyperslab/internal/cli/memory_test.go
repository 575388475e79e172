//go:build !race

package cli_test

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/formats"
)

// --memory is a promise (without the race detector, which takes ten times as much): half a GiB goes through 48 MiB of buffers in a process that
// never has more than those, and 96 MiB of its own, and which the system stops (RLIMIT_DATA)
// if it asks for the array as a whole.
func TestMemoryIsAPromise(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "big.b2nd")
	draft, err := formats.Create(context.Background(), source, ndarray.Spec{
		Shape: []int64{64, 1024, 1024}, ChunkShape: []int64{4, 256, 1024}, DType: dtype(t, "<f8"), Fill: []byte{0, 0, 0, 0, 0, 0, 0xf8, 0x3f},
	})
	require.NoError(t, err)
	require.NoError(t, draft.Commit(context.Background()))
	const most = (48 + 96) << 20
	for _, args := range [][]string{
		{"convert", source, filepath.Join(dir, "out.b2nd"), "--chunks", "1,512,512"},
		{"convert", source, filepath.Join(dir, "out.h5:/x"), "--codec", "lz4", "--chunks", "2,512,512"},
		{"convert", source, filepath.Join(dir, "out.raw")},
		{"repack", source, filepath.Join(dir, "again.b2nd"), "--chunks", "8,256,256"},
		{"diff", source, filepath.Join(dir, "out.b2nd")},
	} {
		// 8 MiB for the stack of each thread are no memory that is used, but count for the limit.
		line := append([]string{"-c", `ulimit -d 393216; exec peak "$@" -q -j 2 -M 48MiB`, "sh"}, args...)
		cmd := exec.Command("sh", line...)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%v: %.2000s", args, out)
		var used int64
		_, err = fmt.Sscanf(string(out), "VmHWM: %d kB", &used)
		require.NoError(t, err, "%s", out)
		require.Less(t, used<<10, int64(most), "%v", args)
	}
}
