// Tests of bcolz directory trees with missing or corrupt files.

package recovery_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/recovery"
	"github.com/hyperslab/hyperslab/internal/verify"
	"github.com/hyperslab/hyperslab/ndarray"
)

func TestDamagedCArray(t *testing.T) {
	for _, c := range []struct {
		name  string
		gone  string
		exact bool // values and shape are unchanged
		exit  int
	}{
		{"nothing", "", true, recovery.ExitWhole},
		{"sizes", "meta/sizes", true, recovery.ExitPartly},
		{"storage", "meta/storage", true, recovery.ExitPartly},
		{"a chunk", "data/__1.blp", false, recovery.ExitPartly},
	} {
		t.Run(c.name, func(t *testing.T) {
			src := save(t, "a.bcolz", nil)
			if c.gone != "" {
				require.NoError(t, os.Remove(filepath.Join(src, filepath.FromSlash(c.gone))))
			}
			dst, r := recovered(t, src, nil)
			require.Equal(t, c.exit, r.ExitCode(), "%v", r.Findings)
			a, err := hyperslab.Open(bg, dst, nil)
			require.NoError(t, err)
			defer func() { require.NoError(t, a.Close()) }()
			require.Equal(t, []int64{20, 30}, a.Shape())
			b := make([]byte, 8*600)
			require.NoError(t, a.Read(bg, b, ndarray.Whole(a.Shape())))
			want := bytesOf(squares(600))
			if !c.exact {
				clear(want[8*6*30 : 8*12*30])
				require.Equal(t, int64(1), r.Lost)
			}
			require.Equal(t, want, b)
		})
	}
}

func TestDamagedCTable(t *testing.T) {
	src := filepath.Join(t.TempDir(), "t.bcolz")
	d, err := ndarray.ParseDType("[('a', '<i8'), ('b', '<f4')]")
	require.NoError(t, err)
	w, err := hyperslab.Create(bg, src, ndarray.Spec{Shape: []int64{50}, DType: d, ChunkShape: []int64{16}}, nil)
	require.NoError(t, err)
	rows := make([]byte, 50*d.Size)
	for i := range rows {
		rows[i] = byte(i % 13)
	}
	require.NoError(t, w.Write(bg, rows, ndarray.Whole(w.Shape())))
	require.NoError(t, w.Commit(bg))
	require.NoError(t, os.Remove(filepath.Join(src, "__rootdirs__")))
	require.NoError(t, os.WriteFile(filepath.Join(src, "b", "data", "__0.blp"), []byte("blpk"), 0o600))
	dst, r := recovered(t, src, nil)
	require.Equal(t, int64(2), r.Arrays)
	require.Equal(t, int64(1), r.Lost)
	a, err := hyperslab.Open(bg, dst+":/a", nil)
	require.NoError(t, err)
	got, err := ndarray.ReadAll[int64](bg, a)
	require.NoError(t, err)
	require.NoError(t, a.Close())
	require.Len(t, got, 50)
	all, err := hyperslab.Open(bg, dst, nil)
	require.NoError(t, err)
	b := make([]byte, len(rows))
	require.NoError(t, all.Read(bg, b, ndarray.Whole(all.Shape())))
	require.NoError(t, all.Close())
	for i := range 16 {
		clear(rows[i*12+8 : i*12+12])
	}
	require.Equal(t, rows, b)
}

// TestBcolz_hugeSizes checks sizes that claim more chunk files than can be missing. They must be
// ignored, and the number of rows must be derived from the existing files. A column whose length
// cannot be derived is lost.
func TestBcolz_hugeSizes(t *testing.T) {
	src := save(t, "a.bcolz", nil)
	rows := int64(1) << 50
	sizes := fmt.Sprintf(`{"shape": [%d, 30], "nbytes": %d, "cbytes": 9}`+"\n", rows, rows*30*8)
	require.NoError(t, os.WriteFile(filepath.Join(src, "meta", "sizes"), []byte(sizes), 0o600))
	dst, r := recovered(t, src, nil)
	require.Equal(t, recovery.ExitPartly, r.ExitCode())
	require.Zero(t, r.Lost)
	require.Equal(t, "meta/sizes", r.Findings[0].What)
	requireSound(t, dst)
	require.Equal(t, squares(600), values(t, dst))

	// A chunk file whose number does not continue the sequence.
	data := filepath.Join(src, "data")
	require.NoError(t, os.Rename(filepath.Join(data, "__3.blp"), filepath.Join(data, "__2000000000.blp")))
	dst = filepath.Join(t.TempDir(), "new.bcolz")
	_, err := recovery.Recover(bg, dst, src, nil)
	require.ErrorIs(t, err, ndarray.ErrCorrupt)
	require.NoDirExists(t, dst)

	// A column of objects, because a lost object cannot be replaced.
	src = filepath.Join(t.TempDir(), "o.bcolz")
	require.NoError(t, os.CopyFS(src, os.DirFS(filepath.Join("..", "format", "bcolztree", "testdata", "object"))))
	require.NoError(t, os.WriteFile(filepath.Join(src, "meta", "sizes"), []byte(`{"shape": [1073741824], "nbytes": 38, "cbytes": 70}`+"\n"), 0o600))
	_, err = recovery.Recover(bg, dst, src, nil)
	require.ErrorIs(t, err, ndarray.ErrCorrupt)
	require.NoDirExists(t, dst)
}

// TestBcolz_validResult checks that a recovered tree is consistent even if its metadata are not.
// Examples are strings with another type size in Blosc, sizes that contradict the rows, and headers
// that claim more chunks than exist. Special files must not block.
func TestBcolz_validResult(t *testing.T) {
	replace := func(old, new string) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			b, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Contains(t, string(b), old)
			require.NoError(t, os.WriteFile(path, bytes.Replace(b, []byte(old), []byte(new), 1), 0o600))
		}
	}
	gone := func(t *testing.T, path string) { require.NoError(t, os.Remove(path)) }
	pipe := func(t *testing.T, path string) {
		require.NoError(t, os.Remove(path))
		require.NoError(t, unix.Mkfifo(path, 0o600))
	}
	for _, c := range []struct {
		tree, file string
		spoil      func(t *testing.T, path string)
	}{
		{"bytes", "meta/storage", gone},
		{"unicode", "meta/storage", gone},
		{"object", "meta/storage", gone},
		{"type_i4", "meta/sizes", replace(`"nbytes": 28`, `"nbytes": 1073741824`)},
		{"rows", "meta/sizes", replace(`"shape": [5`, `"shape": [3`)},
		{"rows", "meta/sizes", replace(`2, 3]`, `1, 3]`)},
		{"type_i4", "data/__0.blp", replace("blpk\x01\x00\x00\x00\x01", "blpk\x01\x00\x00\x00\x07")},
		{"type_i4", "meta/storage", replace(`"dflt": 0`, `"dflt": "|V0"`)},
		{"unicode", "meta/storage", replace(`"dflt": ""`, `"dflt": -1`)},
		{"structured", "meta/storage", replace(`"dflt": [0, 0.0]`, `"dflt": {}`)},
		{"table", "tag/meta/storage", replace(`"dflt": ""`, `"dflt": []`)},
		{"table", "id/__attrs__", pipe},
		{"table", "__rootdirs__", pipe},
		{"type_i4", "__attrs__", gone},
		{"rows", "__attrs__", func(t *testing.T, path string) { require.NoError(t, os.Truncate(path, 0)) }},
		{"table", "__attrs__", gone},
		{"type_i4", "meta/storage", replace(`"cname": "`, `"cname": "x`)},
		{"type_i4", "meta/storage", pipe},
		{"type_i4", "meta/sizes", pipe},
	} {
		t.Run(c.tree+" "+c.file, func(t *testing.T) {
			src := filepath.Join(t.TempDir(), "a.bcolz")
			require.NoError(t, os.CopyFS(src, os.DirFS(filepath.Join("..", "format", "bcolztree", "testdata", c.tree))))
			c.spoil(t, filepath.Join(src, filepath.FromSlash(c.file)))
			dst := filepath.Join(t.TempDir(), "new.bcolz")
			r, err := recovery.Recover(bg, dst, src, nil)
			require.NoError(t, err)
			require.Equal(t, recovery.ExitPartly, r.ExitCode(), "%v", r.Findings)
			v, err := verify.File(bg, dst, nil)
			require.NoError(t, err)
			require.Empty(t, v.Damages)
		})
	}
}

// TestBcolz_chunkHeaders checks that fields of a chunk header that the values do not need are
// corrected, so that bcolz reads the chunk.
func TestBcolz_chunkHeaders(t *testing.T) {
	for _, level := range []int{0, 5} {
		for name, set := range map[string]func(head []byte){
			"codec version": func(head []byte) { head[1] = 9 },
			"reserved flag": func(head []byte) { head[2] |= 8 },
			"block size":    func(head []byte) { head[10] = 0x7f },
		} {
			t.Run(fmt.Sprintf("level %d, %s", level, name), func(t *testing.T) {
				src := filepath.Join(t.TempDir(), "a.bcolz")
				spec := ndarray.Spec{Shape: []int64{600}, DType: ndarray.DTypeOf[int64](), ChunkShape: []int64{100}, Compression: &ndarray.Compression{Codec: "lz4", Level: level}}
				d, err := hyperslab.Create(bg, src, spec, nil)
				require.NoError(t, err)
				require.NoError(t, ndarray.Write(bg, d.Array, squares(600), ndarray.Whole(d.Shape())))
				require.NoError(t, d.Commit(bg))
				change(t, filepath.Join(src, "data", "__1.blp"), func(b []byte) []byte {
					set(b[16:])
					return b
				})
				dst, r := recovered(t, src, nil)
				require.Zero(t, r.Lost, "%v", r.Findings)
				requireSound(t, dst)
				require.Equal(t, squares(600), values(t, dst))
			})
		}
	}
}

// TestBcolz_directories checks that directories that are no columns are reported as lost if the
// list of columns is missing.
func TestBcolz_directories(t *testing.T) {
	src := filepath.Join(t.TempDir(), "a.bcolz")
	require.NoError(t, os.CopyFS(src, os.DirFS(filepath.Join("..", "format", "bcolztree", "testdata", "table"))))
	require.NoError(t, os.Remove(filepath.Join(src, "__rootdirs__")))
	require.NoError(t, os.Mkdir(filepath.Join(src, "more"), 0o700))
	_, r := recovered(t, src, nil)
	require.EqualValues(t, 1, r.LostObjects)
	require.Equal(t, "/more", r.Findings[0].Object)
}
