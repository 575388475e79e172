package crosscheck_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/crosscheck"
)

// decode is a correct reader of chunks. It calls C-Blosc2.
func decode(chunk []byte) ([]byte, error) {
	i, err := cblosc.Info(chunk)
	if err != nil {
		return nil, err
	}
	d, err := cblosc.NewDecompressor(nil)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	if i.CBytes != len(chunk) {
		return nil, fmt.Errorf("%d bytes, but the header has %d", len(chunk), i.CBytes)
	}
	if _, err := cblosc.VLBlocks(chunk); err == nil {
		var blocks cblosc.Batch
		err = d.DecompressVL(&blocks, chunk)
		return blocks.Bytes(), err
	}
	out := make([]byte, i.NBytes)
	_, err = d.Decompress(out, chunk)
	return out, err
}

// reader is the program under test. TestMain calls it if the environment contains a mode.
func reader(mode, in, out string) int {
	b, err := os.ReadFile(in)
	if err != nil {
		panic(err)
	}
	stored := strings.Contains(in, "lz4-9") // the cases with a simulated error
	switch {
	case mode == "hang" && stored:
		time.Sleep(time.Hour)
	case mode == "crash" && stored:
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case mode == "panic" && stored:
		panic("a reader's own bug")
	case mode == "silent" && stored:
		return 0
	}
	got, err := decode(b)
	if err != nil && mode != "trusting" {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if mode == "wrong" && stored && len(got) > 0 {
		got[len(got)/2] ^= 1
	}
	if err := os.WriteFile(out, got, 0o644); err != nil {
		panic(err)
	}
	return 0
}

func TestRun(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a 'quoted' directory")
	// Each case is one process, so the test uses the cases with a simulated error and some others.
	crosscheck.Part(t, dir, func(c crosscheck.Case) bool {
		return c.Area == "chunk" && (strings.Contains(c.ID, "lz4-9") || strings.Contains(c.ID, "special/") || strings.Contains(c.ID, "refuse/c"))
	})
	self, err := os.Executable()
	require.NoError(t, err)
	for mode, want := range map[string]crosscheck.Verdict{
		"right": crosscheck.Pass, "wrong": crosscheck.Wrong, "crash": crosscheck.Crash, "panic": crosscheck.Crash,
		"silent": crosscheck.Refused, "trusting": crosscheck.WronglyAccepted, "hang": crosscheck.Hang,
	} {
		t.Run(mode, func(t *testing.T) {
			o := crosscheck.RunOptions{
				Read: "CROSSCHECK_TEST_READER=" + mode + " " + self + " {in} {out}", Areas: []string{"chunk"}, Timeout: time.Minute,
			}
			if mode == "hang" {
				o.Timeout = time.Second
			}
			seen := 0
			o.Done = func(crosscheck.Result) { seen++ }
			r, err := crosscheck.Run(t.Context(), dir, o)
			require.NoError(t, err)
			require.Len(t, r.Results, seen)
			require.Equal(t, mode == "right", r.OK())
			for _, x := range r.Results {
				if mode == "hang" && x.Verdict == crosscheck.Hang && !strings.Contains(x.Case, "lz4-9") {
					continue // on a loaded machine a correct result may take more than a second
				}
				require.Contains(t, []crosscheck.Verdict{crosscheck.Pass, want}, x.Verdict, "%s: %s", x.Case, x.Detail)
			}
			if mode != "right" {
				require.Positive(t, r.Counts["chunk"][want])
			}
			var b bytes.Buffer
			require.NoError(t, r.WriteJUnit(&b))
			var back struct {
				Suites []struct {
					Tests    int `xml:"tests,attr"`
					Failures int `xml:"failures,attr"`
					Errors   int `xml:"errors,attr"`
				} `xml:"testsuite"`
			}
			require.NoError(t, xml.Unmarshal(b.Bytes(), &back))
			require.Equal(t, seen, back.Suites[0].Tests)
			require.Equal(t, seen-r.Counts["chunk"][crosscheck.Pass], back.Suites[0].Failures+back.Suites[0].Errors)
		})
	}
	m, err := crosscheck.Load(dir)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, m.Cases[0].Path), []byte("changed"), 0o644))
	_, err = crosscheck.Run(t.Context(), dir, crosscheck.RunOptions{Read: "cat {in} > {out}"})
	require.ErrorContains(t, err, m.Cases[0].ID+": the file has changed")
	_, err = crosscheck.Run(t.Context(), dir, crosscheck.RunOptions{Read: "cat"})
	require.ErrorContains(t, err, "{in}")
	_, err = crosscheck.Run(t.Context(), dir, crosscheck.RunOptions{Write: "cat"})
	require.ErrorContains(t, err, "{spec}")
	_, err = crosscheck.Run(t.Context(), dir, crosscheck.RunOptions{})
	require.ErrorContains(t, err, "no command")
	_, err = crosscheck.Run(t.Context(), t.TempDir(), crosscheck.RunOptions{Read: "cat {in} > {out}"})
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestRun_codec(t *testing.T) {
	t.Parallel()
	if os.Getenv("CROSSCHECK_TEST_WRONG") != "" {
		crosscheck.Codec(t, wrongCodec, "chunk/special/empty", "chunk/no such case")
		return
	}
	crosscheck.Codec(t, decode)
}

// wrongCodec fails in every possible way. TestRun_wrongFunction runs it in a child process.
func wrongCodec(chunk []byte) ([]byte, error) {
	switch len(chunk) % 5 {
	case 0:
		panic("a bug")
	case 1:
		return nil, errors.New("not claimed")
	}
	b, err := decode(chunk)
	if err != nil {
		return nil, nil // accepts an invalid chunk
	}
	if len(b) > 0 {
		b[0] ^= 1
	}
	return b, nil
}

// TestRun_wrongFunction checks that a test with an incorrect function fails, and that its output
// names each kind of failure.
func TestRun_wrongFunction(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	for name, wants := range map[string][]string{
		"TestRun_codec":    {"crash: panic: a bug", "refused: not claimed", "wrongly accepted: ", "first difference at byte 0 ", "stage: ", "specification: ", "the case passes, but the list of skipped cases contains it", "unknown skipped cases: [chunk/no such case]"},
		"TestWrite_goTest": {"first difference at byte 0 ", "stage: written, "},
	} {
		cmd := exec.CommandContext(t.Context(), self, "-test.run=^"+name+"$")
		cmd.Env = append(os.Environ(), "CROSSCHECK_TEST_WRONG=1")
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		require.ErrorAs(t, err, &exit, name)
		require.Equal(t, 1, exit.ExitCode(), "%s", out)
		for _, want := range wants {
			require.Contains(t, string(out), want, name)
		}
	}
}

func TestExplain_changedVector(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "v")
	m := crosscheck.Part(t, dir, func(c crosscheck.Case) bool {
		return c.Area == "chunk" && (strings.Contains(c.ID, "special/") || strings.Contains(c.ID, "refuse/c"))
	})
	for _, c := range m.Cases {
		if c.Must == crosscheck.Refuse {
			_, err := crosscheck.Explain(dir, c, nil)
			require.ErrorContains(t, err, "must be refused")
			continue
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, c.Path), []byte("changed"), 0o644))
		_, err := crosscheck.Explain(dir, c, nil)
		require.ErrorContains(t, err, "has changed")
		break
	}
	for _, bad := range []string{`{`, `{"schema":"other"}`, `{"schema":"hyperslab.crosscheck/1","cases":[{"id":"a","path":"../x","must":"refuse"}]}`, `{"schema":"hyperslab.crosscheck/1","cases":[{"id":"a","path":"x","must":"maybe"}]}`, `{"schema":"hyperslab.crosscheck/1","cases":[{"id":"a","path":"x","must":"accept"}]}`} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, crosscheck.ManifestName), []byte(bad), 0o644))
		_, err := crosscheck.Load(dir)
		require.Error(t, err, bad)
		require.False(t, errors.Is(err, os.ErrNotExist))
	}
}
