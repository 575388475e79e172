package chunkio

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/filter"
	"github.com/hyperslab/hyperslab/internal/chunked/budget"
)

var (
	keptShape  = []int64{37, 50}
	keptChunks = []int64{8, 17} // 5 x 3 chunks, some of them beyond the edges
	i4         = h5.Int(4, h5.LittleEndian)
)

// keptFile writes a dataset of which the last two rows of chunks are not stored. It returns the
// path and all elements.
func keptFile(t testing.TB, filters []h5.Filter, edges bool) (path string, values []byte) {
	path = filepath.Join(t.TempDir(), "x.h5")
	f, err := h5.Create(path, nil)
	require.NoError(t, err)
	d, err := f.Root().CreateDataset("d", i4, h5.SimpleSpace(keptShape...),
		&h5.DatasetOptions{ChunkShape: keptChunks, Filters: filters, Fill: []byte{9, 8, 7, 6}, PlainEdges: edges})
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(1, 2))
	values = bytes.Repeat([]byte{9, 8, 7, 6}, int(keptShape[0]*keptShape[1]))
	n := 24 * keptShape[1] * 4
	for i := range n {
		values[i] = byte(r.IntN(5))
	}
	require.NoError(t, d.WriteRegion(values[:n], i4, h5.Region{Start: []int64{0, 0}, Count: []int64{24, keptShape[1]}}))
	require.NoError(t, d.Close())
	require.NoError(t, f.Close())
	return path, values
}

func keptOpen(t testing.TB, path string, mode h5.Mode) *h5.Dataset {
	f, err := h5.Open(path, mode)
	require.NoError(t, err)
	d, err := f.Root().OpenDataset("d")
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, d.Close())
		require.NoError(t, f.Close())
	})
	return d
}

// keptRead compares a random box with values.
func keptRead(d *h5.Dataset, values []byte, r *rand.Rand) error {
	box := h5.Region{Start: make([]int64, 2), Count: make([]int64, 2)}
	for i, n := range keptShape {
		box.Count[i] = 1 + r.Int64N(n)
		box.Start[i] = r.Int64N(n - box.Count[i] + 1)
	}
	got := bytes.Repeat([]byte{0xAA}, int(box.NumElems())*4)
	if _, err := Read(context.Background(), d, got, i4, box, nil); err != nil {
		return err
	}
	row := box.Count[1] * 4
	for y := range box.Count[0] {
		at := ((box.Start[0]+y)*keptShape[1] + box.Start[1]) * 4
		if !bytes.Equal(got[y*row:(y+1)*row], values[at:at+row]) {
			return fmt.Errorf("box %v, row %d: other elements", box, y)
		}
	}
	return nil
}

// keptNow returns the chunks and bytes in the cache, and the number of entries of a dataset.
func keptNow(set *dataset) (chunks int, size int64, own int) {
	kept.mu.Lock()
	defer kept.mu.Unlock()
	return kept.order.Len(), kept.bytes, len(set.kept)
}

// TestRead_kept reads random boxes by several goroutines, with memory for all chunks and for two.
func TestRead_kept(t *testing.T) {
	for name, filters := range map[string][]h5.Filter{
		"deflate": {h5.Deflate(1)}, "shuffle, deflate": {h5.Shuffle(), h5.Deflate(4)},
		"zstd, checksum": {h5.Shuffle(), {ID: filter.IDZstd}, h5.Fletcher32()}, "bitshuffle": {{ID: filter.IDBitShuffle, Values: []uint32{0, 2}}},
		"Blosc": {{ID: filter.IDBlosc, Values: []uint32{0, 0, 0, 0, 5, 1, 1}}},
	} {
		for _, chunks := range []int64{15, 2} {
			for _, edges := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %d chunks, plain edges %v", name, chunks, edges), func(t *testing.T) {
					kept.shrink(1 << 40)
					path, values := keptFile(t, filters, edges)
					size := keptChunks[0]*keptChunks[1]*4 + keptExtra
					if chunks == 2 {
						defer func(most int64) { keptMost = most }(keptMost)
						keptMost = chunks * size
					}
					d := keptOpen(t, path, h5.ReadOnly)
					var all sync.WaitGroup
					for g := range 4 {
						all.Go(func() {
							r := rand.New(rand.NewPCG(uint64(g), 1))
							for range 50 {
								if err := keptRead(d, values, r); err != nil {
									t.Error(err)
									return
								}
							}
						})
					}
					all.Wait()
					set, err := lookUp(d, false)
					require.NoError(t, err)
					_, bytes, own := keptNow(set)
					require.Positive(t, own)
					require.LessOrEqual(t, own, int(min(chunks, 9)), "9 chunks are stored")
					require.LessOrEqual(t, bytes, keptMost)
				})
			}
		}
	}
}

// TestRead_kept_changes checks that a chunk of a file that is open for writing is not kept.
func TestRead_kept_changes(t *testing.T) {
	path, values := keptFile(t, []h5.Filter{h5.Deflate(1)}, false)
	d := keptOpen(t, path, h5.ReadWrite)
	r := rand.New(rand.NewPCG(3, 4))
	for k := range 20 {
		require.NoError(t, keptRead(d, values, r))
		at := 4 * (3*keptShape[1] + int64(k))
		values[at] = byte(100 + k)
		_, err := Write(t.Context(), d, values[at:at+4], i4, h5.Region{Start: []int64{3, int64(k)}, Count: []int64{1, 1}}, nil)
		require.NoError(t, err)
	}
}

// TestRead_kept_corrupt checks that a chunk that cannot be decoded is an error of each read.
func TestRead_kept_corrupt(t *testing.T) {
	path, values := keptFile(t, []h5.Filter{h5.Deflate(1)}, false)
	d := keptOpen(t, path, h5.ReadOnly)
	var c h5.Chunk
	for c = range d.StoredChunks() {
		break
	}
	require.Equal(t, []int64{0, 0}, c.Offset)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	good := make([]byte, 8)
	_, err = f.ReadAt(good, int64(c.Address)+20)
	require.NoError(t, err)
	_, err = f.WriteAt(make([]byte, 8), int64(c.Address)+20)
	require.NoError(t, err)
	box := h5.Region{Start: []int64{1, 1}, Count: []int64{2, 2}}
	got := make([]byte, 16)
	for range 3 {
		_, err := Read(t.Context(), d, got, i4, box, nil)
		require.ErrorIs(t, err, h5.ErrCorrupt)
	}
	_, err = f.WriteAt(good, int64(c.Address)+20)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	_, err = Read(t.Context(), d, got, i4, box, nil)
	require.NoError(t, err)
	require.Equal(t, values[4*(keptShape[1]+1):][:8], got[:8])
}

// TestRead_kept_memory checks that kept chunks leave the cache for a read that needs their memory,
// and with their dataset.
func TestRead_kept_memory(t *testing.T) {
	kept.shrink(1 << 40)
	defer budget.SetLimit(budget.SetLimit(16 << 20))
	path, values := keptFile(t, []h5.Filter{h5.Deflate(1)}, false)
	d := keptOpen(t, path, h5.ReadOnly)
	r := rand.New(rand.NewPCG(5, 6))
	fill := func() {
		for range 20 {
			require.NoError(t, keptRead(d, values, r))
		}
	}
	fill()
	set, err := lookUp(d, false)
	require.NoError(t, err)
	_, size, _ := keptNow(set)
	require.Positive(t, size)
	held, _ := budget.Held()
	require.Positive(t, held, "kept chunks count in the memory of the process")
	g, err := budget.Acquire(t.Context(), budget.Limit())
	require.NoError(t, err)
	_, size, own := keptNow(set)
	require.Zero(t, size)
	require.Zero(t, own)
	require.NoError(t, keptRead(d, values, r), "without memory to keep the chunk")
	g.Release()

	func() { // a dataset that becomes unreachable
		f, err := h5.Open(path, h5.ReadOnly)
		require.NoError(t, err)
		other, err := f.Root().OpenDataset("d")
		require.NoError(t, err)
		for range 20 {
			require.NoError(t, keptRead(other, values, r))
		}
		require.NoError(t, other.Close())
		require.NoError(t, f.Close())
	}()
	require.Eventually(t, func() bool {
		runtime.GC()
		n, _, own := keptNow(set)
		return n == own
	}, 10*time.Second, time.Millisecond)
}
