package crosscheck_test

import (
	"bytes"
	"encoding/binary"
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

// TestReader_forms checks that Reader passes the dtype, the shape and the kind of each object, that
// answers in little-endian order and as float64 are converted, and that cases that are not
// supported are counted.
func TestReader_forms(t *testing.T) {
	t.Parallel()
	if os.Getenv("CROSSCHECK_TEST_WRONG") != "" {
		crosscheck.Reader(t, "metalayer", func(crosscheck.Request) ([]byte, error) { return nil, errors.ErrUnsupported })
		return
	}
	var dir string
	var m *crosscheck.Manifest
	cases := make(map[string]crosscheck.Case)
	kinds := make(map[string]int)
	forms := make(map[string]int)
	r := crosscheck.Reader(t, "hdf5", func(r crosscheck.Request) ([]byte, error) {
		if m == nil {
			dir = r.Path[:strings.LastIndex(r.Path, "/hdf5/")]
			var err error
			if m, err = crosscheck.Load(dir); err != nil {
				return nil, err
			}
			for _, c := range m.Cases {
				cases[filepath.Join(dir, c.Path)+c.Object] = c
			}
		}
		c := cases[r.Path+r.Object]
		if c.Must == crosscheck.Refuse || r.Kind == "group" || len(c.ID)%3 != 0 {
			return nil, fmt.Errorf("a sample: %w", errors.ErrUnsupported)
		}
		kinds[r.Kind]++
		want, err := crosscheck.Decode(dir, c)
		if err != nil {
			return nil, err
		}
		if v, is := float64s(want, r); is {
			got, err := r.FromFloat64(v)
			if errors.Is(err, errors.ErrUnsupported) {
				return want, nil // integers of 8 bytes
			}
			forms[r.DType]++
			return got, err
		}
		return want, nil
	})
	for _, kind := range []string{"dataset", "attribute", "datatype"} {
		require.Positive(t, kinds[kind], kind)
	}
	for _, form := range []string{"<f4", ">f8", ">i4", "<u2", "|i1"} {
		require.Positive(t, forms[form], form)
	}
	require.Positive(t, r.Skipped["hdf5"])
	require.Equal(t, r.Counts["hdf5"][crosscheck.Pass], len(r.Results))
}

// float64s returns stored elements as numbers, by the conversion of another package.
func float64s(b []byte, r crosscheck.Request) (v []float64, is bool) {
	var order binary.ByteOrder = binary.LittleEndian
	if r.BigEndian {
		order = binary.BigEndian
	}
	read := func(to any) bool { _, err := binary.Decode(b, order, to); return err == nil }
	n := len(b) / max(r.Item, 1)
	switch strings.TrimLeft(r.DType, "<>|") {
	case "i1":
		x := make([]int8, n)
		is = read(x)
		for _, e := range x {
			v = append(v, float64(e))
		}
	case "u2":
		x := make([]uint16, n)
		is = read(x)
		for _, e := range x {
			v = append(v, float64(e))
		}
	case "i4":
		x := make([]int32, n)
		is = read(x)
		for _, e := range x {
			v = append(v, float64(e))
		}
	case "f4":
		x := make([]float32, n)
		is = read(x)
		for _, e := range x {
			if e != e {
				return nil, false // the payload of a NaN is not a number
			}
			v = append(v, float64(e))
		}
	case "f8":
		v = make([]float64, n)
		is = read(v)
	}
	return v, is
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
		"TestRun_codec":    {"crash: panic: a bug", "refused: not claimed", "wrongly accepted: ", "first difference at byte 0 ", "stage: ", "specification: ", "the case passes, but the list of skipped cases contains it", "unknown skipped cases: [chunk/no such case]", "crosscheck_test.wrongCodec"},
		"TestReader_forms": {"no valid case is supported", "cases that are not supported: map[metalayer:"},
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
