package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestUnusualArrays creates random b2nd, Caterva and bcolz arrays and (nested) ctables with Python
// libraries. It then runs every command that writes such arrays, and compares the results with the
// sources through the same libraries. The environment variable of TestUnusualHDF5 also sets the
// number of samples of this test.
func TestUnusualArrays(t *testing.T) {
	dir := t.TempDir()
	seeds, args := unusualSamples(dir)
	python := func(stdin []byte, args ...string) []byte {
		return unusual(t, "unusual_arrays.py", []string{"blosc2", "bcolz", "caterva"}, stdin, args...)
	}
	python(nil, args...)

	type task struct {
		Command string `json:"-"`
		Want    string `json:"want"`
		Got     string `json:"got"`
		Attrs   bool   `json:"attrs"`
		Twice   bool   `json:"twice"`   // got contains the elements of want twice
		Strings bool   `json:"strings"` // HDF5 between them stored strings of variable length, which have no size
		Part    bool   `json:"part"`    // got may lack columns that were excluded, and their order may differ
	}
	var tasks []task
	refused := 0
	for i := range seeds {
		for _, ext := range []string{".b2nd", ".caterva", ".bcolz", "-table.bcolz"} {
			source := filepath.Join(dir, strconv.Itoa(i+1)+ext)
			sub := filepath.Join(dir, "out", strconv.Itoa(i+1)+ext)
			require.NoError(t, os.MkdirAll(sub, 0o777))
			do := func(args ...string) {
				t.Helper()
				_, stderr, code := run(args...)
				require.Zero(t, code, "%s: %s", strings.Join(args, " "), stderr)
			}
			add := func(command, got string, attrs bool) {
				tasks = append(tasks, task{Command: command, Want: source, Got: got, Attrs: attrs})
			}
			out := func(name string) string { return filepath.Join(sub, name+ext) }

			isTable := ext == "-table.bcolz"
			_, err := os.Stat(filepath.Join(source, "inner"))
			isNested := err == nil
			do("cp", source, out("cp"))
			add("cp", out("cp"), true)
			do("verify", "-q", source)
			if !isNested { // these commands accept one array; a ctable without nesting counts as one
				do("recover", "-q", source, out("recover"))
				add("recover", out("recover"), true)
				do("repack", "-q", source, out("repack"))
				add("repack", out("repack"), true)
				if _, stderr, code := run("repack", "-q", source, out("recompress"), "--codec", "zstd", "--level", "3"); code == 0 {
					add("repack --codec", out("recompress"), true)
				} else {
					require.Contains(t, stderr, "attributes of the column", source)
					require.True(t, isTable, source)
				}
				if isTable {
					do("convert", "-q", source, out("convert-codec"), "--codec", "zstd", "--level", "3")
					add("convert --codec", out("convert-codec"), true)
				}
				do("convert", "-q", source, out("convert"), "--level", "1")
				add("convert", out("convert"), true)
			}
			if !isNested {
				do("cp", source, out("append"))
				do("append", "-q", "--axis", "0", out("append"), source)
				tasks = append(tasks, task{Command: "append", Want: source, Got: out("append"), Attrs: true, Twice: true})
			}
			if isTable {
				for _, via := range []string{"table.h5", "directory"} { // some targets do not support strings of four-byte characters, or nested tables
					between, back := filepath.Join(sub, via), out("back-"+via)
					do("convert", "-q", source, between, "--exclude-unsupported")
					do("convert", "-q", between, back, "--exclude-unsupported")
					tasks = append(tasks, task{Command: "convert to " + via + " and back", Want: source, Got: back, Part: true, Strings: via == "table.h5"})
				}
				continue
			}
			if ext != ".caterva" { // Caterva has no attributes
				do("cp", source, out("attr"))
				do("attr", "set", out("attr"), "added", "5")
				do("attr", "rm", out("attr"), "added")
				add("attr", out("attr"), true)
			}
			for _, via := range []string{"x.h5:/a/b", "x.b2nd", "x.bcolz"} {
				between, back := filepath.Join(sub, "via-"+via), out("back-"+strings.Trim(filepath.Ext(strings.TrimSuffix(via, ":/a/b")), "."))
				_, stderr, code := run("convert", "-q", source, between, "--exclude-unsupported")
				if code != 0 { // the other format does not support the dtype
					require.Contains(t, stderr, "unsupported", "%s to %s", source, via)
					refused++
					continue
				}
				if file, _, ok := strings.Cut(between, ":"); ok {
					do("convert", "-q", source, file+":/gone", "--exclude-unsupported")
					do("rm", file+":/gone")
				}
				do("convert", "-q", between, back, "--exclude-unsupported")
				tasks = append(tasks, task{Command: "convert to " + via + " and back", Want: source, Got: back, Strings: via == "x.h5:/a/b"})
			}
		}
	}
	require.Less(t, refused, seeds, "conversions are refused for few element types")
	in, err := json.Marshal(tasks)
	require.NoError(t, err)
	var found [][]string
	require.NoError(t, json.Unmarshal(python(in, "compare"), &found))
	require.Len(t, found, len(tasks))
	for i, list := range found {
		for _, text := range list {
			t.Errorf("%s: %s: %s", tasks[i].Command, filepath.Base(tasks[i].Want), text)
		}
	}
}
