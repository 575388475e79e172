package opened_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/testkit/filetest"
	"github.com/hyperslab/hyperslab/internal/tree/shards"
	"github.com/hyperslab/hyperslab/ndarray"
)

// TestOpen_shards checks that an array over two shards has the elements of the source. A shard
// without one of its chunks must return an error.
func TestOpen_shards(t *testing.T) {
	dir := t.TempDir()
	want := make([]int32, 100)
	for i := range want {
		want[i] = int32(i)
	}
	spec := ndarray.Spec{DType: ndarray.DTypeOf[int32](), Shape: []int64{100}, ChunkShape: []int64{10}}
	for name, o := range map[string]*hyperslab.CreateOptions{"a.bcolz": nil, "a.b2nd": {Sparse: true}, "a.caterva": {Sparse: true}} {
		src := filetest.In(dir, name)
		draft, err := hyperslab.Create(bg, src, spec, o)
		require.NoError(t, err)
		require.NoError(t, ndarray.Write(bg, draft.Array, want, ndarray.Whole(draft.Shape())))
		require.NoError(t, draft.Commit(bg))
		require.NoError(t, draft.Close())
		p, q := src+".p", src+".q"
		require.NoError(t, shards.Split(bg, src, []shards.Shard{{Dir: p, End: 4}, {Dir: q, First: 4, End: shards.All}}))
		dtype := &spec.DType
		if name == "a.bcolz" {
			dtype = nil
		}
		a, err := hyperslab.Open(bg, p, &hyperslab.OpenOptions{Shards: []string{q}, DType: dtype})
		require.NoError(t, err)
		got, err := ndarray.ReadAll[int32](bg, a)
		require.NoError(t, err)
		require.Equal(t, want, got, name)
		require.NoError(t, a.Close())
		alone, err := hyperslab.Open(bg, p, &hyperslab.OpenOptions{Shards: []string{p}, DType: dtype})
		require.NoError(t, err)
		_, err = ndarray.ReadAll[int32](bg, alone)
		require.Error(t, err, "chunks of the second shard")
		require.NoError(t, alone.Close())
		_, err = hyperslab.Open(bg, p, &hyperslab.OpenOptions{Shards: []string{filetest.In(dir, "none")}})
		require.ErrorIs(t, err, ndarray.ErrNotFound)
		_, err = hyperslab.Open(bg, p, &hyperslab.OpenOptions{Shards: []string{q}, Write: true})
		require.Error(t, err)
		_, err = hyperslab.Open(bg, p, &hyperslab.OpenOptions{Shards: []string{q}, Untrusted: new(hyperslab.Untrusted)})
		require.ErrorIs(t, err, ndarray.ErrParam)
		require.NoError(t, os.RemoveAll(src))
	}
	filetest.Save(t, filetest.In(dir, "x.h5:/x"), filetest.Int32s(3), nil)
	_, err := hyperslab.Open(bg, filetest.In(dir, "x.h5:/x"), &hyperslab.OpenOptions{Shards: []string{dir}})
	require.ErrorIs(t, err, ndarray.ErrParam)
	_, err = hyperslab.OpenTree(bg, filetest.In(dir, "x.h5"), &hyperslab.OpenOptions{Shards: []string{dir}})
	require.ErrorIs(t, err, ndarray.ErrParam)
}
