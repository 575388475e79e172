package cblosc_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
)

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	noIndex := filepath.Join(dir, "no index")
	require.NoError(t, os.Mkdir(noIndex, 0o700))
	for _, tt := range []struct {
		name string
		path string
		want error
	}{
		{"missing", filepath.Join(dir, "missing"), fs.ErrNotExist},
		{"below a file", filepath.Join(write("file", "x"), "x"), nil},
		{"empty name", "", cblosc.ErrParam},
		{"zero byte", "a\x00b", cblosc.ErrParam},
		{"empty file", write("empty", ""), format.ErrTruncated},
		{"text", write("text", "This is not a frame, but it is long enough to be one: 0123456789012345678901234567890123456789"), format.ErrMagic},
		{"HDF5", write("h5", "\x89HDF\r\n\x1a\n"+string(make([]byte, 100))), format.ErrMagic},
		{"directory without an index", noIndex, cblosc.ErrFormat},
		{"device", os.DevNull, cblosc.ErrFormat},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, errS := cblosc.OpenSChunk(tt.path)
			_, errA := cblosc.OpenArray(tt.path)
			for _, err := range []error{errS, errA} {
				require.Error(t, err)
				if tt.want != nil {
					require.ErrorIs(t, err, tt.want)
				}
				var e *cblosc.Error
				require.ErrorAs(t, err, &e)
				require.Equal(t, tt.path, e.Path)
				require.Zero(t, e.Code, "the library was called")
			}
		})
	}
}

func TestTruncatedFrames(t *testing.T) {
	for _, contiguous := range []bool{true, false} {
		st := cblosc.Storage{Path: filepath.Join(t.TempDir(), "x"), Contiguous: contiguous, CParams: cparams(4)}
		a, err := cblosc.CreateArray(&cblosc.ArrayParams{Shape: []int64{100}, ChunkShape: []int32{30}, Blocks: []int32{10}, Storage: st})
		require.NoError(t, err)
		require.NoError(t, a.WriteRegion(testutil.Noise(400, 1), []int64{0}, []int64{100}))
		require.NoError(t, a.Close())
		file := st.Path
		if !contiguous {
			file = filepath.Join(st.Path, "chunks.b2frame")
		}
		whole, err := os.ReadFile(file)
		require.NoError(t, err)
		for n := range whole {
			require.NoError(t, os.WriteFile(file, whole[:n], 0o600))
			_, err := cblosc.OpenArray(st.Path)
			require.ErrorIs(t, err, format.ErrTruncated, "%d of %d bytes", n, len(whole))
			require.ErrorIs(t, err, cblosc.ErrFormat)
			if contiguous {
				_, err = cblosc.OpenArrayBytes(whole[:n])
				require.ErrorIs(t, err, format.ErrTruncated, "%d of %d bytes", n, len(whole))
			}
		}
		require.NoError(t, os.WriteFile(file, append(whole, 0), 0o600))
		a, err = cblosc.OpenArray(st.Path)
		require.NoError(t, err, "bytes behind a frame are no matter")
		require.NoError(t, a.Close())
		if contiguous {
			_, err = cblosc.OpenArrayBytes(append(whole, 0))
			require.ErrorIs(t, err, cblosc.ErrSize)
		}
	}
}

// TestDamagedChunkFiles checks that a missing or truncated chunk file causes an error for that
// chunk only. A missing first chunk also makes OpenSChunk fail, because C-Blosc2 reads it at once.
func TestDamagedChunkFiles(t *testing.T) {
	st := cblosc.Storage{Path: filepath.Join(t.TempDir(), "x"), CParams: cparams(4)}
	s, err := cblosc.CreateSChunk(st)
	require.NoError(t, err)
	for i := range 4 {
		require.NoError(t, s.AppendBuffer(testutil.Noise(400, uint64(i))))
	}
	require.NoError(t, s.Close())
	chunk := func(i string) string { return filepath.Join(st.Path, "0000000"+i+".chunk") }
	zeroth, err := os.ReadFile(chunk("0"))
	require.NoError(t, err)
	require.NoError(t, os.Remove(chunk("0")))
	require.NoError(t, os.Truncate(chunk("1"), 20))
	require.NoError(t, os.Truncate(chunk("2"), 300))
	_, err = cblosc.OpenSChunk(st.Path)
	require.ErrorIs(t, err, fs.ErrNotExist, "the library reads the first chunk at once")
	require.NoError(t, os.WriteFile(chunk("0"), zeroth, 0o600))
	s, err = cblosc.OpenSChunk(st.Path)
	require.NoError(t, err)
	require.NoError(t, os.Remove(chunk("0")))
	closing(t, s)
	dst := make([]byte, 400)
	_, err = s.DecompressChunk(dst, 0)
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = s.DecompressChunk(dst, 1)
	require.ErrorIs(t, err, cblosc.ErrFormat)
	_, err = s.DecompressChunk(dst, 2)
	require.ErrorIs(t, err, cblosc.ErrFormat)
	_, err = s.DecompressChunk(dst, 3)
	require.NoError(t, err)
	require.Equal(t, testutil.Noise(400, 3), dst)
}

// TestCorruptedFrames changes every byte of the frame of a small array. Opening it must return an
// error or an array whose reads succeed or fail, without a crash.
func TestCorruptedFrames(t *testing.T) {
	st := cblosc.Storage{Contiguous: true, CParams: cparams(4)}
	a, err := cblosc.CreateArray(&cblosc.ArrayParams{Shape: []int64{9, 8}, ChunkShape: []int32{4, 5}, Blocks: []int32{2, 3}, DType: "<i4", Storage: st,
		Meta: []cblosc.Metalayer{{Name: "m", Content: []byte("content")}}})
	require.NoError(t, err)
	require.NoError(t, a.WriteRegion(testutil.Ramp(9*8*4, 1), []int64{0, 0}, []int64{9, 8}))
	require.NoError(t, a.SChunk().VLMeta().Add("v", testutil.Ramp(100, 1)))
	frame, err := a.Bytes()
	require.NoError(t, err)
	require.NoError(t, a.Close())
	path := filepath.Join(t.TempDir(), "x")
	for i := range frame {
		for _, x := range []byte{0x01, 0xFF} {
			bad := bytes.Clone(frame)
			bad[i] ^= x
			readAll(t, func() (*cblosc.Array, error) { return cblosc.OpenArrayBytes(bad) })
			if x == 0xFF && i%2 == 0 {
				continue // files are slower
			}
			readAll(t, func() (*cblosc.Array, error) {
				if err := os.WriteFile(path, bad, 0o600); err != nil {
					return nil, err
				}
				return cblosc.OpenArray(path)
			})
		}
	}
}

// readAll opens an array and reads everything in it. All errors must be of type *cblosc.Error.
func readAll(t testing.TB, open func() (*cblosc.Array, error)) {
	t.Helper()
	check := func(err error) bool {
		var e *cblosc.Error
		if err != nil && !errors.As(err, &e) {
			t.Errorf("not an Error: %v", err)
		}
		return err == nil
	}
	a, err := open()
	if !check(err) {
		return
	}
	n := int64(a.ItemSize())
	for _, s := range a.Shape() {
		n *= s
	}
	if n <= 1<<20 {
		check(a.ReadRegion(make([]byte, n), make([]int64, len(a.Shape())), a.Shape()))
	}
	for i := range min(a.SChunk().NumChunks(), 100) {
		if a.SChunk().ChunkSize() <= 1<<20 {
			_, err := a.SChunk().DecompressChunk(make([]byte, a.SChunk().ChunkSize()), i)
			check(err)
		}
		_, err := a.SChunk().Chunk(i)
		check(err)
	}
	for _, m := range []*cblosc.Metalayers{a.SChunk().Meta(), a.SChunk().VLMeta()} {
		names, err := m.Names()
		check(err)
		for _, name := range names {
			_, err := m.Get(name)
			check(err)
		}
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

func TestOpenArray_missingMetalayer(t *testing.T) {
	for _, st := range storages(t, cparams(4)) {
		s, err := cblosc.CreateSChunk(st)
		require.NoError(t, err)
		b, err := s.Bytes()
		require.NoError(t, err)
		require.NoError(t, s.Close())
		_, err = cblosc.OpenArrayBytes(b)
		require.ErrorIs(t, err, cblosc.ErrFormat)
		require.ErrorContains(t, err, "b2nd")
		if st.Path != "" {
			_, err = cblosc.OpenArray(st.Path)
			require.ErrorIs(t, err, cblosc.ErrFormat)
		}
	}
}

// TestOpen_literalPaths checks that C-Blosc2 and this package use the same file for paths that
// C-Blosc2 would change, for example those that start with "file:".
func TestOpen_literalPaths(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.Mkdir("file:", 0o700))
	for _, path := range []string{"a/", "./b//", "file:///c"} {
		s, err := cblosc.CreateSChunk(cblosc.Storage{Path: path})
		require.NoError(t, err, path)
		require.NoError(t, s.Close())
		s, err = cblosc.OpenSChunk(path)
		require.NoError(t, err, path)
		require.NoError(t, s.Close())
		_, err = cblosc.CreateSChunk(cblosc.Storage{Path: path})
		require.ErrorIs(t, err, cblosc.ErrExists, path)
	}
	for _, path := range []string{"a", "b", "file:/c"} {
		_, err := os.Stat(filepath.Join(path, "chunks.b2frame"))
		require.NoError(t, err)
	}
}

func TestVersion3Frames(t *testing.T) {
	for name, st := range storages(t, cparams(4)) {
		s, err := cblosc.CreateSChunk(st)
		require.NoError(t, err)
		require.NoError(t, s.AppendBuffer(testutil.Ramp(64, 1)))
		frame, err := s.Bytes()
		require.NoError(t, err)
		require.NoError(t, s.Close())
		for _, flags := range []byte{0x53, 0x93, 0xD3} { // variable chunks, VL-blocks, both
			b := slices.Clone(frame)
			if b[25] = flags; flags&0x40 != 0 {
				clear(b[58:62]) // the chunk size
			}
			_, err = cblosc.OpenSChunkBytes(b)
			require.ErrorIs(t, err, errors.ErrUnsupported, "%s: %#x", name, flags)
			require.ErrorContains(t, err, "of variable length", "%s: %#x", name, flags)
		}
	}
}

// TestFrame_trailingBytes checks that a file of a sparse directory can be longer than its chunk.
func TestFrame_trailingBytes(t *testing.T) {
	st := cblosc.Storage{CParams: cparams(4), Path: filepath.Join(t.TempDir(), "sparse")}
	s, err := cblosc.CreateSChunk(st)
	require.NoError(t, err)
	src := testutil.Ramp(4000, 1)
	require.NoError(t, s.AppendBuffer(src))
	want, err := s.Chunk(0)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	file := filepath.Join(st.Path, cframe.ChunkFile(0))
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, want, b)
	require.NoError(t, os.WriteFile(file, append(b, "behind"...), 0o600))
	s, err = cblosc.OpenSChunk(st.Path)
	require.NoError(t, err)
	closing(t, s)
	got, err := s.Chunk(0)
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.Equal(t, src, dataOf(t, s))
}
