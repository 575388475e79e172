package crosscheck

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every dataset, put together from its stored chunks, gives what the reference
// gives; and a reader that misreads one rule is caught, and the rule named.
func TestMisreadHDF5IsCaughtAndNamed(t *testing.T) {
	t.Parallel()
	dir, m := Corpus(t)
	named := make(map[string]int)
	rebuilt := 0
	for _, c := range sampled(m, "hdf5") {
		if c.Must == Refuse || c.Decoded.Bytes == 0 {
			continue
		}
		path := filepath.Join(dir, c.Path)
		s, err := loadStored(path, c.Object)
		require.NoError(t, err, c.ID)
		if s == nil {
			x, err := Explain(dir, c, make([]byte, c.Decoded.Bytes+1))
			require.NoError(t, err, c.ID)
			require.NotEmpty(t, x.Stage, c.ID)
			continue
		}
		right, err := s.read(hdf5Misread{})
		if err != nil {
			require.Contains(t, []string{"nbit", "scaleoffset"}, c.Params["filter"], "%s: %v", c.ID, err)
			continue
		}
		require.Equal(t, c.Decoded.SHA256, hexSum(right), c.ID)
		rebuilt++
		for _, r := range hdf5Rules {
			got, err := s.read(r.m)
			if err != nil || hexSum(got) == c.Decoded.SHA256 {
				continue
			}
			x, err := Explain(dir, c, got)
			require.NoError(t, err)
			require.NotEmpty(t, x.Rule, c.ID)
			if x.Rule == r.name {
				named[r.name]++
			}
		}
		right[len(right)-1] ^= 1
		x, err := Explain(dir, c, right)
		require.NoError(t, err, c.ID)
		require.EqualValues(t, len(right)-1, x.Offset)
		require.Empty(t, x.Rule, c.ID)
		require.NotEmpty(t, x.Stage)
		for i, n := range s.info.Space.Dims {
			require.Equal(t, n-1, x.Index[i], c.ID)
		}
	}
	for _, r := range rulesToName(hdf5Rules) {
		require.Positive(t, named[r.name], "no vector names: %s", r.name)
	}
	require.Greater(t, rebuilt, 20)
}
