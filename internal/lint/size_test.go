// Test of the packages that programs contain.
package lint_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDependencies_local checks that a program that imports the module root contains no HTTP
// client. Only package remote has one.
func TestDependencies_local(t *testing.T) {
	cmd := exec.Command("go", "list", "-deps", ".")
	cmd.Dir = root
	out, err := cmd.Output()
	require.NoError(t, err)
	packages := strings.Fields(string(out))
	require.Contains(t, packages, "github.com/hyperslab/hyperslab/ndarray")
	for _, p := range []string{"net/http", "crypto/tls", "github.com/hyperslab/hyperslab/remote"} {
		require.NotContains(t, packages, p)
	}
}
