package filter_test

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/filter"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
)

// TestRoundTrip checks that every filter decodes what it encodes, for elements of every size,
// incomplete last elements, compressible data and noise.
func TestRoundTrip(t *testing.T) {
	for _, s := range settings() {
		t.Run(s.name, func(t *testing.T) {
			for _, element := range []int{1, 2, 3, 4, 8, 16, 24} {
				for _, n := range []int{1, 7, 8, 16, 17, 250, 1000, 5000} {
					for kind, src := range [][]byte{data(n*element, 1), testutil.Noise(n*element, 1), make([]byte, n*element)} {
						values := s.stored(element, n)
						dst := make([]byte, filter.Bound(s.id, values, len(src)))
						size, err := filter.Encode(s.id, values, dst, src)
						if errors.Is(err, filter.ErrGrows) && s.id == filter.IDLZF {
							continue
						}
						require.NoError(t, err, "%d elements of %d bytes, kind %d", n, element, kind)
						back := make([]byte, len(src))
						got, err := filter.Decode(s.id, values, back, dst[:size])
						require.NoError(t, err, "%d elements of %d bytes, kind %d", n, element, kind)
						require.Equal(t, src, back[:got])
						_, err = filter.Decode(s.id, values, back[:len(src)-1], dst[:size])
						require.Error(t, err, "a buffer that is too short")
					}
				}
			}
		})
	}
}

// encoded returns src after the filter of s.
func encoded(t require.TestingT, s setting, values []uint32, src []byte) []byte {
	enc := make([]byte, filter.Bound(s.id, values, len(src)))
	n, err := filter.Encode(s.id, values, enc, src)
	require.NoError(t, err, s.name)
	return enc[:n]
}

// TestDamagedStreams checks that truncated streams return an error, and that changed streams return
// an error or wrong bytes but do not crash.
func TestDamagedStreams(t *testing.T) {
	src := data(4000, 3)
	for _, s := range settings() {
		if s.id == h5.FilterShuffle {
			continue // any bytes are shuffled bytes
		}
		values := s.stored(4, 10, 100)
		enc := encoded(t, s, values, src)
		dst := make([]byte, len(src))
		_, err := filter.Decode(s.id, values, dst, nil)
		if s.id != filter.IDLZF && s.id != filter.IDZstd && !(s.id == filter.IDBitShuffle && len(values) < 5) {
			require.Error(t, err, s.name)
		}
		rapid.Check(t, func(r *rapid.T) {
			b := bytes.Clone(enc)
			for range rapid.IntRange(1, 4).Draw(r, "changes") {
				at := rapid.IntRange(0, len(b)-1).Draw(r, "at")
				b[at] ^= byte(rapid.IntRange(1, 255).Draw(r, "bits"))
			}
			b = b[:rapid.IntRange(0, len(b)).Draw(r, "length")]
			if got, err := filter.Decode(s.id, values, dst, b); err != nil {
				var fe *filter.Error
				require.ErrorAs(t, err, &fe)
				require.Equal(t, s.id, fe.Filter)
			} else {
				require.LessOrEqual(t, got, len(dst))
			}
		})
	}
}

// TestWorkers_anyOrder encodes and decodes with all filters in any order, with damaged streams
// between them. The result must not depend on the calls before, although they use the same state.
func TestWorkers_anyOrder(t *testing.T) {
	src := data(4000, 3)
	all := settings()
	streams := make([][]byte, len(all))
	for i, s := range all {
		streams[i] = encoded(t, s, s.stored(4, 10, 100), src)
	}
	rapid.Check(t, func(r *rapid.T) {
		for range rapid.IntRange(2, 8).Draw(r, "calls") {
			i := rapid.IntRange(0, len(all)-1).Draw(r, "setting")
			s, values := all[i], all[i].stored(4, 10, 100)
			switch rapid.IntRange(0, 2).Draw(r, "call") {
			case 0:
				require.True(r, bytes.Equal(streams[i], encoded(r, s, values, src)), s.name)
			case 1:
				dst := make([]byte, len(src))
				n, err := filter.Decode(s.id, values, dst, streams[i])
				require.NoError(r, err, s.name)
				require.True(r, bytes.Equal(src, dst[:n]), s.name)
			case 2: // the result is not checked
				b := bytes.Clone(streams[i])
				at := rapid.IntRange(0, min(len(b), 160)-1).Draw(r, "at")
				b[at] ^= byte(rapid.IntRange(1, 255).Draw(r, "bits"))
				if n, err := filter.Decode(s.id, values, make([]byte, len(src)), b); err == nil {
					require.LessOrEqual(r, n, len(src))
				}
			}
		}
	})
}

func TestParameters(t *testing.T) {
	b := make([]byte, 64)
	for _, tt := range []struct {
		id     int
		values []uint32
	}{
		{h5.FilterDeflate, nil}, {h5.FilterDeflate, []uint32{10}}, {h5.FilterDeflate, []uint32{1, 1}},
		{h5.FilterShuffle, nil}, {h5.FilterShuffle, []uint32{0}},
		{h5.FilterSzip, nil}, {h5.FilterSzip, []uint32{4, 3, 8, 8}}, {h5.FilterSzip, []uint32{4, 8, 33, 8}}, {h5.FilterSzip, []uint32{4, 8, 8, 5000}},
		{filter.IDBZip2, []uint32{0}}, {filter.IDBZip2, []uint32{10}},
		{filter.IDBitShuffle, nil}, {filter.IDBitShuffle, []uint32{0, 4, 0}}, {filter.IDBitShuffle, []uint32{0, 4, 4, 12}},
		{filter.IDBlosc, []uint32{2, 2, 4, 64, 10, 1, 1}}, {filter.IDBlosc, []uint32{2, 2, 4, 64, 5, 9, 1}}, {filter.IDBlosc, []uint32{2, 2, 4, 64, 5, 1, 3}},
		{filter.IDBlosc2, []uint32{1, 0, 4, 64, 5, 1, 9}}, {filter.IDBlosc2, []uint32{1, 0, 4, 64, 5, 1, 1, 2, 4}}, {filter.IDBlosc2, []uint32{1, 0, 4, 64, 5, 1, 1, 2, 4, 5}},
	} {
		if !filter.Known(tt.id) {
			continue
		}
		_, err := filter.Encode(tt.id, tt.values, make([]byte, 1000), b)
		require.ErrorIs(t, err, h5.ErrParam, "filter %d, %d", tt.id, tt.values)
	}
	_, err := filter.Encode(5, nil, make([]byte, 1000), b)
	require.ErrorIs(t, err, h5.ErrNoFilter)
	require.Equal(t, "filter: encode, filter 5: filter not available: filter 5", err.Error())
	_, err = filter.Decode(h5.FilterDeflate, []uint32{6}, b, b)
	require.ErrorIs(t, err, h5.ErrCorrupt)
	_, err = filter.Encode(h5.FilterFletcher32, nil, b, b)
	require.ErrorIs(t, err, h5.ErrSize)
	require.Contains(t, err.Error(), "buffer of 64 bytes, the result has 68")
}

// TestLZF_format checks the LZF decoder, which follows the description of the format.
func TestLZF_format(t *testing.T) {
	for _, tt := range []struct {
		in   []byte
		want string
		err  error
	}{
		{[]byte{2, 'a', 'b', 'c'}, "abc", nil},
		{[]byte{0, 'a', 0xE0, 2, 0}, "aaaaaaaaaaaa", nil}, // 7 + 2 + 2 bytes from 1 back
		{[]byte{2, 'a', 'b', 'c', 0x20, 2}, "abcabc", nil},
		{[]byte{2, 'a', 'b'}, "", h5.ErrCorrupt},
		{[]byte{0, 'a', 0x20}, "", h5.ErrCorrupt},
		{[]byte{0, 'a', 0xE0, 1}, "", h5.ErrCorrupt},
		{[]byte{0, 'a', 0x20, 1}, "", h5.ErrCorrupt}, // offset before the beginning
	} {
		dst := make([]byte, 12)
		n, err := filter.Decode(filter.IDLZF, nil, dst, tt.in)
		require.ErrorIs(t, err, tt.err, "%v", tt.in)
		require.Equal(t, tt.want, string(dst[:n]), "%v", tt.in)
	}
	_, err := filter.Decode(filter.IDLZF, nil, make([]byte, 11), []byte{0, 'a', 0xE0, 2, 0})
	require.ErrorIs(t, err, h5.ErrSize)
}

func TestPipeline(t *testing.T) {
	src := data(40000, 5)
	filters := []h5.Filter{
		{ID: h5.FilterShuffle, Values: []uint32{4}},
		{ID: h5.FilterDeflate, Optional: true, Values: []uint32{4}},
		{ID: filter.IDBlosc, Values: []uint32{2, 2, 1, 0, 5, 1, 1}},
		{ID: h5.FilterFletcher32},
	}
	p, err := filter.New(filters, filter.Options{})
	require.NoError(t, err)
	enc, mask, err := p.Encode(nil, src)
	require.NoError(t, err)
	require.Zero(t, mask)
	dst := make([]byte, len(src))
	require.NoError(t, p.Decode(dst, enc, 0))
	require.Equal(t, src, dst)

	// Other programs may store chunks encoded with any subset of the filters.
	for mask := range uint32(16) {
		var rest []h5.Filter
		for i, f := range filters {
			if mask>>i&1 == 0 {
				rest = append(rest, f)
			}
		}
		part, err := filter.New(rest, filter.Options{})
		require.NoError(t, err)
		enc, _, err := part.Encode(nil, src)
		require.NoError(t, err)
		clear(dst)
		require.NoError(t, p.Decode(dst, enc, mask), "mask %b", mask)
		require.Equal(t, src, dst)
	}

	// A wrong length or checksum must return an error with the step.
	require.ErrorIs(t, p.Decode(dst[:len(dst)-1], enc, 0), h5.ErrCorrupt)
	require.ErrorIs(t, p.Decode(make([]byte, len(dst)+1), enc, 0), h5.ErrCorrupt)
	enc[len(enc)-1] ^= 1
	err = p.Decode(dst, enc, 0)
	require.ErrorIs(t, err, filter.ErrChecksum)
	require.ErrorIs(t, err, h5.ErrCorrupt)
	var fe *filter.Error
	require.ErrorAs(t, err, &fe)
	require.Equal(t, 3, fe.Step)
	blind, err := filter.New(filters, filter.Options{SkipChecksum: true})
	require.NoError(t, err)
	require.NoError(t, blind.Decode(dst, enc, 0))

	_, err = filter.New([]h5.Filter{{ID: 6, Name: "scaleoffset"}}, filter.Options{})
	var missing *h5.FilterError
	require.ErrorAs(t, err, &missing)
	require.Equal(t, 6, missing.ID)
	_, err = filter.New(make([]h5.Filter, 33), filter.Options{})
	require.ErrorIs(t, err, h5.ErrParam)
}

// TestOptional checks that a chunk is stored without an optional filter that fails, and that
// encoding fails if another filter fails.
func TestOptional(t *testing.T) {
	src := testutil.Noise(4000, 7)
	for _, last := range [][]h5.Filter{nil, {{ID: h5.FilterFletcher32}}, {{ID: filter.IDBlosc, Values: []uint32{2, 2, 1, 0, 0, 0, 1}}}} {
		filters := append([]h5.Filter{{ID: h5.FilterShuffle, Values: []uint32{4}}, {ID: filter.IDLZF, Optional: true}}, last...)
		p, err := filter.New(filters, filter.Options{})
		require.NoError(t, err)
		enc, mask, err := p.Encode(nil, src)
		require.NoError(t, err)
		require.EqualValues(t, 2, mask)
		dst := make([]byte, len(src))
		require.NoError(t, p.Decode(dst, enc, mask))
		require.Equal(t, src, dst)
		filters[1].Optional = false
		p, err = filter.New(filters, filter.Options{})
		require.NoError(t, err)
		_, _, err = p.Encode(nil, src)
		require.ErrorIs(t, err, filter.ErrGrows)
	}
	p, err := filter.New([]h5.Filter{{ID: filter.IDLZF, Optional: true}}, filter.Options{})
	require.NoError(t, err)
	enc, mask, err := p.Encode(nil, src)
	require.NoError(t, err)
	require.EqualValues(t, 1, mask)
	require.Equal(t, src, enc)
	p, err = filter.New(nil, filter.Options{})
	require.NoError(t, err)
	enc, mask, err = p.Encode(nil, src)
	require.NoError(t, err)
	require.Zero(t, mask)
	require.Equal(t, src, enc)
	dst := make([]byte, len(src))
	require.NoError(t, p.Decode(dst, enc, 0))
	require.Equal(t, src, dst)
}

func TestManyGoroutines(t *testing.T) {
	errs := make(chan error)
	for g := range 64 {
		go func() {
			src := data(4096, uint64(g))
			for _, s := range settings() {
				values := s.stored(4, 32, 32)
				enc := make([]byte, filter.Bound(s.id, values, len(src)))
				n, err := filter.Encode(s.id, values, enc, src)
				if err != nil {
					errs <- fmt.Errorf("%s: %w", s.name, err)
					return
				}
				dst := make([]byte, len(src))
				if _, err := filter.Decode(s.id, values, dst, enc[:n]); err != nil || !bytes.Equal(dst, src) {
					errs <- fmt.Errorf("%s: %w", s.name, errors.Join(err, errors.New("other values")))
					return
				}
			}
			errs <- nil
		}()
	}
	for range 64 {
		require.NoError(t, <-errs)
	}
}

func FuzzDecode(f *testing.F) {
	src := data(400, 9)
	for i, s := range settings() {
		values := s.stored(4, 10, 10)
		enc := make([]byte, filter.Bound(s.id, values, len(src)))
		n, err := filter.Encode(s.id, values, enc, src)
		require.NoError(f, err)
		f.Add(i, enc[:n])
	}
	all := settings()
	f.Fuzz(func(t *testing.T, i int, b []byte) {
		s := all[uint(i)%uint(len(all))]
		dst := make([]byte, 400)
		n, err := filter.Decode(s.id, s.stored(4, 10, 10), dst, b)
		if err == nil && n > len(dst) {
			t.Fatalf("%s: %d bytes in %d", s.name, n, len(dst))
		}
	})
}

// TestPipeline_ChecksumFirst checks a fletcher32 before a filter of this package. The length must
// be checked after the filter is decoded, because libhdf5 would read all memory after a chunk of
// fewer than 4 bytes (CVE-2026-19028).
func TestPipeline_ChecksumFirst(t *testing.T) {
	testenv.NoAssertions(t)
	f, err := h5.Create(filepath.Join(t.TempDir(), "x.h5"), nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	i1 := h5.Int(1, h5.LittleEndian)
	for _, id := range []int{filter.IDBZip2, filter.IDBlosc, filter.IDLZ4, filter.IDBitShuffle, filter.IDZstd, filter.IDBlosc2} {
		for _, more := range [][]h5.Filter{nil, {h5.Fletcher32()}} {
			filters := append([]h5.Filter{h5.Fletcher32(), {ID: id}}, more...)
			d, err := f.Root().CreateDataset(fmt.Sprint(id, len(more)), i1, h5.SimpleSpace(1000), &h5.DatasetOptions{ChunkShape: []int64{1000}, Filters: filters})
			require.NoError(t, err, id)
			src, got := data(1000, 1), make([]byte, 1000)
			all := h5.SimpleSpace(1000).All()
			require.NoError(t, d.WriteRegion(src, i1, all), id)
			require.NoError(t, d.ReadRegion(got, i1, all), id)
			require.Equal(t, src, got)
			info, err := d.Info()
			require.NoError(t, err)
			p, err := filter.New(info.Filters[1:], filter.Options{})
			require.NoError(t, err)
			stored, mask, err := p.Encode(nil, []byte{0, 0, 0})
			require.NoError(t, err, id)
			require.NoError(t, d.WriteChunk(stored, mask<<1, 0))
			for op, err := range map[string]error{"read": d.ReadRegion(got, i1, all), "write": d.WriteRegion(src[:1], i1, h5.Region{Start: []int64{1}, Count: []int64{1}})} {
				require.ErrorIs(t, err, h5.ErrCorrupt, "%s %d", op, id)
				require.ErrorContains(t, err, "chunk [0]: fletcher32: a chunk of 3 bytes, want at least 4", id)
			}
			whole, err := filter.New(info.Filters, filter.Options{})
			require.NoError(t, err)
			require.ErrorIs(t, whole.Decode(got, stored, mask<<1), h5.ErrCorrupt, id)
			require.NoError(t, d.WriteChunk([]byte{1, 2, 3, 4}, 0, 0))
			require.ErrorIs(t, d.ReadRegion(got, i1, all), h5.ErrCorrupt, "no stream of the filter")
		}
	}
}
