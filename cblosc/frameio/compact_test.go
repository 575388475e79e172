package frameio_test

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/cblosc/frameio"
	"github.com/hyperslab/hyperslab/internal/blosc/caterva"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
)

// appendDurably appends values to a frame in one durable append.
func appendDurably(t tester, path string, values []byte) {
	t.Helper()
	w, err := frameio.Append(path, &frameio.AppendOptions{Durable: true})
	require.NoError(t, err)
	_, err = w.Write(values)
	require.NoError(t, err)
	require.NoError(t, w.Commit())
	require.NoError(t, w.Close())
}

// storedChunks returns the stored bytes of all chunks of a frame.
func storedChunks(t tester, path string) (all [][]byte) {
	t.Helper()
	f, err := frameio.Open(path, nil)
	require.NoError(t, err)
	for i := range f.NumChunks() {
		b, err := f.Chunk(nil, i)
		require.NoError(t, err)
		all = append(all, b)
	}
	require.NoError(t, f.Close())
	return all
}

func TestCompact(t *testing.T) {
	meta := []cblosc.Metalayer{{Name: "m", Content: testutil.Noise(10, 1)}}
	vlmeta := []cblosc.Metalayer{{Name: "v", Content: testutil.Ramp(5000, 2)}, {Name: "w", Content: testutil.Noise(300, 3)}}
	create := func(t *testing.T, path string, values []byte) {
		w, err := frameio.Create(path, &frameio.Params{CParams: cblosc.DefaultCParams(), ChunkSize: 800, Meta: meta, VLMeta: vlmeta})
		require.NoError(t, err)
		_, err = w.Write(values)
		require.NoError(t, err)
		require.NoError(t, w.Commit())
		require.NoError(t, w.Close())
	}
	values := append(append(testutil.Ramp(4*800, 1), make([]byte, 800)...), testutil.Noise(3*800+80, 2)...)

	t.Run("durable appends", func(t *testing.T) {
		notOnWindows(t, "replace an open file")
		dir := t.TempDir()
		path, once := filepath.Join(dir, "frame"), filepath.Join(dir, "once")
		create(t, once, values)
		create(t, path, values[:800])
		require.NoError(t, os.Chmod(path, 0o640))
		appendDurably(t, path, values[800:6*800])
		appendDurably(t, path, values[6*800:])
		require.Greater(t, testutil.FileSize(t, path), testutil.FileSize(t, once))
		before := filepath.Join(dir, "before")
		copyFrame(t, path, before)
		open := openFrame(t, path)

		require.NoError(t, frameio.Compact(path))
		requireSameFile(t, once, path)
		requireSameValues(t, before, path)
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, fs.FileMode(0o640), info.Mode())

		got := make([]byte, len(values))
		require.NoError(t, open.ReadAll(t.Context(), got, 1))
		require.Equal(t, values, got, "a frame that was open before")
		after := openFrame(t, path)
		require.NoError(t, after.ReadAll(t.Context(), got, 1))
		require.Equal(t, values, got)
		for _, l := range vlmeta {
			content, err := after.VLMetalayer(l.Name)
			require.NoError(t, err)
			require.Equal(t, l.Content, content)
		}
		content, ok := after.Header().Metalayer("m")
		require.True(t, ok)
		require.Equal(t, meta[0].Content, content)

		// C-Blosc2 must be able to append to the new file. No temporary file may be left.
		s, err := cblosc.OpenSChunk(path)
		require.NoError(t, err)
		require.EqualValues(t, 9, s.NumChunks())
		require.NoError(t, s.Close())
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Len(t, entries, 3)
	})

	t.Run("without dead bytes", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "frame")
		create(t, path, values)
		was, err := os.Stat(path)
		require.NoError(t, err)
		require.NoError(t, frameio.Compact(path))
		is, err := os.Stat(path)
		require.NoError(t, err)
		require.True(t, os.SameFile(was, is))
		require.Equal(t, was.ModTime(), is.ModTime())
	})

	t.Run("bytes after the frame", func(t *testing.T) {
		dir := t.TempDir()
		path, once := filepath.Join(dir, "frame"), filepath.Join(dir, "once")
		create(t, path, values)
		copyFrame(t, path, once)
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		require.NoError(t, err)
		_, err = f.WriteString("rest of an append that was killed")
		require.NoError(t, err)
		require.NoError(t, f.Close())
		require.NoError(t, frameio.Compact(path))
		requireSameFile(t, once, path)
	})

	t.Run("symbolic link", func(t *testing.T) {
		notOnWindows(t, "create a symbolic link without a privilege")
		dir := t.TempDir()
		path, link := filepath.Join(dir, "frame"), filepath.Join(dir, "link")
		create(t, path, values[:800])
		appendDurably(t, path, values[800:1600])
		require.NoError(t, os.Symlink("frame", link))
		was := testutil.FileSize(t, path)
		require.NoError(t, frameio.Compact(link))
		require.Less(t, testutil.FileSize(t, path), was)
		target, err := os.Readlink(link)
		require.NoError(t, err)
		require.Equal(t, "frame", target)
	})

	t.Run("array", func(t *testing.T) {
		for _, create := range []func(*cblosc.ArrayParams) (*cblosc.Array, error){cblosc.CreateArray, caterva.Create} {
			path := filepath.Join(t.TempDir(), "array")
			p := cblosc.ArrayParams{Shape: []int64{50, 40}, ChunkShape: []int32{16, 16}, Blocks: []int32{8, 8},
				Storage: cblosc.Storage{Contiguous: true, CParams: cblosc.DefaultCParams()}}
			p.Storage.CParams.TypeSize = 8
			p.Storage.Path = path
			created, err := create(&p)
			require.NoError(t, err)
			require.NoError(t, created.Close())
			src := testutil.Ramp(60*40*8, 1)
			var before int64
			for k := range 3 { // the last one replaces all chunks
				w, err := frameio.WriteArray(path, &frameio.ArrayOptions{Rows: 60, Durable: true})
				require.NoError(t, err)
				if k < 2 {
					require.NoError(t, w.WriteRegion(t.Context(), testutil.Noise(len(src), uint64(k)), []int64{0, 0}, []int64{60, 40}, 1))
				} else {
					require.NoError(t, w.WriteRegion(t.Context(), src, []int64{0, 0}, []int64{60, 40}, 1))
				}
				require.NoError(t, w.Commit())
				require.NoError(t, w.Close())
				before = testutil.FileSize(t, path)
			}
			chunks := storedChunks(t, path)
			require.NoError(t, frameio.Compact(path))
			require.Less(t, testutil.FileSize(t, path), before/2)
			require.Equal(t, chunks, storedChunks(t, path))

			a, err := cblosc.OpenArray(path)
			require.NoError(t, err)
			got := make([]byte, len(src))
			require.NoError(t, a.ReadRegion(got, []int64{0, 0}, []int64{60, 40}))
			require.NoError(t, a.Close())
			require.Equal(t, src, got)
		}
	})
}

// TestCompact_random compacts frames written by C-Blosc2 in which chunks were replaced and deleted.
func TestCompact_random(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := drawFrame(t, filepath.Join(temp(t), "frame"))
		if !j.Contiguous {
			require.ErrorIs(t, frameio.Compact(j.Path), errors.ErrUnsupported)
			return
		}
		before := filepath.Join(filepath.Dir(j.Path), "before")
		copyFrame(t, j.Path, before)
		old, err := os.ReadFile(before)
		require.NoError(t, err)
		chunks := storedChunks(t, before)

		require.NoError(t, frameio.Compact(j.Path))
		requireSameValues(t, before, j.Path)
		require.Equal(t, chunks, storedChunks(t, j.Path))
		b, err := os.ReadFile(j.Path)
		require.NoError(t, err)
		f, err := frameio.Open(j.Path, nil)
		require.NoError(t, err)
		size := int(f.Header().HeaderSize)
		stored := int64(0)
		for i := range f.NumChunks() {
			n, err := f.StoredBytes(i)
			require.NoError(t, err)
			stored += n
		}
		require.NoError(t, f.Close())
		require.Equal(t, stored, f.Header().CBytes)
		require.EqualValues(t, len(b), f.Header().FrameSize)
		for _, part := range [][2]int{{0, 16}, {24, 39}, {47, size}} {
			require.Equal(t, old[part[0]:part[1]], b[part[0]:part[1]], "header from byte %d", part[0])
		}
		was := testutil.FileSize(t, j.Path)
		require.NoError(t, frameio.Compact(j.Path))
		require.Equal(t, was, testutil.FileSize(t, j.Path), "compact already")
	})
}

// TestCompact_shared compacts a frame with two entries of the index for one chunk.
func TestCompact_shared(t *testing.T) {
	const size = 800
	path := filepath.Join(t.TempDir(), "frame")
	a, b := testutil.Noise(size, 1), testutil.Noise(size, 2)
	writeFrame(t, path, true, nil, a, b)
	f, err := frameio.Open(path, nil)
	require.NoError(t, err)
	h := f.Header()
	old, err := os.ReadFile(path)
	require.NoError(t, err)
	n, err := f.StoredBytes(0)
	require.NoError(t, err)
	require.NoError(t, f.Close())

	var offsets []byte
	for _, o := range []int64{0, n, 0} {
		offsets = binary.LittleEndian.AppendUint64(offsets, uint64(o))
	}
	dead := make([]byte, 100)
	end := int64(h.HeaderSize) + h.CBytes
	indexLength := int64(binary.LittleEndian.Uint32(old[end+12:]))
	made := append(old[:end:end], dead...)
	made = append(made, chunkOf(t, cblosc.DefaultCParams(), offsets)...)
	made = append(made, old[end+indexLength:]...)
	binary.BigEndian.PutUint64(made[16:], uint64(len(made)))
	binary.BigEndian.PutUint64(made[30:], 3*size) // number of uncompressed bytes
	binary.BigEndian.PutUint64(made[39:], uint64(h.CBytes)+uint64(len(dead)))
	require.NoError(t, os.WriteFile(path, made, 0o600))

	require.NoError(t, frameio.Compact(path))
	compact := openFrame(t, path)
	require.Equal(t, h.CBytes, compact.Header().CBytes)
	got := make([]byte, 3*size)
	require.NoError(t, compact.ReadAll(t.Context(), got, 1))
	require.Equal(t, append(append(append([]byte{}, a...), b...), a...), got)
}

func TestCompact_errors(t *testing.T) {
	dir := t.TempDir()
	require.ErrorIs(t, frameio.Compact(filepath.Join(dir, "none")), fs.ErrNotExist)

	path := filepath.Join(dir, "frame")
	writeFrame(t, path, true, nil, testutil.Ramp(800, 1), testutil.Noise(800, 2))
	appendDurably(t, path, testutil.Noise(800, 3))
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	requireRefused := func(path string, want error, chunk int64) {
		old, err := os.ReadFile(path)
		require.NoError(t, err)
		err = frameio.Compact(path)
		require.ErrorIs(t, err, want)
		var e *frameio.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, path, e.Path)
		require.Equal(t, chunk, e.Chunk)
		now, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, old, now)
	}

	corrupt := filepath.Join(dir, "corrupt")
	f := openFrame(t, path)
	n, err := f.StoredBytes(0)
	require.NoError(t, err)
	second := int64(f.Header().HeaderSize) + n
	x := append([]byte{}, b...)
	x[second+4]++ // the chunk's number of uncompressed bytes
	require.NoError(t, os.WriteFile(corrupt, x, 0o600))
	requireRefused(corrupt, cblosc.ErrFormat, 1)

	printed := filepath.Join(dir, "fingerprint")
	x = append([]byte{}, b...)
	x[len(x)-17] = 1
	require.NoError(t, os.WriteFile(printed, x, 0o600))
	requireRefused(printed, errors.ErrUnsupported, -1)
}

// TestAppend_compact checks that durable appends do not make a file much longer than twice its live
// bytes.
func TestAppend_compact(t *testing.T) {
	const many, added = 2000, 200
	dir := t.TempDir()
	path, once := filepath.Join(dir, "frame"), filepath.Join(dir, "once")
	create := func(path string) *frameio.Writer {
		p := &frameio.Params{CParams: cblosc.DefaultCParams(), ChunkSize: 1024, VLMeta: []cblosc.Metalayer{{Name: "v", Content: testutil.Noise(20_000, 1)}}}
		w, err := frameio.Create(path, p)
		require.NoError(t, err)
		for i := range many {
			b, err := cblosc.SpecialChunk(p.CParams, cblosc.Repeated, 1024, testutil.Noise(p.CParams.TypeSize, uint64(i)))
			require.NoError(t, err)
			require.NoError(t, w.WriteChunk(b))
		}
		return w
	}
	commit := func(w *frameio.Writer) {
		require.NoError(t, w.Commit())
		require.NoError(t, w.Close())
	}
	commit(create(path))
	values := testutil.Noise(1024*added, 2)
	size, most, grown, compacted := testutil.FileSize(t, path), int64(0), int64(0), 0
	for i := range added {
		appendDurably(t, path, values[1024*i:][:1024])
		now := testutil.FileSize(t, path)
		if now < size {
			compacted++
		} else {
			grown += now - size
		}
		size = now
		most = max(most, now)
	}
	w := create(once)
	_, err := w.Write(values)
	require.NoError(t, err)
	commit(w)
	live := testutil.FileSize(t, once)
	t.Logf("live %d bytes, at most %d, without compaction %d, compacted %d times", live, most, testutil.FileSize(t, once)+grown, compacted)
	require.Less(t, most, live*9/4)
	require.Greater(t, grown, 4*live, "bytes that appends have added")
	require.Greater(t, compacted, 3)
	requireSameValues(t, once, path)
	require.NoError(t, frameio.Compact(path))
	requireSameFile(t, once, path)
}

// deadFrame writes a frame of 3 chunks that has more dead bytes than live bytes.
func deadFrame(t tester, path string) {
	t.Helper()
	w, err := frameio.Create(path, &frameio.Params{CParams: cblosc.DefaultCParams(), ChunkSize: 800, VLMeta: []cblosc.Metalayer{{Name: "v", Content: testutil.Noise(8000, 1)}}})
	require.NoError(t, err)
	_, err = w.Write(testutil.Noise(800, 1))
	require.NoError(t, err)
	require.NoError(t, w.Commit())
	require.NoError(t, w.Close())
	appendDurably(t, path, testutil.Noise(800, 2))
	appendDurably(t, path, testutil.Noise(800, 3))
}

// TestAppend_compactRefused checks that a durable Append does not compact a frame that contains an
// invalid chunk, but appends to it.
func TestAppend_compactRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "frame")
	deadFrame(t, path)
	size := testutil.FileSize(t, path)
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	b[int(openFrame(t, path).Header().HeaderSize)+4]++ // the chunk's number of uncompressed bytes
	require.NoError(t, os.WriteFile(path, b, 0o600))
	appendDurably(t, path, testutil.Noise(800, 4))
	require.Greater(t, testutil.FileSize(t, path), size)
	require.EqualValues(t, 4, openFrame(t, path).NumChunks())
}
