// Tests with the valid files of the test suites of the libraries. Verify must find no corruption.
// The tools of the libraries decide which files are valid.

package verify_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/internal/verify"
	"github.com/hyperslab/hyperslab/ndarray"
)

// toolReads reports whether h5dump reads the whole file.
func toolReads(t *testing.T, file string) bool {
	t.Helper()
	tool := testenv.Tool(t, "h5dump")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	return exec.CommandContext(ctx, tool, file).Run() == nil
}

// TestSuite_hdf5 checks that h5dump also fails to read each file that Verify reports as corrupt.
func TestSuite_hdf5(t *testing.T) {
	dir := testenv.Directory(t, testenv.HDF5Source)
	sound, corrupt, partly, pieces := 0, 0, 0, 0
	for _, file := range files(t, dir, ".h5", ".he5") {
		r, err := verify.File(bg, file, nil)
		if errors.Is(err, ndarray.ErrFormat) {
			require.False(t, toolReads(t, file), "%s: %v", file, err)
			pieces++ // one member of a file with several members
			continue
		}
		require.NoError(t, err)
		switch r.ExitCode() {
		case verify.ExitCorrupt:
			require.False(t, toolReads(t, file), "%s: %v, and h5dump reads it", file, r.Damages[0])
			corrupt++
		case verify.ExitPartly:
			partly++
		default:
			sound++
		}
	}
	require.Greater(t, sound, 300)
	t.Logf("%d sound, %d partly, %d corrupt, %d pieces of files", sound, partly, corrupt, pieces)
}

func TestSuite_blosc2(t *testing.T) {
	list := files(t, testenv.Directory(t, testenv.Blosc2Source), ".b2frame", ".b2nd")
	corpus := testenv.Directory(t, testenv.Corpus)
	list = append(list, files(t, filepath.Join(corpus, "blosc2"), ".b2frame")...)
	list = append(list, files(t, filepath.Join(corpus, "caterva2"), ".b2frame", ".b2nd", ".h5")...)
	chunks := int64(0)
	for _, file := range list {
		r, err := verify.File(bg, file, nil)
		require.NoError(t, err)
		require.Empty(t, r.Damages, file)
		chunks += r.Chunks
	}
	require.Greater(t, chunks, int64(50))
}

// TestSuite_filters checks files written with filter plug-ins of other projects.
func TestSuite_filters(t *testing.T) {
	for _, file := range files(t, filepath.Join(testenv.Directory(t, testenv.Corpus), "hdf5-filters"), ".h5") {
		r, err := verify.File(bg, file, nil)
		require.NoError(t, err)
		require.Empty(t, r.Damages, file)
		require.Positive(t, r.Chunks, file)
	}
}

// TestSuite_bcolz checks directory trees that bcolz wrote, of every kind.
func TestSuite_bcolz(t *testing.T) {
	dir := filepath.Join("..", "format", "bcolztree", "testdata")
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	trees := 0
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		trees++
		for _, isolated := range []bool{false, true} {
			r, err := verify.File(bg, filepath.Join(dir, e.Name()), &verify.Options{Isolated: isolated})
			require.NoError(t, err, e.Name())
			require.Equal(t, verify.ExitValid, r.ExitCode(), "%s: %v %v", e.Name(), r.Damages, r.Unchecked)
		}
	}
	require.Greater(t, trees, 25)
}

// TestSuite_hostile checks files that crash other programs. Verify must report them.
func TestSuite_hostile(t *testing.T) {
	dir := filepath.Join(testenv.Directory(t, testenv.Corpus), "hostile-hdf5")
	reported := 0
	for _, file := range files(t, dir, ".h5") {
		r, err := verify.File(bg, file, &verify.Options{Untrusted: true, MaxChunk: 64 << 20})
		if err == nil && r.ExitCode() != verify.ExitValid {
			reported++
		} else if err != nil {
			require.ErrorIs(t, err, ndarray.ErrFormat, file)
		}
	}
	require.Greater(t, reported, 80)
}
