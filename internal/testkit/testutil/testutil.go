// Python scripts, random bytes and file sizes.

package testutil

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

// Python runs Python with arguments, for example "-c" and a script, and returns standard output
// without leading and trailing spaces. It skips the test or fails it, as testenv.Python, if a
// module is missing, and fails it if the script fails.
func Python(t testing.TB, modules []string, args ...string) string {
	t.Helper()
	var diagnostics strings.Builder
	cmd := exec.Command(testenv.Python(t, modules...), args...)
	cmd.Stderr = &diagnostics
	out, err := cmd.Output()
	require.NoError(t, err, "%s%s", out, &diagnostics)
	return strings.TrimSpace(string(out))
}

// Noise returns n bytes that do not compress, the same ones for each seed.
func Noise(n int, seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 2))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// Ramp returns n bytes of slowly rising 32-bit numbers with some noise, so that they compress to a
// moderate size.
func Ramp(n int, seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	b := make([]byte, 0, n+4)
	for v := uint32(seed); len(b) < n; v += r.Uint32N(5) {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return b[:n:n]
}

// FileSize returns the size of a file in bytes.
func FileSize(t interface {
	require.TestingT
	Helper()
}, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	require.NoError(t, err)
	return info.Size()
}
