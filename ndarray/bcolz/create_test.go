package bcolz_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/internal/format/bcolztree"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/bcolz"
	"github.com/hyperslab/hyperslab/ndarray/ndarraytest"
)

// cannot returns the reason why bcolz cannot store the array, or "".
func cannot(s ndarray.Spec) string {
	k, size := s.DType.Kind, s.DType.Size
	switch {
	case s.Null, len(s.Shape) == 0:
		return "arrays have a first axis"
	case size == 0, k == ndarray.Struct, k == ndarray.SubArray, k == ndarray.Float && size > 8, k == ndarray.Complex && size > 16:
		return "no such elements"
	}
	for i, n := range s.MaxShape {
		if i > 0 && n != s.Shape[i] || i == 0 && n != ndarray.Unlimited && n < s.Shape[0] {
			return "grows along the first axis only"
		}
	}
	if c := s.Compression; c != nil {
		if len(c.Filters) > 1 || len(c.Filters) == 1 && c.Filters[0] != "shuffle" && c.Filters[0] != "bitshuffle" {
			return "one shuffle"
		}
		if !slices.Contains([]string{"none", "blosclz", "lz4", "lz4hc", "zlib", "zstd"}, c.Codec) {
			return "codecs of Blosc1"
		}
	}
	return ""
}

// TestBackend runs the conformance suite. One-dimensional arrays of structures are ctables, all
// others carrays.
func TestBackend(t *testing.T) {
	dir := testenv.Scratch(t)
	n := 0
	path := func() string { return filepath.Join(dir, fmt.Sprint(n)) }
	ndarraytest.TestBackend(t, ndarraytest.Factory{
		Create: func(_ ndarraytest.TB, spec ndarray.Spec) (ndarray.Backend, error) {
			n++
			if spec.DType.Kind == ndarray.Struct && len(spec.Shape) == 1 {
				return bcolz.CreateRecords(path(), spec, nil)
			}
			return bcolz.Create(path(), spec, nil)
		},
		Reopen: func(ndarraytest.TB) (ndarray.Backend, error) {
			if _, err := bcolz.OpenTable(path(), nil); err == nil {
				return bcolz.OpenRecords(path(), nil)
			}
			return bcolz.Open(path(), nil)
		},
		Cannot: func(spec ndarray.Spec) string {
			if spec.Comment != "" {
				return "bcolz has no comments"
			}
			if spec.DType.Kind == ndarray.Struct && len(spec.Shape) == 1 {
				return noTable(spec)
			}
			return cannot(spec)
		},

		FirstAxisOnly: true,
		// bcolz has no blocks, and its chunks consist of whole rows.
		Adapt: func(spec *ndarray.Spec) {
			if len(spec.ChunkShape) > 0 {
				for i, n := range spec.Shape[1:] {
					spec.ChunkShape[i+1] = max(n, 1)
				}
			}
			spec.BlockShape = nil
		},
	})
}

func create(t requireT, path string, spec ndarray.Spec, o *bcolz.CreateOptions) *ndarray.Array {
	t.Helper()
	b, err := bcolz.Create(path, spec, o)
	require.NoError(t, err)
	a, err := ndarray.New(b)
	require.NoError(t, err)
	return a
}

// TestGrowth compares random sequences of growing, shrinking and writing with the same operations
// on a slice. A reader that opens the array in between must see the same values.
func TestGrowth(t *testing.T) {
	dir := testenv.Scratch(t)
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		path := filepath.Join(dir, fmt.Sprint(n))
		width := rapid.Int64Range(1, 3).Draw(t, "width")
		d := rapid.SampledFrom([]ndarray.DType{ndarray.DTypeOf[uint8](), ndarray.DTypeOf[int32]()}).Draw(t, "dtype")
		row := int(width) * d.Size
		fill := pattern(d, 1)
		spec := ndarray.Spec{Shape: []int64{rapid.Int64Range(0, 9).Draw(t, "rows"), width}, DType: d, ChunkShape: []int64{rapid.Int64Range(1, 4).Draw(t, "chunk"), width}, Fill: fill}
		a := create(t, path, spec, nil)
		require.NoError(t, a.Close())
		model := slices.Repeat(fill, int(spec.Shape[0]*width))
		b, err := bcolz.Open(path, &bcolz.OpenOptions{Write: true})
		require.NoError(t, err)
		for range rapid.IntRange(1, 8).Draw(t, "steps") {
			rows := len(model) / row
			switch rapid.IntRange(0, 2).Draw(t, "verb") {
			case 0:
				to := rapid.IntRange(0, 14).Draw(t, "to")
				require.NoError(t, b.(ndarray.Resizer).Resize(bg, []int64{int64(to), width}))
				if to <= rows {
					model = model[:to*row]
				} else {
					model = append(model, slices.Repeat(fill, (to-rows)*int(width))...)
				}
			case 1:
				more := rapid.SliceOfN(rapid.Byte(), 0, 6).Draw(t, "more")
				src := slices.Repeat(more, row)
				require.NoError(t, b.(ndarray.Appender).Append(bg, src))
				model = append(model, src...)
			case 2:
				if rows == 0 {
					continue
				}
				at := rapid.IntRange(0, rows-1).Draw(t, "at")
				k := rapid.IntRange(1, rows-at).Draw(t, "n")
				src := slices.Repeat([]byte{rapid.Byte().Draw(t, "byte")}, k*row)
				require.NoError(t, b.(ndarray.RegionWriter).WriteRegion(bg, src, ndarray.Region{Start: []int64{int64(at), 0}, Shape: []int64{int64(k), width}}, 0))
				copy(model[at*row:], src)
			}
			if c := open(t, path); c.NBytes() > 0 {
				require.Equal(t, model, readAll(t, c))
				require.NoError(t, c.Close())
			} else {
				require.Empty(t, model)
				require.NoError(t, c.Close())
			}
		}
		require.NoError(t, b.Close())
		left, err := filepath.Glob(filepath.Join(path, "*", ".tmp-*"))
		require.NoError(t, err)
		require.Empty(t, left)
	})
}

func TestGrowthRefusals(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	a := create(t, path, ndarray.Spec{Shape: []int64{4, 2}, DType: ndarray.DTypeOf[int32]()}, nil)
	require.NoError(t, a.Close())
	r, err := bcolz.Open(path, nil)
	require.NoError(t, err)
	require.ErrorIs(t, r.(ndarray.Resizer).Resize(bg, []int64{5, 2}), ndarray.ErrReadOnly)
	require.ErrorIs(t, r.(ndarray.Appender).Append(bg, make([]byte, 8)), ndarray.ErrReadOnly)
	require.NoError(t, r.Close())
	w, err := bcolz.Open(path, &bcolz.OpenOptions{Write: true})
	require.NoError(t, err)
	require.ErrorIs(t, w.(ndarray.Resizer).Resize(bg, []int64{4, 3}), errors.ErrUnsupported)
	require.ErrorIs(t, w.(ndarray.Resizer).Resize(bg, []int64{-1, 2}), ndarray.ErrShape)
	require.ErrorIs(t, w.(ndarray.Resizer).Resize(bg, []int64{1 << 62, 2}), ndarray.ErrShape)
	require.ErrorIs(t, w.(ndarray.Appender).Append(bg, make([]byte, 7)), ndarray.ErrSize)
	require.NoError(t, w.Close())
	_, err = bcolz.Create(path, ndarray.Spec{Shape: []int64{1}, DType: ndarray.DTypeOf[int32]()}, nil)
	require.ErrorIs(t, err, ndarray.ErrExists)
	_, err = bcolz.Create(filepath.Join(path, "no", "where"), ndarray.Spec{Shape: []int64{1}, DType: ndarray.DTypeOf[int32]()}, nil)
	require.ErrorIs(t, err, ndarray.ErrNotFound)
	_, err = bcolz.Create(path+"2", ndarray.Spec{Shape: []int64{4, 4}, DType: ndarray.DTypeOf[int32](), ChunkShape: []int64{4, 2}}, nil)
	require.ErrorIs(t, err, errors.ErrUnsupported)
	require.NoFileExists(t, path+"2")
}

// TestInteropWrite checks that bcolz reads the arrays that this package writes, can append to them,
// and writes the same metadata.
func TestInteropWrite(t *testing.T) {
	interpreter := testenv.Python(t, "bcolz")
	dir := testenv.Scratch(t)
	n := 0
	for j, text := range []string{"|b1", "|i1", "<i2", ">i4", "<i8", "|u1", "<u2", "<u4", ">u8", "<f2", "<f4", ">f8", "<c8", ">c16", "|S5", "<U3", "|V7", "<M8[ns]", "<m8[ns]"} {
		d, err := ndarray.ParseDType(text)
		require.NoError(t, err)
		for i, codec := range []string{"blosclz", "lz4", "lz4hc", "zlib", "zstd", "none"} {
			for k, shape := range [][]int64{{1000}, {7}, {0}, {37, 3, 2}} {
				if (j+i+k)%3 != 0 {
					continue // each type is tested with each codec and each shape
				}
				c := &ndarray.Compression{Codec: codec, Level: i + 1, Filters: [][]string{nil, {"shuffle"}, {"bitshuffle"}}[n%3]}
				if codec == "none" {
					c.Level = 0
				}
				spec := ndarray.Spec{Shape: shape, DType: d, Compression: c}
				if n%2 == 0 {
					spec.ChunkShape = append([]int64{64}, shape[1:]...)
				}
				path := filepath.Join(dir, fmt.Sprintf("%04d", n))
				n++
				a := create(t, path, spec, nil)
				data := pattern(d, ndarray.Whole(shape).NumElems())
				if len(data) > 0 {
					require.NoError(t, a.Write(bg, data, ndarray.Whole(shape)))
				}
				require.NoError(t, a.Close())
				d.ToNative(data) // to storage order
				require.NoError(t, os.WriteFile(path+".bin", data, 0o644))
				require.NoError(t, os.WriteFile(path+".dtype", []byte(text), 0o644))
			}
		}
	}
	out, err := exec.Command(interpreter, "testdata/interop_write.py", dir).CombinedOutput()
	require.NoError(t, err, "interop_write.py:\n%s", out)
	require.Contains(t, string(out), fmt.Sprintf("%d arrays", n))

	// Read the arrays again, because bcolz has appended rows to each.
	for i := range n {
		a := open(t, filepath.Join(dir, fmt.Sprintf("%04d", i)))
		want, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("%04d.bin", i)))
		require.NoError(t, err)
		got := readAll(t, a)
		a.DType().ToNative(got)
		require.Equal(t, want, got[:len(want)])
		require.Len(t, got, len(want)+int(a.NumElems()/max(a.Shape()[0], 1)*5)*a.DType().Size)
		require.NoError(t, a.Close())
	}
}

// TestAutoChunkLen checks that AutoChunkLen chooses the chunk length that bcolz chooses. It tests
// the thresholds, and the interop test compares it with bcolz itself.
func TestAutoChunkLen(t *testing.T) {
	for _, c := range []struct{ rows, row, want int64 }{
		{0, 4, 4096}, {100000, 4, 65536}, {2, 3, 5461}, {1, 300, 54 * 1}, {1 << 40, 8, 4 << 20 / 8}, {1, 1 << 30, 1},
	} {
		if c.row == 300 {
			c.want = 32768 / 300
		}
		require.Equal(t, c.want, bcolztree.AutoChunkLen(c.rows, c.row), "%+v", c)
	}
}

func TestQuantize(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	a := create(t, path, ndarray.Spec{Shape: []int64{4}, DType: ndarray.DTypeOf[float64]()}, &bcolz.CreateOptions{Quantize: 2})
	require.NoError(t, ndarray.Write(bg, a, []float64{1.2345, -7, 0.004, 1e300}, ndarray.Whole([]int64{4})))
	got, err := ndarray.ReadAll[float64](bg, a)
	require.NoError(t, err)
	require.Equal(t, []float64{1.234375, -7, 0.0078125, 1e300}, got)
	require.NoError(t, a.Close())
	b, err := os.ReadFile(filepath.Join(path, "meta/storage"))
	require.NoError(t, err)
	require.True(t, strings.Contains(string(b), `"quantize": 2`), string(b))
}

// TestOpenOptions_AllowLossy checks that appending to a quantized array is refused or counted.
func TestOpenOptions_AllowLossy(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "a")
	a := create(t, path, ndarray.Spec{Shape: []int64{4}, DType: ndarray.DTypeOf[float64]()}, &bcolz.CreateOptions{Quantize: 2})
	require.NoError(t, a.Close())
	open := func(allow bool) *ndarray.Array {
		b, err := bcolz.Open(path, &bcolz.OpenOptions{Write: true, AllowLossy: allow})
		require.NoError(t, err)
		a, err := ndarray.New(b)
		require.NoError(t, err)
		return a
	}
	a = open(false)
	err := ndarray.Append(ctx, a, 0, []float64{0.123456, 0.5})
	require.ErrorIs(t, err, errors.ErrUnsupported)
	require.ErrorContains(t, err, "quantize(2 digits)")
	require.NoError(t, a.Close())
	a = open(true)
	require.NoError(t, ndarray.Append(ctx, a, 0, []float64{0.123456, 0.5}))
	require.EqualValues(t, 1, a.LossyChanges())
	require.NoError(t, a.Close())
}
