package npy_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/ndarraytest"
	"github.com/hyperslab/hyperslab/ndarray/npy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// cannot returns the reason why .npy cannot store an array.
func cannot(spec ndarray.Spec) string {
	switch {
	case spec.DType.Size == 0:
		return "elements of variable size"
	case unordered(spec.DType):
		return "fields that are not in the order of their offsets"
	case !spec.DType.NumPy().EqualValues(spec.DType):
		return "no dtype of NumPy"
	case spec.DType.Kind == ndarray.SubArray:
		return "no sub-arrays as elements"
	case spec.Null || spec.Comment != "" || len(spec.Attrs) > 0:
		return "no null arrays, comments and attributes"
	case slices.ContainsFunc(spec.AxisNames, func(name string) bool { return name != "" }):
		return "no names of dimensions"
	case spec.MaxShape != nil && !slices.Equal(spec.MaxShape, spec.Shape):
		return "no maximum shape"
	case slices.ContainsFunc(spec.Fill, func(b byte) bool { return b != 0 }):
		return "no fill value"
	}
	return ""
}

// unordered reports whether a structure in d has a field at a lower offset than an earlier field.
func unordered(d ndarray.DType) (found bool) {
	d.MapParts(func(p ndarray.DType) ndarray.DType {
		found = found || !slices.IsSortedFunc(p.Fields, func(a, b ndarray.Field) int { return cmp.Compare(a.Offset, b.Offset) })
		return p
	})
	return found
}

func TestConformance(t *testing.T) {
	dir := t.TempDir()
	n := 0
	file := ""
	ndarraytest.TestBackend(t, ndarraytest.Factory{
		Create: func(_ ndarraytest.TB, spec ndarray.Spec) (ndarray.Backend, error) {
			n++
			file = filepath.Join(dir, fmt.Sprint(n, ".npy"))
			b, err := npy.Create(file, spec)
			if err != nil {
				return nil, err
			}
			return b, nil
		},
		Reopen: func(ndarraytest.TB) (ndarray.Backend, error) {
			b, err := npy.Open(file, false)
			if err != nil {
				return nil, err
			}
			return b, nil
		},
		Cannot:     cannot,
		Adapt:      func(spec *ndarray.Spec) { spec.ChunkShape, spec.BlockShape = nil, nil },
		CannotAttr: func(ndarray.Attr) string { return "no attributes" },
	})
}

// TestInterop checks that NumPy reads the files of Create, and that Open reads those of NumPy in
// both orders of axes.
func TestInterop(t *testing.T) {
	python := testenv.Python(t, "numpy")
	dir := t.TempDir()
	out, err := exec.Command(python, "-c", `
import numpy as np, sys
a = np.arange(24, dtype=">i2").reshape(2, 3, 4)
np.save(sys.argv[1] + "/c.npy", a)
np.save(sys.argv[1] + "/fortran.npy", np.asfortranarray(a))
np.save(sys.argv[1] + "/objects.npy", np.array([None, 1], dtype=object))
`, dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	want := make([]int16, 24)
	for i := range want {
		want[i] = int16(i)
	}
	for _, name := range []string{"c.npy", "fortran.npy"} {
		t.Run(name, func(t *testing.T) {
			b, err := npy.Open(filepath.Join(dir, name), false)
			require.NoError(t, err)
			a, err := ndarray.New(b)
			require.NoError(t, err)
			require.Equal(t, ">i2", a.DType().String())
			got := make([]int16, 24)
			require.NoError(t, ndarray.Read(t.Context(), a, got, ndarray.Whole(a.Shape())))
			require.Equal(t, want, got)
			require.NoError(t, a.Close())
		})
	}
	_, err = npy.Open(filepath.Join(dir, "objects.npy"), false)
	require.ErrorIs(t, err, errors.ErrUnsupported)
	_, err = npy.Open(filepath.Join(dir, "fortran.npy"), true)
	require.ErrorIs(t, err, errors.ErrUnsupported)

	b, err := npy.Create(filepath.Join(dir, "new.npy"), ndarray.Spec{Shape: []int64{4, 6}, DType: ndarray.DTypeOf[int16]()})
	require.NoError(t, err)
	a, err := ndarray.New(b)
	require.NoError(t, err)
	require.NoError(t, ndarray.Write(t.Context(), a, want[:6], ndarray.Region{Start: []int64{1, 1}, Shape: []int64{2, 3}}))
	require.NoError(t, a.Close())
	out, err = exec.Command(python, "-c", `import numpy as np, sys; print(np.load(sys.argv[1]).tolist())`, filepath.Join(dir, "new.npy")).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, "[[0, 0, 0, 0, 0, 0], [0, 0, 1, 2, 0, 0], [0, 3, 4, 5, 0, 0], [0, 0, 0, 0, 0, 0]]\n", string(out))
}

func TestOpen_corrupt(t *testing.T) {
	dir := t.TempDir()
	whole := filepath.Join(dir, "x.npy")
	b, err := npy.Create(whole, ndarray.Spec{Shape: []int64{100}, DType: ndarray.DTypeOf[float64]()})
	require.NoError(t, err)
	require.NoError(t, b.Close())
	data, err := os.ReadFile(whole)
	require.NoError(t, err)
	for name, c := range map[string][]byte{
		"truncated elements": data[:len(data)-1],
		"truncated header":   data[:40],
		"empty":              nil,
		"another version":    append([]byte("\x93NUMPY\x09"), data[7:]...),
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "x.npy")
			require.NoError(t, os.WriteFile(file, c, 0o600))
			_, err := npy.Open(file, false)
			require.ErrorIs(t, err, ndarray.ErrCorrupt)
			require.ErrorContains(t, err, file)
		})
	}
	_, err = npy.Open(filepath.Join(dir, "missing.npy"), false)
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = npy.Create(whole, ndarray.Spec{Shape: []int64{1}, DType: ndarray.DTypeOf[int8]()})
	require.ErrorIs(t, err, os.ErrExist)
}

// This example reads a row of an array that NumPy saved.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "x.npy")
	b, err := npy.Create(path, ndarray.Spec{Shape: []int64{2, 3}, DType: ndarray.DTypeOf[int32]()})
	if err != nil {
		panic(err)
	}
	a, err := ndarray.New(b)
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	if err := ndarray.Write(ctx, a, []int32{1, 2, 3, 4, 5, 6}, ndarray.Whole(a.Shape())); err != nil {
		panic(err)
	}
	row := make([]int32, 3)
	if err := ndarray.Read(ctx, a, row, ndarray.Region{Start: []int64{1, 0}, Shape: []int64{1, 3}}); err != nil {
		panic(err)
	}
	fmt.Println(row, a.Close())
	// Output: [4 5 6] <nil>
}
