package hyperslab_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/mem"
)

// memory returns an array in memory.
func memory(t *testing.T, spec ndarray.Spec) *ndarray.Array {
	t.Helper()
	b, err := mem.New(spec)
	require.NoError(t, err)
	a, err := ndarray.New(b)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.Close()) })
	return a
}

func TestNewEncoder(t *testing.T) {
	ctx := context.Background()
	a := memory(t, ndarray.Spec{Shape: []int64{2}, DType: ndarray.DType{Kind: ndarray.String, Order: ndarray.NoOrder}})
	t.Run("strings as .npy", func(t *testing.T) {
		_, err := hyperslab.NewEncoder(ctx, a, hyperslab.NPY, nil)
		require.ErrorIs(t, err, errors.ErrUnsupported)
		require.ErrorContains(t, err, ".npy cannot store elements of variable size")
	})
	t.Run("other format", func(t *testing.T) {
		_, err := hyperslab.NewEncoder(ctx, a, hyperslab.HDF5, nil)
		require.ErrorIs(t, err, ndarray.ErrParam)
		require.ErrorContains(t, err, `got "hdf5", want "json", "ndjson", "csv" or "npy"`)
	})
	t.Run("no context", func(t *testing.T) {
		done, cancel := context.WithCancel(ctx)
		cancel()
		require.ErrorIs(t, hyperslab.Encode(done, io.Discard, a, hyperslab.JSON, nil), context.Canceled)
	})
}

// TestEncode_python compares the output with what Python parses: json, csv and NumPy.
func TestEncode_python(t *testing.T) {
	const program = `
import csv, io, json, sys, numpy as np
dir, dtype = sys.argv[1:]
a = np.load(f"{dir}/a.npy", allow_pickle=False)
assert a.dtype == np.dtype(dtype) and a.shape == (3, 7), (a.dtype, a.shape)
number = lambda x: np.array(float(x) if isinstance(x, str) else x, a.dtype) if a.dtype.kind == "f" else np.array(int(x), a.dtype)
for b in json.load(open(f"{dir}/a.json")), [json.loads(line) for line in open(f"{dir}/a.ndjson")], list(csv.reader(open(f"{dir}/a.csv")))[1:]:
    b = np.array([[number(x) for x in row] for row in b])
    assert b.shape == a.shape and np.array_equal(a, b, equal_nan=a.dtype.kind == "f"), (a, b)
    assert np.array_equal(np.signbit(a[~np.isnan(a)]), np.signbit(b[~np.isnan(b)]))
`
	interpreter := testenv.Python(t, "numpy")
	for _, dtype := range []string{"<i8", "<u8", "<f8", "<f4", "<i2"} {
		t.Run(dtype, func(t *testing.T) {
			d, err := ndarray.ParseDType(dtype)
			require.NoError(t, err)
			a := memory(t, ndarray.Spec{Shape: []int64{3, 7}, DType: d, ChunkShape: []int64{2, 3}})
			src := bytes.Repeat([]byte{0, 0, 0, 0, 0, 0, 0, 0x80, 255, 255, 255, 255, 255, 255, 255, 0x7f, 1, 0, 0, 0, 0, 0, 0x20, 0}, 7)
			require.NoError(t, a.Write(context.Background(), src[:a.NBytes()], ndarray.Whole(a.Shape())))
			dir := t.TempDir()
			for _, format := range []hyperslab.Format{hyperslab.JSON, hyperslab.NDJSON, hyperslab.CSV, hyperslab.NPY} {
				f, err := os.Create(filepath.Join(dir, "a."+string(format)))
				require.NoError(t, err)
				require.NoError(t, hyperslab.Encode(context.Background(), f, a, format, nil))
				require.NoError(t, f.Close())
			}
			out, err := exec.Command(interpreter, "-c", program, dir, dtype).CombinedOutput()
			require.NoError(t, err, "%s", out)
		})
	}
}

func TestWriteFile(t *testing.T) {
	ctx := context.Background()
	t.Setenv("TMPDIR", t.TempDir())
	create := func(location string) error {
		d, err := hyperslab.Create(ctx, location, ndarray.Spec{Shape: []int64{3}, DType: ndarray.DTypeOf[int32]()}, nil)
		require.NoError(t, err)
		require.NoError(t, ndarray.Write(ctx, d.Array, []int32{5, 6, 7}, ndarray.Whole(d.Shape())))
		return d.Commit(ctx)
	}
	empty := func(t *testing.T) {
		t.Helper()
		left, err := os.ReadDir(os.Getenv("TMPDIR"))
		require.NoError(t, err)
		require.Empty(t, left)
	}
	for _, name := range []string{"a.h5", "a.b2nd", "a.caterva"} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			require.NoError(t, hyperslab.WriteFile(ctx, &out, name, func(location string) error {
				if filepath.Ext(name) == ".h5" {
					location += ":/x"
				}
				return create(location)
			}))
			object := map[bool]string{true: "x", false: ""}[name == "a.h5"]
			a, err := hyperslab.OpenReaderAt(ctx, bytes.NewReader(out.Bytes()), int64(out.Len()), name, object, nil)
			require.NoError(t, err)
			got := make([]byte, 12)
			require.NoError(t, a.Read(ctx, got, ndarray.Whole(a.Shape())))
			require.Equal(t, []byte{5, 0, 0, 0, 6, 0, 0, 0, 7, 0, 0, 0}, got)
			require.NoError(t, a.Close())
			empty(t)
		})
	}
	for name, c := range map[string]struct {
		name  string
		write func(location string) error
		is    error
	}{
		"directory":     {"a.bcolz", create, errors.ErrUnsupported},
		"nothing":       {"a.b2nd", func(string) error { return nil }, ndarray.ErrNotFound},
		"error":         {"a.b2nd", func(string) error { return io.ErrNoProgress }, io.ErrNoProgress},
		"separator":     {"b/a.b2nd", create, ndarray.ErrParam},
		"parent":        {"..", create, ndarray.ErrParam},
		"without names": {"", create, ndarray.ErrParam},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			require.ErrorIs(t, hyperslab.WriteFile(ctx, &out, c.name, c.write), c.is)
			require.Zero(t, out.Len())
			empty(t)
		})
	}
	t.Run("writer fails", func(t *testing.T) {
		r, w := io.Pipe()
		require.NoError(t, r.CloseWithError(io.ErrClosedPipe))
		require.ErrorIs(t, hyperslab.WriteFile(ctx, w, "a.b2nd", create), io.ErrClosedPipe)
		empty(t)
	})
	t.Run("cancelled", func(t *testing.T) {
		done, cancel := context.WithCancel(ctx)
		require.ErrorIs(t, hyperslab.WriteFile(done, io.Discard, "a.b2nd", func(location string) error {
			defer cancel()
			return create(location)
		}), context.Canceled)
		empty(t)
	})
}
