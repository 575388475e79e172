// Tests of selections, whose elements are computed one at a time.

package ndarraytest

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/internal/testkit/samples"
	"github.com/hyperslab/hyperslab/ndarray"
)

// testSelections checks that Take and Put of every selection match the model. If an element is
// selected twice, the last value must be stored.
func testSelections(t *testing.T, f Factory) {
	dtypes := samples.DTypes()
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.SampledFrom(dtypes).Draw(t, "dtype")
		shape := rapid.SliceOfN(rapid.Int64Range(0, 9), 0, 4).Draw(t, "shape")
		var chunk []int64
		for range shape {
			chunk = append(chunk, rapid.Int64Range(1, 10).Draw(t, "chunk"))
		}
		a := f.create(t, ndarray.Spec{Shape: shape, ChunkShape: chunk, DType: d})
		if a == nil {
			return
		}
		size := int64(d.Size)
		m := newModel(shape, d.Size, pattern(d, a.NumElems()))
		require.NoError(t, a.Write(bg, m.data, ndarray.Whole(shape)))
		for range 3 {
			s := samples.DrawSelection(t, shape, false)
			if rapid.IntRange(0, 3).Draw(t, "by points") == 0 {
				s = samples.DrawPoints(t, shape)
			}
			text := s.Selection.String()
			gotShape, err := s.Selection.Shape(shape)
			require.NoError(t, err, text)
			require.Equal(t, s.Shape, gotShape, text)
			places := s.Places(shape)
			want := []byte{}
			for _, at := range places {
				want = append(want, m.data[at*size:(at+1)*size]...)
			}
			got := dirty(len(want))
			require.NoError(t, a.Take(bg, got, s.Selection), text)
			require.Equal(t, want, got, "%s of %v in chunks %v", text, shape, chunk)

			src := pattern(d, int64(len(places)))
			slices.Reverse(src)
			if d.Pad == ndarray.NullTerm {
				src = pattern(d, int64(len(places)))
			}
			require.NoError(t, a.Put(bg, src, s.Selection), text)
			for i, at := range places {
				copy(m.data[at*size:(at+1)*size], src[int64(i)*size:])
			}
			all := dirty(len(m.data))
			require.NoError(t, a.Read(bg, all, ndarray.Whole(shape)))
			require.Equal(t, m.data, all, "put to %s of %v in chunks %v", text, shape, chunk)
			require.ErrorIs(t, a.Take(bg, make([]byte, len(want)+1), s.Selection), ndarray.ErrSize)
			require.ErrorIs(t, a.Put(bg, make([]byte, len(want)+1), s.Selection), ndarray.ErrSize)
		}
		require.NoError(t, a.Close())
	})
}
