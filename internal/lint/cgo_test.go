package lint_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBuild_withoutCgo checks that a package that binds C fails to compile without cgo with one
// error, which names the remedy. A file without the build tag cgo would add errors of its own.
func TestBuild_withoutCgo(t *testing.T) {
	for _, pkg := range []string{"./cblosc", "./h5", "./h5/filter"} {
		t.Run(pkg, func(t *testing.T) {
			cmd := exec.Command("go", "build", pkg)
			cmd.Dir = root
			cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
			out, err := cmd.CombinedOutput()
			require.Error(t, err)
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			require.Len(t, lines, 2, "%s", out) // the package and the error
			require.Contains(t, lines[1], "needs_cgo__set_CGO_ENABLED_1_and_install_a_C_compiler")
		})
	}
}
