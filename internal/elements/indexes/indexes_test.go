package indexes_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/elements/indexes"
	"github.com/hyperslab/hyperslab/ndarray"
)

func TestAlong(t *testing.T) {
	shape := []int64{10, 200_000}
	for text, want := range map[string]map[int][]int64{ // indexes of axis 1 along each dimension
		"[3]": {0: nil}, "[:, 7]": {}, "[:, ::-1]": {1: nil}, "[:, [5, 1, 2]]": {1: {5, 1, 2}}, "[None, 2:4, 10:14:2]": {2: {10, 12}},
		"[:, [4, 4, 9]]": {1: {4, 4, 9}}, "[:, [4, 4]]": {},
	} {
		t.Run(text, func(t *testing.T) {
			s, err := ndarray.ParseSelection(text)
			require.NoError(t, err)
			selected, err := s.Shape(shape)
			require.NoError(t, err)
			runs, _, err := indexes.Along(t.Context(), shape, s, 1)
			require.NoError(t, err)
			require.Len(t, runs, len(selected))
			for i, r := range runs {
				list, along := want[i]
				require.Equal(t, along, r != nil, i)
				if r == nil {
					continue
				}
				require.True(t, r.Listed())
				require.Equal(t, selected[i], r.N)
				for k, at := range list {
					require.Equal(t, at, r.At(int64(k)))
				}
				require.Equal(t, []int64{r.First, r.Last}, []int64{r.At(0), r.At(r.N - 1)})
			}
		})
	}
	runs, first, err := indexes.Along(t.Context(), []int64{3, 1 << 40}, ndarray.Select(ndarray.At(2)), 0)
	require.NoError(t, err)
	require.Equal(t, int64(2), first)
	require.Nil(t, runs[0])
	runs, _, err = indexes.Along(t.Context(), []int64{3, 1 << 40}, ndarray.Selection{}, 1)
	require.NoError(t, err)
	require.False(t, runs[1].Listed())
	require.Equal(t, int64(1<<40-1), runs[1].Last)
	points, first, err := indexes.Along(t.Context(), []int64{5, 5}, ndarray.Points([]int64{1, 2}, []int64{3, 4}), 0)
	require.NoError(t, err)
	require.Equal(t, []int64{1, 1, 3}, []int64{first, points[0].First, points[0].Last})
}
