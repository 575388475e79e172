//go:build !race

package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
)

// ownRoom is the memory of a process in MiB in addition to its buffers: 35 of the program, two
// chunks of 8 for each worker in C code, and garbage that Go has not collected yet.
const ownRoom = 112

// TestRun_memory checks that --memory limits the memory of each command and of its workers. It does
// not run with the race detector, which needs ten times the memory. Each command reads an array of
// 256 MiB or 512 MiB through buffers of 48 MiB, and must use at most ownRoom more. RLIMIT_DATA
// stops a process that allocates the larger array at once. Commands without the flag have the same
// limit.
func TestRun_memory(t *testing.T) {
	dir := t.TempDir()
	planes := int64(24) // of 8 MiB each
	if testenv.All() {
		planes = 64
	}
	source := filepath.Join(dir, "big.b2nd")
	planesOf8MiB(t, source, planes)
	tree := filepath.Join(dir, "tree") // contains the same array and a small one
	require.NoError(t, os.Mkdir(tree, 0o777))
	require.NoError(t, os.Link(source, filepath.Join(tree, "big.b2nd")))
	create(t, filepath.Join(tree, "small.b2nd"), ndarray.Spec{Shape: []int64{3}}, []float64{1, 2, 3})
	fill := func(name string, shape, chunk []int64, names ...string) string {
		draft, err := hyperslab.Create(context.Background(), filepath.Join(dir, name), ndarray.Spec{
			Shape: shape, ChunkShape: chunk, DType: dtype(t, "<f8"), AxisNames: names, Fill: []byte{0, 0, 0, 0, 0, 0, 0xf8, 0x3f},
		}, nil)
		require.NoError(t, err)
		require.NoError(t, draft.Commit(context.Background()))
		return filepath.Join(dir, name)
	}
	plane := fill("plane.b2nd", []int64{16384, 4096}, []int64{256, 4096})
	line := fill("line.b2nd", []int64{64 << 20}, []int64{1 << 20})
	series := fill("series.h5:/v", []int64{4 << 20}, []int64{1 << 18}, "t")
	times := make([]float64, 4<<20)
	for i := range times {
		times[i] = float64(i) / 2
	}
	create(t, filepath.Join(dir, "times.h5:/t"), ndarray.Spec{Shape: []int64{4 << 20}, ChunkShape: []int64{1 << 18}}, times)
	_, stderr, code := run("cp", filepath.Join(dir, "times.h5:/t"), filepath.Join(dir, "series.h5:/t"))
	require.Zero(t, code, stderr)
	var lines []string
	more := [][]string{ // after the others, which write their sources; make test runs a part
		{"dump", source, "--npy", "--untrusted"},
		{"stats", source, "--untrusted"},
		{"diff", source, filepath.Join(dir, "out.h5:/x"), "--untrusted"},
		{"diff", tree, filepath.Join(dir, "tree.h5"), "--untrusted"},
		{"convert", source, filepath.Join(dir, "checked.b2nd"), "--untrusted"},
		{"convert", tree, filepath.Join(dir, "checked.h5"), "--untrusted"},
		{"plot", plane, "-o", filepath.Join(dir, "checked.png"), "--untrusted"},
		{"repack", source, filepath.Join(dir, "checked-again.b2nd"), "--chunks", "8,256,256", "--untrusted"},
		{"bench", source, "--seconds", "0", "--level", "1", "--untrusted"},
		{"recover", source, filepath.Join(dir, "checked-recovered.b2nd"), "--untrusted"},
		{"convert", source, filepath.Join(dir, "out.raw"), "--exclude-unsupported"},
		{"plot", plane, "-o", filepath.Join(dir, "plane.png")},
		{"plot", plane},
		{"plot", line, "-o", filepath.Join(dir, "line.svg")},
		{"bench", filepath.Join(dir, "out.h5:/x"), "--seconds", "0", "--level", "1", "--format", "hdf5"},
		{"cp", filepath.Join(dir, "out.h5:/x"), filepath.Join(dir, "cp.h5:/x")},
	}
	for _, args := range append([][]string{
		{"convert", tree, filepath.Join(dir, "tree.h5")},
		{"convert", tree, filepath.Join(dir, "copy")},
		{"diff", tree, filepath.Join(dir, "copy")},
		{"convert", source, filepath.Join(dir, "out.b2nd"), "--chunks", "1,512,512"},
		{"convert", source, filepath.Join(dir, "out.h5:/x"), "--codec", "lz4", "--chunks", "2,512,512"},
		{"repack", source, filepath.Join(dir, "again.b2nd"), "--chunks", "8,256,256"},
		{"diff", source, filepath.Join(dir, "out.b2nd")},
		{"append", filepath.Join(dir, "again.b2nd"), source},
		{"stats", source},
		{"plot", source, "--kind", "histogram"},
		{"plot", series, "-o", filepath.Join(dir, "series.png")},
		{"bench", filepath.Join(dir, "out.b2nd"), "--seconds", "0", "--level", "1"},
		{"verify", source, filepath.Join(dir, "out.h5"), "-M", "256MiB"},
		{"dump", source, "--npy"},
		{"cp", source, filepath.Join(dir, "cp.b2nd")},
		{"recover", source, filepath.Join(dir, "recovered.b2nd")},
	}, testenv.Sample(more, 3)...) {
		memory := 48
		switch args[0] {
		case "verify": // --memory limits the whole process, not the buffers
			memory = 256
		case "dump", "cp", "recover":
		default:
			args = append(args, "-q", "-M", "48MiB")
		}
		if !slices.Contains([]string{"dump", "cp", "recover"}, args[0]) {
			args = append(args, "-j", "2")
			lines = append(lines, args[0])
		}
		// RLIMIT_DATA also counts 8 MiB of stack for each thread, which are reserved and not used.
		cmd := exec.Command("sh", append([]string{"-c", `ulimit -d 393216; exec peak "$@" >/dev/null`, "sh"}, args...)...)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%v: %.2000s", args, out)
		for _, who := range []string{"VmHWM:", "children:"} {
			var used int64
			_, err = fmt.Sscanf(string(out[max(strings.Index(string(out), who), 0):]), who+" %d kB", &used)
			require.NoError(t, err, "%v: %s", args, out)
			t.Logf("%v: %s %d MiB of %d", args, who, used>>10, memory+ownRoom)
			require.Less(t, used<<10, int64(memory+ownRoom)<<20, "%v", args)
		}
	}
	everyCommand(t, slices.DeleteFunc(flagged(t, "--memory"), func(name string) bool {
		return name == "crosscheck run" || // its flag --memory is for the program under test
			name == "plan" // see TestWork_memory
	}), lines)
}

// TestRun_memoryOfLargeChunks checks that a command fails before it writes anything if one chunk
// does not fit into --memory. The error must contain the array and the required memory. With that
// much memory, the command must succeed within the limit, which RLIMIT_DATA enforces.
func TestRun_memoryOfLargeChunks(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	spec := ndarray.Spec{Shape: []int64{16, 1024, 512}, ChunkShape: []int64{8, 1024, 512}, BlockShape: []int64{1, 64, 512}}
	small := spec
	small.ChunkShape, small.BlockShape = []int64{1, 256, 512}, nil
	values := make([]float64, 16*1024*512) // random, so that codecs cannot compress them
	random := rand.New(rand.NewPCG(3, 4))
	for i := range values {
		values[i] = random.Float64()
	}
	create(t, at("large.b2nd"), spec, values)
	create(t, at("small.b2nd"), small, values)
	rows := []struct {
		chunk string // the array with the chunk that does not fit
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
		{at("large.b2nd"), []string{"plot", at("large.b2nd[0]")}},
		{at("large.b2nd"), []string{"stats", at("large.b2nd[0]"), "--bins", "0"}},
	}
	for _, tt := range testenv.Sample(rows, 3) {
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
		require.Less(t, used<<10, int64(192+ownRoom)<<20, "%v", tt.args)
		for _, made := range []string{"out.h5", "out.b2nd", "out.npy", "part.b2nd", "again.b2nd"} {
			require.NoError(t, os.RemoveAll(at(made)))
		}
		if tt.args[0] == "append" { // restore the target
			require.NoError(t, os.RemoveAll(tt.args[1]))
			s := small
			if strings.HasSuffix(tt.args[1], "large.b2nd") {
				s = spec
			}
			create(t, tt.args[1], s, values)
		}
	}
}

// TestBench_Memory checks that bench reduces its sample to fit into --memory. Without the flag the
// sample has the requested size. A chunk in --chunks may be as large as the sample.
func TestBench_Memory(t *testing.T) {
	dir := t.TempDir()
	noise(t, filepath.Join(dir, "n.b2nd"), 4096) // 16 MiB, chunks of 64 KiB
	args := []string{"bench", filepath.Join(dir, "n.b2nd"), "--codec", "lz4", "--level", "1", "--shuffle", "none", "--seconds", "0", "--json"}
	sampled := func(more ...string) (bytes int, stderr string, code int) {
		stdout, stderr, code := run(append(args, more...)...)
		var doc struct {
			Sample int `json:"sample_bytes"`
		}
		if code == 0 {
			require.NoError(t, json.Unmarshal([]byte(stdout), &doc))
		}
		return doc.Sample, stderr, code
	}
	n, stderr, code := sampled()
	require.Zero(t, code, stderr)
	require.Equal(t, 16<<20, n)
	n, stderr, code = sampled("-M", "24MiB")
	require.Zero(t, code, stderr)
	require.LessOrEqual(t, n, 3<<20)
	require.Greater(t, n, 2<<20)
	_, stderr, code = sampled("-M", "256KiB")
	require.Equal(t, 2, code, stderr)
	require.Contains(t, stderr, "n.b2nd: a chunk of 16x1024 takes 64.0 KiB, and --memory 256KiB is too small to read or write one; give at least --memory 1MiB")
	_, stderr, code = sampled("-M", "24MiB", "--chunks", "4096,1024")
	require.Zero(t, code, stderr) // the chunk is no larger than the sample

	_, stderr, code = run("verify", filepath.Join(dir, "n.b2nd"), "-M", "256MiB", "--sandbox=false")
	require.Equal(t, 2, code)
	require.Contains(t, stderr, "--memory 256MiB is the limit of the sandbox, which --sandbox=false turns off")
}

// planesOf8MiB creates an array of planes of 8 MiB each. Each chunk has a different value, because
// chunks of equal elements would not be read.
func planesOf8MiB(t *testing.T, file string, planes int64) {
	t.Helper()
	draft, err := hyperslab.Create(context.Background(), file, ndarray.Spec{
		Shape: []int64{planes, 1024, 1024}, ChunkShape: []int64{4, 256, 1024}, DType: dtype(t, "<f8"), Fill: []byte{0, 0, 0, 0, 0, 0, 0xf8, 0x3f},
	}, nil)
	require.NoError(t, err)
	for i := range planes {
		one := ndarray.Region{Start: []int64{i / 4 * 4, i % 4 * 256, 0}, Shape: []int64{1, 1, 1}}
		require.NoError(t, ndarray.Write(context.Background(), draft.Array, []float64{float64(i)}, one))
	}
	require.NoError(t, draft.Commit(context.Background()))
}
