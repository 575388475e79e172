// Tests of runs over many files with bad input, signals, and files that change. TestInto_names has
// unreadable files and unusual names, TestInto_conflicts has conflicts of targets.

package cli_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
)

// TestInto_unstorable checks names that a target cannot have: of files and of objects.
func TestInto_unstorable(t *testing.T) {
	t.Chdir(t.TempDir())
	long := strings.Repeat("n", 252) + ".h5" // with the extension of an index, a name has 261 bytes
	grow(t, "in", "a.h5", long)
	_, stderr, code := run("index", "-r", "in", "--into", "out", "--keep-going")
	require.Equal(t, 3, code, stderr)
	require.Equal(t, 1, lines(stderr, long), stderr)
	require.Contains(t, stderr, "file name too long")
	require.Equal(t, []string{"a.h5.index"}, filesBelow(t, "out"))

	create(t, "in/a.h5:/CON", ndarray.Spec{Shape: []int64{4}}, count(4))
	create(t, "in/b.h5:/with.dot", ndarray.Spec{Shape: []int64{4}}, count(4))
	create(t, "in/c.h5:/back\\slash", ndarray.Spec{Shape: []int64{4}}, count(4))
	require.NoError(t, os.Remove("in/"+long))
	stdout, stderr, code := run("convert", "-r", "in", "--into", "stores", "--format", "b2z", "--keep-going", "--json=lines")
	rows, totals := intoLines(t, stdout)
	require.Len(t, rows, 3)
	require.Equal(t, totals["failed"] > 0, code == 3, stderr)
	for _, r := range rows {
		if r.Status == "failed" {
			require.Equal(t, 1, lines(stderr, r.Source), stderr)
			require.NoFileExists(t, r.Target)
		}
	}
}

// TestInto_terminated ends a run by SIGTERM. It leaves no temporary file, and the next run does the
// rest.
func TestInto_terminated(t *testing.T) {
	t.Chdir(t.TempDir())
	var names []string
	for i := range 60 {
		names = append(names, fmt.Sprintf("%d/%02d.h5", i%3, i))
	}
	grow(t, "in", names...)
	args := []string{"convert", "--format", "b2z", "--into", "out", "-r", "in", "--json=lines"}
	cmd := exec.Command(hyperslabProgram(t), args...)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	require.NoError(t, cmd.Start())
	require.Eventually(t, func() bool { found, _ := filepath.Glob("out/*/*.b2z"); return len(found) > 3 }, 20*time.Second, time.Millisecond)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	err := cmd.Wait()
	rows, _ := intoLines(t, stdout.String())
	if err != nil { // otherwise it was done before the signal came
		require.Equal(t, 143, cmd.ProcessState.ExitCode(), stderr.String())
	}
	for _, name := range filesBelow(t, "out") {
		require.NotContains(t, name, ".tmp-")
	}
	_, again, code := run(args...)
	require.Zero(t, code, again)
	require.Len(t, filesBelow(t, "out"), 60)
	require.LessOrEqual(t, len(rows), 60)
}

// TestInto_changing changes a file while it is read. Its target is removed, and the other file is
// converted.
func TestInto_changing(t *testing.T) {
	t.Chdir(t.TempDir())
	grow(t, "in", "a.h5")
	n := int64(1 << 22)
	if testenv.All() {
		n = 1 << 24
	}
	values := make([]int32, n)
	for i := range values {
		values[i] = int32(i*2654435761) >> 3
	}
	create(t, "in/b.h5:/t", ndarray.Spec{Shape: []int64{n}, ChunkShape: []int64{1 << 16}}, values)
	cmd := exec.Command(hyperslabProgram(t), "convert", "--format", "b2z", "--codec", "zstd", "--level", "9", "--into", "out", "-r", "in", "--keep-going", "-j", "1")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	require.NoError(t, cmd.Start())
	require.Eventually(t, func() bool { // b is being written
		record, _ := os.ReadFile("out/.hyperslab-done")
		return strings.Contains(string(record), `"target":"b.b2z"`)
	}, 20*time.Second, time.Millisecond)
	require.NoError(t, os.Chtimes("in/b.h5", time.Time{}, time.Now().Add(time.Hour)))
	_ = cmd.Wait()
	require.Equal(t, 3, cmd.ProcessState.ExitCode(), stderr.String())
	require.Equal(t, 1, lines(stderr.String(), "in/b.h5"), stderr.String())
	require.Contains(t, stderr.String(), "while it was read")
	require.Equal(t, []string{"a.b2z"}, filesBelow(t, "out"))
	_, again, code := run("convert", "--format", "b2z", "--codec", "zstd", "--level", "9", "--into", "out", "-r", "in", "--keep-going", "-j", "1")
	require.Zero(t, code, again)
	require.Contains(t, again, "1 source done, 1 done before")
}

// TestInto_small converts many small files within 200 MiB, and logs the processor time of each,
// compared with a run over one tenth of them.
func TestInto_small(t *testing.T) {
	dir := t.TempDir()
	n := 400
	if testenv.All() {
		n = 20_000
	}
	source := filepath.Join(dir, "a.h5")
	create(t, source+":/t", ndarray.Spec{Shape: []int64{4, 3}, ChunkShape: []int64{2, 3}}, count(12))
	measure := func(files int) (cpu time.Duration, kB int64) {
		root := filepath.Join(dir, fmt.Sprint(files))
		for i := range files {
			d := filepath.Join(root, fmt.Sprint(i/200))
			if i%200 == 0 {
				require.NoError(t, os.MkdirAll(d, 0o777))
			}
			require.NoError(t, os.Link(source, filepath.Join(d, fmt.Sprintf("%d.h5", i))))
		}
		cmd := exec.Command("peak", "convert", "-q", "--format", "b2z", "--into", root+"-out", "-r", root)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		_, err = fmt.Sscanf(string(out[max(strings.Index(string(out), "VmHWM:"), 0):]), "VmHWM: %d kB", &kB)
		require.NoError(t, err, string(out))
		return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), kB
	}
	few, _ := measure(n / 10)
	all, kB := measure(n)
	t.Logf("%d files: %v, %d kB; %d files: %v; ratio for each file %.2f", n, all, kB, n/10, few, float64(all)/float64(10*few))
	require.Less(t, kB, int64(200<<10))
}
