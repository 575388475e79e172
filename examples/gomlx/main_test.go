package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/testkit/annfile"
)

// TestLoad compares with the bytes that h5dump writes, which the original program reads.
func TestLoad(t *testing.T) {
	h5dump, err := filepath.Abs("../../third_party/build/bin/h5dump")
	require.NoError(t, err)
	if _, err := os.Stat(h5dump); err != nil {
		t.Skip("no h5dump: run make deps")
	}
	dir := t.TempDir()
	file := annfile.Must(filepath.Join(dir, "ann.h5"), 1003)
	loaded := 0
	require.NoError(t, load(t.Context(), file, func(e hyperslab.Entry, b []byte) {
		out := filepath.Join(dir, "out")
		text, err := exec.Command(h5dump, "--dataset="+e.Path, "--binary=NATIVE", "--output="+out, file).CombinedOutput()
		require.NoError(t, err, "%s", text)
		want, err := os.ReadFile(out)
		require.NoError(t, err)
		require.Equal(t, want, b, e.Path)
		loaded++
	}))
	require.Equal(t, 5, loaded)
}
