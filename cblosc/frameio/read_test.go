package frameio_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/cblosc/frameio"
	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
)

// draw writes a random frame with C-Blosc2 and returns the open super-chunk and its path.
func draw(t *rapid.T) (*cblosc.SChunk, string) {
	size := itemSizes.Draw(t, "item size")
	p := drawCParams(t, size)
	if rapid.Bool().Draw(t, "small blocks") {
		p.BlockSize = size * rapid.IntRange(16, 200).Draw(t, "items of a block")
	}
	path := filepath.Join(temp(t), "frame")
	s, err := cblosc.CreateSChunk(cblosc.Storage{Path: path, Contiguous: rapid.Bool().Draw(t, "contiguous"), CParams: p})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	full := size * rapid.IntRange(1, 3000).Draw(t, "items of a chunk")
	n := rapid.IntRange(0, 6).Draw(t, "chunks")
	for i := range n {
		length := full
		if i == n-1 {
			length = size * rapid.IntRange(1, full/size).Draw(t, "items of the last")
		}
		kind := rapid.IntRange(0, 5).Draw(t, "kind")
		special := func(k cblosc.Special, value []byte) {
			b, err := cblosc.SpecialChunk(p, k, length, value)
			require.NoError(t, err)
			require.NoError(t, s.AppendChunk(b))
		}
		switch {
		case kind == 0:
			special(cblosc.Zeros, nil)
		case kind == 1:
			special(cblosc.Repeated, testutil.Noise(size, uint64(i)))
		case kind == 2 && (size == 4 || size == 8):
			special(cblosc.NaNs, nil)
		case kind == 3:
			require.NoError(t, s.AppendBuffer(testutil.Noise(length, uint64(i))))
		default:
			require.NoError(t, s.AppendBuffer(testutil.Ramp(length, uint64(i))))
		}
	}
	if n > 2 && rapid.Bool().Draw(t, "rewritten") {
		// Store chunks out of order, with dead bytes between them.
		i := rapid.Int64Range(0, int64(n-2)).Draw(t, "which")
		require.NoError(t, s.UpdateChunk(i, chunkOf(t, p, testutil.Noise(full, 99))))
		require.NoError(t, s.InsertChunk(i, chunkOf(t, p, testutil.Ramp(full, 98))))
		if rapid.Bool().Draw(t, "deleted") {
			require.NoError(t, s.DeleteChunk(i+1))
		}
	}
	return s, path
}

// TestFrame_readAgainstLibrary checks that chunks, items and byte ranges of any frame are identical
// to those that C-Blosc2 reads.
func TestFrame_readAgainstLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, path := draw(t)
		f, err := frameio.Open(path, nil)
		require.NoError(t, err)
		defer func() { require.NoError(t, f.Close()) }()
		require.Equal(t, s.NumChunks(), f.NumChunks())
		require.Equal(t, s.NBytes(), f.NBytes())
		require.Equal(t, s.ChunkSize(), f.ChunkSize())
		require.Equal(t, s.TypeSize(), f.TypeSize())
		var all []byte
		got, want := make([]byte, f.ChunkSize()+1), make([]byte, f.ChunkSize()+1)
		for i := range f.NumChunks() {
			raw, err := f.Chunk(nil, i)
			require.NoError(t, err)
			library, err := s.Chunk(i)
			require.NoError(t, err)
			require.Equal(t, library, raw, "chunk %d", i)
			stored, err := f.StoredBytes(i)
			require.NoError(t, err)
			if stored != 0 { // 0: the index alone describes the chunk
				require.Equal(t, int64(len(raw)), stored, "chunk %d", i)
			} else {
				require.Len(t, raw, 32, "chunk %d", i)
			}

			n, err := f.Decompress(got, i)
			require.NoError(t, err)
			k, err := s.DecompressChunk(want, i)
			require.NoError(t, err)
			require.Equal(t, k, n)
			require.Equal(t, want[:k], got[:n], "chunk %d", i)
			all = append(all, want[:k]...)

			items := n / f.TypeSize()
			start := rapid.IntRange(0, items).Draw(t, "first item")
			count := rapid.IntRange(0, items-start).Draw(t, "items")
			part := make([]byte, count*f.TypeSize())
			_, err = f.Items(part, i, start, count)
			require.NoError(t, err)
			require.Equal(t, want[start*f.TypeSize():][:len(part)], part, "items %d to %d of chunk %d", start, start+count, i)
		}
		whole := make([]byte, f.NBytes())
		require.NoError(t, f.ReadAll(t.Context(), whole, rapid.IntRange(0, 3).Draw(t, "workers")))
		require.True(t, bytes.Equal(all, whole))
		from := rapid.IntRange(0, len(all)).Draw(t, "from")
		to := rapid.IntRange(from, len(all)).Draw(t, "to")
		part := make([]byte, to-from)
		n, err := f.ReadAt(part, int64(from))
		require.NoError(t, err)
		require.Equal(t, len(part), n)
		require.True(t, bytes.Equal(all[from:to], part), "bytes %d to %d", from, to)
	})
}

// TestEmptyFrame checks that a frame without chunks can be opened and read.
func TestEmptyFrame(t *testing.T) {
	for _, contiguous := range []bool{true, false} {
		path := filepath.Join(t.TempDir(), "frame")
		writeFrame(t, path, contiguous, nil)
		f := openFrame(t, path)
		require.Zero(t, f.NumChunks())
		require.Zero(t, f.ChunkSize())
		require.NoError(t, f.ReadAll(t.Context(), nil, 0))
		n, err := f.ReadAt(make([]byte, 1), 0)
		require.Zero(t, n)
		require.Equal(t, io.EOF, err)
		_, err = f.Decompress(nil, 0)
		require.ErrorIs(t, err, cblosc.ErrRegion)
	}
}

// TestReader_UninitializedChunks checks that uninitialised values read as zeros, because the
// destination buffer must not keep its old content.
func TestReader_UninitializedChunks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "frame")
	s, err := cblosc.CreateSChunk(cblosc.Storage{Path: path, Contiguous: true})
	require.NoError(t, err)
	closing(t, s)
	b, err := cblosc.SpecialChunk(nil, cblosc.Uninit, 800, nil)
	require.NoError(t, err)
	require.NoError(t, s.AppendChunk(b))
	f := openFrame(t, path)
	dst := bytes.Repeat([]byte{9}, 800)
	_, err = f.Decompress(dst, 0)
	require.NoError(t, err)
	require.Equal(t, make([]byte, 800), dst)
	raw, err := f.Chunk(nil, 0)
	require.NoError(t, err)
	require.Equal(t, b, raw)
}

// TestDeltaItems checks reads of items from chunks with Delta. C-Blosc2 2.17.1 returns wrong values
// here, because it treats every block as the first one, to which Delta refers. This package must
// therefore decode such chunks as a whole.
func TestDeltaItems(t *testing.T) {
	p := cblosc.DefaultCParams()
	p.TypeSize, p.BlockSize = 4, 1024
	p.Filters = [cblosc.MaxFilters]cblosc.Filter{0: {ID: cblosc.Delta}, 5: {ID: cblosc.Shuffle}}
	data := testutil.Ramp(16384, 3)
	path := filepath.Join(t.TempDir(), "frame")
	writeFrame(t, path, true, p, data)
	f := openFrame(t, path)
	items := make([]byte, 1024)
	_, err := f.Items(items, 0, 2048, 256)
	require.NoError(t, err)
	require.Equal(t, data[8192:9216], items)
}

func TestOpenReaderAt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "frame")
	data := testutil.Ramp(8000, 1)
	writeFrame(t, path, true, nil, data)
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	b = append(b, "more"...)
	f, err := frameio.OpenReaderAt(bytes.NewReader(b), int64(len(b)), nil)
	require.NoError(t, err)
	closing(t, f)
	require.Empty(t, f.Path())
	dst := make([]byte, 8000)
	_, err = f.Decompress(dst, 0)
	require.NoError(t, err)
	require.Equal(t, data, dst)
	_, err = frameio.OpenReaderAt(bytes.NewReader(b), int64(len(b)-5), nil)
	require.ErrorIs(t, err, format.ErrTruncated)
}

func TestMetalayers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "frame")
	s, err := cblosc.CreateSChunk(cblosc.Storage{Path: path, Contiguous: true})
	require.NoError(t, err)
	require.NoError(t, s.Meta().Add("fixed", []byte("f")))
	require.NoError(t, s.AppendBuffer(testutil.Ramp(80, 1)))
	require.NoError(t, s.VLMeta().Add("one", testutil.Ramp(5000, 2)))
	require.NoError(t, s.VLMeta().Add("none", nil))
	require.NoError(t, s.Close())
	f := openFrame(t, path)
	content, ok := f.Header().Metalayer("fixed")
	require.True(t, ok)
	require.Equal(t, []byte("f"), content)
	require.Equal(t, []string{"one", "none"}, f.VLMetalayers())
	content, err = f.VLMetalayer("one")
	require.NoError(t, err)
	require.Equal(t, testutil.Ramp(5000, 2), content)
	content, err = f.VLMetalayer("none")
	require.NoError(t, err)
	require.Empty(t, content)
	_, err = f.VLMetalayer("two")
	require.ErrorIs(t, err, cblosc.ErrNotFound)
}

// TestManyGoroutines checks concurrent reads of one frame.
func TestManyGoroutines(t *testing.T) {
	const n, size = 200, 4096
	f, all := newFrame(t, n, size)
	var g sync.WaitGroup
	errs := make([]error, 64)
	for k := range errs {
		g.Go(func() {
			r := rand.New(rand.NewPCG(uint64(k), 0))
			dst := make([]byte, size)
			for range 50 {
				i := r.IntN(n)
				if _, err := f.Decompress(dst, int64(i)); err != nil {
					errs[k] = err
					return
				}
				if !bytes.Equal(dst, all[i*size:(i+1)*size]) {
					errs[k] = fmt.Errorf("chunk %d differs", i)
					return
				}
			}
		})
	}
	g.Wait()
	require.NoError(t, errors.Join(errs...))
}

// TestReader_CloseDuringRead checks that a frame can be closed during reads.
func TestReader_CloseDuringRead(t *testing.T) {
	const n, size = 100, 4096
	path := filepath.Join(t.TempDir(), "frame")
	p := cblosc.DefaultCParams()
	var buffers [][]byte
	for i := range n {
		buffers = append(buffers, testutil.Ramp(size, uint64(i)))
	}
	writeFrame(t, path, true, p, buffers...)
	f, err := frameio.Open(path, nil)
	require.NoError(t, err)
	var g sync.WaitGroup
	errs := make([]error, 64)
	started := make(chan struct{}, len(errs))
	for k := range errs {
		g.Go(func() {
			dst := make([]byte, size)
			for i := 0; ; i = (i + 1) % n {
				if _, errs[k] = f.Decompress(dst, int64(i)); errs[k] != nil {
					return
				}
				if i == 0 {
					select {
					case started <- struct{}{}:
					default:
					}
				}
			}
		})
	}
	for range errs {
		<-started
	}
	require.NoError(t, f.Close())
	g.Wait()
	for _, err := range errs {
		require.ErrorIs(t, err, cblosc.ErrClosed)
	}
	require.ErrorIs(t, f.Close(), cblosc.ErrClosed)
	_, err = f.Chunk(nil, 0)
	require.ErrorIs(t, err, cblosc.ErrClosed)
	_, err = f.Items(nil, 0, 0, 0)
	require.ErrorIs(t, err, cblosc.ErrClosed)
	_, err = f.ReadAt(make([]byte, 1), 0)
	require.ErrorIs(t, err, cblosc.ErrClosed)
	require.ErrorIs(t, f.ReadAll(t.Context(), make([]byte, n*size), 2), cblosc.ErrClosed)
}

func TestFrame_invalidArguments(t *testing.T) {
	f, _ := newFrame(t, 3, 400)
	for _, i := range []int64{-1, 3} {
		_, err := f.Chunk(nil, i)
		require.ErrorIs(t, err, cblosc.ErrRegion)
		_, err = f.Decompress(make([]byte, 400), i)
		require.ErrorIs(t, err, cblosc.ErrRegion)
		_, err = f.Items(nil, i, 0, 0)
		require.ErrorIs(t, err, cblosc.ErrRegion)
	}
	_, err := f.Decompress(make([]byte, 399), 1)
	require.ErrorIs(t, err, cblosc.ErrSize)
	require.ErrorContains(t, err, "399 bytes, the chunk holds 400")
	for _, r := range [][2]int{{-1, 1}, {0, -1}, {101, 0}, {100, 1}, {1, 100}} {
		_, err = f.Items(make([]byte, max(0, r[1]*4)), 1, r[0], r[1])
		require.ErrorIs(t, err, cblosc.ErrRegion, "%v", r)
	}
	_, err = f.Items(make([]byte, 7), 1, 0, 2)
	require.ErrorIs(t, err, cblosc.ErrSize)
	require.ErrorContains(t, err, "7 bytes, 2 items have 8")
	_, err = f.ReadAt(make([]byte, 1), -1)
	require.ErrorIs(t, err, cblosc.ErrRegion)
	n, err := f.ReadAt(make([]byte, 10), 1195)
	require.Equal(t, 5, n)
	require.Equal(t, io.EOF, err)
	err = f.ReadAll(t.Context(), make([]byte, 1199), 1)
	require.ErrorIs(t, err, cblosc.ErrSize)
	require.ErrorContains(t, err, "1199 bytes, the frame holds 1200")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, workers := range []int{1, 2} {
		require.ErrorIs(t, f.ReadAll(ctx, make([]byte, 1200), workers), context.Canceled)
	}
	var e *frameio.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, f.Path(), e.Path)
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	_, err := frameio.Open(filepath.Join(dir, "none"), nil)
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = frameio.Open(dir, nil)
	require.ErrorIs(t, err, cblosc.ErrFormat)
	text := filepath.Join(dir, "text")
	require.NoError(t, os.WriteFile(text, bytes.Repeat([]byte("text"), 100), 0o600))
	_, err = frameio.Open(text, nil)
	require.ErrorIs(t, err, cblosc.ErrFormat)
	require.ErrorIs(t, err, format.ErrMagic)
	_, err = frameio.Open(os.DevNull, nil)
	require.ErrorIs(t, err, cblosc.ErrFormat)

	whole := filepath.Join(dir, "whole")
	writeFrame(t, whole, true, nil, testutil.Ramp(8000, 1), testutil.Ramp(8000, 2))
	b, err := os.ReadFile(whole)
	require.NoError(t, err)
	part := filepath.Join(dir, "part")
	for n := range b {
		require.NoError(t, os.WriteFile(part, b[:n], 0o600))
		_, err := frameio.Open(part, nil)
		require.ErrorIs(t, err, cblosc.ErrFormat, "%d bytes", n)
		require.ErrorIs(t, err, format.ErrTruncated, "%d bytes", n)
	}

	sparse := filepath.Join(dir, "sparse")
	writeFrame(t, sparse, false, nil, testutil.Ramp(8000, 1))
	_, err = frameio.Open(filepath.Join(sparse, cframe.IndexFile), nil)
	require.ErrorIs(t, err, errors.ErrUnsupported)
}

// TestFrame_changedFile checks that a change of the files after they were opened causes an error,
// and neither a panic nor wrong data.
func TestFrame_changedFile(t *testing.T) {
	dst := make([]byte, 8000)
	t.Run("truncated", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "frame")
		writeFrame(t, path, true, nil, testutil.Ramp(8000, 1), testutil.Ramp(8000, 2))
		f := openFrame(t, path)
		require.NoError(t, os.Truncate(path, 200))
		_, err := f.Decompress(dst, 0)
		require.ErrorIs(t, err, cblosc.ErrFormat)
		require.ErrorIs(t, err, format.ErrTruncated)
		_, err = f.Decompress(dst, 1)
		require.ErrorIs(t, err, format.ErrTruncated)
		var e *frameio.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, int64(1), e.Chunk)
	})
	t.Run("removed", func(t *testing.T) {
		notOnWindows(t, "delete an open file")
		path := filepath.Join(t.TempDir(), "frame")
		writeFrame(t, path, true, nil, testutil.Ramp(8000, 1))
		f := openFrame(t, path)
		require.NoError(t, os.Remove(path))
		_, err := f.Decompress(dst, 0)
		require.NoError(t, err, "the open file is still there")
	})
	t.Run("sparse", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "frame")
		writeFrame(t, path, false, nil, testutil.Ramp(8000, 1), testutil.Ramp(8000, 2), testutil.Ramp(8000, 3))
		f := openFrame(t, path)
		first, second, third := filepath.Join(path, "00000000.chunk"), filepath.Join(path, "00000001.chunk"), filepath.Join(path, "00000002.chunk")
		require.NoError(t, os.Remove(first))
		_, err := f.Decompress(dst, 0)
		require.ErrorIs(t, err, fs.ErrNotExist)
		require.NoError(t, os.Truncate(second, 100))
		_, err = f.Decompress(dst, 1)
		require.ErrorIs(t, err, format.ErrTruncated)
		require.NoError(t, os.Truncate(second, 10))
		_, err = f.Decompress(dst, 1)
		require.ErrorIs(t, err, format.ErrTruncated)
		outside := filepath.Join(t.TempDir(), "outside")
		require.NoError(t, os.Rename(third, outside))
		require.NoError(t, os.Symlink(outside, third))
		_, err = f.Decompress(dst, 2)
		require.ErrorIs(t, err, errs.ErrFormat, "a link that leads out of the directory")
		_, err = f.Chunk(nil, 2)
		require.ErrorIs(t, err, errs.ErrFormat)
		_, err = f.StoredBytes(2)
		require.ErrorIs(t, err, errs.ErrFormat)
	})
}

// TestLongChunk checks a chunk that is longer than any that C-Blosc2 writes. It must be readable,
// and a length beyond the end of the file must fail before memory is allocated for it.
func TestLongChunk(t *testing.T) {
	p := cblosc.DefaultCParams()
	data := testutil.Ramp(8000, 1)
	path := filepath.Join(t.TempDir(), "frame")
	writeFrame(t, path, false, p, data)
	name := filepath.Join(path, "00000000.chunk")
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	b = append(b, make([]byte, 20000)...)
	write := func(says int) {
		binary.LittleEndian.PutUint32(b[12:], uint32(says))
		require.NoError(t, os.WriteFile(name, b, 0o600))
	}
	f := openFrame(t, path)
	dst := make([]byte, 8000)
	write(len(b))
	n, err := f.Decompress(dst, 0)
	require.NoError(t, err)
	require.Equal(t, data, dst[:n])
	write(len(b) + 1)
	_, err = f.Decompress(dst, 0)
	require.ErrorIs(t, err, format.ErrTruncated)
	write(2_000_000_000)
	_, err = f.Decompress(dst, 0)
	require.ErrorIs(t, err, format.ErrTruncated)
}

// TestReader_ChangedBytes checks that a change of any single byte never causes a panic, and that
// every error has a type.
func TestReader_ChangedBytes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "frame")
	p := cblosc.DefaultCParams()
	p.TypeSize, p.BlockSize = 4, 256
	writeFrame(t, path, true, p, testutil.Ramp(1000, 1), make([]byte, 1000), testutil.Ramp(500, 2))
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	dst := make([]byte, 1<<20)
	for i := range b {
		for _, flip := range []byte{0x01, 0x80, 0xFF} {
			b[i] ^= flip
			f, err := frameio.OpenReaderAt(bytes.NewReader(b), int64(len(b)), nil)
			if err == nil {
				for k := range min(f.NumChunks(), 10) {
					_, err = f.Decompress(dst, k)
					typed(t, err)
					_, err = f.Items(dst[:min(f.TypeSize(), len(dst))], k, 3, 1)
					typed(t, err)
				}
				require.NoError(t, f.Close())
			} else {
				typed(t, err)
			}
			b[i] ^= flip
		}
	}
}

// typed checks that err, if not nil, is an *Error that wraps one of the documented errors.
func typed(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	var e *frameio.Error
	require.ErrorAs(t, err, &e)
	for _, want := range []error{cblosc.ErrFormat, cblosc.ErrRegion, cblosc.ErrSize, errors.ErrUnsupported, format.ErrLimit} {
		if errors.Is(err, want) {
			return
		}
	}
	var library *cblosc.Error
	require.True(t, errors.As(err, &library) && library.Code != 0, "%v", err)
}
