// Tests of the top level of the repository, of go.mod and of the manifest of golden files.
package lint_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTopLevel_names(t *testing.T) {
	for _, name := range []string{"go.mod", "go.sum", "cblosc", "h5", "ndarray", "third_party", "scripts", "testdata", "Dockerfile", "README.md"} {
		_, err := os.Stat(filepath.Join(root, name))
		require.NoError(t, err, "the top level lacks %s", name)
	}
}

func TestGoMod_directRequirements(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	for _, m := range []string{"github.com/DataDog/zstd", "gonum.org/v1/hdf5", "github.com/stretchr/testify"} {
		line := regexp.MustCompile(`(?m)^\s*(require\s+)?` + regexp.QuoteMeta(m) + `\s+v\S+(.*)$`).FindSubmatch(b)
		require.NotNil(t, line, "go.mod does not require %s", m)
		require.NotContains(t, string(line[2]), "indirect", "go.mod requires %s only indirectly", m)
	}
}

// TestGoldenFiles_manifests checks that each row of testdata/MANIFEST.md contains the digest of an
// existing file, and that each file has a row.
func TestGoldenFiles_manifests(t *testing.T) {
	dir := filepath.Join(root, "testdata")
	b, err := os.ReadFile(filepath.Join(dir, "MANIFEST.md"))
	require.NoError(t, err)
	listed := map[string]string{}
	for _, line := range strings.Split(string(b), "\n") {
		cells := strings.Split(strings.Trim(line, "| "), "|")
		sum := strings.TrimSpace(cells[len(cells)-1])
		if len(cells) == 5 && len(sum) == 64 {
			listed[strings.TrimSpace(cells[0])] = sum
		}
	}
	require.NotEmpty(t, listed)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		if e.Name() == "MANIFEST.md" {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		sum := sha256.Sum256(data)
		require.Equal(t, listed[e.Name()], hex.EncodeToString(sum[:]), "%s: digest differs from the manifest's, or no row", e.Name())
		delete(listed, e.Name())
	}
	require.Empty(t, listed, "rows without a file")
}
