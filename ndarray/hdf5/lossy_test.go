package hdf5_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
	"github.com/hyperslab/hyperslab/ndarray/mem"
)

// createFiltered creates a file with the dataset x in chunks of four elements, with filters that
// ndarray cannot create.
func createFiltered(t require.TestingT, file string, dt h5.Datatype, data, fill []byte, filters ...h5.Filter) {
	f, err := h5.Create(file, nil)
	require.NoError(t, err)
	n := int64(len(data) / dt.Size)
	space := h5.SimpleSpace(n)
	space.MaxDims = []int64{h5.Unlimited}
	d, err := f.Root().CreateDataset("x", dt, space, &h5.DatasetOptions{ChunkShape: []int64{4}, Filters: filters, Fill: fill})
	require.NoError(t, err)
	require.NoError(t, d.WriteRegion(data, dt, h5.Region{Start: []int64{0}, Count: []int64{n}}))
	require.NoError(t, errors.Join(d.Close(), f.Close()))
}

func openFiltered(t require.TestingT, file string, o *hdf5.OpenOptions) *ndarray.Array {
	b, err := hdf5.Open(file, "x", o)
	require.NoError(t, err)
	a, err := ndarray.New(b)
	require.NoError(t, err)
	return a
}

func readFiltered(t require.TestingT, file string) []byte {
	a := openFiltered(t, file, nil)
	got := make([]byte, a.NBytes())
	require.NoError(t, a.Read(context.Background(), got, ndarray.Whole(a.Shape())))
	require.NoError(t, a.Close())
	return got
}

func ints(values ...int32) (b []byte) {
	for _, v := range values {
		b = binary.NativeEndian.AppendUint32(b, uint32(v))
	}
	return b
}

var int32Type = h5.Int(4, h5.LittleEndian)

func at(start, n int64) ndarray.Region {
	return ndarray.Region{Start: []int64{start}, Shape: []int64{n}}
}

// writes are all ways to change elements of an array of 8 elements.
var writes = map[string]func(a *ndarray.Array) error{
	"Write":   func(a *ndarray.Array) error { return a.Write(bg, ints(1000), at(0, 1)) },
	"WriteAs": func(a *ndarray.Array) error { return ndarray.WriteAs(bg, a, []float64{1000}, at(0, 1)) },
	"Put": func(a *ndarray.Array) error {
		return a.Put(bg, ints(1000, -1000), ndarray.Select(ndarray.List(0, 5)))
	},
	"Append": func(a *ndarray.Array) error { return a.Append(bg, 0, ints(1000, -1000)) },
	"Insert": func(a *ndarray.Array) error { return a.Insert(bg, 0, 1, ints(1000)) },
	"Delete": func(a *ndarray.Array) error { return a.Delete(bg, 0, 1, 2) },
	"Resize": func(a *ndarray.Array) error { return a.Resize(bg, []int64{6}) },
	"Copy": func(a *ndarray.Array) error {
		b, err := mem.New(ndarray.Spec{Shape: a.Shape(), DType: a.DType(), Fill: ints(1000)})
		if err != nil {
			return err
		}
		src, err := ndarray.New(b)
		if err != nil {
			return err
		}
		_, err = ndarray.Copy(bg, a, src, nil)
		return errors.Join(err, src.Close())
	},
}

func TestOpenOptions_AllowLossy(t *testing.T) {
	old := ints(0, 1, 2, 3, 4, 5, 6, 7)
	for name, write := range writes {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "x.h5")
			createFiltered(t, file, int32Type, old, nil, h5.ScaleOffsetInt(4), h5.Deflate(1))
			a := openFiltered(t, file, &hdf5.OpenOptions{Write: true})
			err := write(a)
			require.ErrorIs(t, err, errors.ErrUnsupported)
			require.ErrorContains(t, err, "scaleoffset(4 bits)")
			require.Equal(t, []int64{8}, a.Shape())
			require.Zero(t, a.LossyChanges())
			require.NoError(t, a.Close())
			require.Equal(t, old, readFiltered(t, file))

			a = openFiltered(t, file, &hdf5.OpenOptions{Write: true, AllowLossy: true})
			require.NoError(t, write(a))
			if name == "Resize" || name == "Delete" { // all values fit
				require.Zero(t, a.LossyChanges())
			} else if name != "Copy" { // the minimum of each chunk is 1000
				require.NotZero(t, a.LossyChanges())
			}
			require.NoError(t, a.Close())
		})
	}
}

// TestArray_lossyChanges compares the number of changes with the elements that a second open of the
// file returns.
func TestArray_lossyChanges(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		file := filepath.Join(dir, "x.h5")
		filters := [][]h5.Filter{{h5.ScaleOffsetInt(rapid.IntRange(1, 31).Draw(rt, "bits"))}}
		filters = append(filters, append(filters[0], h5.Deflate(1)))
		value := rapid.Int32Range(-40, 40)
		old := ints(rapid.SliceOfN(value, 1, 20).Draw(rt, "old")...)
		var fill []byte
		if rapid.Bool().Draw(rt, "fill") {
			fill = ints(rapid.Int32Range(-5, 5).Draw(rt, "fill value"))
		}
		createFiltered(rt, file, int32Type, old, fill, rapid.SampledFrom(filters).Draw(rt, "filters")...)
		defer func() { require.NoError(rt, os.Remove(file)) }()
		old = readFiltered(rt, file)
		a := openFiltered(rt, file, &hdf5.OpenOptions{Write: true, AllowLossy: true, Library: rapid.Bool().Draw(rt, "library")})
		n := int64(len(old) / 4)
		want := bytes.Clone(old)
		switch rapid.SampledFrom([]string{"write", "append", "shrink"}).Draw(rt, "change") {
		case "write":
			start := rapid.Int64Range(0, n-1).Draw(rt, "start")
			src := ints(rapid.SliceOfN(value, 1, int(n-start)).Draw(rt, "new")...)
			require.NoError(rt, a.Write(bg, src, at(start, int64(len(src)/4))))
			copy(want[4*start:], src)
		case "append":
			src := ints(rapid.SliceOfN(value, 1, 20).Draw(rt, "new")...)
			require.NoError(rt, a.Append(bg, 0, src))
			want = append(want, src...)
		default:
			end := rapid.Int64Range(0, n-1).Draw(rt, "end")
			require.NoError(rt, a.Resize(bg, []int64{end}))
			want = want[:4*end]
		}
		changes := a.LossyChanges()
		require.NoError(rt, a.Close())
		got := readFiltered(rt, file)
		require.Len(rt, got, len(want))
		differ := int64(0)
		for i := 0; i < len(want); i += 4 {
			if !bytes.Equal(want[i:i+4], got[i:i+4]) {
				differ++
			}
		}
		require.Equal(rt, differ, changes, "%v %v %v", old, want, got)
	})
}

// TestScaleOffset_automatic checks that libhdf5 keeps integers if it chooses the number of bits, or
// if the number is that of the type. Writes through such filters are allowed.
func TestScaleOffset_automatic(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		size := rapid.SampledFrom([]int{1, 2, 4, 8}).Draw(rt, "size")
		order := rapid.SampledFrom([]h5.Order{h5.LittleEndian, h5.BigEndian}).Draw(rt, "order")
		dt := h5.Int(size, order)
		if rapid.Bool().Draw(rt, "unsigned") {
			dt = h5.Uint(size, order)
		}
		element := rapid.OneOf(
			rapid.SliceOfN(rapid.Byte(), size, size), rapid.Just(bytes.Repeat([]byte{0}, size)), rapid.Just(bytes.Repeat([]byte{0xFF}, size)),
			rapid.Just(append(bytes.Repeat([]byte{0xFF}, size-1), 0x7F)), rapid.Just(append(make([]byte, size-1), 0x80)), rapid.Just(append(make([]byte, size-1), 5)))
		join := func(parts [][]byte) []byte { return bytes.Join(parts, nil) }
		old := join(rapid.SliceOfN(element, 1, 12).Draw(rt, "old"))
		var fill []byte
		if rapid.Bool().Draw(rt, "fill") {
			fill = element.Draw(rt, "fill value")
		}
		file := filepath.Join(dir, "x.h5")
		bits := rapid.SampledFrom([]int{0, 8 * size}).Draw(rt, "bits")
		createFiltered(rt, file, dt, old, fill, h5.ScaleOffsetInt(bits))
		defer func() { require.NoError(rt, os.Remove(file)) }()
		a := openFiltered(rt, file, &hdf5.OpenOptions{Write: true})
		native := func(b []byte) []byte { b = bytes.Clone(b); a.DType().ToNative(b); return b }
		got := make([]byte, len(old))
		require.NoError(rt, a.Read(bg, got, ndarray.Whole(a.Shape())))
		require.Equal(rt, native(old), got)
		src := native(join(rapid.SliceOfN(element, 1, 12).Draw(rt, "new")))
		require.NoError(rt, a.Append(bg, 0, src))
		require.NoError(rt, a.Close())
		require.Equal(rt, append(got, src...), readFiltered(rt, file))
	})
}

func TestBackend_Lossy(t *testing.T) {
	for _, tt := range []struct {
		name    string
		dt      h5.Datatype
		filters []h5.Filter
		want    string
	}{
		{"lossless", int32Type, []h5.Filter{h5.ScaleOffsetInt(0), h5.Deflate(1)}, ""},
		{"all bits", int32Type, []h5.Filter{h5.ScaleOffsetInt(32)}, ""},
		{"bits", int32Type, []h5.Filter{h5.ScaleOffsetInt(31)}, "scaleoffset(31 bits)"},
		{"floats", h5.IEEEFloat(8, h5.LittleEndian), []h5.Filter{h5.ScaleOffsetFloat(3)}, "scaleoffset of floats"},
		{"n-bit", int32Type, []h5.Filter{h5.Nbit()}, ""},
		{"missing optional filter", int32Type, []h5.Filter{{ID: 32013, Optional: true}}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "x.h5")
			createFiltered(t, file, tt.dt, make([]byte, 8*tt.dt.Size), nil, tt.filters...)
			a := openFiltered(t, file, &hdf5.OpenOptions{Write: true})
			b, ok := ndarray.As[ndarray.LossyWriter](a.Backend())
			require.True(t, ok)
			filter, _ := b.Lossy()
			require.Equal(t, tt.want, filter)
			err := a.Append(bg, 0, make([]byte, a.DType().Size))
			require.Equal(t, tt.want != "", errors.Is(err, errors.ErrUnsupported), "%v", err)
			require.NoError(t, a.Close())
		})
	}
}

// TestAllowLossy_floats checks that changes of other elements are counted: libhdf5 stores multiples
// of 0.01 above the minimum, so that a new minimum changes all elements of its chunk.
func TestAllowLossy_floats(t *testing.T) {
	floats := func(values ...float64) (b []byte) {
		for _, v := range values {
			b = binary.NativeEndian.AppendUint64(b, math.Float64bits(v))
		}
		return b
	}
	file := filepath.Join(t.TempDir(), "x.h5")
	createFiltered(t, file, h5.IEEEFloat(8, h5.LittleEndian), floats(0.25, 0.5), nil, h5.ScaleOffsetFloat(2))
	a := openFiltered(t, file, &hdf5.OpenOptions{Write: true, AllowLossy: true})
	require.NoError(t, a.Append(bg, 0, floats(0.123456, 0.75)))
	require.EqualValues(t, 3, a.LossyChanges())
	require.NoError(t, a.Close())
	var got []float64
	for b := readFiltered(t, file); len(b) > 0; b = b[8:] {
		got = append(got, math.Float64frombits(binary.NativeEndian.Uint64(b)))
	}
	require.InDeltaSlice(t, []float64{0.253456, 0.503456, 0.123456, 0.753456}, got, 1e-9)
}
