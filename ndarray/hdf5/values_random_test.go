package hdf5_test

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
)

// randomType returns an element type that h5py reads.
func randomType(t *rapid.T, depth int) ndarray.DType {
	kinds := []string{"?", "i1", ">i2", "<u4", "<i8", ">u8", "<f4", ">f8", "<f2", "<c16", "S1", "S5", "string", "enum('<i2', {'a': -1, 'b': 7})"}
	n := rapid.IntRange(0, len(kinds)+3).Draw(t, "kind")
	if depth == 0 || n < len(kinds) {
		d, err := ndarray.ParseDType(kinds[n%len(kinds)])
		require.NoError(t, err)
		return d
	}
	switch n - len(kinds) {
	case 0:
		base := randomType(t, depth-1).Native() // h5py ignores the byte order in sequences
		return ndarray.DType{Kind: ndarray.VLen, Order: ndarray.NoOrder, Base: &base}
	case 1:
		base := randomType(t, 0) // NumPy joins the dimensions of nested arrays
		return ndarray.SubArrayOf(base, rapid.SliceOfN(rapid.Int64Range(1, 3), 1, 2).Draw(t, "dims")...)
	}
	return randomStruct(t, depth)
}

func randomStruct(t *rapid.T, depth int) ndarray.DType {
	var fields []ndarray.Field
	for i := range rapid.IntRange(1, 5).Draw(t, "fields") {
		fields = append(fields, ndarray.Field{Name: fmt.Sprintf("f%d", i), Type: randomType(t, depth-1)})
	}
	return ndarray.StructOf(false, fields...)
}

// randomElement returns an element of type d.
func randomElement(t *rapid.T, d ndarray.DType) []byte {
	n := 0
	switch d.Kind {
	case ndarray.Bool:
		return []byte{rapid.ByteRange(0, 1).Draw(t, "bool")}
	case ndarray.String, ndarray.Bytes:
		b := []byte(rapid.StringMatching(`[a-z]{0,7}`).Draw(t, "text"))
		if d.Size > 0 {
			b = append(b, make([]byte, d.Size)...)[:d.Size]
		}
		return b
	case ndarray.Enum:
		return ndarray.Scalar(int16(d.Members[rapid.IntRange(0, 1).Draw(t, "member")].Value)).Data
	case ndarray.VLen:
		n = rapid.IntRange(0, 3).Draw(t, "length")
	case ndarray.SubArray:
		count, _ := grid.Product(d.Dims)
		n = int(count)
	case ndarray.Struct:
		n = len(d.Fields)
	default:
		return rapid.SliceOfN(rapid.ByteRange(0, 0x3f), d.Size, d.Size).Draw(t, "number") // no NaN
	}
	parts := make([][]byte, n)
	for i := range parts {
		part := d.Base
		if d.Kind == ndarray.Struct {
			part = &d.Fields[i].Type
		}
		parts[i] = randomElement(t, *part)
	}
	b, err := d.Join(parts...)
	require.NoError(t, err)
	return b
}

// TestValues_compounds writes datasets of random compound types, which h5py must read and copy with
// the same values.
func TestValues_compounds(t *testing.T) {
	python, dir := testenv.Python(t, "h5py"), t.TempDir()
	file, again := filepath.Join(dir, "x.h5"), filepath.Join(dir, "copy.h5")
	f, err := h5.Create(file, nil)
	require.NoError(t, err)
	var names []string
	rapid.Check(t, func(t *rapid.T) {
		for range 8 {
			d := randomStruct(t, 3)
			names = append(names, fmt.Sprintf("d%d", len(names)))
			b, err := hdf5.CreateIn(f, names[len(names)-1], ndarray.Spec{Shape: []int64{2, 2}, ChunkShape: []int64{1, 2}, DType: d}, nil)
			require.NoError(t, err, "%v", d)
			a, err := ndarray.New(b)
			require.NoError(t, err)
			require.True(t, d.Equal(a.DType()), "%v, want %v", a.DType(), d)
			var data []byte
			var strs []string
			for range 4 {
				e := randomElement(t, d)
				data, strs = append(data, e...), append(strs, string(e))
			}
			if d.Size > 0 {
				err = a.Write(bg, data, ndarray.Whole(a.Shape()))
			} else {
				err = a.WriteStrings(bg, strs, ndarray.Whole(a.Shape()))
			}
			require.NoError(t, errors.Join(err, a.Close()), "%v", d)
		}
	})
	require.NoError(t, f.Close())
	read := requireLikeH5py(t, map[string][]string{file: names})[ndarray.Struct]
	out, err := exec.Command(python, "-c", `
import h5py, sys
with h5py.File(sys.argv[1]) as a, h5py.File(sys.argv[2], "w") as b:
    for name, d in a.items():
        try:
            b.create_dataset(name, data=d[()], dtype=d.dtype)
        except Exception as e:
            b.pop(name, None)
            print(e)`, file, again).CombinedOutput()
	require.NoError(t, err, "%s", out)
	copied := 0
	for _, name := range names {
		var got [2]any
		for i, path := range []string{file, again} {
			b, err := hdf5.Open(path, name, nil)
			if i == 1 && errors.Is(err, ndarray.ErrNotFound) {
				continue
			}
			require.NoError(t, err)
			a, err := ndarray.New(b)
			require.NoError(t, err)
			got[i] = values(t, a)
			require.NoError(t, a.Close())
		}
		if got[1] != nil {
			require.Equal(t, got[0], got[1], name)
			copied++
		}
	}
	t.Logf("h5py read %d and copied %d of %d datasets:\n%s", read, copied, len(names), out)
	// h5py cannot convert some sequences of structures.
	require.Greater(t, 2*read, len(names))
	require.Greater(t, 2*copied, len(names))
}
