package cli_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/stretchr/testify/require"
)

// TestStorageAgainstH5stat checks that info --storage reports the same number of bytes as h5stat,
// for raw data and for metadata. The global heap is excluded because h5stat does not count it.
func TestStorageAgainstH5stat(t *testing.T) {
	h5stat, err := filepath.Abs("../../../../third_party/build/bin/h5stat")
	require.NoError(t, err)
	if _, err := os.Stat(h5stat); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("no h5stat (make deps)")
		}
		t.Skip("no h5stat: NOT compared (make deps)")
	}
	dir := field(t)
	files, err := filepath.Glob(filepath.Join(dir, "*.h5"))
	require.NoError(t, err)
	if src := os.Getenv("HYPERSLAB_HDF5_SRC"); src != "" {
		more, err := filepath.Glob(filepath.Join(src, "tools/test/h5stat/testfiles/*.h5"))
		require.NoError(t, err)
		files = append(files, testenv.Sample(more, 3)...)
	} else if os.Getenv("CI") != "" {
		t.Fatal("HYPERSLAB_HDF5_SRC is not set")
	}
	number := func(pattern, text string) int64 {
		m := regexp.MustCompile(pattern).FindStringSubmatch(text)
		require.NotNil(t, m, "%s\n%s", pattern, text)
		n, err := strconv.ParseInt(m[1], 10, 64)
		require.NoError(t, err)
		return n
	}
	compared := 0
	for _, file := range files {
		out, err := exec.Command(h5stat, "-S", file).Output()
		if err != nil { // the file is corrupt on purpose
			continue
		}
		text := string(out)
		stdout, stderr, code := run("info", file, "--storage", "--json")
		require.Zero(t, code, "%s: %s", file, stderr)
		var doc struct {
			Bytes int64
			Free  int64 `json:"free_bytes"`
			Kinds []struct {
				Kind  string
				Bytes int64
			}
		}
		require.NoError(t, json.Unmarshal([]byte(stdout), &doc))
		kinds, sum := make(map[string]int64), doc.Free
		for _, k := range doc.Kinds {
			kinds[k.Kind] = k.Bytes
			sum += k.Bytes
		}
		require.Equal(t, doc.Bytes, sum, file)
		require.Equal(t, number(`Total space: (\d+)`, text), doc.Bytes, file)
		raw, metadata := number(`Raw data: (\d+)`, text), kinds["super"]+kinds["ohdr"]+kinds["btree"]+kinds["lheap"]+kinds["user block"]
		compact := raw - kinds["draw"] // elements in object headers, which h5stat counts as raw data
		require.GreaterOrEqual(t, compact, int64(0), "%s\n%s%s", file, text, stdout)
		require.Equal(t, number(`File metadata: (\d+)`, text), metadata-compact, "%s\n%s%s", file, text, stdout)
		if !strings.Contains(file, "h5stat_filters") { // the only one of these files with such elements
			require.Zero(t, compact, file)
		}
		compared++
	}
	require.GreaterOrEqual(t, compared, 3)
}

// TestMeta checks that info --meta reports the metalayers of a frame, and the comments and times of
// HDF5 objects.
func TestMeta(t *testing.T) {
	t.Chdir(field(t))
	stdout, stderr, code := run("info", "rich.b2nd", "--meta")
	require.Zero(t, code, stderr)
	var doc struct {
		Fixed    []struct{ Name, Base64 string } `json:"metalayers"`
		Variable []struct {
			Name string
			Text *string
		} `json:"vlmetalayers"`
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &doc))
	require.Equal(t, "b2nd", doc.Fixed[0].Name)
	require.NotEmpty(t, doc.Fixed[0].Base64)
	names := make(map[string]bool)
	for _, m := range doc.Variable {
		names[m.Name] = true
	}
	require.Subset(t, names, map[string]bool{"kept": true, "hyperslab": true})
	python := interpreter(t)
	out, err := exec.Command(python, "-c", `
import h5py
with h5py.File("times.h5", "w", track_order=True) as f:
    d = f.create_dataset("d", data=[1, 2], track_times=True)
    h5py.h5o.set_comment(d.id, b"of the first days")
    h5py.h5o.set_comment(f.create_group("g").id, b"a group")
`).CombinedOutput()
	require.NoError(t, err, "%s", out)
	stdout, stderr, code = run("info", "times.h5", "/d", "--meta")
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, `"comment": "of the first days"`)
	require.Regexp(t, `"changed": "20\d\d-\d\d-\d\dT`, stdout)
	stdout, stderr, code = run("info", "times.h5:/g", "--meta")
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, `"comment": "a group"`)
}
