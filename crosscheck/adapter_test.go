package crosscheck_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/crosscheck"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

// adapterUnderTest is an adapter for chunks. TestMain calls it. The mode selects an error, which
// only the cases with "lz4-9" in their path show.
func adapterUnderTest(mode string) int {
	switch mode {
	case "dies":
		fmt.Fprintln(os.Stderr, "no library")
		return 3
	case "stranger":
		fmt.Println("hello")
	default:
		fmt.Println("hyperslab.crosscheck.adapter/1\tchunks\t1.2\tchunks {in}")
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		f := strings.Split(lines.Text(), "\t")
		b, err := os.ReadFile(f[1])
		if err != nil {
			panic(err)
		}
		marked := strings.Contains(f[1], "lz4-9") || strings.Contains(f[1], "reduced")
		if f[0] == "write" {
			if strings.HasPrefix(f[4], "/") || f[8] == "" {
				panic("fields of a request to write")
			}
			fmt.Println("refused\tno writer")
			continue
		}
		switch {
		case !marked:
		case mode == "hangs":
			time.Sleep(time.Hour)
		case mode == "killed":
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
		case mode == "garbage":
			fmt.Println("yes\x00\xff")
			continue
		case mode == "endless":
			fmt.Println(strings.Repeat("ok", 1<<17))
			continue
		case mode == "silent":
			fmt.Println("ok")
			continue
		case mode == "skips":
			fmt.Println("skip")
			continue
		case mode == "panics":
			fmt.Println("crash\tpanic: index")
			continue
		case mode == "memory":
			for all := [][]byte{}; ; {
				page := make([]byte, 1<<26)
				for i := 0; i < len(page); i += 4096 {
					page[i] = 1
				}
				all = append(all, page)
			}
		}
		got, err := decode(b)
		if err != nil {
			fmt.Println("refused\t" + err.Error())
			continue
		}
		if mode == "wrong" && marked && len(got) > 0 {
			got[len(got)-1] ^= 1
		}
		if err := os.WriteFile(f[2], got, 0o644); err != nil {
			panic(err)
		}
		fmt.Println("ok")
	}
	return 0
}

// adapterCommand returns the command of the adapter in a mode.
func adapterCommand(t *testing.T, mode string) string {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	return "env CROSSCHECK_TEST_READER=adapter-" + mode + " '" + self + "'"
}

// markedChunks is the number of cases that show the errors of the adapter.
const markedChunks = 2

// someChunks writes a few cases, among them those that show the errors of the adapter.
func someChunks(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "vectors")
	marked, n := 0, 0
	crosscheck.Part(t, dir, func(c crosscheck.Case) bool {
		if c.Area != "chunk" {
			return false
		}
		if strings.Contains(c.ID, "lz4-9") {
			marked++
			return marked <= markedChunks
		}
		n++
		return n%40 == 0
	})
	return dir
}

func TestRun_adapter(t *testing.T) {
	t.Parallel()
	dir := someChunks(t)
	for mode, want := range map[string]crosscheck.Verdict{
		"right": crosscheck.Pass, "wrong": crosscheck.Wrong, "killed": crosscheck.Crash, "garbage": crosscheck.Crash, "endless": crosscheck.Crash,
		"silent": crosscheck.Refused, "panics": crosscheck.Crash, "hangs": crosscheck.Hang, "memory": crosscheck.Crash, "skips": "",
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			if mode == "memory" && crosscheck.RaceBuild {
				t.Skip("the race detector needs more memory than the limit")
			}
			o := crosscheck.RunOptions{Adapter: adapterCommand(t, mode), Timeout: time.Minute, Workers: 2}
			switch mode {
			case "hangs":
				o.Timeout = 2 * time.Second
			case "memory":
				o.Memory = 256 << 20
			}
			r, err := crosscheck.Run(t.Context(), dir, o)
			require.NoError(t, err)
			require.Equal(t, "chunks", r.Subject)
			require.Equal(t, "1.2", r.Version)
			require.Equal(t, "chunks {in}", r.Alone)
			marked := 0
			for _, x := range r.Results {
				if !strings.Contains(x.Case, "lz4-9") {
					if mode == "hangs" && x.Verdict == crosscheck.Hang {
						continue // on a loaded machine a correct answer may take more than the time limit
					}
					require.Equal(t, crosscheck.Pass, x.Verdict, "%s: %s", x.Case, x.Detail)
					continue
				}
				marked++
				require.Equal(t, want, x.Verdict, "%s: %s", x.Case, x.Detail)
			}
			require.Equal(t, markedChunks, marked+r.Skipped["chunk"])
			require.Equal(t, mode == "skips", r.Skipped["chunk"] == markedChunks)
		})
	}
	t.Run("writes", func(t *testing.T) {
		t.Parallel()
		r, err := crosscheck.Run(t.Context(), dir, crosscheck.RunOptions{Adapter: adapterCommand(t, "right"), Writes: true})
		require.NoError(t, err)
		require.Positive(t, r.Counts["write chunk"][crosscheck.Refused])
	})
	t.Run("one case", func(t *testing.T) {
		t.Parallel()
		m, err := crosscheck.Load(dir)
		require.NoError(t, err)
		r, err := crosscheck.Run(t.Context(), dir, crosscheck.RunOptions{Adapter: adapterCommand(t, "right"), Only: m.Cases[0].ID})
		require.NoError(t, err)
		require.Len(t, r.Results, 1)
		_, err = crosscheck.Run(t.Context(), dir, crosscheck.RunOptions{Adapter: adapterCommand(t, "right"), Only: "chunk/none"})
		require.ErrorContains(t, err, `unknown case "chunk/none"`)
	})
}

func TestRun_adapterErrors(t *testing.T) {
	t.Parallel()
	dir := someChunks(t)
	for name, tt := range map[string]struct {
		o    crosscheck.RunOptions
		text string
	}{
		"dies at the start":     {crosscheck.RunOptions{Adapter: adapterCommand(t, "dies")}, "no library"},
		"another first line":    {crosscheck.RunOptions{Adapter: adapterCommand(t, "stranger")}, `first line "hello"`},
		"no such program":       {crosscheck.RunOptions{Adapter: "./nosuch"}, "no first line"},
		"two kinds of commands": {crosscheck.RunOptions{Adapter: "x", Read: "y"}, "an adapter and CLI cannot be combined"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := crosscheck.Run(t.Context(), dir, tt.o)
			require.ErrorContains(t, err, tt.text)
		})
	}
	t.Run("changed vector", func(t *testing.T) {
		t.Parallel()
		dir := someChunks(t)
		m, err := crosscheck.Load(dir)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, m.Cases[1].Path), []byte("changed"), 0o644))
		_, err = crosscheck.Run(t.Context(), dir, crosscheck.RunOptions{Adapter: adapterCommand(t, "right")})
		require.ErrorContains(t, err, m.Cases[1].ID+": the file has changed")
	})
	t.Run("manifest of another version", func(t *testing.T) {
		t.Parallel()
		dir := someChunks(t)
		name := filepath.Join(dir, crosscheck.ManifestName)
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(name, []byte(strings.Replace(string(b), crosscheck.Schema, "hyperslab.crosscheck/9", 1)), 0o644))
		_, err = crosscheck.Run(t.Context(), dir, crosscheck.RunOptions{Adapter: adapterCommand(t, "right")})
		require.ErrorContains(t, err, "hyperslab.crosscheck/9")
	})
}

// TestRun_templates runs the templates of docs/crosscheck-peers.md. Without a library they refuse
// every file, which is right for the invalid ones.
func TestRun_templates(t *testing.T) {
	t.Parallel()
	dir := someChunks(t)
	m, err := crosscheck.Load(dir)
	require.NoError(t, err)
	templates, err := filepath.Abs("../scripts/crosscheck/templates")
	require.NoError(t, err)
	work := t.TempDir()
	type template struct{ file, build, run, tool string }
	all := []template{
		{"adapter.py", "", "python3 '" + templates + "/adapter.py'", "python3"},
		{"adapter.mjs", "", "node '" + templates + "/adapter.mjs'", "node"},
		{"adapter.c", "gcc -Wall -Wextra -Werror -o adapter-c adapter.c", work + "/adapter-c", "gcc"},
		{"go/adapter.go", "go build -o adapter-go adapter.go", work + "/adapter-go", "go"},
		{"adapter.rs", "rustc -o adapter-rs adapter.rs", work + "/adapter-rs", "rustc"},
		{"Adapter.java", "javac -d . Adapter.java", "java -cp " + work + " Adapter", "javac"},
	}
	for _, x := range all {
		text, err := os.ReadFile(filepath.Join(templates, x.file))
		require.NoError(t, err)
		require.LessOrEqual(t, strings.Count(string(text), "\n"), 40, x.file)
		if !testenv.All() && !slices.Contains([]string{"python3", "gcc"}, x.tool) {
			continue
		}
		if _, err := exec.LookPath(x.tool); err != nil && x.tool != "python3" && x.tool != "gcc" && x.tool != "go" {
			t.Logf("%s: no %s", x.file, x.tool)
			continue
		}
		if x.build != "" {
			require.NoError(t, os.WriteFile(filepath.Join(work, filepath.Base(x.file)), text, 0o644))
			cmd := exec.Command("/bin/sh", "-c", x.build)
			cmd.Dir = work
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s: %s", x.file, out)
		}
		r, err := crosscheck.Run(t.Context(), dir, crosscheck.RunOptions{Adapter: x.run, Workers: 1})
		require.NoError(t, err, x.file)
		require.Equal(t, "NAME", r.Subject)
		require.Len(t, r.Results, len(m.Cases))
		for i, v := range r.Results {
			want := crosscheck.Refused
			if m.Cases[i].Must == crosscheck.Refuse {
				want = crosscheck.Pass
			}
			require.Equal(t, want, v.Verdict, "%s: %s: %s", x.file, v.Case, v.Detail)
			require.True(t, want == crosscheck.Pass || strings.Contains(v.Detail, "call your library here"), v.Detail)
		}
	}
}

// TestReport_WriteUpstream checks that the page of a failure contains a smaller file with the same
// failure, and everything that another author needs.
func TestReport_WriteUpstream(t *testing.T) {
	t.Parallel()
	dir := someChunks(t)
	o := crosscheck.RunOptions{Adapter: adapterCommand(t, "wrong"), Workers: 1}
	r, err := crosscheck.Run(t.Context(), dir, o)
	require.NoError(t, err)
	out := filepath.Join(t.TempDir(), "reports")
	require.NoError(t, r.WriteUpstream(t.Context(), dir, o, out))
	text, err := os.ReadFile(filepath.Join(out, "01-wrong-chunk.md"))
	require.NoError(t, err)
	for _, part := range []string{
		"# chunks 1.2: wrong elements without an error", "It was reduced from vector `chunk/lz4-9", "## Expected and actual result", "of which 1 differ", "## Rule", "README\\_CHUNK\\_FORMAT.rst",
		`chunks '01-wrong-chunk.chunk'`, "reference c-blosc2", "## Structure", "## Contents",
	} {
		require.Contains(t, string(text), part)
	}
	info, err := os.Stat(filepath.Join(out, "01-wrong-chunk.chunk"))
	require.NoError(t, err)
	require.Less(t, info.Size(), int64(200))
	require.ErrorContains(t, r.WriteUpstream(t.Context(), dir, o, out), "not empty")
	o.Adapter = ""
	require.ErrorContains(t, r.WriteUpstream(t.Context(), dir, o, out+"2"), "needs an adapter")
}

func TestReport_Groups(t *testing.T) {
	t.Parallel()
	r := &crosscheck.Report{Results: []crosscheck.Result{
		{Case: "hdf5/a/1", Verdict: crosscheck.Refused, Detail: "offset 17 in /dir/x.h5"}, {Case: "hdf5/a/2", Verdict: crosscheck.Pass},
		{Case: "hdf5/a/3", Verdict: crosscheck.Refused, Detail: "offset 400 in /other/x.h5"}, {Case: "hdf5/b/1", Verdict: crosscheck.Refused, Detail: "offset 1 in /dir/x.h5"},
		{Case: "hdf5/refuse/b/1", Verdict: crosscheck.WronglyAccepted, Detail: "one rule"}, {Case: "hdf5/refuse/c/1", Verdict: crosscheck.WronglyAccepted, Detail: "another"},
		{Case: "hdf5/refuse/c/1", Verdict: crosscheck.WronglyAccepted, Detail: "another"},
	}}
	groups := r.Groups()
	require.Len(t, groups, 3)
	require.Len(t, groups[0].Cases, 3)
	require.Equal(t, []string{"hdf5/a/1", "hdf5/a/3"}, groups[1].Cases)
	require.Equal(t, "hdf5/b/1", groups[2].First.Case)
}
