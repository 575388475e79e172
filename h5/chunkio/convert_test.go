package chunkio_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/chunkio"
	"github.com/hyperslab/hyperslab/h5/filter"
)

// numbers returns all integer and float types of the machine, in both byte orders.
func numbers() (all []h5.Datatype) {
	for _, order := range []h5.Order{h5.LittleEndian, h5.BigEndian} {
		for _, size := range []int{1, 2, 4, 8} {
			all = append(all, h5.Int(size, order), h5.Uint(size, order))
			if size >= 4 {
				all = append(all, h5.IEEEFloat(size, order))
			}
		}
	}
	return all
}

// values returns n random elements of a type: small numbers, which most types can represent, or
// arbitrary bits, and for floats also special values.
func values(r *rapid.T, dt h5.Datatype, n int) []byte {
	b := make([]byte, 0, n*dt.Size)
	var order binary.AppendByteOrder = binary.LittleEndian
	if dt.Order == h5.BigEndian {
		order = binary.BigEndian
	}
	put := func(bits uint64) {
		switch dt.Size {
		case 1:
			b = append(b, byte(bits))
		case 2:
			b = order.AppendUint16(b, uint16(bits))
		case 4:
			b = order.AppendUint32(b, uint32(bits))
		default:
			b = order.AppendUint64(b, bits)
		}
	}
	float := func(v float64) {
		if dt.Size == 4 {
			put(uint64(math.Float32bits(float32(v))))
			return
		}
		put(math.Float64bits(v))
	}
	wild := rapid.IntRange(0, 3).Draw(r, "wild") == 0
	odd := -1 // index of a value of another kind, -1 for none
	if rapid.IntRange(0, 3).Draw(r, "odd") == 0 {
		odd = rapid.IntRange(0, n-1).Draw(r, "at")
	}
	special := []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), 0.5, 1e-40, 0x1p24 + 1, 0x1p63, -0x1p63, 0x1p64, -0.5, 1e39}
	limits := []uint64{1<<63 - 1, 1 << 63, math.MaxUint64, 1<<53 + 1, 1<<24 + 1, 1<<31 - 1, 1 << 31, math.MaxUint64 - 127}
	seed := rapid.Uint64().Draw(r, "seed")
	for i := range n {
		seed = seed*6364136223846793005 + 1442695040888963407
		switch {
		case (i == odd || wild && i%3 == 0) && dt.Class == h5.Float:
			if v := special[seed>>40%uint64(len(special))]; v == v {
				float(v)
			} else if dt.Size == 4 { // any NaN, quiet or not
				put(0x7F800000 | seed>>33&0x807FFFFF | 1)
			} else {
				put(0x7FF0000000000000 | seed&0x800FFFFFFFFFFFFF | 1)
			}
		case i == odd || wild && i%3 == 0:
			put(limits[seed>>40%uint64(len(limits))])
		case wild:
			put(seed)
		case dt.Class == h5.Float:
			float(float64(seed >> 57))
		default:
			put(seed >> 57)
		}
	}
	return b
}

// TestConversions checks that Read and Write convert numbers bit for bit as libhdf5 does, for every
// chunk shape. A value that would change must return libhdf5's error, and a failed write must
// change nothing.
func TestConversions(t *testing.T) {
	dir := t.TempDir()
	ctx := context.Background()
	all := numbers()
	n, fast, changed := 0, 0, 0
	rapid.Check(t, func(r *rapid.T) {
		n++
		stored, mem := rapid.SampledFrom(all).Draw(r, "stored"), rapid.SampledFrom(all).Draw(r, "memory")
		c := drawn{dt: stored}
		for range rapid.IntRange(1, 3).Draw(r, "rank") {
			extent := rapid.Int64Range(1, 30).Draw(r, "extent")
			c.shape, c.chunks = append(c.shape, extent), append(c.chunks, rapid.Int64Range(1, extent).Draw(r, "chunk"))
		}
		c.options = h5.DatasetOptions{Chunks: c.chunks, Filters: rapid.SampledFrom([][]h5.Filter{
			{h5.Shuffle(), h5.Deflate(1)}, {{ID: filter.IDBlosc2, Values: []uint32{0, 64, 0, 0, 5, 1, 1}}}, {{ID: filter.IDLZ4}},
		}).Draw(r, "filters")}
		if rapid.Bool().Draw(r, "fill") {
			c.options.Fill = values(r, stored, 1)
		}
		path := filepath.Join(dir, fmt.Sprintf("%d.h5", n%8))
		f := create(t, path)
		defer func() { _ = f.Close() }()
		ours, err := f.Root().CreateDataset("ours", stored, h5.SimpleSpace(c.shape...), &c.options)
		require.NoError(t, err)
		theirs, err := f.Root().CreateDataset("theirs", stored, h5.SimpleSpace(c.shape...), &c.options)
		require.NoError(t, err)

		note := func(s chunkio.Stats, err, want error) {
			t.Helper()
			for _, sentinel := range []error{h5.ErrOverflow, h5.ErrPrecision} {
				require.Equal(t, errors.Is(want, sentinel), errors.Is(err, sentinel), "%v, the library: %v", err, want)
			}
			require.Equal(t, want == nil, err == nil, "%v, the library: %v", err, want)
			if want != nil {
				if !strings.Contains(s.Fallback, "of memory") {
					require.Contains(t, s.Fallback, "would change")
				}
				require.Equal(t, want.Error()[len(want.Error())-20:], err.Error()[len(err.Error())-20:])
				changed++
			} else if s.Fallback == "" {
				fast++
			}
		}
		for range rapid.IntRange(0, 3).Draw(r, "writes") {
			reg := c.region(r)
			src := values(r, mem, int(reg.NumElems()))
			was := string(src)
			s, err := chunkio.Write(ctx, ours, src, mem, reg, c.opts(r))
			require.Equal(t, was, string(src), "the caller's values")
			note(s, err, theirs.WriteRegion(src, mem, reg))
		}
		compare := func(f *h5.File) {
			t.Helper()
			ours, err := f.Root().OpenDataset("ours")
			require.NoError(t, err)
			theirs, err := f.Root().OpenDataset("theirs")
			require.NoError(t, err)
			reg, o := c.region(r), c.opts(r)
			want, got := make([]byte, reg.NumElems()*int64(stored.Size)), make([]byte, reg.NumElems()*int64(stored.Size))
			require.NoError(t, theirs.ReadRegion(want, stored, reg))
			require.NoError(t, ours.ReadRegion(got, stored, reg))
			require.Equal(t, want, got, "as stored")
			want, got = make([]byte, reg.NumElems()*int64(mem.Size)), make([]byte, reg.NumElems()*int64(mem.Size))
			refused := theirs.ReadRegion(want, mem, reg)
			s, err := chunkio.Read(ctx, ours, got, mem, reg, o)
			note(s, err, refused)
			if refused == nil {
				require.Equal(t, want, got, "%+v", s)
			}
			o.Lossy = true
			require.NoError(t, theirs.ReadRegionLossy(want, mem, reg))
			_, err = chunkio.Read(ctx, ours, got, mem, reg, o)
			require.NoError(t, err)
			require.Equal(t, want, got, "lossy")
		}
		compare(f)
		require.NoError(t, f.Close())
		f, err = h5.Open(path, h5.ReadOnly)
		require.NoError(t, err)
		compare(f)
		compare(f)
	})
	require.Positive(t, fast)
	require.Positive(t, changed)
}
