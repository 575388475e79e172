package verify_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
)

// TestVerify_unknownObjects checks that objects of an unknown form are not checked, and that the
// chunks are.
func TestVerify_unknownObjects(t *testing.T) {
	path := filepath.Join(t.TempDir(), "o.b2frame")
	testutil.Python(t, []string{"blosc2"}, "-c", `import blosc2, sys
o = blosc2.ObjectArray(urlpath=sys.argv[1], mode="w")
o.append({"a": 1})`, path)
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	at := bytes.Index(b, []byte("msgpack"))
	require.Positive(t, at)
	b[at] = 'x'
	require.NoError(t, os.WriteFile(path, b, 0o600))
	for _, isolated := range []bool{false, true} {
		r, err := hyperslab.Verify(t.Context(), path, &hyperslab.VerifyOptions{Isolated: isolated})
		require.NoError(t, err)
		require.Zero(t, r.NumFindings, "%v", r.Findings)
		require.EqualValues(t, 1, r.NumUnchecked)
		require.ErrorIs(t, r.Unchecked[0].Err, errors.ErrUnsupported)
		require.EqualValues(t, 1, r.Chunks)
	}
}
