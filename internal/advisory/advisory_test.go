package advisory_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/advisory"
)

func TestOpen(t *testing.T) {
	ids := func(library, release string) (list []string) {
		for _, a := range advisory.Open(library, release) {
			list = append(list, a.ID)
		}
		return list
	}
	notYet := []string{"CVE-2026-19024", "CVE-2026-19025", "CVE-2026-19026", "CVE-2026-19027", "CVE-2026-19028", "CVE-2026-19029", "CVE-2026-120756"}
	require.Equal(t, notYet, ids(advisory.HDF5, "2.2.0"), "fixed in no release yet")
	require.Equal(t, notYet, ids(advisory.HDF5, "2.10"))
	require.Equal(t, []string{"CVE-2026-122330"}, ids(advisory.CBlosc2, "3.3.2"))
	require.Equal(t, []string{"CVE-2026-122330"}, ids(advisory.CBlosc2, "3.4.1.dev0"))
	require.Empty(t, ids(advisory.CBlosc2, "3.5.0"))
	require.Equal(t, []string{"CVE-2021-3520"}, ids(advisory.LZ4, "1.9.3"))
	require.Empty(t, ids(advisory.LZ4, "1.10.0"))
	require.Equal(t, []string{"CVE-2026-27171"}, ids(advisory.Zlib, "1.3.1"))
	require.Empty(t, ids(advisory.Zlib, "1.3.2"))
	require.Empty(t, ids(advisory.Zstd, "1.5.7"))
}

func TestAdvisories_Unique(t *testing.T) {
	seen := map[string]bool{}
	for _, a := range advisory.Known() {
		require.False(t, seen[a.ID], a.ID)
		seen[a.ID] = true
	}
	require.Len(t, seen, 7+1+6)
}
