package hyperslab

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
)

// TestCopyTree_memory bounds the memory of the plan of a copy by the number of arrays.
func TestCopyTree_memory(t *testing.T) {
	const n = 2000
	name := filepath.Join(t.TempDir(), "x.h5")
	f, err := h5.Create(name, nil)
	require.NoError(t, err)
	for i := range n {
		d, err := f.Root().CreateDataset(fmt.Sprintf("d%04d", i), h5.Int(4, h5.LittleEndian), h5.SimpleSpace(3), nil)
		require.NoError(t, err)
		require.NoError(t, d.Close())
	}
	require.NoError(t, f.Close())
	for _, target := range []Format{HDF5, B2Z, Directory} {
		t.Run(string(target), func(t *testing.T) {
			src, err := OpenTree(context.Background(), name, nil)
			require.NoError(t, err)
			defer src.Close()
			live := func() int64 {
				var m runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&m)
				return int64(m.HeapAlloc)
			}
			before := live()
			c := &treeCopy{losses: losses{options: &TreeOptions{}}, source: copySource{src}, destination: &destination{format: target, at: "/"}}
			c.target, err = newTarget(c, target, false)
			require.NoError(t, err)
			require.NoError(t, c.plan(context.Background()))
			require.Len(t, c.arrays, n)
			require.Less(t, (live()-before)/n, int64(700), "bytes for each array")
			runtime.KeepAlive(c)
		})
	}
}
