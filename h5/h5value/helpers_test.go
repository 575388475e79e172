package h5value_test

import (
	"encoding/binary"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
)

// newFile creates an empty file in a temporary directory of the test.
func newFile(t testing.TB) *h5.File {
	t.Helper()
	f, err := h5.Create(filepath.Join(t.TempDir(), "new.h5"), nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// newDataset creates a dataset in a new file.
func newDataset(t testing.TB, dt h5.Datatype, space h5.Dataspace, o *h5.DatasetOptions) *h5.Dataset {
	t.Helper()
	d, err := newFile(t).Root().CreateDataset("d", dt, space, o)
	require.NoError(t, err)
	return d
}

// region returns a region without stride and block.
func region(start, count []int64) h5.Region { return h5.Region{Start: start, Count: count} }

func natives[T any](t testing.TB, v ...T) []byte {
	t.Helper()
	b, err := binary.Append(nil, binary.NativeEndian, v)
	require.NoError(t, err)
	return b
}

// must returns the value of a call and requires that the call succeeded.
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		require.NoError(t, err)
		return v
	}
}

func ptr[T any](v T) *T { return &v }

// readStrings reads the elements of r as strings.
func readStrings(d *h5.Dataset, r h5.Region) ([]string, error) {
	s := make([]string, max(r.NumElems(), 0))
	return s, h5value.Read(d, s, r)
}
