package b2nd_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/b2nd"
)

// createFiltered creates an array of 4-byte integers in chunks of 100, with filters that ndarray
// cannot create.
func createFiltered(t require.TestingT, file string, data []byte, filters ...cblosc.Filter) {
	p := cblosc.DefaultCParams()
	p.TypeSize, p.Filters = 4, [cblosc.MaxFilters]cblosc.Filter{}
	copy(p.Filters[:], filters)
	a, err := cblosc.CreateArrayFrom(&cblosc.ArrayParams{Shape: []int64{int64(len(data) / 4)}, ChunkShape: []int32{100}, Blocks: []int32{30}, DType: "<i4",
		Storage: cblosc.Storage{Path: file, Contiguous: true, CParams: p}}, data)
	require.NoError(t, err)
	require.NoError(t, a.Close())
}

func openFiltered(t require.TestingT, file string, o *b2nd.OpenOptions) *ndarray.Array {
	b, err := b2nd.Open(file, o)
	require.NoError(t, err)
	a, err := ndarray.New(b)
	require.NoError(t, err)
	return a
}

func readFiltered(t require.TestingT, file string) []byte {
	a := openFiltered(t, file, nil)
	got := make([]byte, a.NBytes())
	require.NoError(t, a.Read(context.Background(), got, ndarray.Whole(a.Shape())))
	require.NoError(t, a.Close())
	return got
}

func TestOpenOptions_AllowLossy(t *testing.T) {
	ctx := context.Background()
	trunc := cblosc.Filter{ID: cblosc.TruncPrec, Meta: 0xFC} // -4: the lowest four bits
	old := binary.LittleEndian.AppendUint32(nil, 0x100)
	old = bytes.Repeat(old, 150)
	for _, durable := range []bool{false, true} {
		file := filepath.Join(t.TempDir(), "x.b2nd")
		createFiltered(t, file, old, trunc, cblosc.Filter{ID: cblosc.Shuffle})
		a := openFiltered(t, file, &b2nd.OpenOptions{Write: true, Durable: durable})
		region := ndarray.Region{Start: []int64{0}, Shape: []int64{2}}
		src := []byte{0x11, 0, 0, 0, 0x20, 0, 0, 0}
		for _, err := range []error{
			a.Write(ctx, src, region), a.Append(ctx, 0, src), a.Put(ctx, src, ndarray.Select(ndarray.List(1, 9))),
		} {
			require.ErrorIs(t, err, errors.ErrUnsupported)
			require.ErrorContains(t, err, "trunc_prec(-4)")
		}
		require.NoError(t, a.Close())
		require.Equal(t, old, readFiltered(t, file))

		a = openFiltered(t, file, &b2nd.OpenOptions{Write: true, Durable: durable, AllowLossy: true})
		require.NoError(t, a.Write(ctx, src, region))
		require.EqualValues(t, 1, a.LossyChanges())
		require.NoError(t, a.Append(ctx, 0, src))
		require.EqualValues(t, 2, a.LossyChanges())
		require.NoError(t, a.Close())
		want := append(bytes.Clone(old), 0x10, 0, 0, 0, 0x20, 0, 0, 0)
		copy(want, want[600:])
		require.Equal(t, want, readFiltered(t, file))
	}
}

// TestArray_pipelines writes to arrays with up to six filters, as python-blosc2 creates them.
func TestArray_pipelines(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		kinds := []cblosc.Filter{{}, {ID: cblosc.Shuffle}, {ID: cblosc.BitShuffle}, {ID: cblosc.ByteDelta, Meta: 4}}
		filters := rapid.SliceOfN(rapid.SampledFrom(kinds), 2, 5).Draw(rt, "filters")
		if rapid.Bool().Draw(rt, "delta") {
			filters = append([]cblosc.Filter{{ID: cblosc.Delta}}, filters...)
		}
		data := func(elements int) []byte {
			seed := rapid.Uint64Range(0, 99).Draw(rt, "seed")
			if rapid.Bool().Draw(rt, "noise") {
				return testutil.Noise(4*elements, seed)
			}
			return testutil.Ramp(4*elements, seed+1)
		}
		n++
		file := filepath.Join(dir, fmt.Sprint(n, ".b2nd"))
		want := data(250)
		createFiltered(rt, file, want, filters...)
		delta := slices.ContainsFunc(filters, func(f cblosc.Filter) bool { return f.ID == cblosc.ByteDelta })
		a := openFiltered(rt, file, &b2nd.OpenOptions{Write: true, Durable: !delta && rapid.Bool().Draw(rt, "durable")})
		for range 3 {
			start := rapid.IntRange(0, 249).Draw(rt, "start")
			src := data(rapid.IntRange(1, 250-start).Draw(rt, "count"))
			require.NoError(rt, a.Write(ctx, src, ndarray.Region{Start: []int64{int64(start)}, Shape: []int64{int64(len(src) / 4)}}))
			copy(want[4*start:], src)
		}
		src := data(rapid.IntRange(1, 130).Draw(rt, "rows"))
		require.NoError(rt, a.Append(ctx, 0, src))
		want = append(want, src...)
		require.Zero(rt, a.LossyChanges())
		require.NoError(rt, a.Close())
		require.True(rt, bytes.Equal(want, readFiltered(rt, file)))
	})
}
