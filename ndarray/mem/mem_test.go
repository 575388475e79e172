package mem_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/mem"
	"github.com/hyperslab/hyperslab/ndarray/ndarraytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	ndarraytest.TestBackend(t, ndarraytest.Factory{
		Create: func(_ ndarraytest.TB, spec ndarray.Spec) (ndarray.Backend, error) {
			b, err := mem.New(spec)
			if err != nil {
				return nil, err
			}
			return b, nil
		},
	})
}

func TestNew_hugeShape(t *testing.T) {
	for _, shape := range [][]int64{{1 << 46}, {1 << 20, 1 << 30}, {1 << 60}} {
		_, err := mem.New(ndarray.Spec{Shape: shape, DType: ndarray.DTypeOf[uint16]()})
		require.ErrorIs(t, err, ndarray.ErrShape, "%v", shape)
	}
}

func TestNew_copiesSpec(t *testing.T) {
	spec := ndarray.Spec{
		Shape: []int64{2}, ChunkShape: []int64{1}, DType: ndarray.DTypeOf[uint8](), Fill: []byte{7},
		Attrs: []ndarray.Attr{{Name: "a", Value: ndarray.Vector[uint8](1, 2)}},
	}
	b, err := mem.New(spec)
	require.NoError(t, err)
	spec.Shape[0], spec.ChunkShape[0], spec.Fill[0], spec.Attrs[0].Value.Data[0] = 9, 9, 9, 9
	require.Equal(t, []int64{2}, b.Meta().Shape)
	require.Equal(t, []int64{1}, b.Meta().ChunkShape)
	require.Equal(t, []byte{7}, b.Meta().Fill)
	attrs, err := b.(ndarray.AttrReader).Attrs(t.Context())
	require.NoError(t, err)
	require.Equal(t, []byte{1, 2}, attrs.List[0].Value.Data)
}

// TestManyGoroutines checks 64 goroutines on one array, eight of which write. A read must contain
// either all or nothing of a write.
func TestManyGoroutines(t *testing.T) {
	spec := ndarray.Spec{Shape: []int64{40, 25}, DType: ndarray.DTypeOf[int32]()}
	b, err := mem.New(spec)
	require.NoError(t, err)
	a, err := ndarray.New(b)
	require.NoError(t, err)
	whole, ctx := ndarray.Whole(spec.Shape), context.Background()
	errs := make([]error, 64)
	var all sync.WaitGroup
	for g := range errs {
		all.Go(func() {
			values := make([]int32, 1000)
			for i := range 50 {
				if g%8 == 0 {
					for k := range values {
						values[k] = int32(g*1000 + i)
					}
					errs[g] = ndarray.Write(ctx, a, values, whole)
				} else if errs[g] = ndarray.Read(ctx, a, values, whole); errs[g] == nil {
					for k, v := range values {
						if v != values[0] {
							errs[g] = fmt.Errorf("element %d is %d, the first is %d", k, v, values[0])
						}
					}
				}
				if errs[g] != nil {
					return
				}
			}
		})
	}
	all.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	require.NoError(t, a.Close())
}
