package h5_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/cmem"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

// TestEnvironment checks that environment variables for libhdf5 load no code, change no result and
// cause no output. libhdf5 must see a variable only if the program itself sets it.
func TestEnvironment(t *testing.T) {
	path := os.Getenv("H5_TEST_FILE")
	if os.Getenv("H5_TEST_CHILD") != "" {
		require.NotEmpty(t, os.Getenv("HDF5_DRIVER"), "Go programs and their children keep the variables")
		require.Empty(t, cmem.Env("HDF5_DRIVER"))
		f, err := h5.Create(path, nil)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		f, err = h5.Open(path, h5.ReadOnly)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		require.ErrorIs(t, readUnknownFilter(writeUnknownFilter(t)), h5.ErrNoFilter)
		t.Setenv("HDF5_VDS_PREFIX", "/elsewhere")
		require.Equal(t, "/elsewhere", cmem.Env("HDF5_VDS_PREFIX"))
		return
	}
	dir, mark := markingPlugin(t, 2)
	stderr := child(t, "TestEnvironment", "H5_TEST_FILE="+filepath.Join(dir, "a.h5"), "HDF5_PLUGIN_PATH="+dir, "HDF5_PLUGIN_PRELOAD=x",
		"HDF5_DRIVER=missing", "HDF5_VOL_CONNECTOR=missing", "HDF5_DEBUG=all", "HDF5_VDS_PREFIX=/nowhere", "HDF5_USE_FILE_LOCKING=maybe")
	require.Empty(t, stderr)
	require.NoFileExists(t, mark)
	// A program without this package loads the plug-in.
	cmd := exec.Command(testenv.Tool(t, "h5dump"), "-H", filepath.Join(dir, "a.h5"))
	cmd.Env = append(os.Environ(), "HDF5_PLUGIN_PATH="+dir, "HDF5_VOL_CONNECTOR=missing")
	_ = cmd.Run()
	require.FileExists(t, mark)
}

// markingPlugin returns a directory with a plug-in of the kind (H5PL_type_t), and the file that the
// plug-in creates when a process loads it.
func markingPlugin(t *testing.T, kind int) (dir, mark string) {
	t.Helper()
	cc := testenv.Compiler(t)
	dir = t.TempDir()
	mark = filepath.Join(dir, "loaded")
	source := filepath.Join(dir, "plugin.c")
	require.NoError(t, os.WriteFile(source, fmt.Appendf(nil, `#include <stdio.h>
__attribute__((constructor)) static void loaded(void) { FILE *f = fopen(%q, "w"); if (f) fclose(f); }
int H5PLget_plugin_type(void) { return %d; }
const void *H5PLget_plugin_info(void) { return 0; }
`, mark, kind), 0o644))
	out, err := exec.Command(cc, "-shared", "-fPIC", "-o", filepath.Join(dir, "libplugin.so"), source).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return dir, mark
}
