package crosscheck

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Vectors for which a complaint does not depend on must: the valid vectors of remarked have a
// complaint, and the invalid vectors of unmarked have none.
var (
	remarked = []string{"b2nd/array-codec/", "bcolz/single/shrunk"} // codecs for trusted files; files that are not part of the array
	unmarked = []string{
		"b2nd/refuse/name", "caterva/refuse/name", // a frame without an array
		"mask-earliest-all-of-three/object_header_message_filter_pipeline_filter_filter_identification_value-unknown", // a filter that a plugin may provide
		"hdf5/reported/status-", // a valid structure of a file that another program has open
	}
)

func among(id string, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return strings.Contains(id, name) })
}

// TestDescribe_invalidVectors checks that the packages in plain Go describe every valid vector
// without a complaint, and every invalid vector with at least one.
func TestDescribe_invalidVectors(t *testing.T) {
	t.Parallel()
	_, m := Corpus(t)
	valid, invalid := 0, 0
	for _, c := range m.Cases {
		root := described(t, c)
		first := ""
		for path, f := range root.Complaints() {
			first = path + ": " + f.Complaint
			break
		}
		if c.Must == Refuse {
			invalid++
			if (first == "") != among(c.ID, unmarked) {
				t.Errorf("%s: complaint %q", c.ID, first)
			}
			continue
		}
		valid++
		if (first != "") != among(c.ID, remarked) {
			t.Errorf("%s: complaint %q", c.ID, first)
		}
	}
	require.Greater(t, valid, 1000)
	require.Greater(t, invalid, 600)
}
