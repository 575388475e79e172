package cli_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
)

// TestRecover_plan refuses documents that are not plans, in words without types of Go.
func TestRecover_plan(t *testing.T) {
	dir := t.TempDir()
	source, plan, target := filepath.Join(dir, "a.h5"), filepath.Join(dir, "plan.json"), filepath.Join(dir, "b.h5")
	f, err := h5.Create(source, nil)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	whole := done(t, "recover", "--repair", source, "--json")
	for name, document := range map[string]string{
		"empty": "", "list": "[]", "number": `{"size": 1e300}`, "text": `{"size": "1"}`, "two documents": whole + "{}", "other schema": "{}",
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, os.WriteFile(plan, []byte(document), 0o600))
			_, stderr, code := run("recover", "--repair", source, target, "--plan", plan)
			require.Equal(t, 2, code)
			require.Contains(t, stderr, "--plan "+plan)
			for _, word := range []string{"cli.", "Go ", "struct"} {
				require.NotContains(t, stderr, word)
			}
			require.NoFileExists(t, target)
		})
	}
	require.NoError(t, os.WriteFile(plan, []byte(whole), 0o600))
	_, _, code := run("recover", "--repair", source, plan, "--plan", plan, "--force")
	require.Equal(t, 2, code, "the target is the plan")
	done(t, "recover", "--repair", source, target, "--plan", plan)
}
