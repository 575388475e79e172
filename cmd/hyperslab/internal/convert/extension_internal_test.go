package convert

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHasExtension(t *testing.T) {
	for name, want := range map[string]bool{
		"tree.zarr": true, "a/tree.nc4": true, ".tree.x": true,
		"tree": false, "tree.zarr/": false, ".tree": false, "data-1.2": false, "v0.1.3-tree": false, "a.zarr/tree": false, "tree.": false,
	} {
		require.Equal(t, want, hasExtension(name), name)
	}
}
