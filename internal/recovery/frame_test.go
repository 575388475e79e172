// Tests of frames with corruption in each structure.

package recovery_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/cblosc/frameio"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/recovery"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
	"github.com/hyperslab/hyperslab/ndarray"
)

// parts contains the offsets of the structures of a frame.
type parts struct {
	header, index, trailer, end int64
	offsets                     []cframe.Offset
}

func partsOf(t testing.TB, b []byte) parts {
	t.Helper()
	f, err := cframe.Read(bytes.NewReader(b), int64(len(b)))
	require.NoError(t, err)
	o, err := f.Offsets(nil)
	require.NoError(t, err)
	return parts{int64(f.HeaderSize), f.Index.Offset, f.FrameSize - int64(f.Trailer.Size), f.FrameSize, o}
}

func TestDamagedFrame(t *testing.T) {
	lostAt := func(i int64) func(v []int64) { // values of chunk i of 4 by 5 chunks of 6 by 7
		return func(v []int64) {
			for y := i / 5 * 6; y < min(i/5*6+6, 20); y++ {
				for x := i % 5 * 7; x < min(i%5*7+7, 30); x++ {
					v[y*30+x] = 0
				}
			}
		}
	}
	for _, c := range []struct {
		name   string
		damage func(b []byte, p parts) []byte
		lost   func(v []int64)
		// expected counts of the report
		certain, guessed, missing int64
		exit                      int
	}{
		{"none", func(b []byte, _ parts) []byte { return b }, nil, 20, 0, 0, recovery.ExitWhole},
		{"trailer", func(b []byte, p parts) []byte { clear(b[p.trailer:]); return b }, nil, 20, 0, 0, recovery.ExitWhole},
		{"no trailer", func(b []byte, p parts) []byte { return b[:p.trailer] }, nil, 20, 0, 0, recovery.ExitWhole},
		{"index", func(b []byte, p parts) []byte { clear(b[p.index:p.trailer]); return b }, nil, 0, 20, 0, recovery.ExitPartly},
		{"cut in the index", func(b []byte, p parts) []byte { return b[:p.index+9] }, nil, 0, 20, 0, recovery.ExitPartly},
		{"sizes of the header", func(b []byte, _ parts) []byte { clear(b[16:24]); clear(b[39:47]); return b }, nil, 20, 0, 0, recovery.ExitPartly},
		{"chunk size that holds no elements", func(b []byte, _ parts) []byte { b[61] = 1; return b }, nil, 20, 0, 0, recovery.ExitPartly},
		{"magic", func(b []byte, _ parts) []byte { clear(b[:10]); return b }, nil, 20, 0, 0, recovery.ExitPartly},
		{"header but its metalayer", func(b []byte, _ parts) []byte { clear(b[:87]); return b }, nil, 20, 0, 0, recovery.ExitPartly},
		{"magic and index", func(b []byte, p parts) []byte { clear(b[:10]); clear(b[p.index:p.trailer]); return b }, nil, 0, 20, 0, recovery.ExitPartly},
		{"chunk 7", func(b []byte, p parts) []byte { clear(b[p.header+int64(p.offsets[7]):][:32]); return b }, lostAt(7), 19, 0, 1, recovery.ExitPartly},
		{"last chunks and all behind", func(b []byte, p parts) []byte { return b[:p.header+int64(p.offsets[19])+5] }, lostAt(19), 0, 19, 1, recovery.ExitPartly},
	} {
		t.Run(c.name, func(t *testing.T) {
			src := save(t, "a.b2nd", nil)
			change(t, src, func(b []byte) []byte { return c.damage(b, partsOf(t, b)) })
			dst, r := recovered(t, src, nil)
			want := squares(600)
			if c.lost != nil {
				c.lost(want)
			}
			require.Equal(t, want, values(t, dst), "%v", r.Findings)
			require.Equal(t, []int64{c.certain, c.guessed, c.missing}, []int64{r.Unverified, r.Guessed, r.Lost}, "%v", r.Findings)
			require.Equal(t, c.exit, r.ExitCode(), "%v", r.Findings)
		})
	}
}

// TestFrame_CertainValues corrupts a few bytes around the chunks. Values that the report counts as
// certain must be correct.
func TestFrame_CertainValues(t *testing.T) {
	src := save(t, "a.b2nd", nil)
	whole, err := os.ReadFile(src)
	require.NoError(t, err)
	p := partsOf(t, whole)
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		b := bytes.Clone(whole)
		header := false // whether a byte of the header was changed
		for range rapid.IntRange(1, 6).Draw(t, "changes") {
			at := rapid.OneOf(rapid.Int64Range(0, 86), rapid.Int64Range(p.index, p.end-1)).Draw(t, "at")
			b[at] = rapid.Byte().Draw(t, "byte")
			header = header || at <= 86
		}
		b = b[:rapid.OneOf(rapid.Just(p.end), rapid.Int64Range(p.index, p.end)).Draw(t, "size")]
		corrupt, dst := filepath.Join(dir, "d.b2nd"), filepath.Join(dir, "n.b2nd")
		require.NoError(t, os.WriteFile(corrupt, b, 0o600))
		r, err := recovery.Recover(bg, dst, corrupt, &recovery.Options{Overwrite: true, Format: detect.B2ND})
		if err != nil {
			// The header can then name a codec that is missing, or chunks of variable length.
			if !header || !errors.Is(err, errors.ErrUnsupported) {
				require.ErrorIs(t, err, ndarray.ErrCorrupt)
			}
			return
		}
		f, err := frameio.Open(dst, nil)
		require.NoError(t, err)
		defer f.Close()
		old, err := frameio.Open(src, nil)
		require.NoError(t, err)
		defer old.Close()
		if r.Unverified < 20 || f.ChunkSize() != old.ChunkSize() {
			return
		}
		one, other := make([]byte, f.NBytes()), make([]byte, old.NBytes())
		require.NoError(t, f.ReadAll(bg, one, 1))
		require.NoError(t, old.ReadAll(bg, other, 1))
		require.True(t, bytes.Equal(one, other), "%v", r.Findings)
	})
}

// plain writes a frame that is not an array, with n chunks of 800 bytes.
func plain(t *testing.T, n int) (path string, b []byte) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "a.b2frame")
	cp := cblosc.DefaultCParams()
	cp.TypeSize = 8
	w, err := frameio.Create(path, &frameio.Params{CParams: cp, ChunkSize: 800, VLMeta: []cblosc.Metalayer{{Name: "v", Content: []byte("content")}}})
	require.NoError(t, err)
	_, err = w.Write(bytesOf(squares(100 * n)))
	require.NoError(t, err)
	require.NoError(t, w.Commit())
	require.NoError(t, w.Close())
	b, err = os.ReadFile(path)
	require.NoError(t, err)
	return path, b
}

func bytesOf(v []int64) []byte {
	b := make([]byte, 0, 8*len(v))
	for _, x := range v {
		for k := range 8 {
			b = append(b, byte(x>>(8*k)))
		}
	}
	return b
}

func all(t *testing.T, path string) []byte {
	t.Helper()
	f, err := frameio.Open(path, nil)
	require.NoError(t, err)
	b := make([]byte, f.NBytes())
	require.NoError(t, f.ReadAll(bg, b, 1))
	require.NoError(t, f.Close())
	return b
}

// TestKilledLibraryAppend checks an append of C-Blosc2 that was killed between its writes: the
// chunk over the old index, the new index, the header, the trailer.
func TestKilledLibraryAppend(t *testing.T) {
	path, before := plain(t, 50)
	_, after := plain(t, 51)
	o, n := partsOf(t, before), partsOf(t, after)
	require.Equal(t, before[o.header:o.index], after[n.header:o.index])
	states := map[string]func() []byte{
		"chunk": func() []byte { return over(bytes.Clone(before), after[:n.index], o.index) },
		"index": func() []byte { return over(bytes.Clone(before), after[:n.trailer], o.index) },
		"header": func() []byte {
			return over(over(bytes.Clone(before), after[:n.trailer], o.index), after[:n.header], 0)
		},
	}
	for name, state := range states {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, os.WriteFile(path, state(), 0o600))
			dst, r := recovered(t, path, nil)
			require.True(t, bytes.Equal(bytesOf(squares(5100)), all(t, dst)), "%v", r.Findings)
			if name == "chunk" {
				require.Equal(t, int64(51), r.Guessed)
			} else {
				require.Equal(t, int64(51), r.Unverified)
			}
		})
	}
}

// over returns a with b written at offset at.
func over(a, b []byte, at int64) []byte {
	if len(a) < len(b) {
		a = append(a, make([]byte, len(b)-len(a))...)
	}
	copy(a[at:], b[at:])
	return a
}

// TestFrame_DurableAppends checks that old indexes in the file are not used.
func TestFrame_DurableAppends(t *testing.T) {
	path, _ := plain(t, 5)
	v := bytesOf(squares(900))
	for k := 5; k < 9; k++ {
		w, err := frameio.Append(path, &frameio.AppendOptions{Durable: true})
		require.NoError(t, err)
		_, err = w.Write(v[800*k : 800*(k+1)])
		require.NoError(t, err)
		require.NoError(t, w.Commit())
		require.NoError(t, w.Close())
	}
	change(t, path, func(b []byte) []byte { clear(b[39:47]); clear(b[len(b)-22:]); return b })
	dst, r := recovered(t, path, nil)
	require.Equal(t, v, all(t, dst))
	require.Equal(t, int64(9), r.Unverified)
}

func TestDamagedSparseFrame(t *testing.T) {
	t.Run("chunk gone", func(t *testing.T) {
		src := save(t, "a.b2nd", &hyperslab.CreateOptions{Sparse: true})
		require.NoError(t, os.Remove(filepath.Join(src, "00000000.chunk")))
		dst, r := recovered(t, src, nil)
		require.Equal(t, []int64{19, 0, 1}, []int64{r.Unverified, r.Guessed, r.Lost})
		v, want := values(t, dst), squares(600)
		require.Zero(t, v[31])
		require.Equal(t, want[7:30], v[7:30])
		require.Equal(t, want[180:], v[180:])
	})
	t.Run("index cut", func(t *testing.T) {
		src := save(t, "a.b2nd", &hyperslab.CreateOptions{Sparse: true})
		change(t, filepath.Join(src, "chunks.b2frame"), func(b []byte) []byte { return b[:len(b)-60] })
		dst, r := recovered(t, src, nil)
		require.Equal(t, squares(600), values(t, dst))
		require.Equal(t, int64(20), r.Guessed)
	})
	t.Run("index gone", func(t *testing.T) {
		src := save(t, "a.b2nd", &hyperslab.CreateOptions{Sparse: true})
		require.NoError(t, os.Remove(filepath.Join(src, "chunks.b2frame")))
		dst, r := recovered(t, src, nil)
		f, err := frameio.Open(dst, nil)
		require.NoError(t, err)
		require.Equal(t, int64(20), f.NumChunks())
		require.NoError(t, f.Close())
		require.Equal(t, int64(20), r.Guessed)
	})
}

func TestFrame_NoChunks(t *testing.T) {
	dir := t.TempDir()
	for name, b := range map[string][]byte{"a.b2nd": make([]byte, 5000), "b.b2frame": []byte("\x9e\xa8b2frame\x00"), "c.h5": []byte("\x89HDF\r\n\x1a\n"), "d.h5": make([]byte, 5000)} {
		src := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(src, b, 0o600))
		_, err := recovery.Recover(bg, filepath.Join(dir, "new"), src, nil)
		require.ErrorIs(t, err, ndarray.ErrCorrupt, name)
	}
	_, err := os.Stat(filepath.Join(dir, "new"))
	require.ErrorIs(t, err, os.ErrNotExist)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 4, "something is left")

	src := save(t, "a.b2nd", nil)
	_, err = recovery.Recover(bg, src, src, &recovery.Options{Overwrite: true})
	require.ErrorIs(t, err, ndarray.ErrParam)
	_, err = recovery.Recover(bg, filepath.Join(dir, "a.b2nd"), src, nil)
	require.ErrorIs(t, err, ndarray.ErrExists)
	_, err = recovery.Recover(bg, filepath.Join(dir, "x"), filepath.Join(dir, "none"), nil)
	require.ErrorIs(t, err, ndarray.ErrNotFound)
}

// TestFrame_sameTarget checks that the target cannot be the source, be inside it or contain it, for
// every form of its path.
func TestFrame_sameTarget(t *testing.T) {
	for name, location := range map[string]string{"frame": "a.b2nd", "sparse": "s.b2nd", "tree": "a.bcolz", "hdf5": "a.h5:/x"} {
		t.Run(name, func(t *testing.T) {
			var opts *hyperslab.CreateOptions
			if name == "sparse" {
				opts = &hyperslab.CreateOptions{Sparse: true}
			}
			src := save(t, location, opts)
			dir := filepath.Dir(src)
			before := content(t, dir)
			link, directory := filepath.Join(t.TempDir(), "link"), filepath.Join(t.TempDir(), "directory")
			require.NoError(t, os.Symlink(src, link))
			require.NoError(t, os.Symlink(dir, directory))
			targets := []string{src, link, dir, directory + "/" + filepath.Base(src), filepath.Join(dir, ".", "..", filepath.Base(dir), filepath.Base(src))}
			if name == "frame" || name == "hdf5" {
				hard := filepath.Join(t.TempDir(), "hard")
				require.NoError(t, os.Link(src, hard))
				targets = append(targets, hard)
			} else {
				targets = append(targets, src+"/new", src+"/chunks.b2frame", src+"/data")
			}
			for _, dst := range targets {
				for _, from := range []string{src, link} {
					_, err := recovery.Recover(bg, dst, from, &recovery.Options{Overwrite: true})
					require.ErrorIs(t, err, ndarray.ErrParam, "%s from %s", dst, from)
				}
			}
			require.Equal(t, before, content(t, dir))
		})
	}
}

// TestFrame_reference checks that python-blosc2 reads a recovered array whose chunks are special
// values or whose element type is corrupt, and a frame whose header has a wrong number of bytes.
func TestFrame_reference(t *testing.T) {
	const write = `import blosc2, sys, numpy as np
for name in ("array", "type"): blosc2.zeros((20, 20), dtype="<i2", urlpath=sys.argv[1] + "/" + name, chunks=(10, 10), blocks=(5, 5))[3, 4] = 7
s = blosc2.SChunk(chunksize=400, urlpath=sys.argv[1] + "/frame", cparams=dict(typesize=4), mode="w")
for i in range(3): s.append_data(np.arange(100, dtype="i4"))`
	const sum = `import blosc2, sys, numpy as np
x = blosc2.open(sys.argv[1])
print(x[()].view("<i2").sum() if isinstance(x, blosc2.NDArray) else sum(len(x.decompress_chunk(i)) for i in range(x.nchunks)))`
	dir := t.TempDir()
	testutil.Python(t, []string{"blosc2"}, "-c", write, dir)
	for _, c := range []struct {
		name string
		at   int64
		b    string
		want string
	}{
		{"array", 2, "none", "7"}, // the signature
		{"type", 0, "\x05", "7"},
		{"frame", 30, "\x00\x00\x00\x00\x00\x00\x04\xb2", "1202"}, // 1,202 bytes: no whole elements
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(dir, c.name)
			b, err := os.ReadFile(path)
			require.NoError(t, err)
			at := c.at
			if at == 0 {
				at = int64(bytes.Index(b, []byte("<i2")))
			}
			copy(b[at:], c.b)
			require.NoError(t, os.WriteFile(path, b, 0o600))
			made := path + "-recovered"
			_, err = recovery.Recover(t.Context(), made, path, &recovery.Options{Format: detect.B2ND})
			require.NoError(t, err)
			require.Equal(t, c.want, testutil.Python(t, []string{"blosc2"}, "-c", sum, made))
		})
	}
}
