package h5_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
)

// A chunk that an optional filter makes exactly as long as it was, and one that it
// gives up, take turns: each reads as it was written, from the file and not from
// the library's cache. Szip makes such chunks of noise, a filter of Go by design.
func TestFilterMaskOfSameLength(t *testing.T) {
	const id = 40321
	require.NoError(t, h5.RegisterFilter(h5.GoFilter{ID: id, Name: "turns",
		Encode: func(src []byte, _ []uint32) ([]byte, error) {
			if src[0] == 'x' {
				return nil, h5.ErrParam
			}
			return flipped(src), nil
		},
		Decode: func(src []byte, _ []uint32) ([]byte, error) { return flipped(src), nil },
	}))
	defer func() { require.NoError(t, h5.UnregisterFilter(id)) }()

	const n = 64
	rng := rand.New(rand.NewPCG(1, 2))
	noise := func(k int) []byte { // k bytes of it
		b := make([]byte, n)
		for i := range k {
			b[i] = byte(rng.Uint32())
		}
		return b
	}
	for name, filters := range map[string][]h5.Filter{
		"szip":     {h5.Szip(h5.SzipNearest, 8)},
		"go":       {{ID: id, Optional: true}},
		"go, szip": {{ID: id, Optional: true}, h5.Szip(h5.SzipNearest, 8)},
	} {
		o := h5.DefaultCreateOptions()
		o.Low = h5.V110
		path := t.TempDir() + "/x.h5"
		f, err := h5.Create(path, &o)
		require.NoError(t, err)
		d, err := f.Root().CreateDataset("d", h5.Uint(1, h5.LittleEndian), h5.SimpleSpace(2*n), &h5.DatasetOptions{Chunks: []int64{n}, Filters: filters})
		require.NoError(t, err)
		second := region([]int64{n}, []int64{n})
		write := func(b []byte) h5.Chunk {
			require.NoError(t, h5.Write(d, b, second))
			c, err := d.ChunkAt(n)
			require.NoError(t, err)
			return c
		}
		var kept, skipped []byte
		for k := 0; kept == nil || skipped == nil; k++ {
			require.Less(t, k, 100_000, "%s: no chunk of such a length", name)
			b := noise(k % (n + 1))
			if name != "szip" {
				b[0] = "xy"[k%2]
			}
			switch c := write(b); {
			case c.FilterMask != 0 && c.Bytes == n:
				skipped = b
			case c.Bytes == n && name == "szip", c.FilterMask == 0 && name != "szip":
				kept = b
			}
		}
		last := kept
		for range 6 {
			if last = skipped; rng.IntN(2) == 0 {
				last = kept
			}
			write(last)
		}
		for _, last := range [][]byte{kept, skipped, kept} {
			write(last)
			require.NoError(t, f.Close())
			f, err = h5.Open(path, h5.ReadWrite)
			require.NoError(t, err)
			d, err = f.Root().OpenDataset("d")
			require.NoError(t, err)
			got, err := h5.ReadAll[uint8](d)
			require.NoError(t, err, name)
			require.Equal(t, last, got[n:], name)
		}
		require.NoError(t, f.Close())
	}
}

func flipped(b []byte) []byte {
	out := make([]byte, len(b))
	for i, x := range b {
		out[i] = ^x
	}
	return out
}
