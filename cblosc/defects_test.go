package cblosc_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
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

// plugins lists edits that make a chunk require a codec or filter that is not linked.
var plugins = func() map[string]func([]byte) {
	m := map[string]func([]byte){}
	for id := byte(36); id <= 41; id++ {
		m["codec "+string('0'+id/10)+string('0'+id%10)] = func(b []byte) { b[2], b[0x16] = b[2]&0x1F|6<<5, id }
	}
	for _, id := range []byte{160, 255} {
		m["user's codec"] = func(b []byte) { b[2], b[0x16] = b[2]&0x1F|6<<5, id }
		m["user's filter"] = func(b []byte) { b[0x15] = id }
	}
	m["filter 37"] = func(b []byte) { b[0x10] = 37 }
	return m
}()

// trap puts a fake python first on the path. The fake creates a file when it is started, and the
// test fails if that file exists at the end.
func trap(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	mark := filepath.Join(dir, "was started")
	for _, name := range []string{"python", "python3"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n: > '"+mark+"'\n"), 0o700))
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Cleanup(func() {
		if _, err := os.Stat(mark); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the library started a program (%v)", err)
		}
	})
}

func TestDefects_pluginIDs(t *testing.T) {
	trap(t)
	d := newDecompressor(t)
	good := compress(t, cparams(4), testutil.Ramp(4096, 1))
	for name, edit := range plugins {
		bad := bytes.Clone(good)
		edit(bad)
		check := func(err error) {
			t.Helper()
			require.ErrorIs(t, err, errors.ErrUnsupported, name)
			require.NotErrorIs(t, err, cblosc.ErrFormat, name)
		}
		_, err := d.Decompress(make([]byte, 4096), bad)
		check(err)
		_, err = d.Items(make([]byte, 4), bad, 0, 1)
		check(err)
		_, err = cblosc.Info(bad)
		check(err)
		for _, st := range storages(t, cparams(4)) {
			s, err := cblosc.CreateSChunk(st)
			require.NoError(t, err)
			check(s.AppendChunk(bad))
			require.NoError(t, s.AppendChunk(good))
			check(s.UpdateChunk(0, bad))
			check(s.InsertChunk(0, bad))
			require.NoError(t, s.VLMeta().Add("v", testutil.Ramp(100, 1)))
			frame, err := s.Bytes()
			require.NoError(t, err)
			require.NoError(t, s.Close())

			// The same chunk inside a frame: as data, in a metalayer, in the header.
			crafted := bytes.Clone(frame)
			edit(crafted[bytes.Index(crafted, good):])
			_, err = cblosc.OpenSChunkBytes(crafted)
			check(err)
			path := filepath.Join(t.TempDir(), "crafted")
			require.NoError(t, os.WriteFile(path, crafted, 0o600))
			s, err = cblosc.OpenSChunk(path)
			require.NoError(t, err, "the chunk is not touched yet")
			_, err = s.DecompressChunk(make([]byte, 4096), 0)
			check(err)
			_, err = s.Chunk(0)
			check(err)
			check(s.DeleteChunk(0))
			check(s.UpdateChunk(0, good))
			_, err = s.Bytes()
			check(err)
			require.NoError(t, s.Close())

			crafted = bytes.Clone(frame)
			edit(crafted[bytes.LastIndex(crafted, []byte{0xC6})+5:])
			_, err = cblosc.OpenSChunkBytes(crafted)
			check(err)
		}
	}
	s, err := cblosc.CreateSChunk(cblosc.Storage{Contiguous: true})
	require.NoError(t, err)
	frame, err := s.Bytes()
	require.NoError(t, err)
	require.NoError(t, s.Close())
	for id := byte(36); id <= 40; id++ {
		crafted := bytes.Clone(frame)
		crafted[27], crafted[0x4D] = crafted[27]&0xF0|6, id
		_, err = cblosc.OpenSChunkBytes(crafted)
		require.ErrorIs(t, err, errors.ErrUnsupported, "codec %d in the frame's header", id)
	}
}

func TestDefects_lazyChunk(t *testing.T) {
	chunk := compress(t, cparams(4), testutil.Ramp(4096, 1))
	chunk[0x1F] |= 0x08
	_, err := newDecompressor(t).Decompress(make([]byte, 4096), chunk)
	require.ErrorIs(t, err, cblosc.ErrFormat)
	s, err := cblosc.CreateSChunk(cblosc.Storage{Contiguous: true})
	require.NoError(t, err)
	closing(t, s)
	require.ErrorIs(t, s.AppendChunk(chunk), cblosc.ErrFormat)
}

// dictChunk returns a chunk compressed with Zstd and a dictionary. C-Blosc2 wrote it.
func dictChunk(t *testing.T) []byte {
	t.Helper()
	b, err := os.ReadFile("../internal/format/testdata/chunk/zstd-dict.bin")
	require.NoError(t, err)
	return b
}

func TestWrongDictionary(t *testing.T) {
	good := dictChunk(t)
	info, err := cblosc.Info(good)
	require.NoError(t, err)
	at := 32 + 4*((info.NBytes+info.BlockSize-1)/info.BlockSize)
	stored := compress(t, cparams(4), testutil.Noise(100, 1))
	stored[0x1F] |= 1
	empty := bytes.Clone(good)
	clear(empty[4:8])
	clear(empty[32:36])
	special, err := cblosc.SpecialChunk(cparams(4), cblosc.Zeros, 64, nil)
	require.NoError(t, err)
	special[0x1F] |= 1
	d := newDecompressor(t)
	dst := make([]byte, info.NBytes)
	for range 3 {
		n, err := d.Decompress(dst, good)
		require.NoError(t, err)
		require.Equal(t, info.NBytes, n)
		for _, size := range []uint32{0, 1 << 31, 128<<10 + 1, uint32(len(good) - at - 3)} {
			bad := bytes.Clone(good)
			binary.LittleEndian.PutUint32(bad[at:], size)
			_, err = d.Decompress(dst, bad)
			require.ErrorIs(t, err, cblosc.ErrFormat, "%d", size)
		}
		_, err = d.Decompress(dst, stored)
		require.ErrorIs(t, err, cblosc.ErrFormat, "stored data taken for a dictionary")
		_, err = d.Decompress(dst, empty)
		require.ErrorIs(t, err, cblosc.ErrFormat, "a dictionary and no data")
		_, err = d.Decompress(dst, special)
		require.ErrorIs(t, err, cblosc.ErrFormat, "a dictionary and no data after the header")
	}
}

func TestDefects_dictionary(t *testing.T) {
	const n = 20_000
	p := cparams(4)
	p.Codec, p.BlockSize = cblosc.Zstd, 1024
	dict := *p
	dict.Dict = true
	c := newCompressor(t, &dict)
	chunks := [][]byte{testutil.Ramp(n, 1), testutil.Ramp(n, 2), testutil.Noise(n, 3), testutil.Ramp(n/2, 4)}
	all := slices.Concat(chunks...)
	check := func(t *testing.T, s *cblosc.SChunk) {
		t.Helper()
		b, err := s.Chunk(0)
		require.NoError(t, err)
		info, err := cblosc.Info(b)
		require.NoError(t, err)
		require.True(t, info.Dict)
		for i, want := range chunks {
			got := make([]byte, len(want))
			_, err := s.DecompressChunk(got, int64(i))
			require.NoError(t, err)
			require.Equal(t, want, got)
			require.NoError(t, s.DecompressItems(got[:400], int64(i), 300))
			require.Equal(t, want[1200:1600], got[:400])
		}
		got := make([]byte, len(all)-2000)
		require.NoError(t, s.ReadItems(got, 250))
		require.Equal(t, all[1000:len(all)-1000], got)
		require.NoError(t, s.ReadPoints(got[:8], []int64{n/4 + 300, 7}))
		require.Equal(t, slices.Concat(all[n+1200:n+1204], all[28:32]), got[:8])
	}
	for name, st := range storages(t, p) {
		t.Run(name, func(t *testing.T) {
			s, err := cblosc.CreateSChunk(st)
			require.NoError(t, err)
			for _, data := range chunks {
				require.NoError(t, s.CompressWith(c))
				if &data[0] == &chunks[2][0] {
					require.NoError(t, s.CompressWith(nil)) // Zstd finds no dictionary in noise
				}
				require.NoError(t, s.AppendBuffer(data))
			}
			check(t, s)
			frame, err := s.Bytes()
			require.NoError(t, err)
			require.NoError(t, s.Close())
			if st.Path != "" {
				s, err = cblosc.OpenSChunk(st.Path)
				require.NoError(t, err)
				check(t, s)
				require.NoError(t, s.Close())
			}

			frame[0x55] |= 1 // C-Blosc2 also sets this flag: new chunks get dictionaries
			s, err = cblosc.OpenSChunkBytes(frame)
			require.NoError(t, err)
			closing(t, s)
			check(t, s)
			params, err := s.CParams()
			require.NoError(t, err)
			require.False(t, params.Dict)
			d, err := s.Copy(cblosc.Storage{})
			require.NoError(t, err)
			closing(t, d)
			check(t, d)
			for _, data := range [][]byte{testutil.Noise(n, 9), testutil.Ramp(n, 9)} {
				require.NoError(t, s.WriteItems(data, n/4))
				got := make([]byte, n)
				_, err = s.DecompressChunk(got, 1)
				require.NoError(t, err)
				require.Equal(t, data, got)
			}
			require.NoError(t, s.WriteItems(chunks[1][:400], n/4))
			require.NoError(t, s.WriteItems(chunks[1][400:], n/4+100))
			check(t, s)

			if st.Path == "" {
				return
			}
			chunk := make([]byte, cblosc.MaxCompressedSize(n))
			size, err := c.Compress(chunk, chunks[0])
			require.NoError(t, err)
			for i, wrong := range []uint32{0, 1 << 31, 1 << 20} {
				st := st
				st.Path += fmt.Sprint(i)
				s, err := cblosc.OpenSChunk(stored(t, st, chunk[:size], func(b []byte) { binary.LittleEndian.PutUint32(b[32+4*20:], wrong) }))
				require.NoError(t, err)
				_, err = s.DecompressChunk(make([]byte, n), 0)
				require.ErrorIs(t, err, cblosc.ErrFormat)
				require.NoError(t, s.Close())
			}
		})
	}
}

// TestArray_Dictionary checks reads and writes of an array whose chunks have dictionaries.
func TestArray_Dictionary(t *testing.T) {
	p := cparams(4)
	p.Codec = cblosc.Zstd
	shape := []int64{100, 130}
	data := testutil.Ramp(100*130*4, 1)
	a, err := cblosc.CreateArrayFrom(&cblosc.ArrayParams{Shape: shape, ChunkShape: []int32{60, 70}, Blocks: []int32{20, 30},
		Storage: cblosc.Storage{CParams: p, Contiguous: true}}, data)
	require.NoError(t, err)
	closing(t, a)
	dict := *p
	dict.Dict, dict.BlockSize = true, 20*30*4
	c := newCompressor(t, &dict)
	for i := range a.SChunk().NumChunks() {
		elements := make([]byte, a.SChunk().ChunkSize())
		_, err := a.SChunk().DecompressChunk(elements, i)
		require.NoError(t, err)
		b := make([]byte, cblosc.MaxCompressedSize(len(elements)))
		n, err := c.Compress(b, elements)
		require.NoError(t, err)
		require.NoError(t, a.SChunk().UpdateChunk(i, b[:n]))
	}
	frame, err := a.Bytes()
	require.NoError(t, err)
	frame[0x55] |= 1
	path := filepath.Join(t.TempDir(), "a.b2nd")
	require.NoError(t, os.WriteFile(path, frame, 0o600))

	a, err = cblosc.OpenArray(path)
	require.NoError(t, err)
	closing(t, a)
	got := make([]byte, len(data))
	require.NoError(t, a.ReadAll(got))
	require.Equal(t, data, got)
	row := got[:40*4]
	require.NoError(t, a.ReadRegion(row, []int64{59, 50}, []int64{1, 40}))
	require.Equal(t, data[(59*130+50)*4:][:40*4], row)
	require.NoError(t, a.ReadPoints(row[:8], []int64{99, 129, 0, 71}))
	require.Equal(t, slices.Concat(data[(99*130+129)*4:], data[71*4:][:4]), row[:8])
	require.NoError(t, a.ReadOrthogonal(row[:8], [][]int64{{61}, {3, 100}}))
	require.Equal(t, slices.Concat(data[(61*130+3)*4:][:4], data[(61*130+100)*4:][:4]), row[:8])

	part := testutil.Noise(30*4, 5)
	require.NoError(t, a.WriteRegion(part, []int64{59, 55}, []int64{1, 30}))
	copy(data[(59*130+55)*4:], part)
	require.NoError(t, a.Resize([]int64{150, 130}))
	more := testutil.Noise(50*130*4, 6)
	require.NoError(t, a.WriteRegion(more, []int64{100, 0}, []int64{50, 130}))
	data = append(data, more...)
	got = make([]byte, len(data))
	require.NoError(t, a.ReadAll(got))
	require.Equal(t, data, got)
	_, err = a.Slice([]int64{10, 10}, []int64{120, 100}, cblosc.Layout{})
	require.ErrorIs(t, err, errors.ErrUnsupported)
}

// stored writes a frame with one chunk, applies edit to the chunk in the file, and returns the path
// of the frame.
func stored(t *testing.T, st cblosc.Storage, chunk []byte, edit func([]byte)) string {
	t.Helper()
	s, err := cblosc.CreateSChunk(st)
	require.NoError(t, err)
	require.NoError(t, s.AppendChunk(chunk))
	require.NoError(t, s.Close())
	file := st.Path
	if !st.Contiguous {
		file = filepath.Join(st.Path, "00000000.chunk")
	}
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	at := bytes.Index(b, chunk)
	require.GreaterOrEqual(t, at, 0)
	edit(b[at : at+len(chunk)])
	require.NoError(t, os.WriteFile(file, b, 0o600))
	return st.Path
}

func TestDefects_blockStarts(t *testing.T) {
	p := cparams(4)
	p.BlockSize = 512
	chunk := compress(t, p, testutil.Ramp(20000, 1))
	le := binary.LittleEndian
	for name, edit := range map[string]func([]byte){
		"before the streams": func(b []byte) { le.PutUint32(b[32:], 32) },
		"zero":               func(b []byte) { le.PutUint32(b[36:], 0) },
		"negative":           func(b []byte) { le.PutUint32(b[36:], 1<<31) },
		"behind the chunk":   func(b []byte) { le.PutUint32(b[36:], uint32(len(chunk))) },
		// All blocks except the first start at the end, so the first block seems to be long.
		"long block": func(b []byte) {
			for i := range 39 {
				le.PutUint32(b[36+4*i:], uint32(len(chunk)-8))
			}
		},
		"size of the data": func(b []byte) { le.PutUint32(b[4:], 20004) },
		"chunk too long":   func(b []byte) { le.PutUint32(b[12:], 1<<30) },
	} {
		for kind, st := range storages(t, p) {
			if st.Path == "" {
				continue
			}
			s, err := cblosc.OpenSChunk(stored(t, st, chunk, edit))
			require.NoError(t, err)
			_, err = s.DecompressChunk(make([]byte, 20000), 0)
			require.ErrorIs(t, err, cblosc.ErrFormat, "%s, %s", name, kind)
			require.ErrorIs(t, err, format.ErrCorrupt, "%s, %s", name, kind)
			require.ErrorContains(t, err, "chunk 0", "%s, %s", name, kind)
			require.NoError(t, s.Close())
		}
	}
}

// TestDefects_firstChunkLength checks that a file of a few hundred bytes cannot make C-Blosc2
// allocate the length that its first chunk header contains.
func TestDefects_firstChunkLength(t *testing.T) {
	p := cparams(4)
	p.Level, p.BlockSize = 0, 8 // chunks are stored
	chunk := compress(t, p, testutil.Noise(8, 1))
	for kind, st := range storages(t, p) {
		if st.Path == "" {
			continue
		}
		t.Run(kind, func(t *testing.T) {
			path := stored(t, st, chunk, func(b []byte) { binary.LittleEndian.PutUint32(b[4:], 0x60000000) })
			_, err := cblosc.OpenSChunk(path)
			require.ErrorIs(t, err, cblosc.ErrFormat)
			require.ErrorIs(t, err, format.ErrCorrupt)
			require.ErrorContains(t, err, "chunk 0")
			require.ErrorContains(t, err, "1610612736")
		})
	}
}

func TestDefects_specialChunks(t *testing.T) {
	for name, st := range storages(t, cparams(4)) {
		s, err := cblosc.CreateSChunk(st)
		require.NoError(t, err)
		zeros, data := make([]byte, 64), testutil.Noise(64, 1)
		for _, src := range [][]byte{zeros, data, zeros, data, data, zeros} {
			require.NoError(t, s.AppendBuffer(src))
		}
		b, err := s.Bytes()
		require.NoError(t, err)
		require.NoError(t, s.Close())
		s, err = cblosc.OpenSChunkBytes(b)
		require.NoError(t, err)
		clear(b) // AppendChunk must have copied b
		require.NoError(t, s.AppendBuffer(data))
		for i, want := range [][]byte{zeros, data, zeros, data, data, zeros, data} {
			got := make([]byte, 64)
			_, err := s.DecompressChunk(got, int64(i))
			require.NoError(t, err)
			require.Equal(t, want, got, "%s: chunk %d", name, i)
		}
		require.NoError(t, s.Close())
	}
}

// blosc1Chunk returns a chunk of Blosc1: a header of 16 bytes, followed by the uncompressed data.
func blosc1Chunk(data []byte) []byte {
	b := make([]byte, 16, 16+len(data))
	b[0], b[1], b[2], b[3] = 2, 1, 0x02, 4
	binary.LittleEndian.PutUint32(b[4:], uint32(len(data)))
	binary.LittleEndian.PutUint32(b[8:], uint32(len(data)))
	binary.LittleEndian.PutUint32(b[12:], uint32(16+len(data)))
	return append(b, data...)
}

func TestDefects_blosc1Chunk(t *testing.T) {
	for _, n := range []int{8, 64} {
		data := testutil.Noise(n, 1)
		chunk := blosc1Chunk(data)
		dst := make([]byte, n)
		_, err := newDecompressor(t).Decompress(dst, chunk)
		require.NoError(t, err)
		require.Equal(t, data, dst)
		for name, st := range storages(t, cparams(4)) {
			s, err := cblosc.CreateSChunk(st)
			require.NoError(t, err)
			require.ErrorIs(t, s.AppendChunk(chunk), errors.ErrUnsupported, name)
			require.NoError(t, s.AppendBuffer(data))
			require.ErrorIs(t, s.UpdateChunk(0, chunk), errors.ErrUnsupported, name)
			require.ErrorIs(t, s.InsertChunk(0, chunk), errors.ErrUnsupported, name)
			require.NoError(t, s.Close())
		}
	}
}

func TestDefects_repeatedValueSize(t *testing.T) {
	value := bytes.Repeat([]byte{1}, 64)
	long, err := cblosc.SpecialChunk(cparams(64), cblosc.Repeated, 128, value)
	require.NoError(t, err)
	short, err := cblosc.SpecialChunk(cparams(4), cblosc.Repeated, 128, value[:4])
	require.NoError(t, err)
	for kind, st := range storages(t, cparams(4)) {
		s, err := cblosc.CreateSChunk(st)
		require.NoError(t, err)
		err = s.AppendChunk(long)
		require.ErrorIs(t, err, cblosc.ErrSize)
		require.ErrorContains(t, err, "64 bytes, elements have 4")
		nans, err := cblosc.SpecialChunk(cparams(8), cblosc.NaNs, 128, nil)
		require.NoError(t, err)
		require.ErrorIs(t, s.AppendChunk(nans), cblosc.ErrSize, "a frame would make them NaNs of 4 bytes")
		require.NoError(t, s.AppendChunk(short))
		got := make([]byte, 128)
		_, err = s.DecompressChunk(got, 0)
		require.NoError(t, err)
		require.Equal(t, bytes.Repeat([]byte{1}, 128), got)
		require.NoError(t, s.Close())
		if kind != "file" {
			continue
		}
		// The frame header contains a type size of 2 bytes, but the chunk contains 4.
		b, err := os.ReadFile(st.Path)
		require.NoError(t, err)
		binary.BigEndian.PutUint32(b[48:], 2)
		require.NoError(t, os.WriteFile(st.Path, b, 0o600))
		s, err = cblosc.OpenSChunk(st.Path)
		require.NoError(t, err)
		_, err = s.DecompressChunk(got, 0)
		require.ErrorIs(t, err, cblosc.ErrFormat)
		require.NoError(t, s.Close())
	}
}

func TestLastChunkDeleted(t *testing.T) {
	for name, st := range storages(t, cparams(4)) {
		s, err := cblosc.CreateSChunk(st)
		require.NoError(t, err)
		for range 3 {
			require.NoError(t, s.AppendBuffer(testutil.Noise(64, 1)))
		}
		for range 3 {
			require.NoError(t, s.DeleteChunk(0))
		}
		b, err := s.Bytes()
		require.NoError(t, err)
		require.NoError(t, s.Close())
		s, err = cblosc.OpenSChunkBytes(b)
		require.NoError(t, err, name)
		require.Zero(t, s.NumChunks())
		require.NoError(t, s.Close())
		if st.Path == "" {
			continue
		}
		s, err = cblosc.OpenSChunk(st.Path)
		require.NoError(t, err, name)
		require.NoError(t, s.AppendBuffer(testutil.Noise(64, 2)))
		got := make([]byte, 64)
		_, err = s.DecompressChunk(got, 0)
		require.NoError(t, err)
		require.Equal(t, testutil.Noise(64, 2), got, name)
		require.NoError(t, s.Close())
	}
}

func TestDefects_partialElements(t *testing.T) {
	for _, f := range []cblosc.Filter{{ID: cblosc.Delta}, {ID: cblosc.TruncPrec, Meta: 10}, {ID: cblosc.IntTrunc, Meta: 10}} {
		p := cparams(4)
		p.Filters[0] = f
		c := newCompressor(t, p)
		_, err := c.Compress(make([]byte, 2000), testutil.Ramp(1001, 1))
		require.ErrorIs(t, err, cblosc.ErrSize)
		require.ErrorContains(t, err, "1001 bytes, want a multiple of the type size 4")
		_, err = c.Compress(make([]byte, 2000), testutil.Ramp(1000, 1))
		require.NoError(t, err)
	}
}

// TestByteDelta_raggedData checks that ByteDelta preserves the bytes after the last whole element.
func TestByteDelta_raggedData(t *testing.T) {
	p := cparams(4)
	p.Filters[0] = cblosc.Filter{ID: cblosc.ByteDelta, Meta: 4}
	for n := 990; n < 1010; n++ {
		for _, block := range []int{0, 64, 512} {
			p.BlockSize = block
			src := testutil.Ramp(n, 1)
			dst := make([]byte, n)
			_, err := newDecompressor(t).Decompress(dst, compress(t, p, src))
			require.NoError(t, err)
			require.Equal(t, src, dst, "%d bytes in blocks of %d", n, block)
		}
	}
}

func TestDefects_deltaAfterFilter(t *testing.T) {
	for _, before := range []cblosc.Filter{{ID: cblosc.Shuffle}, {ID: cblosc.BitShuffle}, {ID: cblosc.Delta}, {ID: cblosc.TruncPrec, Meta: 5}} {
		p := cparams(4)
		p.Filters = [6]cblosc.Filter{1: before, 3: {ID: cblosc.Delta}}
		require.ErrorIs(t, p.Validate(), cblosc.ErrParam)
		require.ErrorContains(t, p.Validate(), "Filters[3] = delta, want it before all other filters")
	}
}

func TestTruncPrecLimits(t *testing.T) {
	for _, tt := range []struct {
		size int
		meta int8
		ok   bool
	}{
		{4, 23, true}, {4, 1, true}, {4, 0, false}, {4, 24, false}, {4, -22, true}, {4, -23, false},
		{8, 52, true}, {8, 53, false}, {8, -51, true}, {8, -52, false}, {2, 5, false}, {16, 5, false},
	} {
		p := cparams(tt.size)
		p.Filters[0] = cblosc.Filter{ID: cblosc.TruncPrec, Meta: uint8(tt.meta)}
		if !tt.ok {
			require.ErrorIs(t, p.Validate(), cblosc.ErrParam, "%+v", tt)
			continue
		}
		require.NoError(t, p.Validate(), "%+v", tt)
		compress(t, p, testutil.Ramp(800, 1)) // C-Blosc2 must accept the same parameters
	}
}

func TestDefects_largeElements(t *testing.T) {
	for name, st := range storages(t, cparams(300)) {
		s, err := cblosc.CreateSChunk(st)
		require.NoError(t, err)
		require.NoError(t, s.AppendBuffer(testutil.Noise(3000, 1)))
		b, err := s.Bytes()
		require.NoError(t, err)
		require.NoError(t, s.Close())
		s, err = cblosc.OpenSChunkBytes(b)
		require.NoError(t, err)
		require.Equal(t, 300, s.TypeSize(), name)
		require.NoError(t, s.Close())
	}
}

// catervaFile creates a Caterva array of 4×6 elements of 4 bytes, in chunks of 2×3 and blocks of
// 1×3. It builds the metalayer itself because C-Blosc2 can only read such arrays.
func catervaFile(t *testing.T, st cblosc.Storage) string {
	t.Helper()
	st.CParams.BlockSize = 12
	s, err := cblosc.CreateSChunk(st)
	require.NoError(t, err)
	meta := []byte{0x95, 0, 2, 0x92, 0xD3, 0, 0, 0, 0, 0, 0, 0, 4, 0xD3, 0, 0, 0, 0, 0, 0, 0, 6,
		0x92, 0xD2, 0, 0, 0, 2, 0xD2, 0, 0, 0, 3, 0x92, 0xD2, 0, 0, 0, 1, 0xD2, 0, 0, 0, 3}
	require.NoError(t, s.Meta().Add("caterva", meta))
	for i := range 4 {
		require.NoError(t, s.AppendBuffer(testutil.Ramp(24, uint64(i))))
	}
	require.NoError(t, s.Close())
	return st.Path
}

func TestCaterva_Resize(t *testing.T) {
	for name, st := range storages(t, cparams(4)) {
		if st.Path == "" {
			continue
		}
		a, err := cblosc.OpenArray(catervaFile(t, st))
		require.NoError(t, err, name)
		require.Equal(t, []int64{4, 6}, a.Shape())
		require.Equal(t, []int32{2, 3}, a.ChunkShape())
		require.Equal(t, []int32{1, 3}, a.Blocks())
		require.Equal(t, "", a.DType())
		got := make([]byte, 24)
		require.NoError(t, a.ReadRegion(got, []int64{2, 0}, []int64{2, 3}))
		require.Equal(t, testutil.Ramp(24, 2), got)
		require.ErrorIs(t, a.Resize([]int64{6, 6}), errors.ErrUnsupported)
		require.EqualValues(t, 4, a.SChunk().NumChunks())
		require.NoError(t, a.WriteRegion(testutil.Noise(24, 1), []int64{1, 1}, []int64{2, 3}))
		require.NoError(t, a.ReadRegion(got, []int64{1, 1}, []int64{2, 3}))
		require.Equal(t, testutil.Noise(24, 1), got)
		require.NoError(t, a.Close())
	}
}

func TestGrowEmptyArray(t *testing.T) {
	for name, st := range storages(t, cparams(4)) {
		a, err := cblosc.CreateArray(&cblosc.ArrayParams{Shape: []int64{0, 7}, ChunkShape: []int32{10, 5}, Blocks: []int32{3, 2}, Storage: st})
		require.NoError(t, err)
		if st.Path != "" {
			require.NoError(t, a.Close())
			a, err = cblosc.OpenArray(st.Path)
			require.NoError(t, err)
		}
		require.NoError(t, a.Resize([]int64{12, 7}))
		want := testutil.Noise(12*7*4, 1)
		require.NoError(t, a.WriteRegion(want[:7*4], []int64{0, 0}, []int64{1, 7}), name)
		require.NoError(t, a.WriteRegion(want[7*4:], []int64{1, 0}, []int64{11, 7}), name)
		got := make([]byte, len(want))
		require.NoError(t, a.ReadRegion(got, []int64{0, 0}, []int64{12, 7}))
		require.Equal(t, want, got, name)
		require.NoError(t, a.Close())
	}
}

func TestDefects_resizeZeroChunks(t *testing.T) {
	// C-Blosc2 and python-blosc2 write this file for an empty dimension.
	const file = "../internal/format/testdata/frame/zero-extent.b2nd"
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "zero-extent.b2nd")
	require.NoError(t, os.WriteFile(path, b, 0o600))
	a, err := cblosc.OpenArray(path)
	require.NoError(t, err)
	closing(t, a)
	require.Equal(t, []int64{20, 0}, a.Shape())
	require.Equal(t, []int32{7, 0}, a.ChunkShape())
	require.NoError(t, a.ReadRegion(nil, []int64{3, 0}, []int64{5, 0}))
	require.ErrorIs(t, a.Resize([]int64{20, 5}), errors.ErrUnsupported)
}

// TestDefects_grownElements checks that elements removed by a smaller shape read as zeros when the
// array grows again, also if the array was made smaller through another handle.
func TestDefects_grownElements(t *testing.T) {
	st := cblosc.Storage{CParams: cparams(1), Contiguous: true, Path: filepath.Join(t.TempDir(), "x")}
	a, err := cblosc.CreateArray(&cblosc.ArrayParams{Shape: []int64{4, 3}, ChunkShape: []int32{4, 2}, Blocks: []int32{2, 2}, Storage: st})
	require.NoError(t, err)
	require.NoError(t, a.WriteRegion([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, []int64{0, 0}, []int64{4, 3}))
	require.NoError(t, a.Resize([]int64{1, 1}))
	require.NoError(t, a.Close())
	a, err = cblosc.OpenArray(st.Path)
	require.NoError(t, err)
	closing(t, a)
	require.NoError(t, a.Resize([]int64{3, 4}))
	got := make([]byte, 12)
	require.NoError(t, a.ReadAll(got))
	require.Equal(t, []byte{1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, got)
}

// TestDefects_appendToPartialChunk checks a case in which b2nd_append loses values: 10 elements
// appended to an array of 5 elements in chunks of 10.
func TestDefects_appendToPartialChunk(t *testing.T) {
	a, err := cblosc.CreateArray(&cblosc.ArrayParams{Shape: []int64{5}, ChunkShape: []int32{10}, Blocks: []int32{10}, Storage: cblosc.Storage{CParams: cparams(1)}})
	require.NoError(t, err)
	closing(t, a)
	require.NoError(t, a.WriteRegion([]byte{1, 2, 3, 4, 5}, []int64{0}, []int64{5}))
	require.NoError(t, a.Append(0, []byte{10, 11, 12, 13, 14, 15, 16, 17, 18, 19}))
	require.Equal(t, []int64{15}, a.Shape())
	got := make([]byte, 15)
	require.NoError(t, a.ReadRegion(got, []int64{0}, []int64{15}))
	require.Equal(t, []byte{1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19}, got)
}

func TestDefects_readAfterFailure(t *testing.T) {
	st := cblosc.Storage{Path: filepath.Join(t.TempDir(), "x"), CParams: cparams(4)}
	a, err := cblosc.CreateArray(&cblosc.ArrayParams{Shape: []int64{20}, ChunkShape: []int32{10}, Blocks: []int32{5}, Storage: st})
	require.NoError(t, err)
	closing(t, a)
	want := testutil.Noise(80, 1)
	require.NoError(t, a.WriteRegion(want, []int64{0}, []int64{20}))
	// The file of the second chunk is missing. A read of half of that chunk fails, and must reset
	// the mask of blocks.
	require.NoError(t, os.Rename(filepath.Join(st.Path, "00000001.chunk"), filepath.Join(st.Path, "gone")))
	require.Error(t, a.ReadRegion(make([]byte, 20), []int64{15}, []int64{5}))
	got := make([]byte, 40)
	n, err := a.SChunk().DecompressChunk(got, 0)
	require.NoError(t, err)
	require.Equal(t, want[:40], got[:n])
}

// TestDefects_indexTypeSize checks that a frame whose index has the wrong type size is rejected.
// C-Blosc2 reads either all entries of the index at once, as here, or a single entry, and the two
// ways disagree about such an index.
func TestDefects_indexTypeSize(t *testing.T) {
	s, err := cblosc.CreateSChunk(cblosc.Storage{Contiguous: true})
	require.NoError(t, err)
	for i := range 4 {
		require.NoError(t, s.AppendBuffer(testutil.Noise(96, uint64(i))))
	}
	b, err := s.Bytes()
	require.NoError(t, err)
	require.NoError(t, s.Close())
	f, err := cframe.Read(bytes.NewReader(b), int64(len(b)))
	require.NoError(t, err)
	b[f.Index.Offset+3] = 5
	_, err = cblosc.OpenSChunkBytes(b)
	require.ErrorIs(t, err, cblosc.ErrFormat)
	require.ErrorContains(t, err, "index: typesize at byte 612: got 5, want 8")
}

// TestDefects_blockSizes checks data that is not a multiple of the element size, and block sizes
// that are not.
func TestDefects_blockSizes(t *testing.T) {
	d := newDecompressor(t)
	for _, size := range []int{2, 3, 7} {
		for _, block := range []int{64, 1000} {
			p := cparams(size)
			p.Codec, p.Level, p.BlockSize, p.Split = cblosc.BloscLZ, 1, block, cblosc.SplitAlways
			for n := 32; n < 200; n++ {
				dst := make([]byte, n)
				_, err := d.Decompress(dst, compress(t, p, testutil.Ramp(n, 0)))
				require.NoError(t, err, "elements of %d bytes, blocks of %d, %d bytes", size, block, n)
				require.Equal(t, testutil.Ramp(n, 0), dst, "elements of %d bytes, blocks of %d", size, block)
			}
		}
	}
}
