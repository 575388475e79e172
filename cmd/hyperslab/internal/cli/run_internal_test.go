package cli

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTemporary(t *testing.T) {
	for text, want := range map[string]string{
		"write .a.h5.tmp-12-1-0123abcd: full":                             "write a.h5: full",
		"write dir/.a.h5.tmp-12-1: full":                                  "write dir/a.h5: full",
		"resize .a.b2nd.tmp-7-1-738032aa: open .a.b2nd.tmp-7-1-738032aa:": "resize a.b2nd: open a.b2nd:",
		"open .hidden.h5: not found":                                      "open .hidden.h5: not found",
	} {
		require.Equal(t, want, temporary.ReplaceAllString(text, "$1$2"))
	}
}

// TestOtherNames checks that each suggested command exists, and that no command has the other name.
func TestOtherNames(t *testing.T) {
	root := (&app{}).root()
	for name, command := range otherNames {
		found, _, err := root.Find([]string{command})
		require.NoError(t, err)
		require.Equal(t, command, found.Name())
		found, _, err = root.Find([]string{name})
		require.NoError(t, err)
		require.Equal(t, root, found, name)
	}
}

func TestHasExtension(t *testing.T) {
	for name, want := range map[string]bool{
		"tree.zarr": true, "a/tree.nc4": true, ".tree.x": true,
		"tree": false, "tree.zarr/": false, ".tree": false, "data-1.2": false, "v0.1.3-tree": false, "a.zarr/tree": false, "tree.": false,
	} {
		require.Equal(t, want, hasExtension(name), name)
	}
}
