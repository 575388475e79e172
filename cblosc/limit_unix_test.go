//go:build unix

package cblosc_test

import (
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
)

// TestSChunk_failedWrites checks that a full disk is reported as an error, because C-Blosc2 ignores
// the results of most of its writes.
func TestSChunk_failedWrites(t *testing.T) {
	const child = "HYPERSLAB_LIMIT_FILES"
	if os.Getenv(child) == "" { // the limit applies to a process, and go test writes files too
		cmd := testenv.Self("-test.run=^"+t.Name()+"$", "-test.v")
		cmd.Env = append(os.Environ(), child+"=1")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), "PASS: "+t.Name())
		return
	}
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	var old syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old))
	limited := func(n uint64, f func()) {
		require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: n, Max: old.Max}))
		defer func() { require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old)) }()
		f()
	}
	dir := t.TempDir()
	memory := sample(t, cblosc.Storage{CParams: cparams(4), Contiguous: true}, false)
	closing(t, memory)
	limited(100, func() {
		err := memory.Save(filepath.Join(dir, "saved"))
		require.ErrorIs(t, err, syscall.EFBIG)
		_, err = memory.AppendToFile(filepath.Join(dir, "appended"))
		require.ErrorIs(t, err, syscall.EFBIG)
		_, err = memory.Copy(cblosc.Storage{Contiguous: true, Path: filepath.Join(dir, "copied")})
		require.Error(t, err)
		_, err = cblosc.CreateArray(&cblosc.ArrayParams{Shape: []int64{4}, ChunkShape: []int32{2}, Blocks: []int32{1},
			Storage: cblosc.Storage{Contiguous: true, Path: filepath.Join(dir, "array")}})
		require.ErrorIs(t, err, syscall.EFBIG)
	})
	for _, contiguous := range []bool{true, false} {
		s := sample(t, cblosc.Storage{CParams: cparams(4), Contiguous: contiguous, Path: filepath.Join(dir, map[bool]string{true: "file", false: "dir"}[contiguous])}, false)
		limited(100, func() {
			require.ErrorIs(t, s.AppendBuffer(testutil.Noise(48, 7)), syscall.EFBIG)
		})
		require.ErrorIs(t, s.AppendBuffer(testutil.Noise(48, 7)), cblosc.ErrBroken)
		require.NoError(t, s.Close())
	}
}
