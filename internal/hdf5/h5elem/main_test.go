package h5elem_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/testkit/leak"
)

func TestMain(m *testing.M) {
	leak.Main(m, leak.Check{Name: "open HDF5 ids", Left: h5.OpenIDs})
}

// newFile creates an empty file in a temporary directory of the test.
func newFile(t *testing.T) *h5.File {
	t.Helper()
	f, err := h5.Create(filepath.Join(t.TempDir(), "new.h5"), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	return f
}
