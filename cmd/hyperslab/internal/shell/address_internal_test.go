package shell

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSplitSelection(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("odd[1]", nil, 0o644))
	for _, c := range []struct{ address, location, selection string }{
		{"a.b2nd", "a.b2nd", ""},
		{"a.b2nd[0]", "a.b2nd", "[0]"},
		{"a.h5:/x[0, 10:20, ::-1]", "a.h5:/x", "[0, 10:20, ::-1]"},
		{"a.h5:/x[[1, 2], 3]", "a.h5:/x", "[[1, 2], 3]"},
		{"a.h5:/x[1][0]", "a.h5:/x[1]", "[0]"},
		{"a.h5:/x[1", "a.h5:/x[1", ""},
		{"a.h5:/x1]", "a.h5:/x1]", ""},
		{"[0]", "[0]", ""},
		{"odd[1]", "odd[1]", ""},
		{"odd[1][0]", "odd[1]", "[0]"},
		{filepath.Join("dir[1]", "x") + "[:]", filepath.Join("dir[1]", "x"), "[:]"},
	} {
		location, selection := SplitSelection(c.address)
		require.Equal(t, c.location, location, c.address)
		require.Equal(t, c.selection, selection, c.address)
	}
}
