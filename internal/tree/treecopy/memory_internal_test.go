package treecopy

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/internal/tree/opened"
	"github.com/hyperslab/hyperslab/internal/tree/opener"
)

// TestCopy_memory bounds the memory of the plan of a copy by the number of arrays.
func TestCopy_memory(t *testing.T) {
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
	for _, target := range []string{detect.HDF5, detect.B2Z, detect.Directory} {
		t.Run(target, func(t *testing.T) {
			ctx := context.Background()
			s, f, err := opener.Find(ctx, name, false)
			require.NoError(t, err)
			x, err := opener.Open(ctx, f, s, &tree.OpenOptions{})
			require.NoError(t, err)
			defer x.Close()
			src := &opened.Tree{Tree: x, Format: f.Name, Location: locate.Location{File: name}}
			live := func() int64 {
				var m runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&m)
				return int64(m.HeapAlloc)
			}
			before := live()
			c := &copier{losses: losses{options: &Options{}}, source: newSource(src), destination: &destination{format: target, at: "/"}}
			c.target, err = newTarget(c)
			require.NoError(t, err)
			require.NoError(t, c.makePlan(ctx))
			require.Len(t, c.plan.Arrays, n)
			require.Less(t, (live()-before)/n, int64(700), "bytes for each array")
			runtime.KeepAlive(c)
		})
	}
}
