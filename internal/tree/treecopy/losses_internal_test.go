package treecopy

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/tree"
)

// TestUnsupportedIn checks that the refusal of each entry that a format cannot store has a
// reason, whatever the entry lacks.
func TestUnsupportedIn(t *testing.T) {
	entry := func(kind tree.Kind, typ, link, target string, err error) *tree.Entry {
		return &tree.Entry{Path: "/x", Kind: kind, Type: typ, LinkKind: link, Target: target, Err: err}
	}
	var entries []*tree.Entry
	for _, kind := range []tree.Kind{tree.Group, tree.Array, tree.Link, tree.Type, tree.Other, "new"} {
		for _, typ := range []string{"", "<i4"} {
			for _, link := range []string{"", "hard", "user-defined"} {
				for _, target := range []string{"", "/y"} {
					for _, err := range []error{nil, errors.New(""), format.ErrLimit} {
						entries = append(entries, entry(kind, typ, link, target, err))
					}
				}
			}
		}
	}
	for _, f := range []string{detect.B2ND, detect.HDF5, detect.Bcolz, detect.Directory, detect.B2Z, detect.B2D, detect.B2E, detect.NPY} {
		for _, e := range entries {
			text := unsupportedIn(f, e).Error()
			require.NotRegexp(t, `  |: in |: $|:$| : |^ |: to `, text, "%+v", e)
			require.Contains(t, text, "in format "+f)
		}
	}
}
