package crosscheck_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/crosscheck"
)

// encode is a correct writer of chunks. It calls C-Blosc2.
func encode(s crosscheck.Spec, data []byte, out string) error {
	p := cblosc.DefaultCParams()
	p.TypeSize = s.Item
	c, err := cblosc.NewCompressor(p)
	if err != nil {
		return err
	}
	defer c.Close()
	b := make([]byte, cblosc.MaxCompressedSize(len(data)))
	n, err := c.Compress(b, data)
	if err != nil {
		return err
	}
	return os.WriteFile(out, b[:n], 0o644)
}

// writer is the program under test. TestMain calls it if the environment contains a mode.
func writer(mode, spec, out string) int {
	text, err := os.ReadFile(spec)
	if err != nil {
		panic(err)
	}
	var s crosscheck.Spec
	if err := json.Unmarshal(text, &s); err != nil {
		panic(err)
	}
	data, err := os.ReadFile(s.Data)
	if err != nil {
		panic(err)
	}
	if strings.Contains(s.Case, "lz4-9") { // the cases with a simulated error
		switch mode {
		case "write-wrong":
			data[len(data)/2] ^= 1
		case "write-typesize":
			s.Item = s.Item%8 + 1
		case "write-refused":
			fmt.Fprintln(os.Stderr, "not claimed")
			return 1
		case "write-silent":
			return 0
		case "write-unreadable":
			if err := os.WriteFile(out, data[:len(data)/2], 0o644); err != nil {
				panic(err)
			}
			return 0
		case "write-hang":
			time.Sleep(time.Hour)
		case "write-panic":
			panic("a writer's own bug")
		}
	}
	if err := encode(s, data, out); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func TestRun_Writer(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "v")
	crosscheck.Part(t, dir, func(c crosscheck.Case) bool {
		return c.Area == "chunk" && (strings.Contains(c.ID, "lz4-9") || strings.Contains(c.ID, "special/"))
	})
	self, err := os.Executable()
	require.NoError(t, err)
	for mode, want := range map[string]crosscheck.Verdict{
		"write-right": crosscheck.Pass, "write-wrong": crosscheck.Wrong, "write-typesize": crosscheck.Wrong, "write-refused": crosscheck.Refused,
		"write-silent": crosscheck.Refused, "write-unreadable": crosscheck.Unreadable, "write-panic": crosscheck.Crash, "write-hang": crosscheck.Hang,
	} {
		t.Run(mode, func(t *testing.T) {
			o := crosscheck.RunOptions{Write: "CROSSCHECK_TEST_READER=" + mode + " " + self + " {spec} {out}", Timeout: time.Minute}
			if mode == "write-hang" {
				o.Timeout = time.Second
			}
			r, err := crosscheck.Run(t.Context(), dir, o)
			require.NoError(t, err)
			require.Equal(t, mode == "write-right", r.OK())
			lossless := 0
			for _, x := range r.Results {
				require.Equal(t, crosscheck.Writing, x.Direction)
				if strings.Contains(x.Case, "lz4-9") {
					require.Equal(t, want, x.Verdict, "%s: %s", x.Case, x.Detail)
					if mode == "write-wrong" { // exactly one byte of each case was changed
						require.NotNil(t, x.Explanation, x.Case)
						require.EqualValues(t, 1, x.Explanation.Differ, x.Case)
						require.Contains(t, x.Explanation.Stage, "written, ", x.Case)
						require.NotEmpty(t, x.Explanation.Header, x.Case)
						require.NotEmpty(t, x.Explanation.Sentence, x.Case)
					}
					lossless++
				} else if mode != "write-hang" { // on a loaded machine a case may take more than a second
					require.Equal(t, crosscheck.Pass, x.Verdict, "%s: %s", x.Case, x.Detail)
				}
			}
			require.Positive(t, lossless)
			require.Positive(t, r.Counts["write chunk"][want])
		})
	}
}

func TestWrite_goTest(t *testing.T) {
	t.Parallel()
	write := encode
	if os.Getenv("CROSSCHECK_TEST_WRONG") != "" { // child process of TestRun_wrongFunction
		write = func(s crosscheck.Spec, data []byte, out string) error {
			data = bytes.Clone(data)
			if len(data) > 0 {
				data[0] ^= 1
			}
			return encode(s, data, out)
		}
	}
	crosscheck.Writer(t, "chunk", write)
}

// TestWrite_areas checks in every area that a writer passes if its output is the vector itself.
func TestWrite_areas(t *testing.T) {
	t.Parallel()
	dir, m := crosscheck.Corpus(t)
	paths := make(map[string]string)
	for _, c := range m.Cases {
		paths[c.ID] = filepath.Join(dir, c.Path)
	}
	for _, area := range crosscheck.Areas() {
		t.Run(area, func(t *testing.T) {
			crosscheck.WriteEach(t, dir, crosscheck.Sampled(m, area), func(s crosscheck.Spec, _ []byte, out string) error {
				return os.Symlink(paths[s.Case], out)
			})
		})
	}
}
