package chunkio_test

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/chunkio"
)

// distant is a file that fetches ranges before they are read, like a remote one. It counts the
// bytes of its reads.
type distant struct {
	*bytes.Reader
	bytes atomic.Int64
}

func (d *distant) ReadAt(p []byte, off int64) (int, error) {
	d.bytes.Add(int64(len(p)))
	return d.Reader.ReadAt(p, off)
}

func (d *distant) Prefetch(_ context.Context, ranges iter.Seq2[int64, int64]) (stop func()) {
	for range ranges {
	}
	return func() {}
}

// TestRead_remote reads regions of datasets with each kind of chunk index from a remote file. The
// oracle is libhdf5. A corrupt node of the index must be an error only for the regions that need
// it.
func TestRead_remote(t *testing.T) {
	dims, chunk := []int64{199, 149}, []int64{4, 5}
	values := bytesLike(2*199*149, 1)
	kind := h5.Int(2, h5.LittleEndian)
	for name, tt := range map[string]struct {
		low  h5.LibVer
		most []int64
	}{
		"B-tree 1": {h5.Earliest, dims}, "fixed array": {h5.V110, dims}, "B-tree 2": {h5.V110, []int64{h5.Unlimited, h5.Unlimited}},
		"extensible array": {h5.V110, []int64{h5.Unlimited, 149}}, "extensible array, second dimension": {h5.V110, []int64{199, h5.Unlimited}},
	} {
		for _, filters := range [][]h5.Filter{nil, {h5.Shuffle(), h5.Deflate(1)}} {
			t.Run(fmt.Sprintf("%s, %d filters", name, len(filters)), func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "x.h5")
				f, err := h5.Create(path, &h5.CreateOptions{Low: tt.low, High: h5.LatestFormat})
				require.NoError(t, err)
				d, err := f.Root().CreateDataset("d", kind, h5.Dataspace{Kind: h5.Simple, Dims: dims, MaxDims: tt.most}, &h5.DatasetOptions{ChunkShape: chunk, Filters: filters})
				require.NoError(t, err)
				require.NoError(t, d.WriteRegion(values, kind, all(dims...)))
				require.NoError(t, f.Close())
				image, err := os.ReadFile(path)
				require.NoError(t, err)

				src := &distant{Reader: bytes.NewReader(image)}
				f, err = h5.OpenReaderAt(src, int64(len(image)), &h5.ReaderOptions{Concurrent: true})
				require.NoError(t, err)
				defer f.Close()
				r := rand.New(rand.NewPCG(3, 4))
				for n := range 60 {
					if n%20 == 0 { // the index of a dataset is kept
						d, err = f.Root().OpenDataset("d")
						require.NoError(t, err)
						defer d.Close()
					}
					region := h5.Region{Start: []int64{r.Int64N(199), r.Int64N(149)}}
					region.Count = []int64{1 + r.Int64N(199-region.Start[0]), 1 + r.Int64N(149-region.Start[1])}
					got, want := make([]byte, 2*region.Count[0]*region.Count[1]), make([]byte, 2*region.Count[0]*region.Count[1])
					stats, err := chunkio.Read(t.Context(), d, got, kind, region, nil)
					require.NoError(t, err)
					require.Empty(t, stats.Fallback)
					_, err = chunkio.Read(t.Context(), d, want, kind, region, &chunkio.Options{Library: true})
					require.NoError(t, err)
					require.Equal(t, want, got)
				}
				if name != "B-tree 1" {
					return
				}
				at := bytes.LastIndex(image, []byte("TREE")) // the node of the last chunks
				image[at]++
				src = &distant{Reader: bytes.NewReader(image)}
				corrupt, err := h5.OpenReaderAt(src, int64(len(image)), &h5.ReaderOptions{Concurrent: true})
				require.NoError(t, err)
				defer corrupt.Close()
				d, err = corrupt.Root().OpenDataset("d")
				require.NoError(t, err)
				defer d.Close()
				got := make([]byte, 2*10*149)
				_, err = chunkio.Read(t.Context(), d, got, kind, h5.Region{Start: []int64{0, 0}, Count: []int64{10, 149}}, nil)
				require.NoError(t, err)
				require.Equal(t, values[:len(got)], got)
				_, err = chunkio.Read(t.Context(), d, got, kind, h5.Region{Start: []int64{189, 0}, Count: []int64{10, 149}}, nil)
				require.Error(t, err)
			})
		}
	}
}
