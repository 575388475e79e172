// Tests of the messages between a program and its worker.

package isolated_test

import (
	"math"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/internal/sandbox/worker"
	"github.com/hyperslab/hyperslab/internal/testkit/samples"
	"github.com/hyperslab/hyperslab/internal/tree/isolated"
	"github.com/hyperslab/hyperslab/ndarray"
)

// crossing contains every kind of value that is sent to a worker.
type crossing struct {
	Bool   bool
	Int    int
	Small  int8
	Byte   uint8
	Big    uint64
	Text   string
	Bytes  []byte
	Texts  []string
	Next   *crossing
	Inside []struct{ N int64 }
}

func TestWire(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.Make[crossing]().Draw(t, "value")
		var out crossing
		require.NoError(t, worker.Decode(worker.Encode(in, nil), &out))
		require.Equal(t, in, out)
	})
	for _, d := range samples.DTypes() {
		m := ndarray.Meta{Shape: []int64{}, DType: d, Fill: make([]byte, d.Size), Compression: &ndarray.Compression{Codec: "\xff"}}
		var out ndarray.Meta
		require.NoError(t, worker.Decode(worker.Encode(m, nil), &out))
		require.Equal(t, m, out)
	}
	require.Panics(t, func() { worker.Encode(map[string]int{}, nil) })
}

// FuzzWire checks that decoding any bytes returns a value or worker.ErrProtocol.
func FuzzWire(f *testing.F) {
	f.Add(worker.Encode(ndarray.Meta{Shape: []int64{3}, DType: ndarray.DTypeOf[int32](), AxisNames: []string{"x"}}, nil))
	f.Add(worker.Encode(ndarray.Attrs{List: []ndarray.Attr{{Name: "a", Value: ndarray.Text("b")}}}, nil))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, v := range []any{new(ndarray.Meta), new(ndarray.Attrs), new(ndarray.Storage), new([]string), new(isolated.Entries)} {
			if err := worker.Decode(b, v); err != nil {
				require.ErrorIs(t, err, worker.ErrProtocol)
			}
		}
		if _, err := isolated.DecodeEntry(b); err != nil {
			require.ErrorIs(t, err, worker.ErrProtocol)
		}
	})
}

// TestReadAhead checks that the boxes read ahead fit into the slots and that at most the
// allowed number of goroutines works.
func TestReadAhead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		allowed := rapid.IntRange(1, 3*runtime.GOMAXPROCS(0)).Draw(t, "allowed")
		slots := rapid.IntRange(2, 20).Draw(t, "slots")
		pieces := rapid.Int64Range(0, 50).Draw(t, "pieces")
		n, each := isolated.Ahead(allowed, slots, pieces)
		require.GreaterOrEqual(t, n, 1)
		require.Less(t, n, slots, "one is being emptied")
		require.LessOrEqual(t, int64(n), max(pieces, 1))
		require.GreaterOrEqual(t, each, 1)
		if allowed < runtime.GOMAXPROCS(0) {
			require.LessOrEqual(t, n*each, allowed)
		}
	})
}

// TestInside checks that Inside rejects a region whose end overflows.
func TestInside(t *testing.T) {
	t.Parallel()
	region := func(start, n int64) ndarray.Region {
		return ndarray.Region{Start: []int64{start}, Shape: []int64{n}}
	}
	for _, x := range []struct {
		part, whole ndarray.Region
		want        bool
	}{
		{region(2, 3), region(1, 4), true},
		{region(2, 4), region(1, 4), false},
		{region(0, 1), region(1, 4), false},
		{region(6, 0), region(1, 4), false},
		{region(2, math.MaxInt64), region(1, 4), false},
		{region(math.MaxInt64-1, 2), region(0, math.MaxInt64), false},
		{region(math.MaxInt64-1, 1), region(0, math.MaxInt64), true},
	} {
		require.Equal(t, x.want, isolated.Inside(x.part, x.whole), "%v in %v", x.part, x.whole)
	}
}
