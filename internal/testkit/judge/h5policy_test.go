package judge_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/testkit/judge"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

// h5policySource is the environment variable that names a checkout of HDFGroup/hdf5-pickles.
const h5policySource = "HYPERSLAB_H5POLICY"

// TestVerify_h5policy verifies the files that the generator of h5policy writes. Its directories are
// the expected verdicts: a file of "valid" has no finding, and one of "malformed" or "cve" has one,
// unless h5py reads all of it.
func TestVerify_h5policy(t *testing.T) {
	source := os.Getenv(h5policySource)
	if source == "" {
		t.Skipf("NOT TESTED: %s names no checkout of HDFGroup/hdf5-pickles, whose h5policy-gencorpus makes the files", h5policySource)
	}
	dir := t.TempDir()
	cmd := exec.Command(testenv.Python(t, "h5py", "numpy"), filepath.Join(source, "h5policy/tools/h5policy-gencorpus"), dir)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	j := judge.New(t)
	for verdict, least := range map[string]int{"valid": 50, "malformed": 90, "cve": 4} {
		list, err := filepath.Glob(filepath.Join(dir, verdict, "*.h5"))
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(list), least, verdict)
		for _, path := range list {
			t.Run(verdict+"/"+strings.TrimSuffix(filepath.Base(path), ".h5"), func(t *testing.T) {
				r, err := hyperslab.Verify(t.Context(), path, &hyperslab.VerifyOptions{Untrusted: true, Isolated: true})
				if verdict == "valid" {
					require.NoError(t, err)
					require.Empty(t, r.Findings)
					return
				}
				if err == nil && r.NumFindings == 0 && r.NumUnchecked == 0 {
					answer, err := j.Read(path)
					require.NoError(t, err)
					require.Equal(t, judge.Reads, answer.Outcome, "valid, and h5py: %v", answer)
				}
			})
		}
	}
}
