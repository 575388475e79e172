package crosscheck

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Vectors for which a complaint does not depend on must: the valid vectors of remarked have a
// complaint, and the invalid vectors of unmarked have none.
var (
	remarked = []string{"b2nd/array-codec/", "bcolz/single/shrunk"}                                                                                                               // codecs for trusted files; files that are not part of the array
	unmarked = []string{"b2nd/refuse/name", "caterva/refuse/name", "mask-earliest-all-of-three/object_header_message_filter_pipeline_filter_filter_identification_value-unknown"} // a frame without an array; a filter that a plugin may provide
)

func among(id string, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return strings.Contains(id, name) })
}

// TestDescribe_invalidVectors checks that the packages in plain Go describe every valid vector
// without a complaint, and every invalid vector with at least one.
func TestDescribe_invalidVectors(t *testing.T) {
	t.Parallel()
	dir, m := Corpus(t)
	sound, broken := 0, 0
	for _, c := range m.Cases {
		root, err := annotate(filepath.Join(dir, filepath.FromSlash(c.Path)), c)
		require.NoError(t, err)
		first := ""
		for path, f := range root.Complaints() {
			first = path + ": " + f.Complaint
			break
		}
		if c.Must == Refuse {
			broken++
			if (first == "") != among(c.ID, unmarked) {
				t.Errorf("%s: complaint %q", c.ID, first)
			}
			continue
		}
		sound++
		if (first != "") != among(c.ID, remarked) {
			t.Errorf("%s: complaint %q", c.ID, first)
		}
	}
	require.Greater(t, sound, 1000)
	require.Greater(t, broken, 600)
}
