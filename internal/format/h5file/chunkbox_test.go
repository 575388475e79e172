package h5file_test

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

// trace counts the reads of a file and the ranges that were announced before them.
type trace struct {
	*bytes.Reader
	mu               sync.Mutex
	reads, announced int
}

func (c *trace) ReadAt(p []byte, off int64) (int, error) {
	c.mu.Lock()
	c.reads++
	c.mu.Unlock()
	return c.Reader.ReadAt(p, off)
}

func (c *trace) Prefetch(_ context.Context, ranges iter.Seq2[int64, int64]) (stop func()) {
	for range ranges {
		c.mu.Lock()
		c.announced++
		c.mu.Unlock()
	}
	return func() {}
}

// TestObject_ChunksIn compares the chunks of random regions with those of the whole index, for each
// kind of index, and limits the reads for one chunk.
func TestObject_ChunksIn(t *testing.T) {
	const rows, columns = 120, 75 // chunks: enough for trees of several levels
	dims := []int64{2*rows - 1, 3 * columns}
	const all = int64(h5.Unlimited)
	regions := 50
	if testenv.All() {
		regions = 200
	}
	for _, tt := range []struct {
		name string
		low  h5.LibVer
		most []int64
		o    h5.DatasetOptions
		kind h5file.IndexType
		one  int // reads for one chunk
	}{
		{"B-tree 1", h5.Earliest, dims, h5.DatasetOptions{}, h5file.BTree1Index, 4},
		{"B-tree 1, filtered", h5.Earliest, []int64{all, all}, h5.DatasetOptions{Shuffle: true}, h5file.BTree1Index, 4},
		{"fixed array", h5.V110, dims, h5.DatasetOptions{}, h5file.FixedArrayIndex, 3},
		{"fixed array, filtered", h5.V110, []int64{300, 300}, h5.DatasetOptions{Shuffle: true}, h5file.FixedArrayIndex, 3},
		{"extensible array", h5.V110, []int64{all, 225}, h5.DatasetOptions{}, h5file.ExtensibleArrayIndex, 5},
		{"extensible array, second dimension", h5.V110, []int64{300, all}, h5.DatasetOptions{Shuffle: true}, h5file.ExtensibleArrayIndex, 5},
		{"B-tree 2", h5.V110, []int64{all, all}, h5.DatasetOptions{}, h5file.BTree2Index, 6},
		{"B-tree 2, filtered", h5.V110, []int64{all, all}, h5.DatasetOptions{Shuffle: true}, h5file.BTree2Index, 6},
		{"implicit", h5.V110, dims, h5.DatasetOptions{Alloc: h5.AllocEarly}, h5file.ImplicitIndex, 0},
	} {
		for _, sparse := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, sparse %t", tt.name, sparse), func(t *testing.T) {
				r := rand.New(rand.NewPCG(1, 2))
				file := filepath.Join(t.TempDir(), "x.h5")
				f, err := h5.Create(file, &h5.CreateOptions{Low: tt.low, High: h5.LatestFormat})
				require.NoError(t, err)
				tt.o.ChunkShape = []int64{2, 3}
				d, err := f.Root().CreateDataset("d", h5.Int(1, h5.LittleEndian), h5.Dataspace{Kind: h5.Simple, Dims: dims, MaxDims: tt.most}, &tt.o)
				require.NoError(t, err)
				for _, n := range r.Perm(rows * columns) {
					if sparse && n%7 > 0 {
						continue
					}
					require.NoError(t, d.WriteChunk(make([]byte, 6), 0, int64(n/columns*2), int64(n%columns*3)))
				}
				require.NoError(t, d.Close())
				require.NoError(t, f.Close())
				image := load(t, file)

				src := &trace{Reader: bytes.NewReader(image)}
				ours, err := h5file.Open(src, int64(len(image)), nil)
				require.NoError(t, err)
				o := object(t, ours, "/d")
				require.Equal(t, tt.kind, o.Layout().Index)
				var whole []h5file.Chunk
				for c, err := range o.Chunks() {
					require.NoError(t, err)
					whole = append(whole, c)
				}
				full := src.reads
				in := func(start, count []uint64) (some []h5file.Chunk) {
					for c, err := range o.ChunksIn(start, count) {
						require.NoError(t, err)
						require.NoError(t, c.Unsure)
						some = append(some, c)
					}
					return some
				}
				for range regions {
					start := []uint64{r.Uint64N(2*rows - 1), r.Uint64N(3 * columns)}
					count := []uint64{1 + r.Uint64N(2*rows-1-start[0]), 1 + r.Uint64N(3*columns-start[1])}
					var want []h5file.Chunk
					for _, c := range whole {
						if c.Offset[0]+2 > start[0] && c.Offset[0] < start[0]+count[0] && c.Offset[1]+3 > start[1] && c.Offset[1] < start[1]+count[1] {
							want = append(want, c)
						}
					}
					require.Equal(t, want, in(start, count), "%d %d", start, count)
				}
				for range 50 {
					src.reads, src.announced = 0, 0
					in([]uint64{r.Uint64N(2*rows - 1), r.Uint64N(3 * columns)}, []uint64{1, 1})
					require.LessOrEqual(t, src.reads, tt.one, "%d for the whole index", full)
					require.LessOrEqual(t, src.announced, 2*tt.one)
				}
				require.Empty(t, in([]uint64{0, 0}, []uint64{0, 1}))
				require.Empty(t, in([]uint64{0, 3 * columns}, []uint64{1, 1}))
				require.Empty(t, in([]uint64{0}, []uint64{1}))
			})
		}
	}
}
