// Tests of version: its output must be valid for any versions of the linked libraries.

package cli_test

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/filter"
	"github.com/hyperslab/hyperslab/internal/advisory"
)

func TestVersion_vulnerabilities(t *testing.T) {
	stdout, stderr, code := run("version", "--libs", "--check", "--json")
	require.Zero(t, code, stderr)
	var doc struct {
		Libraries []struct {
			Name, Version string
			Inside        *string
		}
		Vulnerabilities []struct {
			ID, Library, Version string
			FixedIn              string `json:"fixed_in"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &doc))
	hdf5, err := h5.Version()
	require.NoError(t, err)
	linked := map[string]string{advisory.CBlosc2: cblosc.Version(), advisory.HDF5: hdf5}
	codecs, err := cblosc.CodecVersions()
	require.NoError(t, err)
	for _, c := range codecs {
		linked[c.Library] = c.Version
	}
	require.Subset(t, slices.Collect(maps.Keys(linked)), []string{advisory.LZ4, advisory.Zlib, advisory.Zstd}, "the names of the list are C-Blosc2's")
	var names []string
	for _, l := range doc.Libraries {
		require.Equal(t, linked[l.Name], l.Version, l.Name)
		names = append(names, l.Name)
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(linked)), names)

	text, stderr, code := run("version", "--libs", "--check")
	require.Zero(t, code, stderr)
	var want []string
	for _, name := range names {
		for _, a := range advisory.Open(name, linked[name]) {
			want = append(want, a.ID+" "+name+" "+linked[name]+" "+a.Fixed)
			require.Regexp(t, `(?m)^`+a.ID+` +`+name+` `+regexp.QuoteMeta(linked[name])+` +`, text)
		}
	}
	var got []string
	for _, v := range doc.Vulnerabilities {
		got = append(got, v.ID+" "+v.Library+" "+v.Version+" "+v.FixedIn)
	}
	require.Equal(t, want, got)
	for _, a := range advisory.Known() {
		if a.Fixed == linked[a.Library] {
			require.NotContains(t, text, a.ID, "the linked release has the remedy")
		}
	}
}

// TestVersionFilters checks that version lists every available filter, also those of package
// h5/filter.
func TestVersionFilters(t *testing.T) {
	stdout, stderr, code := run("version", "--libs", "--json")
	require.Zero(t, code, stderr)
	var doc struct {
		Filters []struct {
			ID             int
			Name           string
			Decode, Encode bool
		} `json:"hdf5_filters"`
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &doc))
	var ids []int
	for _, f := range doc.Filters {
		can, err := h5.FilterAvailable(f.ID)
		require.NoError(t, err)
		require.Equal(t, can.Decode, f.Decode, f.Name)
		require.Equal(t, can.Encode, f.Encode, f.Name)
		ids = append(ids, f.ID)
	}
	require.Subset(t, ids, append(filter.Numbers(), h5.FilterNbit, h5.FilterScaleOffset))
}
