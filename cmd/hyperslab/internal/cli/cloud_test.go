// Tests of verify --cloud and repack --cloud.

package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
)

// cloudReport is a part of the document of verify --cloud.
type cloudReport struct {
	Files []struct {
		Page     *int64 `json:"page_bytes"`
		Requests int    `json:"metadata_requests"`
		Arrays   []struct {
			Path  string  `json:"path"`
			Chunk []int64 `json:"chunk_shape"`
			Size  *int64  `json:"chunk_bytes"`
		} `json:"arrays"`
		Problems []struct {
			Object  string `json:"object"`
			Problem string `json:"problem"`
			Fix     string `json:"fix"`
		} `json:"problems"`
	} `json:"files"`
}

// scattered writes a file whose metadata is between large arrays, with small chunks.
func scattered(t *testing.T, name string) {
	none := &ndarray.Compression{Codec: "none"}
	cube := make([]int32, 40*100*200)
	for i := range cube {
		cube[i] = int32(i)
	}
	first := ndarray.Spec{Shape: []int64{40, 100, 200}, ChunkShape: []int64{40, 10, 10}, Compression: none, Attrs: []ndarray.Attr{{Name: "unit", Value: ndarray.Text("m")}}}
	create(t, name+":/g/cube", first, cube)
	for i := range 6 {
		create(t, fmt.Sprintf("%s:/a%d", name, i), ndarray.Spec{Shape: []int64{int64(len(cube))}, Compression: none}, cube)
	}
	create(t, name+":/small", ndarray.Spec{Shape: []int64{5}}, []int32{1, 2, 3, 4, 5})
}

// latest writes a file in the newest format: a growing dataset with large chunks, edges without
// filters, and many attributes and links.
func latest(t *testing.T, name string) {
	f, err := h5.Create(name, &h5.CreateOptions{Low: h5.LatestFormat})
	require.NoError(t, err)
	kind, level := h5.Int(4, h5.LittleEndian), 1
	write := func(name string, rows, columns int64, o *h5.DatasetOptions) {
		space := h5.SimpleSpace(rows, columns)
		space.MaxDims = []int64{h5.Unlimited, h5.Unlimited}
		d, err := f.Root().CreateDataset(name, kind, space, o)
		require.NoError(t, err)
		b := make([]byte, 4*rows*columns)
		for i := range b {
			b[i] = byte(i * i >> 7)
		}
		require.NoError(t, d.WriteRegion(b, kind, h5.Region{Start: []int64{0, 0}, Count: []int64{rows, columns}}))
		require.NoError(t, d.Close())
	}
	write("kept", 1500, 1024, &h5.DatasetOptions{ChunkShape: []int64{512, 1024}, Deflate: &level, Shuffle: true})
	write("edges", 1100, 600, &h5.DatasetOptions{ChunkShape: []int64{1024, 512}, Deflate: &level, PlainEdges: true})
	for i := range 20 {
		g, err := f.Root().CreateGroup(fmt.Sprintf("g%d", i))
		require.NoError(t, err)
		require.NoError(t, g.Close())
	}
	require.NoError(t, f.Close())
}

// newestLayout returns the newest version of the data layouts of a file.
func newestLayout(t *testing.T, name string) (newest int) {
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	f, err := h5file.Open(bytes.NewReader(b), int64(len(b)), nil)
	require.NoError(t, err)
	for e, err := range f.Walk() {
		require.NoError(t, err)
		if e.Object != nil && e.Object.Layout() != nil {
			newest = max(newest, int(e.Object.Layout().Version))
		}
	}
	return newest
}

// samePyfive is a Python program. It compares the datasets of two files, read by h5py and pyfive.
const samePyfive = `import sys
import h5py, numpy as np, pyfive
with h5py.File(sys.argv[1]) as f, pyfive.File(sys.argv[2]) as g:
    names = []
    f.visititems(lambda name, o: names.append(name) if isinstance(o, h5py.Dataset) else None)
    assert names
    for name in names:
        np.testing.assert_array_equal(f[name][...], g[name][...], name)
        assert sorted(f[name].attrs) == sorted(g[name].attrs), name
`

func TestRun_cloud(t *testing.T) {
	dir := t.TempDir()
	scattered(t, dir+"/x.h5")
	report := func(t *testing.T, code int, args ...string) cloudReport {
		t.Helper()
		out, stderr, got := run(append([]string{"verify", "--cloud", "--json"}, args...)...)
		require.Equal(t, code, got, stderr)
		var r cloudReport
		require.NoError(t, json.Unmarshal([]byte(out), &r))
		return r
	}
	t.Run("problems", func(t *testing.T) {
		f := report(t, 1, dir+"/x.h5").Files[0]
		require.Nil(t, f.Page)
		require.Greater(t, f.Requests, 3)
		require.Len(t, f.Arrays, 8)
		require.Len(t, f.Problems, 2)
		require.Contains(t, f.Problems[0].Fix, "repack --cloud")
		require.Equal(t, "/g/cube", f.Problems[1].Object)
		require.Contains(t, f.Problems[1].Problem, "chunks of 15.6 KiB")
		out, _, code := run("verify", "--cloud", dir+"/x.h5", "-n", "1")
		require.Equal(t, 1, code)
		require.Contains(t, out, "and 1 more")
	})
	for _, c := range []struct {
		access string
		chunk  []int64
	}{
		{"1,*,*", []int64{32, 100, 200}}, {"*,1,1", []int64{40, 100, 200}}, {"40,100,200", []int64{40, 100, 200}}, {"", nil},
	} {
		t.Run("repacked for "+c.access, func(t *testing.T) {
			to := filepath.Join(t.TempDir(), "c.h5")
			_, stderr, code := run("repack", "--cloud", "--access", c.access, dir+"/x.h5", to)
			require.Zero(t, code, stderr)
			f := report(t, 0, to).Files[0]
			require.NotNil(t, f.Page)
			require.LessOrEqual(t, f.Requests, 3)
			require.Empty(t, f.Problems)
			for _, a := range f.Arrays {
				if a.Path == "/g/cube" && c.chunk != nil {
					require.Equal(t, c.chunk, a.Chunk)
				}
				if a.Path != "/small" {
					require.GreaterOrEqual(t, *a.Size, int64(2<<20))
					require.LessOrEqual(t, *a.Size, int64(16<<20))
				}
			}
			_, stderr, code = run("diff", dir+"/x.h5", to)
			require.Zero(t, code, stderr)
			_, stderr, code = run("verify", to)
			require.Zero(t, code, stderr)
		})
	}
	t.Run("metadata first", func(t *testing.T) {
		to := filepath.Join(t.TempDir(), "c.h5")
		_, stderr, code := run("repack", "--cloud", dir+"/x.h5", to)
		require.Zero(t, code, stderr)
		s := httptest.NewServer(http.FileServer(http.Dir(filepath.Dir(to))))
		defer s.Close()
		_, stderr, code = run("ls", "-r", s.URL+"/c.h5", "--allow-private", "--io-stats")
		require.Zero(t, code, stderr)
		require.Contains(t, stderr, " io: 1 requests ")
		for _, args := range [][]string{{"info", s.URL + "/c.h5:/g/cube"}, {"attr", "list", s.URL + "/c.h5:/g/cube"}, {"dump", s.URL + "/c.h5:/small"}} {
			_, stderr, code := run(append(args, "--allow-private", "--io-stats")...)
			require.Zero(t, code, stderr)
			var requests int
			_, line, _ := strings.Cut(stderr, " io: ")
			_, err := fmt.Sscanf(line, "%d requests", &requests)
			require.NoError(t, err, stderr)
			require.LessOrEqual(t, requests, 3, args)
		}
		f := report(t, 0, s.URL+"/c.h5", "--allow-private").Files[0]
		require.Empty(t, f.Problems)
	})
	t.Run("compatible", func(t *testing.T) {
		newest := filepath.Join(t.TempDir(), "newest.h5")
		latest(t, newest)
		for _, source := range []string{dir + "/x.h5", newest} {
			to := filepath.Join(t.TempDir(), "c.h5")
			_, stderr, code := run("repack", "--cloud", "--compatible", source, to)
			require.Zero(t, code, stderr)
			require.LessOrEqual(t, report(t, 0, to).Files[0].Requests, 3)
			_, stderr, code = run("diff", source, to)
			require.Zero(t, code, stderr)
			_, stderr, code = run("verify", to)
			require.Zero(t, code, stderr)
			require.LessOrEqual(t, newestLayout(t, to), 3)
			out, err := exec.Command(testenv.RemotePython(t, "h5py", "pyfive"), "-c", samePyfive, source, to).CombinedOutput()
			require.NoError(t, err, "%s", out)
		}
	})
	t.Run("bounded memory", func(t *testing.T) {
		testenv.NoRace(t, "the detector needs memory for each access")
		const rows, most = 320, 200 // MiB of the source, and of the process
		f, err := h5.Create(dir+"/large.h5", nil)
		require.NoError(t, err)
		kind := h5.Uint(1, h5.LittleEndian)
		d, err := f.Root().CreateDataset("x", kind, h5.SimpleSpace(rows, 1<<20), &h5.DatasetOptions{ChunkShape: []int64{1, 1 << 18}})
		require.NoError(t, err)
		row := make([]byte, 1<<20)
		for i := range int64(rows) {
			for j := range row {
				row[j] = byte(int(i) + j*j/7)
			}
			require.NoError(t, d.WriteRegion(row, kind, h5.Region{Start: []int64{i, 0}, Count: []int64{1, 1 << 20}}))
		}
		require.NoError(t, d.Close())
		require.NoError(t, f.Close())
		out, err := exec.Command("peak", "repack", "--cloud", "--access", "*,1024", "-q", "-j", "2", "-M", "64MiB", dir+"/large.h5", dir+"/cloud.h5").CombinedOutput()
		require.NoError(t, err, string(out))
		var used int
		_, err = fmt.Sscanf(string(out[max(strings.Index(string(out), "VmHWM:"), 0):]), "VmHWM: %d kB", &used)
		require.NoError(t, err, string(out))
		t.Logf("%d MiB", used>>10)
		require.Less(t, used>>10, most)
		report(t, 0, dir+"/cloud.h5")
	})
	t.Run("refused", func(t *testing.T) {
		create(t, dir+"/a.b2nd", ndarray.Spec{Shape: []int64{3}}, []int32{1, 2, 3})
		for _, args := range [][]string{
			{"repack", "--access", "1,*", dir + "/x.h5", dir + "/y.h5"}, {"repack", "--cloud", "--access", "1,?", dir + "/x.h5", dir + "/y.h5"},
			{"repack", "--cloud", "--access", "0,*", dir + "/x.h5", dir + "/y.h5"}, {"repack", "--cloud", "--access", "1", "--chunks", "4", dir + "/x.h5", dir + "/y.h5"}, {"repack", "--compatible", dir + "/x.h5", dir + "/y.h5"},
			{"repack", "--cloud", dir + "/a.b2nd", dir + "/b.b2nd"}, {"verify", "--cloud", dir + "/a.b2nd"}, {"verify", "--cloud", "--digests", "write", dir + "/x.h5"},
			{"verify", "--cloud", dir + "/none.h5"},
		} {
			_, stderr, code := run(args...)
			require.Equal(t, 2, code, stderr)
		}
		require.NoFileExists(t, dir+"/y.h5")
	})
}
