package ndarray_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/mem"
)

// limited is a wrapper that forwards no optional interface.
type limited struct{ ndarray.Backend }

// counted is a wrapper that replaces one ability and forwards the others.
type counted struct {
	ndarray.Backend
	writes int
}

func (c *counted) Unwrap() ndarray.Backend { return c.Backend }

func (c *counted) WriteRegion(ctx context.Context, src []byte, r ndarray.Region, workers int) error {
	c.writes++
	w, _ := ndarray.As[ndarray.RegionWriter](c.Backend)
	return w.WriteRegion(ctx, src, r, 0)
}

func TestAs(t *testing.T) {
	b, err := mem.New(ndarray.Spec{Shape: []int64{4}, ChunkShape: []int64{2}, DType: ndarray.DTypeOf[int16]()})
	require.NoError(t, err)
	t.Run("wrapper without Unwrap", func(t *testing.T) {
		_, ok := ndarray.As[ndarray.RegionWriter](limited{b})
		require.False(t, ok)
	})
	t.Run("ability of the wrapped backend", func(t *testing.T) {
		_, ok := ndarray.As[ndarray.ChunkMeasurer](&counted{Backend: &counted{Backend: b}})
		require.True(t, ok)
		_, ok = ndarray.As[ndarray.ChunkMeasurer](&counted{Backend: limited{b}})
		require.False(t, ok)
	})
	t.Run("array on a wrapper", func(t *testing.T) {
		c := &counted{Backend: b}
		a, err := ndarray.New(c)
		require.NoError(t, err)
		require.NoError(t, ndarray.Write(t.Context(), a, []int16{1, 2, 3, 4}, ndarray.Whole(a.Shape())))
		require.Equal(t, 1, c.writes)
		require.NoError(t, a.Resize(t.Context(), []int64{6}))
		require.NoError(t, a.SetAttr(t.Context(), ndarray.Attr{Name: "a", Value: ndarray.Text("x")}))
		all, err := ndarray.ReadAll[int16](t.Context(), a)
		require.NoError(t, err)
		require.Equal(t, []int16{1, 2, 3, 4, 0, 0}, all)
		require.NoError(t, a.Close())
	})
}
