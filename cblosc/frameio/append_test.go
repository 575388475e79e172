package frameio_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/cblosc/frameio"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
)

// copyFrame copies a file, or a directory of files.
func copyFrame(t tester, from, to string) {
	t.Helper()
	info, err := os.Stat(from)
	require.NoError(t, err)
	if info.IsDir() {
		require.NoError(t, os.CopyFS(to, os.DirFS(from)))
		return
	}
	b, err := os.ReadFile(from)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(to, b, 0o600))
}

// drawFrame writes a random frame with C-Blosc2. The frame may contain dead bytes.
func drawFrame(t *rapid.T, path string) *job {
	size := itemSizes.Draw(t, "item size")
	j := &job{Path: path, Contiguous: rapid.Bool().Draw(t, "contiguous"), CParams: *drawCParams(t, size)}
	if rapid.IntRange(0, 3).Draw(t, "blocks") == 0 {
		j.CParams.BlockSize = size * rapid.IntRange(1, 5000).Draw(t, "items of a block")
	}
	j.ChunkSize = size * rapid.IntRange(1, 3000).Draw(t, "items of a chunk")
	j.Chunks = drawPieces(t, size, j.ChunkSize, 4, false)
	for i := range rapid.IntRange(0, 2).Draw(t, "metalayers") {
		j.Meta = append(j.Meta, cblosc.Metalayer{Name: fmt.Sprintf("m%d", i), Content: testutil.Noise(i*10, 1)})
		j.VLMeta = append(j.VLMeta, cblosc.Metalayer{Name: fmt.Sprintf("v%d", i), Content: testutil.Ramp(i*1000, 2)})
	}
	require.NoError(t, j.byLibrary())
	if len(j.Chunks) > 0 && rapid.Bool().Draw(t, "rewritten") {
		s, err := cblosc.OpenSChunk(path)
		require.NoError(t, err)
		require.NoError(t, s.UpdateChunk(0, chunkOf(t, &j.CParams, testutil.Noise(j.ChunkSize, 77))))
		if len(j.Chunks) > 2 {
			require.NoError(t, s.DeleteChunk(int64(rapid.IntRange(0, len(j.Chunks)-1).Draw(t, "deleted"))))
		}
		require.NoError(t, s.Close())
	}
	return j
}

// TestAppend_againstLibrary checks that appending to frames of any kind gives the same bytes as
// C-Blosc2.
func TestAppend_againstLibrary(t *testing.T) {
	library := startPeer(t)
	rapid.Check(t, func(t *rapid.T) {
		dir := temp(t)
		j := drawFrame(t, filepath.Join(dir, "library"))
		got := filepath.Join(dir, "appended")
		copyFrame(t, j.Path, got)
		for range rapid.IntRange(1, 2).Draw(t, "times") {
			j.Append, j.Meta, j.VLMeta = true, nil, nil
			j.Chunks = drawPieces(t, j.CParams.TypeSize, j.ChunkSize, 6, false)
			library.write(t, j)
			o := &frameio.AppendOptions{ChunkSize: j.ChunkSize, Workers: rapid.IntRange(0, 3).Draw(t, "workers")}
			if !j.Contiguous {
				o.Durable = rapid.Bool().Draw(t, "durable")
			}
			w, err := frameio.Append(got, o)
			require.NoError(t, err)
			j.to(t, w)
			requireSame(t, j.Path, got, j.Contiguous)
		}
	})
}

// TestDurableAppend checks that a durable append has the same values as a plain one, and that
// C-Blosc2 can append to the result.
func TestDurableAppend(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir := temp(t)
		j := drawFrame(t, filepath.Join(dir, "frame"))
		plain := filepath.Join(dir, "plain")
		copyFrame(t, j.Path, plain)
		j.Append = true
		for range 2 {
			j.Chunks = drawPieces(t, j.CParams.TypeSize, j.ChunkSize, 4, false)
			for path, durable := range map[string]bool{j.Path: true, plain: false} {
				w, err := frameio.Append(path, &frameio.AppendOptions{ChunkSize: j.ChunkSize, Durable: durable})
				require.NoError(t, err)
				j.to(t, w)
			}
			requireSameValues(t, plain, j.Path)
		}
		for _, path := range []string{j.Path, plain} {
			s, err := cblosc.OpenSChunk(path)
			require.NoError(t, err)
			require.NoError(t, s.AppendBuffer(testutil.Ramp(j.ChunkSize, 50)))
			require.NoError(t, s.Close())
		}
		requireSameValues(t, plain, j.Path)
	})
}

// TestCompact_deadBytes checks that copying the chunks of a frame removes the dead bytes of durable
// appends. The new frame must be identical to one that C-Blosc2 writes at once.
func TestCompact_deadBytes(t *testing.T) {
	for _, contiguous := range []bool{true, false} {
		dir := t.TempDir()
		durable, copied, plain := filepath.Join(dir, "durable"), filepath.Join(dir, "copied"), filepath.Join(dir, "plain")
		second := testutil.Noise(3*800, 2)
		writeFrame(t, durable, contiguous, nil, testutil.Ramp(800, 1), make([]byte, 800), testutil.Ramp(800, 3))
		copyFrame(t, durable, plain)
		for path, o := range map[string]*frameio.AppendOptions{durable: {Durable: true}, plain: {}} {
			for _, part := range [][]byte{second[:800], second[800:]} {
				w, err := frameio.Append(path, o)
				require.NoError(t, err)
				_, err = w.Write(part)
				require.NoError(t, err)
				require.NoError(t, w.Commit())
				require.NoError(t, w.Close())
			}
		}
		f, err := frameio.Open(durable, nil)
		require.NoError(t, err)
		w, err := frameio.CreateLike(copied, f)
		require.NoError(t, err)
		for i := range f.NumChunks() {
			b, err := f.Chunk(nil, i)
			require.NoError(t, err)
			require.NoError(t, w.WriteChunk(b))
		}
		require.NoError(t, w.Commit())
		require.NoError(t, w.Close())
		require.NoError(t, f.Close())
		requireSame(t, plain, copied, contiguous)
		if contiguous {
			was, err := os.Stat(durable)
			require.NoError(t, err)
			is, err := os.Stat(copied)
			require.NoError(t, err)
			require.Less(t, is.Size(), was.Size())
		}
	}
}

// requireSameValues compares the values of two frames that C-Blosc2 reads.
func requireSameValues(t tester, want, got string) {
	t.Helper()
	a, err := cblosc.OpenSChunk(want)
	require.NoError(t, err)
	b, err := cblosc.OpenSChunk(got)
	require.NoError(t, err)
	require.Equal(t, a.NBytes(), b.NBytes())
	require.Equal(t, a.NumChunks(), b.NumChunks())
	x, y := make([]byte, a.ChunkSize()), make([]byte, a.ChunkSize())
	for i := range a.NumChunks() {
		n, err := a.DecompressChunk(x, i)
		require.NoError(t, err)
		k, err := b.DecompressChunk(y, i)
		require.NoError(t, err)
		require.True(t, bytes.Equal(x[:n], y[:k]), "chunk %d", i)
	}
	names, err := a.VLMeta().Names()
	require.NoError(t, err)
	other, err := b.VLMeta().Names()
	require.NoError(t, err)
	require.Equal(t, names, other)
	require.NoError(t, a.Close())
	require.NoError(t, b.Close())
}

// TestAppendUndone checks that a frame does not change without Commit, nor with an empty append.
func TestAppendUndone(t *testing.T) {
	for _, contiguous := range []bool{true, false} {
		for _, durable := range []bool{true, false} {
			for _, n := range []int{0, 100, 200_000} {
				t.Run(fmt.Sprintf("contiguous=%v/durable=%v/%d", contiguous, durable, n), func(t *testing.T) {
					dir := t.TempDir()
					path, before := filepath.Join(dir, "frame"), filepath.Join(dir, "before")
					writeFrame(t, path, contiguous, nil, testutil.Ramp(800, 1), testutil.Ramp(800, 2))
					copyFrame(t, path, before)
					w, err := frameio.Append(path, &frameio.AppendOptions{Durable: durable})
					require.NoError(t, err)
					_, err = w.Write(testutil.Noise(n, 1))
					require.NoError(t, err)
					if n > 0 {
						special, err := cblosc.SpecialChunk(nil, cblosc.Repeated, 800, testutil.Noise(8, 1))
						require.NoError(t, err)
						if n%800 == 0 {
							require.NoError(t, w.WriteChunk(special))
						}
					} else {
						require.NoError(t, w.Commit())
					}
					require.NoError(t, w.Close())
					requireSame(t, before, path, contiguous)
				})
			}
		}
	}
}

func TestAppendRefuses(t *testing.T) {
	dir := t.TempDir()
	_, err := frameio.Append(filepath.Join(dir, "none"), nil)
	require.ErrorIs(t, err, fs.ErrNotExist)

	path := filepath.Join(dir, "short")
	writeFrame(t, path, true, nil, testutil.Ramp(800, 1), testutil.Ramp(80, 2))
	w, err := frameio.Append(path, nil)
	require.NoError(t, err)
	_, err = w.Write(make([]byte, 8))
	require.ErrorIs(t, err, cblosc.ErrSize)
	require.NoError(t, w.Close())
	_, err = frameio.Append(path, &frameio.AppendOptions{ChunkSize: 80})
	require.ErrorIs(t, err, cblosc.ErrParam)
	require.ErrorContains(t, err, "ChunkSize = 80, the frame has chunks of 800")

	empty := filepath.Join(dir, "empty")
	writeFrame(t, empty, true, nil)
	_, err = frameio.Append(empty, &frameio.AppendOptions{ChunkSize: -8})
	require.ErrorIs(t, err, cblosc.ErrParam)

	a, _ := newArray(t, true, []int64{8}, []int32{4}, []int32{2})
	_, err = frameio.Append(a.Path(), nil)
	require.ErrorIs(t, err, errors.ErrUnsupported)

	b, err := os.ReadFile(path)
	require.NoError(t, err)
	b[27] = b[27]&0xF0 | 6 // a user-defined codec number
	b[77] = 35
	require.NoError(t, os.WriteFile(path, b, 0o600))
	_, err = frameio.Append(path, nil)
	require.ErrorIs(t, err, errors.ErrUnsupported)
}
