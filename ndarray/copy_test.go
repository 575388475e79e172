package ndarray_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/mem"
)

// recorder is an array in memory that records its calls and can fail.
type recorder struct {
	ndarray.Backend
	failRead, failWrite int // the n-th call fails; 0: none does

	mu            sync.Mutex
	reads, writes []ndarray.Region
	writing       []ndarray.Region // by calls that run
	clashes       int              // writes to a chunk during another write to it
}

// Unwrap returns the array in memory.
func (r *recorder) Unwrap() ndarray.Backend { return r.Backend }

// clash reports whether two regions have a chunk in common.
func (r *recorder) clash(a, b ndarray.Region) bool {
	chunk := r.Meta().ChunkShape
	if chunk == nil {
		return false
	}
	for i, n := range chunk {
		lastA, lastB := (a.Start[i]+a.Shape[i]-1)/n, (b.Start[i]+b.Shape[i]-1)/n
		if a.Start[i]/n > lastB || b.Start[i]/n > lastA {
			return false
		}
	}
	return true
}

var errInjected = errors.New("injected")

func (r *recorder) ReadRegion(ctx context.Context, dst []byte, reg ndarray.Region, workers int) error {
	r.mu.Lock()
	r.reads = append(r.reads, ndarray.Region(grid.Box(reg).Clone()))
	fail := len(r.reads) == r.failRead
	r.mu.Unlock()
	if fail {
		return errInjected
	}
	return r.Backend.ReadRegion(ctx, dst, reg, 0)
}

func (r *recorder) WriteRegion(ctx context.Context, src []byte, reg ndarray.Region, workers int) error {
	r.mu.Lock()
	r.writes = append(r.writes, ndarray.Region(grid.Box(reg).Clone()))
	fail := len(r.writes) == r.failWrite
	if slices.ContainsFunc(r.writing, func(other ndarray.Region) bool { return r.clash(reg, other) }) {
		r.clashes++
	}
	r.writing = append(r.writing, reg)
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.writing = slices.DeleteFunc(r.writing, func(o ndarray.Region) bool { return grid.Box(o).Equal(grid.Box(reg)) })
	}()
	if fail {
		return errInjected
	}
	return r.Backend.(ndarray.RegionWriter).WriteRegion(ctx, src, reg, 0)
}

func newRecorder(t require.TestingT, shape, chunk []int64, d ndarray.DType) (*recorder, *ndarray.Array) {
	b, err := mem.New(ndarray.Spec{Shape: shape, ChunkShape: chunk, DType: d})
	require.NoError(t, err)
	r := &recorder{Backend: b}
	a, err := ndarray.New(r)
	require.NoError(t, err)
	return r, a
}

// touches returns the number of pairs of a region and a chunk that share elements.
func touches(t require.TestingT, regions []ndarray.Region, shape, chunk []int64) int {
	g, err := grid.New(shape, chunk)
	require.NoError(t, err)
	n := 0
	for c := range g.All() {
		for _, r := range regions {
			if _, ok := c.Intersect(grid.Box(r)); ok {
				n++
			}
		}
	}
	return n
}

func fillBytes(n int64) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*131 + i>>8)
	}
	return b
}

// TestCopyProperties checks Copy with random grids, workers and memory limits. All elements must be
// copied, the memory limit must hold, and each element must be written once. No destination chunk
// may be written by two units, unless it is larger than the memory limit.
func TestCopyProperties(t *testing.T) {
	ctx := t.Context()
	rapid.Check(t, func(t *rapid.T) {
		rank := rapid.IntRange(0, 4).Draw(t, "rank")
		shape := rapid.SliceOfN(rapid.Int64Range(0, 12), rank, rank).Draw(t, "shape")
		chunk := func(label string) []int64 {
			if !rapid.Bool().Draw(t, label+" chunked") {
				return nil
			}
			return rapid.SliceOfN(rapid.Int64Range(1, 14), rank, rank).Draw(t, label)
		}
		srcChunk, dstChunk := chunk("src"), chunk("dst")
		d := dtype(t, rapid.SampledFrom([]string{"|u1", "<i2", ">f4", "<c16", "|V3"}).Draw(t, "dtype"))
		sr, src := newRecorder(t, shape, srcChunk, d)
		dr, dst := newRecorder(t, shape, dstChunk, ndarray.DType{Kind: d.Kind, Size: d.Size, Order: flip(d.Order)})
		want := fillBytes(src.NBytes())
		require.NoError(t, src.Write(ctx, want, ndarray.Whole(shape)))
		sr.writes = nil

		o := &ndarray.CopyOptions{
			Workers: rapid.IntRange(0, 5).Draw(t, "workers"),
			Memory:  rapid.Int64Range(int64(d.Size), 4000).Draw(t, "memory"),
		}
		var inside, done, total int64
		o.Progress = func(p ndarray.Progress) {
			inside++
			require.Equal(t, int64(1), inside, "two progress calls at once")
			require.Greater(t, p.DoneBytes, done)
			require.LessOrEqual(t, p.DoneUnits, p.TotalUnits)
			done, total = p.DoneBytes, p.TotalBytes
			inside--
		}
		stats, err := ndarray.Copy(ctx, dst, src, o)
		require.NoError(t, err)
		got := make([]byte, len(want))
		require.NoError(t, dst.Read(ctx, got, ndarray.Whole(shape)))
		require.Equal(t, want, got)

		require.Equal(t, src.NBytes(), stats.Bytes)
		require.Equal(t, src.NBytes()*int64(stats.Stages), done)
		require.Equal(t, done, total)
		require.LessOrEqual(t, stats.PeakBuffer, o.Memory)
		if o.Workers > 0 {
			require.LessOrEqual(t, stats.Workers, o.Workers)
		}
		require.Len(t, dr.writes, int(stats.Units))
		for _, r := range dr.writes {
			require.LessOrEqual(t, r.NumElems()*int64(d.Size), stats.PeakBuffer)
		}
		require.Equal(t, int(src.NumElems()), touches(t, dr.writes, shape, slices.Repeat([]int64{1}, rank)))
		if dstChunk != nil {
			chunkBytes := int64(d.Size)
			for i := range dstChunk {
				chunkBytes *= min(dstChunk[i], shape[i])
			}
			if n := touches(t, dr.writes, shape, dstChunk); chunkBytes <= o.Memory {
				require.Equal(t, touches(t, []ndarray.Region{ndarray.Whole(shape)}, shape, dstChunk), n)
			} else if stats.Units > 1 && stats.Stages == 1 { // the first of two stages does not write to dst
				require.Equal(t, 1, stats.Workers, "parts of one chunk must be written one after the other")
			}
			require.Zero(t, dr.clashes)
		}
	})
}

func flip(o ndarray.Order) ndarray.Order {
	switch o {
	case ndarray.Little:
		return ndarray.Big
	case ndarray.Big:
		return ndarray.Little
	}
	return o
}

// TestCopy_readsOnce checks that no source chunk is read for two units if the memory suffices, even
// if the grids of source and destination differ.
func TestCopy_readsOnce(t *testing.T) {
	shape := []int64{240, 240} // 57600 bytes
	for _, c := range []struct {
		name     string
		src, dst []int64
		memory   int64
		most     float64 // reads of a source chunk, on average
	}{
		{"rows to columns", []int64{1, 240}, []int64{240, 1}, 1 << 20, 1},
		{"tiles to larger tiles", []int64{8, 8}, []int64{40, 40}, 4 * 1600, 1},
		{"tiles that share a multiple", []int64{6, 10}, []int64{10, 6}, 4 * 900, 1},
		{"large to small", []int64{120, 120}, []int64{8, 8}, 4 * 14400, 1},
		{"prime against prime", []int64{7, 240}, []int64{11, 240}, 4 * 7 * 11 * 240, 1},
		{"one chunk", []int64{240, 240}, []int64{16, 16}, 57600, 1},
		{"half the memory for one chunk", []int64{240, 240}, []int64{16, 16}, 57600 / 2, 3},
	} {
		sr, src := newRecorder(t, shape, c.src, dtype(t, "u1"))
		_, dst := newRecorder(t, shape, c.dst, dtype(t, "u1"))
		stats, err := ndarray.Copy(t.Context(), dst, src, &ndarray.CopyOptions{Workers: 4, Memory: c.memory})
		require.NoError(t, err)
		require.LessOrEqual(t, stats.PeakBuffer, c.memory, c.name)
		chunks := touches(t, []ndarray.Region{ndarray.Whole(shape)}, shape, c.src)
		require.LessOrEqual(t, float64(touches(t, sr.reads, shape, c.src)), c.most*float64(chunks), c.name)
	}
}

// TestCopy_smallChunks checks that a unit contains many small chunks, but that there are enough
// units for all workers.
func TestCopy_smallChunks(t *testing.T) {
	_, src := newRecorder(t, []int64{1 << 22}, []int64{100}, dtype(t, "u1"))
	_, dst := newRecorder(t, []int64{1 << 22}, []int64{100}, dtype(t, "u1"))
	stats, err := ndarray.Copy(t.Context(), dst, src, &ndarray.CopyOptions{Workers: 2})
	require.NoError(t, err)
	require.Equal(t, 2, stats.Workers)
	require.Less(t, stats.Units, int64(100))
	require.GreaterOrEqual(t, stats.Units, int64(8))
}

func TestCopy_mismatch(t *testing.T) {
	_, a := newRecorder(t, []int64{2, 3}, nil, dtype(t, "<i4"))
	for _, c := range []struct {
		spec ndarray.Spec
		want error
		strs []string
	}{
		{ndarray.Spec{Shape: []int64{3, 2}, DType: dtype(t, "<i4")}, ndarray.ErrShape, []string{"[3 2]", "[2 3]"}},
		{ndarray.Spec{Null: true, DType: dtype(t, "<i4")}, ndarray.ErrShape, []string{"null", "[2 3]"}},
		{ndarray.Spec{Shape: []int64{2, 3}, DType: dtype(t, "<u4")}, ndarray.ErrType, []string{"<u4", "<i4"}},
		{ndarray.Spec{Shape: []int64{2, 3}, DType: dtype(t, "<i8")}, ndarray.ErrType, []string{"<i8", "<i4"}},
	} {
		dst := newMem(t, c.spec)
		_, err := ndarray.Copy(t.Context(), dst, a, nil)
		require.ErrorIs(t, err, c.want)
		for _, s := range c.strs {
			require.ErrorContains(t, err, s)
		}
	}
}

func TestCopy_invalidOptions(t *testing.T) {
	_, a := newRecorder(t, []int64{2}, nil, dtype(t, "<i4"))
	_, b := newRecorder(t, []int64{2}, nil, dtype(t, "<i4"))
	for _, o := range []ndarray.CopyOptions{{Workers: -1}, {Memory: -1}, {Memory: 3}} {
		_, err := ndarray.Copy(t.Context(), b, a, &o)
		require.ErrorIs(t, err, ndarray.ErrParam, "%+v", o)
	}
}

func TestCopy_Empty(t *testing.T) {
	for _, spec := range []ndarray.Spec{
		{Shape: []int64{0}, DType: dtype(t, "<i4")},
		{Shape: []int64{3, 0}, ChunkShape: []int64{2, 2}, DType: dtype(t, "<i4")},
		{Null: true, DType: dtype(t, "<i4")},
	} {
		stats, err := ndarray.Copy(t.Context(), newMem(t, spec), newMem(t, spec), nil)
		require.NoError(t, err)
		require.Equal(t, ndarray.CopyStats{}, stats)
	}
}

// TestCopy_errors checks that an error of the reader or the writer in any unit ends the copy with
// that error, and that no worker continues.
func TestCopy_errors(t *testing.T) {
	for _, workers := range []int{1, 3} {
		for n := 1; n <= 5; n++ {
			for _, side := range []string{"read", "write"} {
				sr, src := newRecorder(t, []int64{50}, []int64{10}, dtype(t, "u1"))
				dr, dst := newRecorder(t, []int64{50}, []int64{10}, dtype(t, "u1"))
				if side == "read" {
					sr.failRead = n
				} else {
					dr.failWrite = n
				}
				_, err := ndarray.Copy(t.Context(), dst, src, &ndarray.CopyOptions{Workers: workers, Memory: int64(10 * workers)})
				require.ErrorIs(t, err, errInjected, "%s %d", side, n)
				dr.mu.Lock()
				writes := len(dr.writes)
				dr.mu.Unlock()
				want := map[string]int{"read": n - 1, "write": n}[side] // the write that fails is counted
				// Other workers may continue until they see the error.
				if workers > 1 {
					want += 5 - n
				}
				require.LessOrEqual(t, writes, want, "%s %d of %d workers", side, n, workers)
				if workers == 1 {
					require.Equal(t, want, writes, "%s %d", side, n)
				}
			}
		}
	}
}

func TestCopy_cancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, src := newRecorder(t, []int64{1000}, []int64{10}, dtype(t, "u1"))
	dr, dst := newRecorder(t, []int64{1000}, []int64{10}, dtype(t, "u1"))
	require.NoError(t, src.Write(ctx, fillBytes(1000), ndarray.Whole(src.Shape())))
	_, err := ndarray.Copy(ctx, dst, src, &ndarray.CopyOptions{Workers: 3, Memory: 30, Progress: func(p ndarray.Progress) {
		if p.DoneUnits == 7 {
			cancel()
		}
	}})
	require.ErrorIs(t, err, context.Canceled)
	require.LessOrEqual(t, len(dr.writes), 7+3)
}

func TestCopy_closed(t *testing.T) {
	_, src := newRecorder(t, []int64{4}, nil, dtype(t, "u1"))
	_, dst := newRecorder(t, []int64{4}, nil, dtype(t, "u1"))
	require.NoError(t, src.Close())
	_, err := ndarray.Copy(t.Context(), dst, src, nil)
	require.ErrorIs(t, err, ndarray.ErrClosed)
}

func BenchmarkCopy(b *testing.B) {
	shape := []int64{2048, 2048}
	for _, c := range []struct {
		name     string
		src, dst []int64
	}{{"same", []int64{256, 256}, []int64{256, 256}}, {"crossed", []int64{16, 2048}, []int64{2048, 16}}} {
		b.Run("grids="+c.name, func(b *testing.B) {
			src := newMem(b, ndarray.Spec{Shape: shape, ChunkShape: c.src, DType: dtype(b, "f8")})
			dst := newMem(b, ndarray.Spec{Shape: shape, ChunkShape: c.dst, DType: dtype(b, "f8")})
			b.SetBytes(src.NBytes())
			for b.Loop() {
				if _, err := ndarray.Copy(context.Background(), dst, src, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestCopy_twoStages checks a copy between rows and columns with little memory. Copy must use a
// temporary file and delete it, and must not read source chunks often.
func TestCopy_twoStages(t *testing.T) {
	shape := []int64{96, 96}
	d := dtype(t, "<f8")
	sr, src := newRecorder(t, shape, []int64{1, 96}, d)
	_, dst := newRecorder(t, shape, []int64{96, 1}, d)
	want := fillBytes(src.NBytes())
	require.NoError(t, src.Write(t.Context(), want, ndarray.Whole(shape)))
	dir := t.TempDir()
	o := &ndarray.CopyOptions{Memory: 4 * 96 * 8, Workers: 2, TempDir: dir}
	var last ndarray.Progress
	o.Progress = func(p ndarray.Progress) {
		require.Greater(t, p.DoneBytes, last.DoneBytes)
		last = p
	}
	stats, err := ndarray.Copy(t.Context(), dst, src, o)
	require.NoError(t, err)
	require.Equal(t, 2, stats.Stages)
	require.LessOrEqual(t, stats.PeakBuffer, o.Memory)
	require.Equal(t, 2*src.NBytes(), last.DoneBytes)
	require.Equal(t, last.TotalUnits, last.DoneUnits)
	require.Equal(t, 96, touches(t, sr.reads, shape, []int64{1, 96}), "each source chunk is read once")
	got := make([]byte, len(want))
	require.NoError(t, dst.Read(t.Context(), got, ndarray.Whole(shape)))
	require.Equal(t, want, got)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)

	ctx, cancel := context.WithCancel(t.Context())
	o.Progress = func(p ndarray.Progress) {
		if p.DoneBytes > src.NBytes() {
			cancel()
		}
	}
	_, err = ndarray.Copy(ctx, dst, src, o)
	require.ErrorIs(t, err, context.Canceled)
	left, err = os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)

	o.TempDir = filepath.Join(dir, "none")
	_, err = ndarray.Copy(t.Context(), dst, src, o)
	require.ErrorIs(t, err, fs.ErrNotExist)
}
