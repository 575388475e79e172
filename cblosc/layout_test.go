package cblosc_test

import (
	"bytes"
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
)

// openAgain opens the file of the super-chunk, or its bytes if it has no file.
func openAgain(t tester, s *cblosc.SChunk) *cblosc.SChunk {
	t.Helper()
	if s.Path() != "" {
		again, err := cblosc.OpenSChunk(s.Path())
		require.NoError(t, err)
		return again
	}
	b, err := s.Bytes()
	require.NoError(t, err)
	again, err := cblosc.OpenSChunkBytes(b)
	require.NoError(t, err)
	return again
}

func TestFill(t *testing.T) {
	nan := bytes.Repeat([]byte{0, 0, 0xC0, 0x7F}, 100)
	for name, st := range storages(t, cparams(4)) {
		for kind, want := range map[cblosc.Special][]byte{cblosc.Zeros: make([]byte, 400), cblosc.NaNs: nan, cblosc.Uninit: nil} {
			t.Run(name+" "+kind.String(), func(t *testing.T) {
				st := st
				if st.Path != "" {
					st.Path += kind.String()
				}
				s, err := cblosc.CreateSChunk(st)
				require.NoError(t, err)
				closing(t, s)
				require.NoError(t, s.Fill(0, kind, 64))
				require.Zero(t, s.NumChunks())
				require.NoError(t, s.Fill(100, kind, 64))
				require.EqualValues(t, 7, s.NumChunks())
				require.EqualValues(t, 400, s.NBytes())
				require.EqualValues(t, 100, s.NumItems())
				require.ErrorIs(t, s.Fill(1, kind, 64), cblosc.ErrParam, "it is not empty any more")
				again := openAgain(t, s)
				defer func() { require.NoError(t, again.Close()) }()
				if want != nil {
					require.Equal(t, want, readSChunk(t, again))
				}
				// The new data can be overwritten like any other.
				require.NoError(t, s.WriteItems(testutil.Ramp(40, 1), 3))
				got := make([]byte, 40)
				require.NoError(t, s.ReadItems(got, 3))
				require.Equal(t, testutil.Ramp(40, 1), got)
			})
		}
	}
}

func TestFill_invalidArguments(t *testing.T) {
	s, err := cblosc.CreateSChunk(cblosc.Storage{CParams: cparams(3), Contiguous: true})
	require.NoError(t, err)
	for _, tt := range []struct {
		items     int64
		kind      cblosc.Special
		chunkSize int
		want      error
	}{
		{1, cblosc.Repeated, 3, cblosc.ErrParam}, {1, cblosc.NotSpecial, 3, cblosc.ErrParam}, {1, cblosc.NaNs, 3, cblosc.ErrParam},
		{1, cblosc.Zeros, 0, cblosc.ErrParam}, {1, cblosc.Zeros, -3, cblosc.ErrParam}, {1, cblosc.Zeros, 4, cblosc.ErrParam},
		{-1, cblosc.Zeros, 3, cblosc.ErrParam}, {math.MaxInt64, cblosc.Zeros, 3, cblosc.ErrLimit}, {1 << 30, cblosc.Zeros, 3, cblosc.ErrLimit},
		{1, cblosc.Zeros, 1 << 31, cblosc.ErrLimit},
	} {
		require.ErrorIs(t, s.Fill(tt.items, tt.kind, tt.chunkSize), tt.want, "%+v", tt)
	}
	require.NoError(t, s.Close())
	require.ErrorIs(t, s.Fill(1, cblosc.Zeros, 3), cblosc.ErrClosed)
}

// TestReorder checks that Reorder moves chunks and changes nothing else.
func TestReorder(t *testing.T) {
	for name, st := range storages(t, cparams(4)) {
		t.Run(name, func(t *testing.T) {
			s, err := cblosc.CreateSChunk(st)
			require.NoError(t, err)
			defer func() { require.NoError(t, s.Close()) }()
			require.NoError(t, s.Reorder(nil))
			var want [][]byte
			for i := range 5 {
				want = append(want, testutil.Noise(64, uint64(i)))
				if i == 2 {
					want[2] = make([]byte, 64)
				}
				require.NoError(t, s.AppendBuffer(want[i]))
			}
			if st.Path != "" { // Reorder must also move chunks that are not checked yet
				require.NoError(t, s.Close())
				s, err = cblosc.OpenSChunk(st.Path)
				require.NoError(t, err)
			}
			order := []int64{3, 0, 4, 2, 1}
			require.NoError(t, s.Reorder(order))
			again := openAgain(t, s)
			defer func() { require.NoError(t, again.Close()) }()
			for _, s := range []*cblosc.SChunk{s, again} {
				data := readSChunk(t, s)
				for i, j := range order {
					require.Equal(t, want[j], data[64*i:64*i+64], "chunk %d", i)
				}
			}
			for _, bad := range [][]int64{nil, {0, 1, 2, 3}, {0, 1, 2, 3, 5}, {0, 1, 2, 3, -1}, {0, 1, 2, 3, 3}} {
				require.ErrorIs(t, s.Reorder(bad), cblosc.ErrParam, "%v", bad)
			}
			require.NoError(t, s.AppendBuffer(testutil.Ramp(32, 1)))
			require.ErrorIs(t, s.Reorder([]int64{5, 1, 2, 3, 4, 0}), cblosc.ErrParam, "a short chunk stays last")
			require.NoError(t, s.Reorder([]int64{1, 0, 2, 3, 4, 5}))
		})
	}
}

func TestLayout_OffsetsSizes(t *testing.T) {
	for name, st := range storages(t, cparams(4)) {
		t.Run(name, func(t *testing.T) {
			s, err := cblosc.CreateSChunk(st)
			require.NoError(t, err)
			closing(t, s)
			require.NoError(t, s.AppendBuffer(testutil.Noise(64, 1)))
			require.NoError(t, s.AppendBuffer(make([]byte, 64)))
			require.NoError(t, s.AppendBuffer(testutil.Noise(64, 2)))
			n, err := s.FrameLen()
			require.NoError(t, err)
			offsets, err := s.Offsets()
			if name == "memory sparse" {
				require.ErrorIs(t, err, errors.ErrUnsupported)
				require.Positive(t, n)
				return
			}
			require.NoError(t, err)
			require.Len(t, offsets, 3)
			require.Equal(t, cframe.Offset(offsets[1]).Special().String(), cblosc.Zeros.String())
			first, err := s.Chunk(0)
			require.NoError(t, err)
			if name == "directory" {
				require.Equal(t, []int64{0, 1}, []int64{offsets[0], offsets[2]}, "numbers of files")
			} else {
				require.Equal(t, []int64{0, int64(len(first))}, []int64{offsets[0], offsets[2]})
				b, err := s.Bytes()
				require.NoError(t, err)
				if name == "memory contiguous" {
					require.EqualValues(t, len(b), n)
				}
			}
			d, err := s.DParams()
			require.NoError(t, err)
			require.Equal(t, cblosc.DefaultDParams(), d)

			chunks, err := s.ChunksOfItems(15, 2)
			require.NoError(t, err)
			require.Equal(t, []int64{0, 1}, chunks)
			chunks, err = s.ChunksOfItems(48, 0)
			require.NoError(t, err)
			require.Empty(t, chunks)
			for _, r := range [][2]int64{{-1, 1}, {0, 49}, {49, 0}, {0, -1}, {1, math.MaxInt64}} {
				_, err = s.ChunksOfItems(r[0], r[1])
				require.ErrorIs(t, err, cblosc.ErrRegion, "%v", r)
			}
		})
	}
}

// TestItemsModel checks that any sequence of item writes matches a slice, for all sizes.
func TestItemsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		item := rapid.SampledFrom([]int{1, 3, 4, 300}).Draw(t, "item")
		p := cparams(item)
		p.Codec = rapid.SampledFrom(cblosc.Codecs()).Draw(t, "codec")
		if rapid.Bool().Draw(t, "delta") {
			p.Filters = [cblosc.MaxFilters]cblosc.Filter{{ID: cblosc.Delta}}
		}
		p.BlockSize = item * rapid.IntRange(0, 5).Draw(t, "block")
		s, err := cblosc.CreateSChunk(cblosc.Storage{Contiguous: rapid.Bool().Draw(t, "contiguous"), CParams: p})
		require.NoError(t, err)
		defer func() { require.NoError(t, s.Close()) }()
		chunk, total := rapid.IntRange(1, 20).Draw(t, "chunk"), rapid.IntRange(0, 70).Draw(t, "total")
		model := testutil.Noise(total*item, rapid.Uint64Range(0, 9).Draw(t, "seed"))
		for at := 0; at < total; at += chunk {
			require.NoError(t, s.AppendBuffer(model[at*item:min(at+chunk, total)*item]))
		}
		require.EqualValues(t, total, s.NumItems())
		for range 8 {
			start := rapid.IntRange(0, total).Draw(t, "start")
			n := rapid.IntRange(0, total-start).Draw(t, "n")
			if rapid.Bool().Draw(t, "write") {
				src := testutil.Noise(n*item, rapid.Uint64Range(10, 99).Draw(t, "seed"))
				err := s.WriteItems(src, int64(start))
				if short := total % chunk; n > 0 && short != 0 && (start+n)%chunk == short && start+n < total {
					require.ErrorIs(t, err, errors.ErrUnsupported)
				} else {
					require.NoError(t, err)
					copy(model[start*item:], src)
				}
			}
			got := make([]byte, n*item)
			require.NoError(t, s.ReadItems(got, int64(start)))
			require.Equal(t, model[start*item:(start+n)*item], got)
			require.Equal(t, model, slurp(t, s))
			if total > 0 {
				i := rapid.IntRange(0, (total-1)/chunk).Draw(t, "i")
				have := min(chunk, total-i*chunk)
				from := rapid.IntRange(0, have).Draw(t, "from")
				part := make([]byte, item*rapid.IntRange(0, have-from).Draw(t, "items"))
				require.NoError(t, s.DecompressItems(part, int64(i), int64(from)))
				require.Equal(t, model[(i*chunk+from)*item:][:len(part)], part)
			}
		}
	})
}

// slurp returns the data of all chunks.
func slurp(t tester, s *cblosc.SChunk) []byte {
	t.Helper()
	data := []byte{}
	for b, err := range s.Buffers(0) {
		require.NoError(t, err)
		data = append(data, b...)
	}
	return data
}

// TestItems_lastChunk checks writes that end in a whole chunk at the length of the short last
// chunk, because C-Blosc2 would truncate the whole chunk.
func TestItems_lastChunk(t *testing.T) {
	for name, st := range storages(t, cparams(4)) {
		t.Run(name, func(t *testing.T) {
			s, err := cblosc.CreateSChunk(st)
			require.NoError(t, err)
			closing(t, s)
			want := testutil.Noise(96+96+32, 1)
			for at := 0; at < len(want); at += 96 {
				require.NoError(t, s.AppendBuffer(want[at:min(at+96, len(want))]))
			}
			for _, start := range []int64{0, 24, 8} {
				src := testutil.Noise(int(32+96*(start%24/8)-start%24*4), uint64(start)+5)
				require.ErrorIs(t, s.WriteItems(src, start), errors.ErrUnsupported)
				require.Equal(t, want, slurp(t, s), "from item %d", start)
				half := len(src) / 8 * 4 // in two writes that end at other positions
				require.NoError(t, s.WriteItems(src[:half+4], start))
				copy(want[start*4:], src[:half+4])
				require.Equal(t, want, slurp(t, s), "from item %d", start)
			}
		})
	}
}

func TestItems_invalidArguments(t *testing.T) {
	s, err := cblosc.CreateSChunk(cblosc.Storage{CParams: cparams(4)})
	require.NoError(t, err)
	require.NoError(t, s.ReadItems(nil, 0), "zero items of an empty superchunk")
	require.NoError(t, s.AppendBuffer(testutil.Ramp(64, 1)))
	for _, f := range []func([]byte, int64) error{s.ReadItems, s.WriteItems, func(b []byte, i int64) error { return s.DecompressItems(b, 0, i) }} {
		require.ErrorIs(t, f(make([]byte, 3), 0), cblosc.ErrSize)
		require.ErrorContains(t, f(make([]byte, 3), 0), "3 bytes, want a multiple of the type size 4")
		for _, start := range []int64{-1, 16, math.MaxInt64, math.MinInt64} {
			require.ErrorIs(t, f(make([]byte, 4), start), cblosc.ErrRegion, "%d", start)
		}
		require.NoError(t, f(nil, 16))
	}
	require.ErrorIs(t, s.DecompressItems(nil, 1, 0), cblosc.ErrRegion)
	require.NoError(t, s.Close())
	require.ErrorIs(t, s.ReadItems(nil, 0), cblosc.ErrClosed)
	require.ErrorIs(t, s.WriteItems(nil, 0), cblosc.ErrClosed)
	require.ErrorIs(t, s.DecompressItems(nil, 0, 0), cblosc.ErrClosed)
}

func TestBuffers(t *testing.T) {
	s, err := cblosc.CreateSChunk(cblosc.Storage{CParams: cparams(4)})
	require.NoError(t, err)
	var want []byte
	for i := range 9 {
		b := testutil.Noise(64, uint64(i))
		if i == 8 {
			b = b[:16]
		}
		want = append(want, b...)
		require.NoError(t, s.AppendBuffer(b))
	}
	for _, ahead := range []int{0, 1, 3, 100} {
		var got []byte
		for b, err := range s.Buffers(ahead) {
			require.NoError(t, err)
			got = append(got, b...)
		}
		require.Equal(t, want, got, "%d ahead", ahead)
		// TestMain checks that ending the loop early ends the goroutine.
		for b, err := range s.Buffers(ahead) {
			require.NoError(t, err)
			require.Len(t, b, 64)
			break
		}
	}
	for _, err := range s.Buffers(-1) {
		require.ErrorIs(t, err, cblosc.ErrParam)
	}
	n := 0
	for _, err := range s.Buffers(2) {
		if n++; n == 1 {
			require.NoError(t, err)
			require.NoError(t, s.Close())
		} else if err != nil {
			require.ErrorIs(t, err, cblosc.ErrClosed)
			n = -1
			break
		}
	}
	require.Equal(t, -1, n, "an error is the last result")
	s, err = cblosc.CreateSChunk(cblosc.Storage{})
	require.NoError(t, err)
	closing(t, s)
	for range s.Buffers(1) {
		t.Fatal("a chunk of an empty super-chunk")
	}
}
