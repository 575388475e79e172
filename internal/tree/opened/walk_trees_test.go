package opened_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/testkit/filetest"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
)

// TestWalk_Deep checks that the work per object does not depend on its depth. A chain of 8 times as
// many groups takes about 8 times as long, but 64 times as long if each lookup starts at the root.
// Names of one character keep the paths short.
func TestWalk_Deep(t *testing.T) {
	testenv.NoRace(t, "the detector slows long paths more than lookups")
	testenv.NoASan(t, "it slows long paths more than lookups")
	walk := func(depth int) time.Duration {
		file := filepath.Join(t.TempDir(), "deep.h5")
		f, err := h5.Create(file, nil)
		require.NoError(t, err)
		g := f.Root()
		for range depth {
			next, err := g.CreateGroup("g")
			require.NoError(t, err)
			if g != f.Root() {
				require.NoError(t, g.Close())
			}
			g = next
		}
		require.NoError(t, g.Close())
		require.NoError(t, f.Close())
		var before, after syscall.Rusage
		require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &before))
		entries := 0
		for _, err := range hyperslab.Walk(bg, file, nil) {
			require.NoError(t, err)
			entries++
		}
		require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &after))
		require.Equal(t, depth+1, entries)
		return time.Duration(after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano())
	}
	walk(10) // the first walk starts the library
	short, long := walk(500), walk(4000)
	for range 2 { // the minimum contains the least work of other goroutines
		short, long = min(short, walk(500)), min(long, walk(4000))
	}
	t.Log(short, long)
	require.Less(t, long, 40*short)
}

// TestDirectory_ForeignFiles checks directories that other programs have written: file names are
// not escaped, symbolic links are not followed, and files without an array are listed as Other.
func TestDirectory_ForeignFiles(t *testing.T) {
	dir := filetest.In(t.TempDir(), "d")
	require.NoError(t, os.MkdirAll(filetest.In(dir, "sub"), 0o777))
	filetest.Save(t, filetest.In(dir, "50%.b2nd"), filetest.Int32s(3), nil)
	filetest.Save(t, filetest.In(dir, "sub/sparse.b2nd"), filetest.Int32s(5), &hyperslab.CreateOptions{Sparse: true})
	require.NoError(t, os.WriteFile(filetest.In(dir, "broken.b2nd"), []byte("no frame"), 0o666))
	require.NoError(t, os.WriteFile(filetest.In(dir, "notes.txt"), []byte("notes"), 0o666))
	require.NoError(t, os.Symlink("..", filetest.In(dir, "sub/up")))
	format, err := hyperslab.Sniff(dir)
	require.NoError(t, err)
	require.Equal(t, hyperslab.Directory, format)
	var got []string
	for _, e := range filetest.Walk(t, dir) {
		line := e.Path + " " + string(e.Kind)
		if e.Err != nil {
			line += " error"
		}
		got = append(got, line)
	}
	require.Equal(t, []string{"/ group", "/50% array", "/broken array error", "/notes.txt other", "/sub group", "/sub/sparse array", "/sub/up link"}, got)
	filetest.RequireCount(t, dir+":/50%")
	filetest.RequireCount(t, dir+":/sub/sparse")
	for _, path := range []string{"/none", "/sub", "/sub/none/x", "/../d/50%", "/notes.txt", "/sub/up/50%/x"} {
		_, err := hyperslab.Open(bg, dir+":"+path, nil)
		require.ErrorIs(t, err, ndarray.ErrNotFound, path)
	}
	_, err = hyperslab.Open(bg, dir, nil)
	require.ErrorIs(t, err, ndarray.ErrParam)
	_, err = hyperslab.Open(bg, dir+":/broken", nil)
	require.ErrorIs(t, err, ndarray.ErrCorrupt)
}

// TestWalkPruned checks that Walk skips the groups for which Prune returns true.
func TestWalkPruned(t *testing.T) {
	dir := t.TempDir()
	filetest.Grove(t, filetest.In(dir, "1.h5"))
	_, err := filetest.CopyTree(bg, filetest.In(dir, "2"), filetest.In(dir, "1.h5"), nil)
	require.NoError(t, err)
	for _, file := range []string{"1.h5", "2"} {
		var deep []string
		for e, err := range hyperslab.Walk(bg, filetest.In(dir, file), &hyperslab.WalkOptions{Prune: func(e hyperslab.Entry) bool { return e.Path == "/deep/er" }}) {
			require.NoError(t, err)
			if strings.HasPrefix(e.Path, "/deep") {
				deep = append(deep, e.Path)
			}
		}
		require.Equal(t, []string{"/deep", "/deep/er", "/deep/scalar"}, deep)
	}
	require.DirExists(t, filepath.Join(dir, "2"))
}
