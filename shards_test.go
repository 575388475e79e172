package hyperslab_test

import (
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/bcolz"
)

// TestSplit checks that the joined array and the array over both shards have the elements of the
// source. A shard without one of its chunks must return an error.
func TestSplit(t *testing.T) {
	dir := t.TempDir()
	src := in(dir, "a.bcolz")
	want := make([]int32, 100)
	for i := range want {
		want[i] = int32(i)
	}
	draft, err := hyperslab.Create(bg, src, ndarray.Spec{DType: ndarray.DTypeOf[int32](), Shape: []int64{100}, ChunkShape: []int64{10}}, nil)
	require.NoError(t, err)
	defer draft.Close()
	require.NoError(t, ndarray.Write(bg, draft.Array, want, ndarray.Whole(draft.Shape())))
	require.NoError(t, draft.Commit(bg))
	parts := []hyperslab.Shard{{Dir: in(dir, "p"), End: 4}, {Dir: in(dir, "q"), First: 4, End: math.MaxInt64}}
	require.ErrorIs(t, hyperslab.Split(bg, src, parts[:1]), ndarray.ErrParam)
	require.NoError(t, hyperslab.Split(bg, src, parts))
	require.NoError(t, hyperslab.Join(bg, in(dir, "joined.bcolz"), parts))
	joined, err := bcolz.Open(in(dir, "joined.bcolz"), nil)
	require.NoError(t, err)
	united, err := bcolz.OpenFS(hyperslab.JoinFS(os.DirFS(parts[0].Dir), os.DirFS(parts[1].Dir)), ".", nil)
	require.NoError(t, err)
	for _, b := range []ndarray.Backend{joined, united} {
		a, err := ndarray.New(b)
		require.NoError(t, err)
		got, err := ndarray.ReadAll[int32](bg, a)
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.NoError(t, a.Close())
	}
}
