package npy_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/format/npy"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
	"github.com/hyperslab/hyperslab/ndarray"
)

// FuzzRead checks that any bytes are parsed as a .npy header or result in an error. The shape
// and dtype of a header must be valid for an array.
func FuzzRead(f *testing.F) {
	for _, text := range []string{
		"{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }\n",
		"{'descr': [('a', '<i4'), ('b', '|S3', (2,))], 'fortran_order': True, 'shape': (), }",
		"{'descr': '<M8[ns]', 'fortran_order': False, 'shape': (9223372036854775807,)}",
	} {
		f.Add(append([]byte("\x93NUMPY\x01\x00"+string([]byte{byte(len(text)), 0})), text...))
		f.Add(append([]byte("\x93NUMPY\x03\x00"+string([]byte{byte(len(text)), 0, 0, 0})), text...))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := npy.Read(bytes.NewReader(b))
		if err != nil {
			return
		}
		require.LessOrEqual(t, m.Offset, int64(len(b)))
		require.GreaterOrEqual(t, m.Offset, int64(10))
		require.NoError(t, m.DType.Validate())
		_, fits := grid.Product(m.Shape)
		require.True(t, fits, "%v", m.Shape)
	})
}

// TestHeader checks that Read returns what Header wrote, in all versions.
func TestHeader(t *testing.T) {
	fields := "[('x', '<i4')"
	for i := range 8000 {
		fields += fmt.Sprintf(", ('f%d', '<i4')", i)
	}
	for name, c := range map[string]struct {
		dtype   string
		shape   []int64
		version byte
	}{
		"scalar":             {"<f8", []int64{}, 1},
		"big-endian":         {">i4", []int64{3, 4}, 1},
		"one axis":           {"|S3", []int64{7}, 1},
		"names beyond ASCII": {"[('größe', '<f4')]", []int64{2}, 3},
		"a long header":      {fields + "]", []int64{1}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := ndarray.ParseDType(c.dtype)
			require.NoError(t, err)
			head, err := npy.Header(d, c.shape)
			require.NoError(t, err)
			require.Zero(t, len(head)%64)
			require.Equal(t, c.version, head[6])
			a, err := npy.Read(bytes.NewReader(head))
			require.NoError(t, err)
			require.True(t, d.Equal(a.DType), "%v", a.DType)
			require.Equal(t, c.shape, a.Shape)
			require.EqualValues(t, len(head), a.Offset)
		})
	}
}

// TestHeader_subArray writes a SubArray as further axes.
func TestHeader_subArray(t *testing.T) {
	base := ndarray.DTypeOf[int32]()
	inner := ndarray.DType{Kind: ndarray.SubArray, Base: &base, Dims: []int64{2, 3}, Size: 24}
	outer := ndarray.DType{Kind: ndarray.SubArray, Base: &inner, Dims: []int64{1}, Size: 24}
	for _, c := range []struct {
		d           ndarray.DType
		shape, want []int64
	}{
		{inner, []int64{}, []int64{2, 3}},
		{inner, []int64{0, 4}, []int64{0, 4, 2, 3}},
		{outer, []int64{5}, []int64{5, 1, 2, 3}},
	} {
		head, err := npy.Header(c.d, c.shape)
		require.NoError(t, err)
		a, err := npy.Read(bytes.NewReader(head))
		require.NoError(t, err)
		require.Equal(t, c.want, a.Shape)
		require.True(t, base.Equal(a.DType), "%v", a.DType)
	}
}

// TestRead_otherTypes checks that types in ndarray's own notation, and types without quotes, are
// errors, as they are in NumPy.
func TestRead_otherTypes(t *testing.T) {
	dir := t.TempDir()
	const program = `
import sys, numpy
for name in sys.argv[1:]:
    try:
        sys.exit(f"{name}: {numpy.load(name).dtype}")
    except Exception:
        pass`
	args := []string{"-c", program}
	for i, descr := range []string{
		"'enum(''<i2'', {''A'': 1})'", `"enum('<i2', {'A': 1})"`, "enum('<i2', {'A': 1})", "'string'", "'<bfloat16'", "'vlen(<i4)'", "'sequence(<i4)'", "'reference'",
		"[('a', 'enum(<i2)')]", "<i4", "'<i4", "'", "''", "{'names': ['a'], 'formats': ['<i4']}", "[('a', '<bfloat16')]",
	} {
		t.Run(descr, func(t *testing.T) {
			text := "{'descr': " + descr + ", 'fortran_order': False, 'shape': (1,), }"
			b := append([]byte("\x93NUMPY\x01\x00"), byte(len(text)), 0)
			b = append(append(b, text...), make([]byte, 64)...)
			_, err := npy.Read(bytes.NewReader(b))
			require.Error(t, err)
			require.True(t, errors.Is(err, ndarray.ErrCorrupt) || errors.Is(err, ndarray.ErrType), "%v", err)
			file := filepath.Join(dir, strconv.Itoa(i)+".npy")
			require.NoError(t, os.WriteFile(file, b, 0o600))
			args = append(args, file)
		})
	}
	testutil.Python(t, []string{"numpy"}, args...)
}

// TestArray_ReadRegion compares regions of both orders with the elements of the array.
func TestArray_ReadRegion(t *testing.T) {
	shape := []int64{5, 7, 3}
	for name, fortran := range map[string]bool{"C order": false, "Fortran order": true} {
		t.Run(name, func(t *testing.T) {
			a := npy.Array{Shape: shape, DType: ndarray.DTypeOf[uint16](), Fortran: fortran, Offset: 10}
			file := make([]byte, 10+2*5*7*3)
			value := func(i, j, k int64) uint16 { return uint16(100*i + 10*j + k) }
			for i := range shape[0] {
				for j := range shape[1] {
					for k := range shape[2] {
						at := (i*7+j)*3 + k
						if fortran {
							at = (k*7+j)*5 + i
						}
						binary.NativeEndian.PutUint16(file[10+2*at:], value(i, j, k))
					}
				}
			}
			for _, r := range []ndarray.Region{
				{Start: []int64{0, 0, 0}, Shape: shape},
				{Start: []int64{1, 2, 1}, Shape: []int64{3, 4, 2}},
				{Start: []int64{4, 0, 2}, Shape: []int64{1, 7, 1}},
			} {
				dst := make([]byte, 2*r.NumElems())
				require.NoError(t, a.ReadRegion(context.Background(), dst, bytes.NewReader(file), r))
				n := 0
				for i := range r.Shape[0] {
					for j := range r.Shape[1] {
						for k := range r.Shape[2] {
							require.Equal(t, value(r.Start[0]+i, r.Start[1]+j, r.Start[2]+k), binary.NativeEndian.Uint16(dst[2*n:]), "%v", r)
							n++
						}
					}
				}
			}
			require.NoError(t, a.CheckSize(int64(len(file))))
			require.ErrorIs(t, a.CheckSize(int64(len(file))-1), ndarray.ErrCorrupt)
		})
	}
}
