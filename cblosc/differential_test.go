package cblosc_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/blosc/caterva"
	"github.com/hyperslab/hyperslab/internal/format/b2ndmeta"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
)

// TestReaders_Equal checks that package format and C-Blosc2 read the same properties from every
// frame and chunk that both accept.
func TestReaders_Equal(t *testing.T) {
	files := testenv.Files(t, testenv.Blosc2Source, "compat/blosc-*.cdata", "tests/fuzz/corpus/*.b2frame", "plugins/test_data/*.b2nd")
	for _, file := range append(files, testenv.Files(t, testenv.Corpus, "blosc2/*", "caterva2/*.b2*")...) {
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		if strings.HasSuffix(file, ".cdata") {
			require.NoError(t, agreeOnChunk(t, b), file)
		} else {
			err := agreeOnFrame(t, b)
			require.True(t, err == nil || errors.Is(err, errors.ErrUnsupported), "%s: %v", file, err)
		}
	}
}

// TestFrame_goldenDifferential compares both readers on the golden frames of package format, and on
// a small frame with every single byte changed.
func TestFrame_goldenDifferential(t *testing.T) {
	accepted := 0
	require.NoError(t, filepath.WalkDir("../internal/format/testdata", func(path string, d fs.DirEntry, err error) error {
		require.NoError(t, err)
		b, err := os.ReadFile(path)
		if d.IsDir() || err != nil || !strings.Contains(d.Name(), ".b2") && !strings.HasSuffix(d.Name(), ".bin") {
			return nil
		}
		if strings.HasSuffix(path, ".bin") {
			err = agreeOnChunk(t, b)
		} else {
			err = agreeOnFrame(t, b)
		}
		if err == nil {
			accepted++
		}
		return nil
	}))
	require.Greater(t, accepted, 20)
}

// TestFrame_olderVersionsDifferential compares both readers on chunks and frames of older versions.
// The test changes only the version number of current chunks, because the versions of Blosc1 differ
// in nothing else, and converts frames of version 2 to version 1.
func TestFrame_olderVersionsDifferential(t *testing.T) {
	for name, versions := range map[string][]byte{"blosc1-shuffle": {1, 2, 3, 4, 5}, "blosc1-stored": {1, 2, 3, 4, 5}, "special-nan8": {4, 5}, "lz4": {4, 5}, "stored": {4, 5}} {
		b, err := os.ReadFile("../internal/format/testdata/chunk/" + name + ".bin")
		require.NoError(t, err)
		for _, v := range versions {
			b[0] = v
			require.NoError(t, agreeOnChunk(t, b), "%s, version %d", name, v)
			tree := chunk.Describe(b)
			for path, f := range tree.Complaints() {
				t.Errorf("%s, version %d, %s: %s", name, v, path, f.Complaint)
			}
		}
	}
	b, err := os.ReadFile("../internal/format/testdata/frame/mixed.b2frame")
	require.NoError(t, err)
	f, err := cframe.Read(bytes.NewReader(b), int64(len(b)))
	require.NoError(t, err)
	const flags = 25
	b[flags] = b[flags]&0xF0 | 1
	b[f.FrameSize-int64(f.Trailer.Size)+1] = 0
	f, err = cframe.Read(bytes.NewReader(b), int64(len(b)))
	require.NoError(t, err)
	require.Equal(t, 1, f.Version())
	require.Zero(t, f.Trailer.Version)
	require.NoError(t, agreeOnFrame(t, b))
	tree := cframe.Describe(bytes.NewReader(b), int64(len(b)))
	for path, c := range tree.Complaints() {
		t.Errorf("%s: %s", path, c.Complaint)
	}
}

// TestFrame_randomDifferential compares both readers on random frames, contiguous and sparse,
// unchanged and with changed bytes. Package format must describe every frame that C-Blosc2 opens in
// the same way.
func TestFrame_randomDifferential(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		item := rapid.SampledFrom([]int{1, 2, 4, 8, 300}).Draw(t, "item")
		p := cparams(item)
		p.Codec = rapid.SampledFrom(cblosc.Codecs()).Draw(t, "codec")
		p.Level = rapid.IntRange(0, 9).Draw(t, "level")
		p.Split = cblosc.SplitMode(rapid.IntRange(1, 4).Draw(t, "split"))
		filter := rapid.SampledFrom([]cblosc.FilterID{cblosc.NoFilter, cblosc.Shuffle, cblosc.BitShuffle, cblosc.Delta}).Draw(t, "filter")
		p.Filters = [cblosc.MaxFilters]cblosc.Filter{{ID: filter}}
		st := cblosc.Storage{Contiguous: true, CParams: p}
		if sparse := rapid.Bool().Draw(t, "sparse"); sparse {
			dir, err := os.MkdirTemp("", "hyperslab-differential-")
			require.NoError(t, err)
			defer os.RemoveAll(dir)
			st = cblosc.Storage{Path: filepath.Join(dir, "frame"), CParams: p}
		}
		var s *cblosc.SChunk
		if rapid.Bool().Draw(t, "array") {
			n := rapid.Int64Range(0, 9).Draw(t, "n")
			create := cblosc.CreateArray
			if rapid.Bool().Draw(t, "caterva") {
				create = caterva.Create
			}
			a, err := create(&cblosc.ArrayParams{Shape: []int64{n, 5}, ChunkShape: []int32{4, 3}, Blocks: []int32{2, 3}, Storage: st})
			require.NoError(t, err)
			require.NoError(t, a.WriteRegion(testutil.Noise(int(n)*5*item, 1), []int64{0, 0}, []int64{n, 5}))
			s = a.SChunk()
		} else {
			var err error
			s, err = cblosc.CreateSChunk(st)
			require.NoError(t, err)
			require.NoError(t, s.Meta().Add("note", testutil.Noise(5, 1)))
			for i := range rapid.IntRange(0, 5).Draw(t, "chunks") {
				b := testutil.Ramp(20*item, uint64(i))
				if i == 2 {
					clear(b)
				}
				require.NoError(t, s.AppendBuffer(b))
			}
		}
		require.NoError(t, s.VLMeta().Add("vl", testutil.Ramp(30, 1)))
		changed := func(b []byte) []byte {
			c := bytes.Clone(b)
			for range rapid.IntRange(1, 3).Draw(t, "changes") {
				c[rapid.IntRange(0, len(c)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "value")
			}
			return c
		}
		if st.Path != "" {
			require.NoError(t, s.Close())
			require.NoError(t, agreeOnDir(t, st.Path))
			files, err := filepath.Glob(filepath.Join(st.Path, "*"))
			require.NoError(t, err)
			for range 10 {
				file := rapid.SampledFrom(files).Draw(t, "file")
				b, err := os.ReadFile(file)
				require.NoError(t, err)
				require.NoError(t, os.WriteFile(file, changed(b), 0o600))
				_ = agreeOnDir(t, st.Path) // most are rejected
				require.NoError(t, os.WriteFile(file, b, 0o600))
			}
			return
		}
		b, err := s.Bytes()
		require.NoError(t, err)
		require.NoError(t, s.Close())
		require.NoError(t, agreeOnFrame(t, b))
		for range 20 {
			_ = agreeOnFrame(t, changed(b)) // most are rejected
		}
	})
}

// agreeOnFrame compares the results of both readers for a contiguous frame. It returns the error of
// the reader that rejects the frame. A frame that package format rejects must be rejected by
// C-Blosc2 too.
func agreeOnFrame(t tester, b []byte) error {
	t.Helper()
	f, err := cframe.Read(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		_, err2 := cblosc.OpenSChunkBytes(b)
		require.Error(t, err2, "refused in Go with %v", err)
		return err
	}
	s, err := cblosc.OpenSChunkBytes(b)
	if err != nil {
		return err
	}
	agreeOnSChunk(t, f, s)
	return agreeOnArray(t, f, func() (*cblosc.Array, error) { return cblosc.OpenArrayBytes(b) })
}

// agreeOnDir is like agreeOnFrame, but for a sparse directory.
func agreeOnDir(t tester, path string) error {
	t.Helper()
	f, err := cframe.ReadDir(os.DirFS(path))
	s, err2 := cblosc.OpenSChunk(path)
	switch {
	case err != nil:
		require.Error(t, err2, "refused in Go with %v", err)
		return err
	case err2 != nil:
		return err2
	}
	agreeOnSChunk(t, f, s)
	return agreeOnArray(t, f, func() (*cblosc.Array, error) { return cblosc.OpenArray(path) })
}

// agreeOnSChunk compares the properties of an open frame in both readers, and closes s.
func agreeOnSChunk(t tester, f *cframe.Frame, s *cblosc.SChunk) {
	t.Helper()
	defer func() { require.NoError(t, s.Close()) }()
	require.Equal(t, f.NumChunks(), s.NumChunks(), "chunks")
	require.Equal(t, f.NBytes, s.NBytes(), "bytes")
	if f.Type() != cframe.Sparse && f.NumChunks() == 0 {
		require.Zero(t, f.CBytes, "C-Blosc2 keeps the size of deleted chunks")
	} else {
		require.Equal(t, f.CBytes, s.CBytes(), "bytes, compressed")
	}
	require.Equal(t, int(f.TypeSize), s.TypeSize(), "type size")
	if f.NumChunks() > 0 {
		require.Equal(t, int(f.ChunkSize), s.ChunkSize(), "chunk size")
	}
	p, err := s.CParams()
	require.NoError(t, err)
	require.EqualValues(t, f.Codec(), p.Codec, "codec")
	require.Equal(t, f.Level(), p.Level, "level")
	for i, filter := range f.Filters {
		require.EqualValues(t, filter, p.Filters[i].ID, "filter %d", i)
		require.Equal(t, f.FiltersMeta[i], p.Filters[i].Meta, "filter %d", i)
	}
	agreeOnMeta(t, f, s)

	offsets, err := f.Offsets(func(dst, b []byte) error {
		n, err := decompress(b, dst)
		if err == nil && n != len(dst) {
			err = errors.New("short index")
		}
		return err
	})
	require.NoError(t, err)
	theirs, err := s.Offsets()
	require.NoError(t, err)
	require.Len(t, theirs, len(offsets))
	data := make([]byte, s.ChunkSize())
	for i, o := range offsets {
		require.EqualValues(t, o, theirs[i], "offset %d", i)
		raw, err := s.Chunk(int64(i))
		if err != nil {
			continue
		}
		n, err := s.DecompressChunk(data, int64(i))
		h, herr := chunk.ParseHeader(raw)
		require.NoError(t, herr)
		if err == nil {
			require.EqualValues(t, h.NBytes, n, "chunk %d", i)
		}
		if o.IsSpecial() {
			require.Equal(t, o.Special(), h.Special, "chunk %d", i)
			continue
		}
		stored, rerr := f.ReadChunk(o)
		require.NoError(t, rerr)
		require.Equal(t, stored, raw, "chunk %d", i)
		if plain := make([]byte, h.NBytes); err == nil && h.Special != chunk.Uninitialized && chunk.Decode(plain, raw) == nil {
			require.Equal(t, plain, data[:n], "data of chunk %d", i)
		}
	}
}

// agreeOnMeta compares names and contents of the metalayers.
func agreeOnMeta(t tester, f *cframe.Frame, s *cblosc.SChunk) {
	t.Helper()
	for _, m := range []struct {
		ours   []cframe.Metalayer
		theirs *cblosc.Metalayers
		vl     bool
	}{{f.Metalayers, s.Meta(), false}, {f.Trailer.VLMetalayers, s.VLMeta(), true}} {
		names, err := m.theirs.Names()
		require.NoError(t, err)
		require.Len(t, names, len(m.ours))
		seen := map[string]bool{}
		for i, l := range m.ours {
			require.Equal(t, l.Name, names[i])
			if seen[l.Name] {
				continue // C-Blosc2 returns the first of two
			}
			seen[l.Name] = true
			got, err := m.theirs.Get(l.Name)
			if err != nil {
				require.True(t, m.vl, "%v", err)
				continue // its chunk does not decompress
			}
			want := l.Content
			if m.vl {
				h, err := chunk.ParseHeader(l.Content)
				require.NoError(t, err)
				want = make([]byte, h.NBytes)
				_, err = decompress(l.Content, want)
				require.NoError(t, err)
			}
			require.Equal(t, append([]byte{}, want...), append([]byte{}, got...), l.Name)
		}
	}
}

func decompress(b, dst []byte) (int, error) {
	d, err := cblosc.NewDecompressor(nil)
	if err != nil {
		return 0, err
	}
	n, err := d.Decompress(dst, b)
	return n, errors.Join(err, d.Close())
}

// agreeOnArray compares the shapes of an array.
func agreeOnArray(t tester, f *cframe.Frame, open func() (*cblosc.Array, error)) error {
	t.Helper()
	m, ok, err := f.Array()
	if err != nil || !ok {
		_, err2 := open()
		require.Error(t, err2)
		return err
	}
	a, err := open()
	if err != nil {
		return err
	}
	defer func() { require.NoError(t, a.Close()) }()
	require.Equal(t, append([]int64{}, m.Shape...), append([]int64{}, a.Shape()...))
	require.Equal(t, append([]int32{}, m.Chunks...), append([]int32{}, a.ChunkShape()...))
	require.Equal(t, append([]int32{}, m.Blocks...), append([]int32{}, a.Blocks()...))
	require.Equal(t, m.DType, a.DType())
	name := b2ndmeta.Name
	if m.Caterva {
		name = b2ndmeta.CatervaName
	}
	content, _ := f.Metalayer(name)
	shape, chunks, blocks, dtype, err := cblosc.DecodeArrayMeta(content, m.Caterva)
	require.NoError(t, err)
	require.Equal(t, a.Shape(), shape)
	require.Equal(t, a.ChunkShape(), chunks)
	require.Equal(t, a.Blocks(), blocks)
	require.Equal(t, m.DType, dtype)
	return nil
}

func TestLibraryReading(t *testing.T) {
	b := compress(t, cparams(4), testutil.Ramp(1000, 1))
	info, err := cblosc.LibraryReading(b)
	require.NoError(t, err)
	require.Equal(t, "BloscLZ", info.Library)
	require.True(t, info.Valid)
	info, err = cblosc.LibraryReading(append(b, 0))
	require.NoError(t, err)
	require.False(t, info.Valid)
	_, err = cblosc.LibraryReading(b[:15])
	require.ErrorIs(t, err, cblosc.ErrFormat)
	_, err = cblosc.LibraryReading(bytes.Repeat([]byte{0xFF}, 16))
	require.Error(t, err)
	codecs := cblosc.LibraryCodecs()
	for _, c := range []cblosc.Codec{cblosc.BloscLZ, cblosc.LZ4, cblosc.LZ4HC, cblosc.Zlib, cblosc.Zstd} {
		require.Equal(t, c, codecs[c.String()])
	}
}

// agreeOnChunk compares the results of both readers for a chunk.
func agreeOnChunk(t tester, b []byte) error {
	t.Helper()
	c, err := chunk.Parse(b)
	if err != nil {
		return err
	}
	info, err := cblosc.Info(b)
	if err != nil {
		return err
	}
	require.EqualValues(t, c.NBytes, info.NBytes)
	require.EqualValues(t, c.CBytes, info.CBytes)
	require.EqualValues(t, c.BlockSize, info.BlockSize)
	lib, err := cblosc.LibraryReading(b)
	require.NoError(t, err)
	require.EqualValues(t, c.Version, lib.Version)
	require.EqualValues(t, c.VersionLZ, lib.VersionLZ)
	require.EqualValues(t, c.Flags, lib.Flags)
	require.EqualValues(t, c.TypeSize, lib.TypeSize)
	require.EqualValues(t, c.NBytes, lib.NBytes)
	require.EqualValues(t, c.CBytes, lib.CBytes)
	if c.NBytes > 0 { // without data, the type size is that of the header
		require.EqualValues(t, c.BlockLen(), lib.BlockSize)
	}
	require.Equal(t, len(b) == lib.CBytes, lib.Valid)
	data := bytes.Repeat([]byte{0xEE}, info.NBytes)
	n, err := decompress(b, data)
	if err != nil {
		return err
	}
	require.Equal(t, info.NBytes, n)
	if plain := make([]byte, n); c.Special != chunk.Uninitialized && c.Decode(plain) == nil {
		require.Equal(t, plain, data)
	}
	return nil
}
