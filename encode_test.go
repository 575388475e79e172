package hyperslab_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
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
