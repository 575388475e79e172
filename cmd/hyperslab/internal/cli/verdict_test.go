// Tests of results and exit codes for files with one corrupt structure.

package cli_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
)

// brokenRoot writes a file whose root group has 20 members and a corrupt index, so that it cannot
// be listed.
func brokenRoot(t *testing.T, low h5.LibVer, signature string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.h5")
	f, err := h5.Create(path, &h5.CreateOptions{Low: low, High: h5.LatestFormat})
	require.NoError(t, err)
	for i := range 20 {
		g, err := f.Root().CreateGroup(string(rune('a' + i)))
		require.NoError(t, err)
		require.NoError(t, g.Close())
	}
	require.NoError(t, f.Close())
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	at := bytes.Index(b, []byte(signature))
	require.Positive(t, at)
	copy(b[at:], "XXXX")
	require.NoError(t, os.WriteFile(path, b, 0o600))
	return path
}

func TestRun_unreadableRoot(t *testing.T) {
	for name, path := range map[string]string{"local heap": brokenRoot(t, h5.Earliest, "HEAP"), "fractal heap": brokenRoot(t, h5.V110, "FRHP")} {
		for _, command := range []string{"ls", "tree", "info"} {
			t.Run(command+" "+name, func(t *testing.T) {
				_, stderr, code := run(command, path)
				require.Equal(t, 3, code)
				require.Contains(t, stderr, "signature")
				stdout, _, code := run(command, "--json", path)
				require.Equal(t, 3, code)
				require.True(t, json.Valid([]byte(stdout)), stdout)
			})
		}
	}
}

func TestInfo_truncatedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.h5")
	f, err := h5.Create(path, nil)
	require.NoError(t, err)
	d, err := f.Root().CreateDataset("a", h5.Int(8, h5.NativeOrder), h5.SimpleSpace(1000), nil)
	require.NoError(t, err)
	require.NoError(t, h5value.Write(d, make([]int64, 1000), h5.SimpleSpace(1000).All()))
	require.NoError(t, d.Close())
	require.NoError(t, f.Close())
	require.NoError(t, os.Truncate(path, 5000))
	_, stderr, code := run("info", path)
	require.Equal(t, 2, code)
	require.Contains(t, stderr, "truncated")
	require.NotContains(t, stderr, "name one as")
}

// TestVerify_scaleOffsetOfAllBits checks that scale-offset chunks of integers that need all bits of
// their type are valid, in every command that decodes them.
func TestVerify_scaleOffsetOfAllBits(t *testing.T) {
	t.Chdir(t.TempDir())
	f, err := h5.Create("a.h5", nil)
	require.NoError(t, err)
	space := h5.SimpleSpace(4)
	d, err := f.Root().CreateDataset("a", h5.Int(4, h5.NativeOrder), space, &h5.DatasetOptions{ChunkShape: []int64{4}, Filters: []h5.Filter{h5.ScaleOffsetInt(0)}})
	require.NoError(t, err)
	require.NoError(t, h5value.Write(d, []int32{math.MinInt32, -1, 0, math.MaxInt32}, space.All()))
	require.NoError(t, d.Close())
	require.NoError(t, f.Close())

	require.Contains(t, done(t, "verify", "a.h5"), "valid")
	done(t, "recover", "-q", "a.h5", "b.h5")
	done(t, "repack", "-q", "a.h5", "c.h5")
	for _, file := range []string{"a.h5", "b.h5", "c.h5"} {
		require.Equal(t, "a\n-2147483648\n-1\n0\n2147483647\n", done(t, "dump", "--csv", file+":/a"), file)
	}
}

// contradicting writes a file of the oldest format: contiguous datasets /c and /d of 8 numbers, /k
// in 3 chunks of 2, and a group.
func contradicting(t *testing.T, path string) []byte {
	t.Helper()
	f, err := h5.Create(path, &h5.CreateOptions{Low: h5.Earliest, High: h5.LatestFormat})
	require.NoError(t, err)
	for _, name := range []string{"c", "d", "k"} { // in this order in the file
		space, o := h5.SimpleSpace(8), (*h5.DatasetOptions)(nil)
		if name == "k" {
			space, o = h5.SimpleSpace(6), &h5.DatasetOptions{ChunkShape: []int64{2}}
		}
		d, err := f.Root().CreateDataset(name, h5.Int(4, h5.LittleEndian), space, o)
		require.NoError(t, err)
		require.NoError(t, h5value.Write(d, make([]int32, space.Dims[0]), space.All()))
		require.NoError(t, d.Close())
	}
	require.NoError(t, f.Close())
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return b
}

// TestVerify_contradictions checks files with structures that are valid but contradict each other:
// dump must read the files and verify must report the contradiction.
func TestVerify_contradictions(t *testing.T) {
	t.Chdir(t.TempDir())
	whole := contradicting(t, "a.h5")
	require.Contains(t, done(t, "verify", "a.h5"), "valid")
	places := map[string][]int64{}
	for _, x := range h5file.Describe(bytes.NewReader(whole), int64(len(whole))).Walk() {
		if len(x.Fields) == 0 {
			places[x.Name] = append(places[x.Name], x.Offset)
		}
	}
	word := func(b []byte, name string, i int) []byte { return b[places[name][i]:][:8] }
	addresses, counts, keys := "address", "object reference count", "chunk offset"
	require.Len(t, places[keys], 8)
	for _, x := range []struct {
		name, want string
		edit       func(b []byte)
	}{
		{"elements of two datasets", "too, want bytes of its own", func(b []byte) { copy(word(b, addresses, 0), word(b, addresses, 1)) }},
		{"elements in an object header", "bytes of the object header of / too", func(b []byte) { binary.LittleEndian.PutUint64(word(b, addresses, 0), 96) }},
		{"chunk in a dataset", "too, want bytes of its own", func(b []byte) { copy(word(b, "child address", 1), word(b, addresses, 0)) }},
		{"chunk after the last element", "got a chunk at [6], want one inside the shape [6]", func(b []byte) {
			binary.LittleEndian.PutUint64(word(b, keys, 4), 6)
			binary.LittleEndian.PutUint64(word(b, keys, 6), 8)
		}},
		{"more elements than the shape", "got 32 bytes stored, want 28", func(b []byte) {
			shape := bytes.Index(b, []byte{8, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0}) // followed by the maximum shape
			require.Positive(t, shape)
			b[shape]--
		}},
		{"reference count of the root", "object reference count", func(b []byte) { word(b, counts, 0)[0]++ }},
		{"reference count of a dataset", "want 1, the hard links to it", func(b []byte) { word(b, counts, 1)[0]++ }},
		{"addresses of the root group", "those of the root group", func(b []byte) { word(b, "address of name heap", 0)[0] += 8 }},
	} {
		t.Run(x.name, func(t *testing.T) {
			b := bytes.Clone(whole)
			x.edit(b)
			require.NoError(t, os.WriteFile("b.h5", b, 0o600))
			for _, object := range []string{"c", "d", "k"} {
				done(t, "dump", "b.h5:/"+object)
			}
			stdout, _, code := run("verify", "b.h5")
			require.Equal(t, 1, code, stdout)
			require.Contains(t, stdout, x.want)
		})
	}
}
