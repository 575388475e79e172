// Indexes of each kind with each number of chunks.

package chunkio_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/chunkio"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

// dirty returns a destination whose bytes are those of no element.
func dirty(n int64) []byte { return bytes.Repeat([]byte{0xAA}, int(n)) }

// chunkCounts returns 1 to 600, or a sample.
func chunkCounts() []int64 {
	counts := []int64{1, 2, 3, 5, 20, 21, 64, 65, 127, 128, 129, 130, 131, 200, 256, 257, 400, 511, 513, 600}
	if !testenv.All() {
		return counts
	}
	counts = counts[:0]
	for n := range int64(600) {
		counts = append(counts, n+1)
	}
	return counts
}

// indexes are the kinds of chunk index, in one dimension and in two.
var indexes = []struct {
	name  string
	low   h5.LibVer
	alloc h5.AllocTime
	most  func(n int64) int64 // maximum of the first dimension
	other int64               // maximum of the second dimension; 0: there is none
	kind  h5.ChunkIndex
}{
	{"B-tree 1", h5.Earliest, h5.AllocDefault, same, 0, h5.BTree1},
	{"B-tree 1, unlimited", h5.Earliest, h5.AllocDefault, unlimited, 0, h5.BTree1},
	{"B-tree 1, two dimensions", h5.Earliest, h5.AllocDefault, same, 3, h5.BTree1},
	{"implicit", h5.V110, h5.AllocEarly, same, 0, h5.Implicit},
	{"implicit, two dimensions", h5.V110, h5.AllocEarly, same, 3, h5.Implicit},
	{"fixed array", h5.V110, h5.AllocDefault, same, 0, h5.FixedArray},
	{"fixed array, two dimensions", h5.V110, h5.AllocDefault, func(n int64) int64 { return n + 5 }, 3, h5.FixedArray},
	{"extensible array", h5.V110, h5.AllocDefault, unlimited, 0, h5.ExtensibleArray},
	{"extensible array, two dimensions", h5.V110, h5.AllocDefault, unlimited, 3, h5.ExtensibleArray},
	{"extensible array, second dimension", h5.V110, h5.AllocDefault, same, h5.Unlimited, h5.ExtensibleArray},
	{"B-tree 2", h5.V110, h5.AllocDefault, unlimited, h5.Unlimited, h5.BTree2},
}

func same(n int64) int64    { return n }
func unlimited(int64) int64 { return h5.Unlimited }

// TestRead_chunkCounts reads the first, the last and a random chunk of datasets with each number of
// chunks up to 600, from a remote file, of which only a part of the index is read. The elements are
// the numbers of the chunks.
func TestRead_chunkCounts(t *testing.T) {
	u2 := h5.Uint(2, h5.LittleEndian)
	for _, tt := range indexes {
		for _, filtered := range []bool{false, true} {
			if filtered && tt.alloc == h5.AllocEarly {
				continue // a fixed array
			}
			t.Run(fmt.Sprintf("%s, filtered %t", tt.name, filtered), func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "x.h5")
				f, err := h5.Create(path, &h5.CreateOptions{Low: tt.low, High: h5.LatestFormat})
				require.NoError(t, err)
				for _, n := range chunkCounts() {
					space := h5.Dataspace{Kind: h5.Simple, Dims: []int64{n}, MaxDims: []int64{tt.most(n)}}
					o := h5.DatasetOptions{ChunkShape: []int64{1}, Alloc: tt.alloc, Shuffle: filtered}
					if tt.other != 0 {
						space.Dims, space.MaxDims, o.ChunkShape = []int64{n, 3}, []int64{tt.most(n), tt.other}, []int64{1, 1}
					}
					d, err := f.Root().CreateDataset(fmt.Sprint(n), u2, space, &o)
					require.NoError(t, err)
					require.NoError(t, d.WriteRegion(numbered(space.NumElems()), u2, space.All()))
					info, err := d.Info()
					require.NoError(t, err)
					if space.NumElems() > 1 {
						require.Equal(t, tt.kind, info.Index, "%d chunks", n)
					}
					require.NoError(t, d.Close())
				}
				require.NoError(t, f.Close())
				image, err := os.ReadFile(path)
				require.NoError(t, err)
				remote, err := h5.OpenReaderAt(&distant{Reader: bytes.NewReader(image)}, int64(len(image)), &h5.ReaderOptions{Concurrent: true})
				require.NoError(t, err)
				defer remote.Close()
				r := rand.New(rand.NewPCG(5, 6))
				for _, n := range chunkCounts() {
					requireChunks(t, remote, n, r)
				}
			})
		}
	}
}

// requireChunks reads chunks of a dataset of TestRead_chunkCounts, each with the index of a new
// handle.
func requireChunks(t *testing.T, f *h5.File, n int64, r *rand.Rand) {
	t.Helper()
	u2 := h5.Uint(2, h5.LittleEndian)
	d, err := f.Root().OpenDataset(fmt.Sprint(n))
	require.NoError(t, err)
	info, err := d.Info()
	require.NoError(t, err)
	dims := info.Space.Dims
	total := info.Space.NumElems()
	for _, at := range []int64{0, total - 1, r.Int64N(total)} {
		region := h5.Region{Start: []int64{at}, Count: []int64{1}}
		if len(dims) == 2 {
			region = h5.Region{Start: []int64{at / dims[1], at % dims[1]}, Count: []int64{1, 1}}
		}
		got := dirty(2)
		_, err := chunkio.Read(t.Context(), d, got, u2, region, nil)
		require.NoError(t, err)
		require.Equal(t, numbered(total)[2*at:][:2], got, "element %d of %d", at, dims)
		require.NoError(t, d.Close())
		d, err = f.Root().OpenDataset(fmt.Sprint(n))
		require.NoError(t, err)
	}
	require.NoError(t, d.Close())
}

// numbered returns the elements 1 to n.
func numbered(n int64) []byte {
	b := make([]byte, 2*n)
	for i := range n {
		b[2*i], b[2*i+1] = byte(i+1), byte((i+1)>>8)
	}
	return b
}
