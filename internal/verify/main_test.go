package verify_test

import (
	"context"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/sandbox/worker"
	"github.com/hyperslab/hyperslab/internal/testkit/leak"
)

func TestMain(m *testing.M) {
	worker.Init()
	leak.Main(m, leak.Check{Name: "open HDF5 ids", Left: h5.OpenIDs}, leak.Check{Name: "worker processes", Left: worker.Left})
}

var bg = context.Background()

// files returns the regular files below a directory with one of the extensions.
func files(t testing.TB, dir string, extensions ...string) []string {
	t.Helper()
	var list []string
	require.NoError(t, filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			for _, x := range extensions {
				if strings.HasSuffix(p, x) {
					list = append(list, p)
				}
			}
		}
		return err
	}))
	require.NotEmpty(t, list)
	return list
}
