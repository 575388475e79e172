// Verdicts and exit codes on files that are damaged in one place.

package cli_test

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
)

// brokenRoot writes a file whose root group has 20 members and cannot be listed.
func brokenRoot(t *testing.T, low h5.LibVer, signature string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.h5")
	f, err := h5.Create(path, &h5.CreateOptions{Low: low, High: h5.LatestFormat})
	require.NoError(t, err)
	for i := range 20 {
		g, err := f.Root().CreateGroup(string(rune('a' + i)))
		require.NoError(t, err)
		require.NoError(t, g.Close())
	}
	require.NoError(t, f.Close())
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	at := bytes.Index(b, []byte(signature))
	require.Positive(t, at)
	copy(b[at:], "XXXX")
	require.NoError(t, os.WriteFile(path, b, 0o600))
	return path
}

func TestRun_unreadableRoot(t *testing.T) {
	for name, path := range map[string]string{"local heap": brokenRoot(t, h5.Earliest, "HEAP"), "fractal heap": brokenRoot(t, h5.V110, "FRHP")} {
		for _, command := range []string{"ls", "tree", "info"} {
			t.Run(command+" "+name, func(t *testing.T) {
				_, stderr, code := run(command, path)
				require.Equal(t, 3, code)
				require.Contains(t, stderr, "signature")
				stdout, _, code := run(command, "--json", path)
				require.Equal(t, 3, code)
				require.True(t, json.Valid([]byte(stdout)), stdout)
			})
		}
	}
}

func TestInfo_truncatedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.h5")
	f, err := h5.Create(path, nil)
	require.NoError(t, err)
	d, err := f.Root().CreateDataset("a", h5.TypeOf[int64](), h5.SimpleSpace(1000), nil)
	require.NoError(t, err)
	require.NoError(t, h5.Write(d, make([]int64, 1000), h5.SimpleSpace(1000).All()))
	require.NoError(t, d.Close())
	require.NoError(t, f.Close())
	require.NoError(t, os.Truncate(path, 5000))
	_, stderr, code := run("info", path)
	require.Equal(t, 2, code)
	require.Contains(t, stderr, "truncated")
	require.NotContains(t, stderr, "name one as")
}

// Integers that need all bits of their type in scale-offset are valid, in every command that decodes them.
func TestVerify_scaleOffsetOfAllBits(t *testing.T) {
	t.Chdir(t.TempDir())
	f, err := h5.Create("a.h5", nil)
	require.NoError(t, err)
	space := h5.SimpleSpace(4)
	d, err := f.Root().CreateDataset("a", h5.TypeOf[int32](), space, &h5.DatasetOptions{Chunks: []int64{4}, Filters: []h5.Filter{h5.ScaleOffsetInt(0)}})
	require.NoError(t, err)
	require.NoError(t, h5.Write(d, []int32{math.MinInt32, -1, 0, math.MaxInt32}, space.All()))
	require.NoError(t, d.Close())
	require.NoError(t, f.Close())

	require.Contains(t, done(t, "verify", "a.h5"), "valid")
	done(t, "recover", "-q", "a.h5", "b.h5")
	done(t, "repack", "-q", "a.h5", "c.h5")
	for _, file := range []string{"a.h5", "b.h5", "c.h5"} {
		require.Equal(t, "-2147483648\n-1\n0\n2147483647\n", done(t, "dump", "--csv", file+":/a"), file)
	}
}
