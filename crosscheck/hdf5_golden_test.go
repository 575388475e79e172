package crosscheck

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

var writeGolden = flag.Bool("golden", false, "write golden/*.h5 again, with other bytes")

// TestGoldenVectors checks the digests of the golden files against golden/MANIFEST.md. Files that
// the same functions write today must decode to the same data.
func TestGoldenVectors(t *testing.T) {
	if *writeGolden {
		for _, v := range goldenVectors {
			require.NoError(t, makeHDF5(filepath.Join("golden", v.name+".h5"), v.low, nil, true, v.fill))
		}
	}
	text, err := os.ReadFile("golden/MANIFEST.md")
	require.NoError(t, err)
	rows := regexp.MustCompile(`(?m)^\| (\S+\.h5) \|.*\| ([0-9a-f]{64}) \|$`).FindAllStringSubmatch(string(text), -1)
	require.Len(t, rows, len(goldenVectors))
	anew := t.TempDir()
	for i, v := range goldenVectors {
		require.Equal(t, v.name+".h5", rows[i][1])
		name := filepath.Join("golden", v.name+".h5")
		_, sum, err := digest(name)
		require.NoError(t, err)
		require.Equal(t, sum, rows[i][2], name)
		like := filepath.Join(anew, v.name+".h5")
		require.NoError(t, makeHDF5(like, v.low, nil, true, v.fill))
		for _, object := range v.objects {
			kept, err := decodeHDF5(name, object)
			require.NoError(t, err)
			today, err := decodeHDF5(like, object)
			require.NoError(t, err)
			require.Equal(t, kept.data, today.data)
			require.Equal(t, kept.shape, today.shape)
			if v.name != "references-v114" {
				require.NotZero(t, kept.metadata["changed"], "%s %s", name, object)
			}
		}
	}
}

// TestGoldenVectors_blosc2 checks the digests of the chunks and frames of golden/gen.py.
func TestGoldenVectors_blosc2(t *testing.T) {
	text, err := os.ReadFile("golden/MANIFEST.md")
	require.NoError(t, err)
	rows := regexp.MustCompile(`(?m)^\| (\S+\.(?:chunk|b2frame|b2z|b2e)) \|.*\| ([0-9a-f]{64}) \|$`).FindAllStringSubmatch(string(text), -1)
	var want []string
	for _, pattern := range []string{"golden/*.chunk", "golden/*.b2frame", "golden/*.b2z", "golden/*.b2e"} {
		names, err := filepath.Glob(pattern)
		require.NoError(t, err)
		want = append(want, names...)
	}
	var got []string
	for _, row := range rows {
		got = append(got, "golden/"+row[1])
		_, sum, err := digest("golden/" + row[1])
		require.NoError(t, err)
		require.Equal(t, row[2], sum, row[1])
	}
	require.ElementsMatch(t, want, got)
}
