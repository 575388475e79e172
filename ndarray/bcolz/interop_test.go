package bcolz_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

// TestInterop checks arrays that bcolz writes with every element type, codec, level and filter. The
// values must be the same as in bcolz.
func TestInterop(t *testing.T) {
	interpreter := testenv.Python(t, "bcolz")
	dir := testenv.Scratch(t)
	out, err := exec.Command(interpreter, "testdata/interop.py", dir).CombinedOutput()
	require.NoError(t, err, "interop.py:\n%s", out)
	var list []struct {
		Name, DType, SHA256 string
		Shape               []int64
	}
	b, err := os.ReadFile(filepath.Join(dir, "list.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, &list))
	require.Greater(t, len(list), 300)
	for _, e := range list {
		a := open(t, filepath.Join(dir, e.Name))
		require.Equal(t, e.DType, a.DType().String())
		require.Equal(t, e.Shape, a.Shape())
		sum := sha256.Sum256(readAll(t, a))
		require.Equal(t, e.SHA256, hex.EncodeToString(sum[:]), "%s %s %v %v", e.Name, e.DType, e.Shape, a.Meta().Compression)
		require.NoError(t, a.Close())
	}
}
