package cli_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/cli"
	"github.com/hyperslab/hyperslab/ndarray"
)

// TestRepack_invalidReplacement checks that a new file does not replace the old one if it is
// invalid or cannot be verified.
func TestRepack_invalidReplacement(t *testing.T) {
	for name, check := range map[string]func(r *hyperslab.VerifyReport, err error) (*hyperslab.VerifyReport, error){
		"not valid": func(r *hyperslab.VerifyReport, err error) (*hyperslab.VerifyReport, error) {
			r.NumFindings, r.Findings = 1, []hyperslab.Finding{{What: "simulated", Offset: -1, Chunk: -1, Err: errors.New("simulated")}}
			return r, err
		},
		"not verified": func(*hyperslab.VerifyReport, error) (*hyperslab.VerifyReport, error) {
			return nil, errors.New("simulated")
		},
	} {
		for _, location := range []string{"a.h5:/x", "a.b2nd"} {
			t.Run(name+" "+location, func(t *testing.T) {
				dir := t.TempDir()
				create[int32](t, filepath.Join(dir, location), ndarray.Spec{Shape: []int64{4}}, []int32{1, 2, 3, 4})
				left, err := os.ReadDir(dir)
				require.NoError(t, err)
				require.Len(t, left, 1)
				path := filepath.Join(dir, left[0].Name())
				before, err := os.ReadFile(path)
				require.NoError(t, err)
				called := 0
				cli.SetVerifyNew(t, func(ctx context.Context, file string, o *hyperslab.VerifyOptions) (*hyperslab.VerifyReport, error) {
					called++
					return check(hyperslab.Verify(ctx, file, o))
				})
				_, stderr, code := run("repack", "--replace", path)
				require.Equal(t, 2, code, stderr)
				require.Contains(t, stderr, "the old file is unchanged")
				require.Equal(t, 1, called)
				after, err := os.ReadFile(path)
				require.NoError(t, err)
				require.Equal(t, before, after)
				left, err = os.ReadDir(dir)
				require.NoError(t, err)
				require.Len(t, left, 1)
			})
		}
	}
}
