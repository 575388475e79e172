// Tests of digest files, which are untrusted like the data.

package verify

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/ndarray"
)

// FuzzDigests checks that any digest file is either valid or reported as corrupt.
func FuzzDigests(f *testing.F) {
	const digest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	f.Add([]byte(digest + "  a.h5:/x chunk 3\n"))
	f.Add([]byte("\\" + digest + " *a\\nb\\\\c\n\n"))
	f.Add([]byte("# none\n"))
	path := filepath.Join(f.TempDir(), "digests")
	f.Fuzz(func(t *testing.T, b []byte) {
		require.NoError(t, os.WriteFile(path, b, 0o600))
		m, err := readDigests(path)
		if err != nil {
			if len(b) < 1<<20 { // a longer line is a different error
				require.ErrorIs(t, err, ndarray.ErrCorrupt)
			}
			return
		}
		for _, d := range m {
			raw, err := hex.DecodeString(d)
			require.NoError(t, err)
			require.Len(t, raw, 32)
		}
	})
}
