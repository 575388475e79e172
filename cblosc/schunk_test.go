package cblosc_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/guard"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
)

// TestSChunkModel checks that any sequence of operations on any kind of super-chunk matches a list
// of buffers, also after the super-chunk is opened again, and in the bytes of the frame.
func TestSChunkModel(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		const size = 96
		p := cparams(4)
		p.Codec = rapid.SampledFrom(cblosc.Codecs()).Draw(t, "codec")
		st := cblosc.Storage{Contiguous: rapid.Bool().Draw(t, "contiguous"), CParams: p}
		if rapid.Bool().Draw(t, "disk") {
			d, err := os.MkdirTemp(dir, "")
			require.NoError(t, err)
			st.Path = filepath.Join(d, "x")
			defer func() { require.NoError(t, os.RemoveAll(d)) }()
		}
		s, err := cblosc.CreateSChunk(st)
		require.NoError(t, err)
		defer func() { require.NoError(t, s.Close()) }()
		var model [][]byte
		draw := func(n int) []byte {
			switch rapid.IntRange(0, 2).Draw(t, "kind") {
			case 0:
				return make([]byte, n) // stored as a special chunk
			case 1:
				return bytes.Repeat([]byte{9, 0, 0, 0}, n/4)
			default:
				return testutil.Noise(n, rapid.Uint64Range(0, 99).Draw(t, "seed"))
			}
		}
		short := func() bool { return len(model) > 0 && len(model[len(model)-1]) < size }
		check := func(t *rapid.T, s *cblosc.SChunk) {
			total := 0
			for i, want := range model {
				dst := make([]byte, size)
				n, err := s.DecompressChunk(dst, int64(i))
				require.NoError(t, err, "chunk %d of %d", i, len(model))
				require.Equal(t, want, dst[:n], "chunk %d", i)
				total += n
			}
			require.EqualValues(t, len(model), s.NumChunks())
			require.EqualValues(t, total, s.NBytes())
		}
		t.Repeat(map[string]func(*rapid.T){
			"append buffer": func(t *rapid.T) {
				n := size
				if len(model) > 0 {
					n = rapid.SampledFrom([]int{size, size, size, 4, 92}).Draw(t, "n")
				}
				src := draw(n)
				err := s.AppendBuffer(src)
				if short() {
					require.ErrorIs(t, err, cblosc.ErrSize)
					return
				}
				require.NoError(t, err)
				model = append(model, src)
			},
			"append chunk": func(t *rapid.T) {
				src := draw(size)
				err := s.AppendChunk(compress(t, p, src))
				if short() {
					require.ErrorIs(t, err, cblosc.ErrSize)
					return
				}
				require.NoError(t, err)
				model = append(model, src)
			},
			"insert": func(t *rapid.T) {
				i := rapid.IntRange(0, len(model)).Draw(t, "i")
				src := draw(size)
				err := s.InsertChunk(int64(i), compress(t, p, src))
				if short() && i == len(model) {
					require.ErrorIs(t, err, cblosc.ErrSize)
					return
				}
				require.NoError(t, err)
				model = slices.Insert(model, i, src)
			},
			"update": func(t *rapid.T) {
				if len(model) == 0 {
					require.ErrorIs(t, s.UpdateChunk(0, compress(t, p, draw(size))), cblosc.ErrRegion)
					return
				}
				i := rapid.IntRange(0, len(model)-1).Draw(t, "i")
				n := size
				if i == len(model)-1 {
					n = rapid.SampledFrom([]int{size, 8}).Draw(t, "n")
				}
				src := draw(n)
				require.NoError(t, s.UpdateChunk(int64(i), compress(t, p, src)))
				model[i] = src
			},
			"delete": func(t *rapid.T) {
				if len(model) == 0 {
					require.ErrorIs(t, s.DeleteChunk(0), cblosc.ErrRegion)
					return
				}
				i := rapid.IntRange(0, len(model)-1).Draw(t, "i")
				require.NoError(t, s.DeleteChunk(int64(i)))
				model = slices.Delete(model, i, i+1)
			},
			"raw chunk": func(t *rapid.T) {
				if len(model) == 0 {
					return
				}
				i := rapid.IntRange(0, len(model)-1).Draw(t, "i")
				b, err := s.Chunk(int64(i))
				require.NoError(t, err)
				info, err := cblosc.Info(b)
				require.NoError(t, err)
				require.Equal(t, len(model[i]), info.NBytes)
				require.Equal(t, len(b), info.CBytes)
			},
			"reopen": func(t *rapid.T) {
				if st.Path == "" {
					return
				}
				again, err := cblosc.OpenSChunk(st.Path)
				if err != nil && mayNotOpen(t, &st, s) {
					return
				}
				require.NoError(t, err)
				require.NoError(t, s.Close())
				s = again
			},
			"bytes": func(t *rapid.T) {
				b, err := s.Bytes()
				require.NoError(t, err)
				c, err := cblosc.OpenSChunkBytes(b)
				require.NoError(t, err)
				check(t, c)
				require.NoError(t, c.Close())
			},
			"": func(t *rapid.T) { check(t, s) },
		})
	})
}

// mayNotOpen reports whether C-Blosc2 3.3.5 refuses to open a frame: it compares the numbers of the
// chunk files of a sparse frame with the bytes of the frame.
func mayNotOpen(t *rapid.T, st *cblosc.Storage, s *cblosc.SChunk) bool {
	return !st.Contiguous && largestFile(t, st.Path) > s.CBytes()-guard.Blosc2Header
}

// largestFile returns the largest number of a chunk file in a sparse frame.
func largestFile(t *rapid.T, dir string) (largest int64) {
	files, err := filepath.Glob(filepath.Join(dir, "*.chunk"))
	require.NoError(t, err)
	for _, f := range files {
		n, err := strconv.ParseInt(strings.TrimSuffix(filepath.Base(f), ".chunk"), 16, 64)
		require.NoError(t, err)
		largest = max(largest, n)
	}
	return largest
}

func TestSChunkFacts(t *testing.T) {
	p := &cblosc.CParams{Codec: cblosc.Zstd, Level: 3, TypeSize: 4, BlockSize: 64, Threads: 1, Split: cblosc.SplitNever}
	p.Filters[0] = cblosc.Filter{ID: cblosc.TruncPrec, Meta: 20}
	p.Filters[5].ID = cblosc.BitShuffle
	for name, st := range storages(t, p) {
		t.Run(name, func(t *testing.T) {
			s, err := cblosc.CreateSChunk(st)
			require.NoError(t, err)
			require.Zero(t, s.ChunkSize())
			require.Equal(t, 4, s.TypeSize())
			require.Equal(t, st.Path, s.Path())
			require.NoError(t, s.AppendBuffer(testutil.Ramp(400, 1)))
			require.Equal(t, 400, s.ChunkSize())
			require.Positive(t, s.CBytes())
			if st.Path != "" {
				require.NoError(t, s.Close())
				s, err = cblosc.OpenSChunk(st.Path)
				require.NoError(t, err)
			}
			got, err := s.CParams()
			require.NoError(t, err)
			require.Equal(t, p, got)
			require.NoError(t, s.Close())
			require.EqualValues(t, 1, s.NumChunks(), "facts stay after Close")
		})
	}
}

// TestSChunk_storage checks that the storage of a super-chunk can be read from it, both when it is
// new and after it is opened again.
func TestSChunk_storage(t *testing.T) {
	p := cparams(4)
	p.Codec, p.Level, p.Filters[0] = cblosc.Zstd, 3, cblosc.Filter{ID: cblosc.TruncPrec, Meta: 20}
	all := storages(t, p)
	all["mapped"] = cblosc.Storage{Path: filepath.Join(t.TempDir(), "mapped"), Contiguous: true, Mapping: 1 << 20, CParams: p}
	all["medium"] = cblosc.Storage{Medium: new(memory), Contiguous: true, CParams: p}
	for name, st := range all {
		st.DParams = &cblosc.DParams{Threads: 2}
		s, err := cblosc.CreateSChunk(st)
		require.NoError(t, err, name)
		require.NoError(t, s.AppendBuffer(testutil.Ramp(400, 1)))
		got, err := s.Storage()
		require.NoError(t, err, name)
		require.Equal(t, st, got, name)
		again := got
		again.Path, again.Mapping, again.Medium = "", 0, nil
		c, err := s.Copy(again)
		require.NoError(t, err, name)
		got, err = c.Storage()
		require.NoError(t, err)
		require.Equal(t, again, got, name)
		require.NoError(t, c.Close())
		require.NoError(t, s.Close())
		_, err = s.Storage()
		require.ErrorIs(t, err, cblosc.ErrClosed)

		st.DParams = cblosc.DefaultDParams() // a frame does not store it
		var o cblosc.OpenOptions
		if st.Mapping > 0 {
			o.Map, o.Mapping = cblosc.MapChange, st.Mapping
		}
		switch {
		case st.Medium != nil:
			m := st.Medium.(*memory)
			s, err = cblosc.OpenSChunkOn(m, int64(len(m.b)), o)
		case st.Path != "":
			s, err = cblosc.OpenSChunkWith(st.Path, o)
		default:
			continue
		}
		require.NoError(t, err, name)
		got, err = s.Storage()
		require.NoError(t, err, name)
		require.Equal(t, st, got, name)
		require.NoError(t, s.Close())
	}
	a, err := cblosc.CreateArray(&cblosc.ArrayParams{Shape: []int64{5}, ChunkShape: []int32{4}, Blocks: []int32{2},
		Storage: cblosc.Storage{Contiguous: true, CParams: p}})
	require.NoError(t, err)
	closing(t, a)
	got, err := a.SChunk().Storage()
	require.NoError(t, err)
	require.True(t, got.Contiguous)
	require.Equal(t, 8, got.CParams.BlockSize)
}

// TestSChunk_storedThreads checks that the number of threads stored in a frame is ignored, so that
// opening it starts no threads.
func TestSChunk_storedThreads(t *testing.T) {
	const tcomp, tdecomp = 63, 66 // in the header
	src := testutil.Ramp(40_000, 1)
	for name, st := range storages(t, cparams(4)) {
		s, err := cblosc.CreateSChunk(st)
		require.NoError(t, err)
		require.NoError(t, s.AppendBuffer(src))
		b, err := s.Bytes()
		require.NoError(t, err)
		require.NoError(t, s.Close())
		file := st.Path
		if file != "" && !st.Contiguous {
			file = filepath.Join(file, cframe.IndexFile)
		}
		if file != "" {
			b, err = os.ReadFile(file)
			require.NoError(t, err)
		}
		copy(b[tcomp:], []byte{0x7F, 0xFF})
		copy(b[tdecomp:], []byte{0x7F, 0xFF})
		h, err := cframe.ParseHeader(b)
		require.NoError(t, err)
		require.EqualValues(t, math.MaxInt16, h.CompressThreads)
		require.EqualValues(t, math.MaxInt16, h.DecompressThreads)
		if file != "" {
			require.NoError(t, os.WriteFile(file, b, 0o600))
			s, err = cblosc.OpenSChunk(st.Path)
		} else {
			s, err = cblosc.OpenSChunkBytes(b)
		}
		require.NoError(t, err, name)
		closing(t, s)
		c, err := s.CParams()
		require.NoError(t, err)
		require.Equal(t, 1, c.Threads, name)
		d, err := s.DParams()
		require.NoError(t, err)
		require.Equal(t, 1, d.Threads, name)
		require.NoError(t, s.AppendBuffer(src))
		require.Equal(t, append(src[:len(src):len(src)], src...), dataOf(t, s), name)
	}
}

func TestSChunk_invalidArguments(t *testing.T) {
	chunk := compress(t, cparams(4), testutil.Ramp(64, 1))
	for name, st := range storages(t, cparams(4)) {
		t.Run(name, func(t *testing.T) {
			s, err := cblosc.CreateSChunk(st)
			require.NoError(t, err)
			require.ErrorIs(t, s.AppendBuffer(nil), cblosc.ErrSize)
			require.ErrorIs(t, s.AppendBuffer(make([]byte, 63)), cblosc.ErrSize, "not whole elements")
			require.NoError(t, s.AppendBuffer(testutil.Ramp(64, 1)))
			err = s.AppendBuffer(make([]byte, 68))
			require.ErrorIs(t, err, cblosc.ErrSize)
			require.ErrorContains(t, err, "68 bytes, a chunk holds 64")
			_, err = s.DecompressChunk(make([]byte, 63), 0)
			require.ErrorIs(t, err, cblosc.ErrSize)
			require.ErrorContains(t, err, "63 bytes, chunk 0 holds 64")
			for _, i := range []int64{-1, 1, 1 << 62} {
				_, err = s.DecompressChunk(make([]byte, 64), i)
				require.ErrorIs(t, err, cblosc.ErrRegion, "%d", i)
				_, err = s.Chunk(i)
				require.ErrorIs(t, err, cblosc.ErrRegion, "%d", i)
				require.ErrorIs(t, s.UpdateChunk(i, chunk), cblosc.ErrRegion, "%d", i)
				require.ErrorIs(t, s.DeleteChunk(i), cblosc.ErrRegion, "%d", i)
			}
			require.ErrorIs(t, s.InsertChunk(2, chunk), cblosc.ErrRegion)
			for _, put := range []func([]byte) error{
				s.AppendChunk,
				func(b []byte) error { return s.InsertChunk(0, b) },
				func(b []byte) error { return s.UpdateChunk(0, b) },
			} {
				require.ErrorIs(t, put(nil), cblosc.ErrFormat)
				require.ErrorIs(t, put(chunk[:20]), cblosc.ErrFormat)
				require.ErrorIs(t, put(chunk[:len(chunk)-1]), cblosc.ErrFormat)
				require.ErrorIs(t, put(compress(t, cparams(4), testutil.Ramp(128, 1))), cblosc.ErrSize)
			}
			require.ErrorIs(t, s.InsertChunk(0, compress(t, cparams(4), testutil.Ramp(60, 1))), cblosc.ErrSize)
			require.EqualValues(t, 1, s.NumChunks())

			require.NoError(t, s.Close())
			_, err = s.DecompressChunk(make([]byte, 64), 0)
			for _, err := range []error{err, s.Close(), s.AppendBuffer(testutil.Ramp(64, 1)), s.AppendChunk(chunk), s.UpdateChunk(0, chunk),
				s.InsertChunk(0, chunk), s.DeleteChunk(0)} {
				require.ErrorIs(t, err, cblosc.ErrClosed)
				require.ErrorIs(t, err, fs.ErrClosed)
			}
			_, err = s.Bytes()
			require.ErrorIs(t, err, cblosc.ErrClosed)
			_, err = s.CParams()
			require.ErrorIs(t, err, cblosc.ErrClosed)
			_, err = s.Chunk(0)
			require.ErrorIs(t, err, cblosc.ErrClosed)
		})
	}
}

func TestSChunk_createErrors(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, []byte("precious"), 0o600))
	create := map[string]func(cblosc.Storage) error{
		"schunk": func(s cblosc.Storage) error { _, err := cblosc.CreateSChunk(s); return err },
		"array": func(s cblosc.Storage) error {
			_, err := cblosc.CreateArray(&cblosc.ArrayParams{Shape: []int64{4}, ChunkShape: []int32{2}, Blocks: []int32{1}, Storage: s})
			return err
		},
	}
	for name, create := range create {
		for _, contiguous := range []bool{true, false} {
			for _, path := range []string{file, dir} {
				err := create(cblosc.Storage{Path: path, Contiguous: contiguous})
				require.ErrorIs(t, err, cblosc.ErrExists, name)
				require.ErrorIs(t, err, fs.ErrExist, name)
				require.ErrorContains(t, err, path)
			}
			require.ErrorIs(t, create(cblosc.Storage{Path: filepath.Join(dir, "no", "x"), Contiguous: contiguous}), fs.ErrNotExist, name)
			require.Error(t, create(cblosc.Storage{Path: filepath.Join(file, "x"), Contiguous: contiguous}), name)
			require.ErrorIs(t, create(cblosc.Storage{Path: "a\x00b", Contiguous: contiguous}), cblosc.ErrParam, name)
		}
	}
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "precious", string(b))
	list, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, list, 1)
}

// TestSChunk_failedWrite checks that a handle whose write failed returns ErrBroken and can be
// closed.
func TestSChunk_failedWrite(t *testing.T) {
	for name, st := range storages(t, cparams(4)) {
		if st.Path == "" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			s, err := cblosc.CreateSChunk(st)
			require.NoError(t, err)
			require.NoError(t, s.AppendBuffer(testutil.Ramp(64, 1)))
			require.NoError(t, os.RemoveAll(st.Path))
			err = s.AppendBuffer(testutil.Ramp(64, 1))
			var e *cblosc.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, st.Path, e.Path)
			require.Negative(t, int(e.Code))
			require.ErrorIs(t, err, fs.ErrNotExist, "%v", err)
			require.EqualValues(t, 1, s.NumChunks())
			require.ErrorIs(t, s.AppendBuffer(testutil.Ramp(64, 1)), cblosc.ErrBroken)
			_, err = s.VLMeta().Names()
			require.ErrorIs(t, err, cblosc.ErrBroken)
			require.NoError(t, s.Close())
		})
	}
}

// TestSChunk_goroutines checks 64 goroutines on one super-chunk, one of which appends to it. Each
// chunk must have its original data.
func TestSChunk_goroutines(t *testing.T) {
	const chunks, size = 41, 4000
	var want [chunks][]byte
	for i := range want {
		want[i] = testutil.Ramp(size, uint64(i))
	}
	for _, contiguous := range []bool{true, false} {
		s, err := cblosc.CreateSChunk(cblosc.Storage{Contiguous: contiguous, CParams: cparams(4)})
		require.NoError(t, err)
		require.NoError(t, s.AppendBuffer(want[0]))
		errs := make([]error, 64)
		var g sync.WaitGroup
		for k := range errs {
			g.Go(func() {
				dst := make([]byte, size)
				for i := range chunks {
					if k == 0 && i > 0 {
						if errs[k] = s.AppendBuffer(want[i]); errs[k] != nil {
							return
						}
					}
					n := (int64(k) + int64(i)) % s.NumChunks()
					if _, errs[k] = s.DecompressChunk(dst, n); errs[k] != nil {
						return
					}
					if !bytes.Equal(dst, want[n]) {
						errs[k] = fmt.Errorf("chunk %d differs", n)
						return
					}
				}
			})
		}
		g.Wait()
		require.NoError(t, errors.Join(errs...))
		require.EqualValues(t, chunks, s.NumChunks())
		require.NoError(t, s.Close())
	}
}

func TestSChunk_CloseDuringCalls(t *testing.T) {
	s, err := cblosc.CreateSChunk(cblosc.Storage{CParams: cparams(4)})
	require.NoError(t, err)
	require.NoError(t, s.AppendBuffer(testutil.Ramp(4000, 1)))
	done := make(chan error)
	for range 64 {
		go func() {
			dst := make([]byte, 4000)
			for {
				if _, err := s.DecompressChunk(dst, 0); err != nil {
					done <- err
					return
				}
			}
		}()
	}
	require.NoError(t, s.Close())
	for range 64 {
		if err := <-done; !errors.Is(err, cblosc.ErrClosed) {
			t.Error(err)
		}
	}
}
