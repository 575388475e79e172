package ndarray_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/ndarray"
)

func TestWorkers(t *testing.T) {
	ctx := context.Background()
	require.Equal(t, runtime.GOMAXPROCS(0), ndarray.Workers(ctx))
	require.Equal(t, 3, ndarray.Workers(ndarray.WithWorkers(ctx, 3)))
	require.Equal(t, 1, ndarray.Workers(ndarray.WithWorkers(ndarray.WithWorkers(ctx, 3), 1)))
	require.Equal(t, runtime.GOMAXPROCS(0), ndarray.Workers(ndarray.WithWorkers(ctx, 0)), "0 means one worker per processor")
}
