package cblosc_test

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
)

// sample creates a super-chunk with chunks of every kind and with metalayers. If short is set, the
// last chunk is short.
func sample(t testing.TB, st cblosc.Storage, short bool) *cblosc.SChunk {
	t.Helper()
	s, err := cblosc.CreateSChunk(st)
	require.NoError(t, err)
	require.NoError(t, s.Meta().Add("fixed", []byte("fixed content")))
	size := 12 * st.CParams.TypeSize
	for i, b := range [][]byte{testutil.Noise(size, 1), make([]byte, size), testutil.Ramp(size, 2), testutil.Noise(size, 3)} {
		if short && i == 3 {
			b = b[:size/3]
		}
		require.NoError(t, s.AppendBuffer(b))
	}
	require.NoError(t, s.VLMeta().Add("variable", []byte("variable content")))
	return s
}

func requireSameSChunk(t testing.TB, want, got *cblosc.SChunk) {
	t.Helper()
	require.Equal(t, slurp(t, want), slurp(t, got))
	require.Equal(t, want.TypeSize(), got.TypeSize())
	for _, m := range [][2]*cblosc.Metalayers{{want.Meta(), got.Meta()}, {want.VLMeta(), got.VLMeta()}} {
		a, err := m[0].Map()
		require.NoError(t, err)
		b, err := m[1].Map()
		require.NoError(t, err)
		require.Equal(t, a, b)
	}
}

// TestCopySChunk checks copies from every storage to every other, with and without recompression.
func TestCopySChunk(t *testing.T) {
	zstd := cparams(4)
	zstd.Codec, zstd.Level = cblosc.Zstd, 3
	for from, st := range storages(t, cparams(4)) {
		for _, short := range []bool{false, true} {
			if st.Path != "" {
				st.Path += map[bool]string{true: "short", false: "whole"}[short]
			}
			s := sample(t, st, short)
			for _, params := range []*cblosc.CParams{nil, zstd, cparams(2)} {
				for to, target := range storages(t, params) {
					d, err := s.Copy(target)
					if short && params != nil {
						require.ErrorIs(t, err, errors.ErrUnsupported, "%s to %s", from, to)
						continue
					}
					require.NoError(t, err, "%s to %s", from, to)
					again := openAgain(t, d)
					require.Equal(t, slurp(t, s), slurp(t, again))
					require.NoError(t, again.Close())
					got, err := d.CParams()
					require.NoError(t, err)
					if params == nil {
						requireSameSChunk(t, s, d)
					} else {
						require.Equal(t, params.Codec, got.Codec)
						require.Equal(t, params.TypeSize, d.TypeSize())
					}
					require.NoError(t, d.VLMeta().Add("more", nil), "a copy can be changed")
					require.NoError(t, d.Close())
				}
			}
			_, err := s.Copy(cblosc.Storage{CParams: cparams(5)})
			require.ErrorIs(t, err, cblosc.ErrParam)
			require.ErrorContains(t, err, "TypeSize = 5")
			require.NoError(t, s.Close())
			_, err = s.Copy(cblosc.Storage{})
			require.ErrorIs(t, err, cblosc.ErrClosed)
		}
	}
}

func TestSChunk_copyLargeElements(t *testing.T) {
	s := sample(t, cblosc.Storage{CParams: cparams(300)}, false)
	defer func() { require.NoError(t, s.Close()) }()
	path := filepath.Join(t.TempDir(), "x")
	require.NoError(t, s.Save(path))
	d, err := cblosc.OpenSChunk(path)
	require.NoError(t, err)
	requireSameSChunk(t, s, d)
	require.NoError(t, d.Close())
}

func TestSChunk_saveAndAppend(t *testing.T) {
	for name, st := range storages(t, cparams(4)) {
		for _, short := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				st := st
				if short && st.Path != "" {
					st.Path += "short"
				}
				s := sample(t, st, short)
				defer func() { require.NoError(t, s.Close()) }()
				path := filepath.Join(t.TempDir(), "x")
				require.NoError(t, s.Save(path))
				require.ErrorIs(t, s.Save(path), cblosc.ErrExists)
				require.ErrorIs(t, s.Save(""), cblosc.ErrParam)
				require.ErrorIs(t, s.Save(filepath.Join(path, "x")), errBelowFile)
				d, err := cblosc.OpenSChunk(path)
				require.NoError(t, err)
				requireSameSChunk(t, s, d)
				require.NoError(t, d.Close())

				// Append to a frame, then to other bytes.
				for i := range 2 {
					if i == 1 {
						path = filepath.Join(t.TempDir(), "y")
						require.NoError(t, os.WriteFile(path, []byte("something else"), 0o600))
					}
					info, err := os.Stat(path)
					require.NoError(t, err)
					offset, err := s.AppendToFile(path)
					require.NoError(t, err)
					require.Equal(t, info.Size(), offset)
					require.NoError(t, os.WriteFile(path, append(slurpFile(t, path), "and more"...), 0o600))
					for _, m := range []cblosc.Map{cblosc.NotMapped, cblosc.MapRead} {
						d, err := cblosc.OpenSChunkWith(path, cblosc.OpenOptions{Offset: offset, Map: m})
						require.NoError(t, err)
						requireSameSChunk(t, s, d)
						part := make([]byte, 8)
						require.NoError(t, d.DecompressItems(part, 2, 1))
						require.Equal(t, testutil.Ramp(48, 2)[4:12], part)
						require.ErrorIs(t, d.AppendBuffer(testutil.Ramp(48, 1)), cblosc.ErrReadOnly)
						require.NoError(t, d.Close())
					}
				}
				_, err = s.AppendToFile("")
				require.ErrorIs(t, err, cblosc.ErrParam)
				_, err = s.AppendToFile(filepath.Join(t.TempDir(), "no", "file"))
				require.ErrorIs(t, err, fs.ErrNotExist)
			})
		}
	}
}

func slurpFile(t testing.TB, path string) []byte {
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return b
}

func TestOpenOptions(t *testing.T) {
	dir := t.TempDir()
	file := cblosc.Storage{CParams: cparams(4), Contiguous: true, Path: filepath.Join(dir, "file")}
	sparse := cblosc.Storage{CParams: cparams(4), Path: filepath.Join(dir, "dir")}
	for _, st := range []cblosc.Storage{file, sparse} {
		require.NoError(t, sample(t, st, false).Close())
	}
	for _, o := range []cblosc.OpenOptions{{Offset: -1}, {Map: 4}, {Map: -1}, {Mapping: 1}, {Map: cblosc.MapRead, Mapping: 1}, {Map: cblosc.MapChange, Mapping: -1}} {
		_, err := cblosc.OpenSChunkWith(file.Path, o)
		require.ErrorIs(t, err, cblosc.ErrParam, "%+v", o)
		_, err = cblosc.OpenArrayWith(file.Path, o)
		require.ErrorIs(t, err, cblosc.ErrParam, "%+v", o)
	}
	_, err := cblosc.OpenSChunkWith(sparse.Path, cblosc.OpenOptions{Map: cblosc.MapRead})
	require.ErrorIs(t, err, errors.ErrUnsupported)
	_, err = cblosc.OpenSChunkWith(sparse.Path, cblosc.OpenOptions{Offset: 1})
	require.ErrorIs(t, err, cblosc.ErrParam)
	for _, offset := range []int64{1, 1 << 40, math.MaxInt64} {
		_, err = cblosc.OpenSChunkWith(file.Path, cblosc.OpenOptions{Offset: offset})
		require.ErrorIs(t, err, cblosc.ErrFormat, "%d", offset)
	}
	_, err = cblosc.CreateSChunk(cblosc.Storage{Mapping: 1})
	require.ErrorIs(t, err, cblosc.ErrParam, "memory is not mapped")
	_, err = cblosc.CreateSChunk(cblosc.Storage{Mapping: 1, Path: filepath.Join(dir, "x")})
	require.ErrorIs(t, err, cblosc.ErrParam, "nor a directory")
}

func TestReadOnly(t *testing.T) {
	st := cblosc.Storage{CParams: cparams(4), Contiguous: true, Path: filepath.Join(t.TempDir(), "file")}
	require.NoError(t, sample(t, st, false).Close())
	before := slurpFile(t, st.Path)
	for _, o := range []cblosc.OpenOptions{{ReadOnly: true}, {Map: cblosc.MapRead}} {
		s, err := cblosc.OpenSChunkWith(st.Path, o)
		require.NoError(t, err)
		b, err := s.Chunk(0)
		require.NoError(t, err)
		for what, err := range map[string]error{
			"append buffer": s.AppendBuffer(testutil.Ramp(48, 1)), "append": s.AppendChunk(b), "insert": s.InsertChunk(0, b), "update": s.UpdateChunk(0, b),
			"delete": s.DeleteChunk(0), "items": s.WriteItems(testutil.Ramp(4, 1), 0), "reorder": s.Reorder([]int64{3, 2, 1, 0}), "fill": s.Fill(1, cblosc.Zeros, 4),
			"meta": s.Meta().Update("fixed", []byte("FIXED content")), "vlmeta": s.VLMeta().Add("x", nil), "delete vlmeta": s.VLMeta().Delete("variable"),
		} {
			require.ErrorIs(t, err, cblosc.ErrReadOnly, what)
		}
		require.Len(t, slurp(t, s), 192)
		require.NoError(t, s.Close())
		require.ErrorIs(t, s.AppendChunk(b), cblosc.ErrClosed)
	}
	require.Equal(t, before, slurpFile(t, st.Path))
}

// TestMappedFile checks that a memory-mapped file can be read and written like any other. The test
// covers every call that C-Blosc2 makes through a mapping, including one that C-Blosc2 makes with
// the wrong pointer.
func TestMappedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	s := sample(t, cblosc.Storage{CParams: cparams(4), Contiguous: true, Path: path, Mapping: 1 << 20}, false)
	work := func(s *cblosc.SChunk, seed uint64) {
		b, err := s.Chunk(0)
		require.NoError(t, err)
		require.NoError(t, s.InsertChunk(1, b))
		require.NoError(t, s.UpdateChunk(0, b))
		require.NoError(t, s.DeleteChunk(2))
		require.NoError(t, s.Reorder([]int64{1, 0, 2, 3}))
		require.NoError(t, s.WriteItems(testutil.Ramp(80, seed), 5))
		require.NoError(t, s.VLMeta().Update("variable", testutil.Noise(500, 1)))
		require.NoError(t, s.Meta().Update("fixed", []byte("FIXED content")))
	}
	work(s, 4)
	want := slurp(t, s)
	if maps, err := os.ReadFile("/proc/self/maps"); err == nil && runtime.GOOS == "linux" {
		require.Contains(t, string(maps), path)
	}
	require.NoError(t, s.Close())
	if maps, err := os.ReadFile("/proc/self/maps"); err == nil && runtime.GOOS == "linux" {
		require.NotContains(t, string(maps), path, "Close removes the mapping")
	}
	s, err := cblosc.OpenSChunk(path)
	require.NoError(t, err)
	require.Equal(t, want, slurp(t, s))
	require.NoError(t, s.Close())

	if runtime.GOOS == "windows" {
		return // C-Blosc2 cannot grow a private mapping there
	}
	before := slurpFile(t, path)
	s, err = cblosc.OpenSChunkWith(path, cblosc.OpenOptions{Map: cblosc.MapPrivate})
	require.NoError(t, err)
	work(s, 40)
	require.NotEqual(t, want, slurp(t, s))
	require.NoError(t, s.Close())
	require.Equal(t, before, slurpFile(t, path), "private changes stay in memory")

	s, err = cblosc.OpenSChunkWith(path, cblosc.OpenOptions{Map: cblosc.MapChange})
	require.NoError(t, err)
	work(s, 400)
	want = slurp(t, s)
	require.NoError(t, s.Close())
	s, err = cblosc.OpenSChunk(path)
	require.NoError(t, err)
	closing(t, s)
	require.Equal(t, want, slurp(t, s))
}

// TestSChunk_appendMapped checks that a super-chunk that is mapped is appended to the end of
// another file.
func TestSChunk_appendMapped(t *testing.T) {
	dir := t.TempDir()
	s := sample(t, cblosc.Storage{CParams: cparams(4), Contiguous: true, Path: filepath.Join(dir, "x"), Mapping: 1 << 20}, false)
	other := filepath.Join(dir, "other")
	require.NoError(t, os.WriteFile(other, []byte("something else"), 0o600))
	offset, err := s.AppendToFile(other)
	require.NoError(t, err)
	require.Equal(t, int64(len("something else")), offset)
	d, err := cblosc.OpenSChunkWith(other, cblosc.OpenOptions{Offset: offset})
	require.NoError(t, err)
	require.Equal(t, slurp(t, s), slurp(t, d))
	require.NoError(t, errors.Join(d.Close(), s.Close()))
}

// TestOpen_mappingGrowth checks that a mapping does not grow beyond its initial size, because
// C-Blosc2 would then unmap the memory after it.
func TestOpen_mappingGrowth(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	s, err := cblosc.CreateSChunk(cblosc.Storage{CParams: cparams(4), Contiguous: true, Path: path, Mapping: 4096})
	require.NoError(t, err)
	require.NoError(t, s.AppendBuffer(testutil.Noise(1000, 1)))
	err = s.AppendBuffer(testutil.Noise(1000, 1))
	for err == nil {
		err = s.AppendBuffer(testutil.Noise(1000, 1))
	}
	require.ErrorIs(t, err, syscall.EFBIG)
	require.ErrorIs(t, s.AppendBuffer(testutil.Noise(1000, 1)), cblosc.ErrBroken)
	require.NoError(t, s.Close())
	a, err := cblosc.CreateArray(&cblosc.ArrayParams{Shape: []int64{100, 100}, ChunkShape: []int32{50, 50}, Blocks: []int32{50, 50},
		Storage: cblosc.Storage{CParams: cparams(4), Contiguous: true, Path: path + "2", Mapping: 1 << 20}})
	require.NoError(t, err)
	require.NoError(t, a.WriteRegion(testutil.Ramp(40000, 1), []int64{0, 0}, []int64{100, 100}))
	require.NoError(t, a.Close())
	a, err = cblosc.OpenArrayWith(path+"2", cblosc.OpenOptions{Map: cblosc.MapRead})
	require.NoError(t, err)
	closing(t, a)
	got := make([]byte, 40000)
	require.NoError(t, a.ReadRegion(got, []int64{0, 0}, []int64{100, 100}))
	require.Equal(t, testutil.Ramp(40000, 1), got)
	require.ErrorIs(t, a.WriteRegion(got, []int64{0, 0}, []int64{100, 100}), cblosc.ErrReadOnly)
	require.ErrorIs(t, a.Resize([]int64{1, 1}), cblosc.ErrReadOnly)
}

func TestRename_Remove(t *testing.T) {
	dir := t.TempDir()
	for name, st := range storages(t, cparams(4)) {
		if st.Path == "" {
			continue
		}
		s := sample(t, st, false)
		want := slurp(t, s)
		require.NoError(t, s.Close())
		to := filepath.Join(dir, name)
		require.NoError(t, cblosc.Rename(st.Path, to))
		require.ErrorIs(t, cblosc.Rename(st.Path, to+"2"), fs.ErrNotExist)
		require.ErrorIs(t, cblosc.Rename(to, to), cblosc.ErrExists)
		require.ErrorIs(t, cblosc.Rename(to, ""), cblosc.ErrParam)
		s, err := cblosc.OpenSChunk(to)
		require.NoError(t, err)
		require.Equal(t, want, slurp(t, s))
		require.NoError(t, s.Close())
		require.NoError(t, cblosc.Remove(to))
		require.NoFileExists(t, to)
		require.NoDirExists(t, to)
		require.ErrorIs(t, cblosc.Remove(to), fs.ErrNotExist)
	}
	file := filepath.Join(dir, "precious")
	require.NoError(t, os.WriteFile(file, []byte("precious"), 0o600))
	for _, path := range []string{file, dir} {
		require.ErrorIs(t, cblosc.Remove(path), cblosc.ErrFormat, path)
		require.ErrorIs(t, cblosc.Rename(path, path+"2"), cblosc.ErrFormat, path)
	}
	require.ErrorIs(t, cblosc.Remove(""), cblosc.ErrParam)
	require.ErrorIs(t, cblosc.Remove(t.TempDir()), cblosc.ErrFormat, "an empty directory")
	// A sparse directory that contains an unrelated file.
	st := cblosc.Storage{CParams: cparams(4), Path: filepath.Join(dir, "mixed")}
	require.NoError(t, sample(t, st, false).Close())
	require.NoError(t, os.WriteFile(filepath.Join(st.Path, "precious"), nil, 0o600))
	require.ErrorIs(t, cblosc.Remove(st.Path), cblosc.ErrFormat)
	require.FileExists(t, file)
}

func TestOpen_locks(t *testing.T) {
	s := sample(t, cblosc.Storage{CParams: cparams(4), Contiguous: true, Path: filepath.Join(t.TempDir(), "x")}, false)
	for _, f := range []func() error{s.Lock, s.Refresh, s.Unlock} {
		if err := f(); err != nil {
			require.ErrorIs(t, err, errors.ErrUnsupported)
			require.ErrorContains(t, err, "C-Blosc2 3.2")
			require.ErrorContains(t, err, cblosc.Version())
		}
	}
	require.NoError(t, s.Close())
	require.ErrorIs(t, s.Lock(), cblosc.ErrClosed)
}
