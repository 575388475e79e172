package crosscheck

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/b2ndmeta"
	"github.com/hyperslab/hyperslab/internal/format/bcolztree"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
)

// describe annotates a vector by the package of its format.
func describe(t *testing.T, path string, c Case) format.Field {
	t.Helper()
	info, err := os.Stat(path)
	require.NoError(t, err)
	switch {
	case c.Area == "bcolz":
		return bcolztree.Describe(os.DirFS(path), ".")
	case info.IsDir():
		return cframe.DescribeDir(os.DirFS(path))
	}
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	switch c.Area {
	case "chunk", "blosc1":
		return chunk.Describe(b)
	case "metalayer":
		return b2ndmeta.Describe(c.Params["name"], b)
	case "hdf5":
		return h5file.Describe(bytes.NewReader(b), int64(len(b)))
	}
	return cframe.Describe(bytes.NewReader(b), int64(len(b)))
}

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
		root := describe(t, filepath.Join(dir, filepath.FromSlash(c.Path)), c)
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
