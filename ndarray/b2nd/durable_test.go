package b2nd_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/b2nd"
	"github.com/hyperslab/hyperslab/ndarray/mem"
)

// TestDurable_model applies random writes and appends to a durable array and to one in memory.
// After each of them, C-Blosc2 must read the same values from the file.
func TestDurable_model(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		dt, err := ndarray.ParseDType(rapid.SampledFrom([]string{"<i4", ">i4", "<f8", "|u1"}).Draw(r, "type"))
		require.NoError(r, err)
		rank := rapid.IntRange(1, 3).Draw(r, "rank")
		spec := ndarray.Spec{DType: dt}
		for range rank {
			spec.Shape = append(spec.Shape, rapid.Int64Range(1, 9).Draw(r, "shape"))
			spec.ChunkShape = append(spec.ChunkShape, rapid.Int64Range(1, 5).Draw(r, "chunk"))
		}
		if rapid.Bool().Draw(r, "fill") {
			spec.Fill = draw(r, int64(dt.Size))
		}
		path := filepath.Join(t.TempDir(), "a.b2nd")
		sparse := rapid.Bool().Draw(r, "sparse")
		b, err := b2nd.Create(path, spec, &b2nd.CreateOptions{Sparse: sparse})
		require.NoError(r, err)
		require.NoError(r, b.Close())
		d, err := b2nd.Open(path, &b2nd.OpenOptions{Durable: true})
		require.NoError(r, err)
		a, err := ndarray.New(d)
		require.NoError(r, err)
		m, err := mem.New(spec)
		require.NoError(r, err)
		twin, err := ndarray.New(m)
		require.NoError(r, err)
		for range rapid.IntRange(1, 5).Draw(r, "changes") {
			shape := a.Shape()
			if rapid.Bool().Draw(r, "append") {
				row := int64(dt.Size)
				for _, n := range shape[1:] {
					row *= n
				}
				src := draw(r, row*rapid.Int64Range(1, 7).Draw(r, "rows"))
				require.NoError(r, a.Append(t.Context(), 0, src))
				require.NoError(r, twin.Append(t.Context(), 0, src))
			} else {
				region := ndarray.Region{}
				for _, n := range shape {
					start := rapid.Int64Range(0, n-1).Draw(r, "start")
					region.Start = append(region.Start, start)
					region.Shape = append(region.Shape, rapid.Int64Range(1, n-start).Draw(r, "n"))
				}
				src := draw(r, region.NumElems()*int64(dt.Size))
				require.NoError(r, a.Write(t.Context(), src, region))
				require.NoError(r, twin.Write(t.Context(), src, region))
			}
			want := make([]byte, twin.NBytes())
			require.NoError(r, twin.Read(t.Context(), want, ndarray.Whole(twin.Shape())))
			require.Equal(r, twin.Shape(), a.Shape())
			got := make([]byte, a.NBytes())
			require.NoError(r, a.Read(t.Context(), got, ndarray.Whole(a.Shape())))
			require.Equal(r, want, got)

			other, err := b2nd.Open(path, &b2nd.OpenOptions{Library: true}) // while a is open
			require.NoError(r, err)
			require.Equal(r, twin.Shape(), other.Meta().Shape)
			require.NoError(r, other.ReadRegion(t.Context(), got, ndarray.Whole(a.Shape()), 0))
			require.Equal(r, want, got)
			require.NoError(r, other.Close())
		}
		require.NoError(r, errors.Join(a.Close(), twin.Close()))
	})
}

func draw(r *rapid.T, n int64) []byte {
	return rapid.SliceOfN(rapid.Byte(), int(n), int(n)).Draw(r, "bytes")
}

// TestDurableRefuses checks that operations that cannot be durable are rejected and do not change
// the array.
func TestDurableRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.b2nd")
	spec := ndarray.Spec{Shape: []int64{4, 4}, ChunkShape: []int64{2, 2}, DType: ndarray.DTypeOf[int32]()}
	b, err := b2nd.Create(path, spec, nil)
	require.NoError(t, err)
	require.NoError(t, b.Close())
	_, err = b2nd.Open(path, &b2nd.OpenOptions{Durable: true, Library: true})
	require.ErrorIs(t, err, ndarray.ErrParam)
	_, err = b2nd.Open(path+"x", &b2nd.OpenOptions{Durable: true})
	require.ErrorIs(t, err, ndarray.ErrNotFound)
	d, err := b2nd.Open(path, &b2nd.OpenOptions{Durable: true})
	require.NoError(t, err)
	a, err := ndarray.New(d)
	require.NoError(t, err)
	require.ErrorIs(t, a.Resize(t.Context(), []int64{8, 4}), errors.ErrUnsupported)
	require.ErrorIs(t, a.Append(t.Context(), 1, make([]byte, 16)), errors.ErrUnsupported)
	require.ErrorIs(t, a.SetAttr(t.Context(), ndarray.Attr{Name: "x", Value: ndarray.Scalar(int32(1))}), errors.ErrUnsupported)
	require.ErrorIs(t, a.DeleteAttr(t.Context(), "x"), errors.ErrUnsupported)
	require.Equal(t, []int64{4, 4}, a.Shape())
	require.NoError(t, a.Close())

	// Package frameio does not support compression with this filter.
	planes := filepath.Join(t.TempDir(), "planes.b2nd")
	cp := cblosc.DefaultCParams()
	cp.TypeSize = 1
	cp.Filters = [cblosc.MaxFilters]cblosc.Filter{4: {ID: cblosc.Shuffle}, 5: cblosc.Filter{ID: cblosc.ByteDelta, Meta: 1}}
	x, err := cblosc.CreateArray(&cblosc.ArrayParams{Shape: []int64{40, 40}, ChunkShape: []int32{20, 20}, Blocks: []int32{10, 10}, DType: "|u1",
		Storage: cblosc.Storage{Path: planes, Contiguous: true, CParams: cp}})
	require.NoError(t, err)
	require.NoError(t, x.Close())
	d, err = b2nd.Open(planes, &b2nd.OpenOptions{Durable: true})
	require.NoError(t, err)
	require.ErrorIs(t, d.(ndarray.RegionWriter).WriteRegion(t.Context(), make([]byte, 1600), ndarray.Whole([]int64{40, 40}), 0), errors.ErrUnsupported)
	require.ErrorIs(t, d.(ndarray.Appender).Append(t.Context(), make([]byte, 40)), errors.ErrUnsupported)
	require.NoError(t, d.Close())
}

// TestDurable_chunkFileNumbers checks that chunk files are numbered so that python-blosc2 can open
// the array. C-Blosc2 3.3 rejects a sparse frame with a file whose number is too large for the size
// of its chunks, and python-blosc2 contains C-Blosc2 without our patch.
func TestDurable_chunkFileNumbers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.b2nd")
	spec := ndarray.Spec{DType: ndarray.DTypeOf[uint8](), Shape: []int64{3}, ChunkShape: []int64{2}}
	b, err := b2nd.Create(path, spec, &b2nd.CreateOptions{Sparse: true})
	require.NoError(t, err)
	require.NoError(t, b.Close())
	d, err := b2nd.Open(path, &b2nd.OpenOptions{Durable: true})
	require.NoError(t, err)
	for i := range 100 {
		require.NoError(t, d.(ndarray.RegionWriter).WriteRegion(t.Context(), []byte{byte(i + 1), 2, 3}, ndarray.Whole(spec.Shape), 0))
	}
	require.NoError(t, d.Close())
	files, err := filepath.Glob(filepath.Join(path, "*.chunk"))
	require.NoError(t, err)
	require.Len(t, files, 2)
	for _, file := range files {
		require.LessOrEqual(t, filepath.Base(file), "00000023.chunk", "two chunks of 34 bytes: 68 - 32 = 0x24")
	}
	out := testutil.Python(t, []string{"blosc2"}, "-c", "import blosc2, sys; print(list(blosc2.open(sys.argv[1], mode='r')[:]))", path)
	require.Contains(t, string(out), "100")
}

// TestOpen_olderIndex checks readers that have an old index of a sparse array, while durable writes
// reuse the numbers of deleted chunk files for other chunks. They must return the values of the
// right chunk or an error.
func TestOpen_olderIndex(t *testing.T) {
	for name, o := range map[string]*b2nd.OpenOptions{"Go": nil, "library": {Library: true}} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.b2nd")
			spec := ndarray.Spec{DType: ndarray.DTypeOf[uint8](), Shape: []int64{6}, ChunkShape: []int64{2}}
			b, err := b2nd.Create(path, spec, &b2nd.CreateOptions{Sparse: true})
			require.NoError(t, err)
			require.NoError(t, b.(ndarray.RegionWriter).WriteRegion(t.Context(), []byte{0, 1, 100, 101, 200, 201}, ndarray.Whole(spec.Shape), 0))
			require.NoError(t, b.Close())
			d, err := b2nd.Open(path, &b2nd.OpenOptions{Durable: true})
			require.NoError(t, err)
			defer d.Close()
			var readers []ndarray.Backend
			right, refused := 0, 0
			for i := range 200 { // numbers are reused after about 70 writes
				if i%10 == 0 {
					r, err := b2nd.Open(path, o)
					require.NoError(t, err)
					defer r.Close()
					got := make([]byte, 6)
					require.NoError(t, r.ReadRegion(t.Context(), got, ndarray.Whole(spec.Shape), 0)) // reads the index
					require.Equal(t, []byte{0, 1, 2}, []byte{got[0] / 100, got[2] / 100, got[4] / 100})
					right++
					readers = append(readers, r)
				}
				chunk := int64(i * i % 3) // 0 and 1
				if i%5 == 4 {
					chunk = 2
				}
				first := byte(100*chunk) + byte(i%50)
				require.NoError(t, d.(ndarray.RegionWriter).WriteRegion(t.Context(), []byte{first, first + 1}, ndarray.Region{Start: []int64{2 * chunk}, Shape: []int64{2}}, 0))
				for k, r := range readers {
					for c := range int64(3) {
						got := make([]byte, 2)
						if err := r.ReadRegion(t.Context(), got, ndarray.Region{Start: []int64{2 * c}, Shape: []int64{2}}, 0); err != nil {
							refused++
							continue
						}
						right++
						require.EqualValues(t, c, got[0]/100, "reader %d reads chunk %d after write %d: %d", k, c, i, got)
						require.Equal(t, got[0]+1, got[1])
					}
				}
			}
			require.Positive(t, right)
			require.Positive(t, refused)
		})
	}
}
