// Tests of the destination of decoded chunks and of the limits of a plan. They are in the package
// because they need the buffers of a worker and unexported functions.

package chunkio

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/filter"
	"github.com/hyperslab/hyperslab/internal/chunked/budget"
)

// TestRead_wholeChunks checks that a chunk is decoded directly into dst if all of it is selected
// and contiguous there. Other chunks are decoded into the buffer of a worker.
func TestRead_wholeChunks(t *testing.T) {
	f, err := h5.Create(filepath.Join(t.TempDir(), "x.h5"), nil)
	require.NoError(t, err)
	defer f.Close()
	be, le := h5.Int(4, h5.BigEndian), h5.Int(4, h5.LittleEndian)
	src := make([]byte, 4*32*16)
	for i := range src {
		src[i] = byte(i * i >> 5)
	}
	for name, filters := range map[string][]h5.Filter{
		"deflate": {h5.Shuffle(), h5.Deflate(1)}, "blosc2": {{ID: filter.IDBlosc2, Values: []uint32{0, 0, 0, 0, 5, 1, 1}}}, "lz4": {{ID: filter.IDLZ4}},
	} {
		d, err := f.Root().CreateDataset(name, be, h5.SimpleSpace(32, 16), &h5.DatasetOptions{ChunkShape: []int64{8, 16}, Filters: filters})
		require.NoError(t, err)
		require.NoError(t, d.WriteRegion(src, be, h5.Region{Start: []int64{0, 0}, Count: []int64{32, 16}}))
		for _, tt := range []struct {
			mem      h5.Datatype
			columns  int64
			straight bool
		}{{be, 16, true}, {le, 16, true}, {be, 15, false}} {
			c := newCall("read", d, tt.mem, h5.Region{Start: []int64{0, 0}, Count: []int64{32, tt.columns}}, nil)
			dst := make([]byte, 32*tt.columns*int64(tt.mem.Size))
			why, err := c.prepare(len(dst))
			require.NoError(t, err)
			require.Empty(t, why)
			r := &reader{c: c, q: c.plan.NewPiece(), work: new(work)}
			for k := range c.plan.Chunks {
				c.plan.At(k, r.q)
				require.NoError(t, r.read(dst))
			}
			want := make([]byte, len(dst))
			require.NoError(t, d.ReadRegion(want, tt.mem, c.r))
			require.Equal(t, want, dst)
			if tt.straight || name == "blosc2" && !c.swap.needed() {
				require.Zero(t, cap(r.data), "%s, %d columns", name, tt.columns)
			} else {
				require.Positive(t, cap(r.data), "%s, %d columns", name, tt.columns)
			}
		}
	}
}

// TestTooManyLoops checks that libhdf5 transfers regions with blocks and strides in too many
// dimensions. Each such dimension needs two loops, and the number of loops is limited.
func TestTooManyLoops(t *testing.T) {
	f, err := h5.Create(filepath.Join(t.TempDir(), "x.h5"), nil)
	require.NoError(t, err)
	defer f.Close()
	of := func(n int64, rank int) []int64 { return slices.Repeat([]int64{n}, rank) }
	for rank, want := range map[int]string{16: "", 17: "a region with steps between blocks in too many dimensions"} {
		d, err := f.Root().CreateDataset(fmt.Sprint(rank), h5.Int(1, h5.LittleEndian), h5.SimpleSpace(of(5, rank)...), &h5.DatasetOptions{
			ChunkShape: of(1, rank), Filters: []h5.Filter{h5.Deflate(1)},
		})
		require.NoError(t, err)
		r := h5.Region{Start: of(0, rank), Count: of(2, rank), Stride: of(3, rank), Block: of(2, rank)}
		why, err := newCall("read", d, h5.Int(1, h5.LittleEndian), r, nil).prepare(int(r.NumElems()))
		require.NoError(t, err)
		require.Equal(t, want, why)
	}
}

// TestRead_tableMemory checks that the table of chunks of an open dataset counts in the memory of
// the process.
func TestRead_tableMemory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.h5")
	f, err := h5.Create(path, nil)
	require.NoError(t, err)
	u1 := h5.Uint(1, h5.LittleEndian)
	d, err := f.Root().CreateDataset("d", u1, h5.SimpleSpace(sparseFrom), &h5.DatasetOptions{ChunkShape: []int64{1}})
	require.NoError(t, err)
	require.NoError(t, d.WriteRegion([]byte{7}, u1, h5.Region{Start: []int64{9}, Count: []int64{1}}))
	require.NoError(t, f.Close())
	before, _ := budget.Held()
	held := func() int64 {
		runtime.GC()
		now, _ := budget.Held()
		return now - before
	}
	func() {
		f, err := h5.Open(path, h5.ReadOnly)
		require.NoError(t, err)
		d, err := f.Root().OpenDataset("d")
		require.NoError(t, err)
		_, err = Read(t.Context(), d, make([]byte, sparseFrom), u1, h5.Region{Start: []int64{0}, Count: []int64{sparseFrom}}, nil)
		require.NoError(t, err)
		require.EqualValues(t, sparseFrom*int64(unsafe.Sizeof(entry{})), held())
		runtime.KeepAlive(d)
		require.NoError(t, f.Close())
	}()
	require.Eventually(t, func() bool { return held() == 0 }, 10*time.Second, time.Millisecond)
}
