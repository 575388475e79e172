//go:build !race

package cli_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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
	tree := filepath.Join(dir, "tree") // the same array, and a small one
	require.NoError(t, os.Mkdir(tree, 0o777))
	require.NoError(t, os.Link(source, filepath.Join(tree, "big.b2nd")))
	create(t, filepath.Join(tree, "small.b2nd"), ndarray.Spec{Shape: []int64{3}}, []float64{1, 2, 3})
	const most = (48 + 96) << 20
	for _, args := range [][]string{
		{"convert", tree, filepath.Join(dir, "tree.h5")},
		{"convert", tree, filepath.Join(dir, "copy")},
		{"diff", tree, filepath.Join(dir, "copy")},
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

// A job of which one chunk does not fit into --memory is refused by the name of the
// array, before anything is written, with the memory that would do; and with that it
// keeps the promise, to the limit of the system.
func TestMemoryOfLargeChunks(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	spec := ndarray.Spec{Shape: []int64{16, 1024, 512}, ChunkShape: []int64{8, 1024, 512}, BlockShape: []int64{1, 64, 512}}
	small := spec
	small.ChunkShape, small.BlockShape = []int64{1, 256, 512}, nil
	values := make([]float64, 16*1024*512) // that no codec makes less of
	random := rand.New(rand.NewPCG(3, 4))
	for i := range values {
		values[i] = random.Float64()
	}
	create(t, at("large.b2nd"), spec, values)
	create(t, at("small.b2nd"), small, values)
	for _, tt := range []struct {
		chunk string // whose chunk does not fit
		args  []string
	}{
		{at("large.b2nd"), []string{"convert", at("large.b2nd"), at("out.h5:/x"), "--chunks", "1,512,512"}},
		{at("out.b2nd"), []string{"convert", at("small.b2nd"), at("out.b2nd"), "--chunks", "8,1024,512"}},
		{at("large.b2nd"), []string{"convert", at("large.b2nd"), at("out.npy")}},
		{at("large.b2nd"), []string{"convert", at("large.b2nd[1:3]"), at("part.b2nd")}},
		{at("again.b2nd"), []string{"repack", at("small.b2nd"), at("again.b2nd"), "--chunks", "8,1024,512"}},
		{at("large.b2nd"), []string{"append", at("small.b2nd"), at("large.b2nd"), "--axis", "0"}},
		{at("large.b2nd"), []string{"append", at("large.b2nd"), at("small.b2nd")}},
		{at("large.b2nd"), []string{"diff", at("small.b2nd"), at("large.b2nd")}},
		{at("large.b2nd"), []string{"stats", at("large.b2nd[0]"), "--bins", "0"}},
	} {
		_, stderr, code := run(append(tt.args, "-q", "-M", "48MiB")...)
		require.Equal(t, 2, code, "%v: %s", tt.args, stderr)
		require.Contains(t, stderr, tt.chunk)
		require.Contains(t, stderr, "a chunk of 8x1024x512 takes 32.0 MiB")
		require.Contains(t, stderr, "at least --memory 192MiB")
		left, err := filepath.Glob(at("*"))
		require.NoError(t, err)
		require.Len(t, left, 2, "%v", tt.args)

		line := append([]string{"-c", `ulimit -d 524288; exec peak "$@" -q -j 2 -M 192MiB`, "sh"}, tt.args...)
		out, err := exec.Command("sh", line...).CombinedOutput()
		require.NoError(t, err, "%v: %.2000s", tt.args, out)
		var used int64
		_, err = fmt.Sscanf(string(out[strings.Index(string(out), "VmHWM"):]), "VmHWM: %d kB", &used)
		require.NoError(t, err, "%s", out)
		t.Logf("%v: %d MiB", tt.args[0], used>>10)
		require.Less(t, used<<10, int64(192+96)<<20, "%v", tt.args)
		for _, made := range []string{"out.h5", "out.b2nd", "out.npy", "part.b2nd", "again.b2nd"} {
			require.NoError(t, os.RemoveAll(at(made)))
		}
		if tt.args[0] == "append" { // as it was
			require.NoError(t, os.RemoveAll(tt.args[1]))
			s := small
			if strings.HasSuffix(tt.args[1], "large.b2nd") {
				s = spec
			}
			create(t, tt.args[1], s, values)
		}
	}
}
