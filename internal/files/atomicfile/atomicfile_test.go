package atomicfile_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(b)
}

// names returns the entries of a directory, including temporary files.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	out := []string{}
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// makeAt creates a file or a directory tree at path.
func makeAt(t *testing.T, path, text string, dir bool) {
	t.Helper()
	if !dir {
		write(t, path, text)
		return
	}
	require.NoError(t, os.MkdirAll(filepath.Join(path, "sub"), 0o755))
	write(t, filepath.Join(path, "a.b2nd"), text)
	write(t, filepath.Join(path, "sub", "b.b2nd"), text)
}

func textAt(t *testing.T, path string, dir bool) string {
	t.Helper()
	if !dir {
		return read(t, path)
	}
	require.Equal(t, []string{"a.b2nd", "sub"}, names(t, path))
	require.Equal(t, read(t, filepath.Join(path, "a.b2nd")), read(t, filepath.Join(path, "sub", "b.b2nd")))
	return read(t, filepath.Join(path, "a.b2nd"))
}

func TestCommit(t *testing.T) {
	for _, dir := range []bool{false, true} {
		root := t.TempDir()
		target := filepath.Join(root, "x")
		o, err := atomicfile.Create(context.Background(), target, atomicfile.Options{})
		require.NoError(t, err)
		require.Empty(t, names(t, root), "Create makes nothing")
		require.Equal(t, root, filepath.Dir(o.Path()))
		require.True(t, strings.HasPrefix(filepath.Base(o.Path()), fmt.Sprintf(".x.tmp-%d-", os.Getpid())), o.Path())
		makeAt(t, o.Path(), "new", dir)
		_, err = os.Lstat(target)
		require.ErrorIs(t, err, fs.ErrNotExist)
		require.NoError(t, o.Commit())
		require.Equal(t, "new", textAt(t, target, dir))
		require.Equal(t, []string{"x"}, names(t, root))
		require.NoError(t, o.Commit())
		require.NoError(t, o.Abort())
		require.Equal(t, "new", textAt(t, target, dir))
	}
}

func TestAbort(t *testing.T) {
	for _, dir := range []bool{false, true} {
		root := t.TempDir()
		o, err := atomicfile.Create(context.Background(), filepath.Join(root, "x"), atomicfile.Options{})
		require.NoError(t, err)
		makeAt(t, o.Path(), "new", dir)
		require.NoError(t, o.Abort())
		require.Empty(t, names(t, root))
		require.NoError(t, o.Abort())
		require.ErrorIs(t, o.Commit(), fs.ErrClosed)
	}
}

func TestFile_AbortEmpty(t *testing.T) {
	root := t.TempDir()
	o, err := atomicfile.Create(context.Background(), filepath.Join(root, "x"), atomicfile.Options{})
	require.NoError(t, err)
	require.NoError(t, o.Abort())
	require.Empty(t, names(t, root))
}

func TestFile_CommitEmpty(t *testing.T) {
	root := t.TempDir()
	o, err := atomicfile.Create(context.Background(), filepath.Join(root, "x"), atomicfile.Options{})
	require.NoError(t, err)
	require.ErrorIs(t, o.Commit(), fs.ErrNotExist)
	makeAt(t, o.Path(), "late", false) // the output is still pending
	require.NoError(t, o.Commit())
	require.Equal(t, "late", read(t, filepath.Join(root, "x")))
}

func TestOutput_existsAtCreate(t *testing.T) {
	for _, dir := range []bool{false, true} {
		root := t.TempDir()
		target := filepath.Join(root, "x")
		makeAt(t, target, "old", dir)
		_, err := atomicfile.Create(context.Background(), target, atomicfile.Options{})
		require.ErrorIs(t, err, atomicfile.ErrExists)
		require.ErrorIs(t, err, fs.ErrExist)
		require.ErrorContains(t, err, target)
		require.Equal(t, "old", textAt(t, target, dir))
	}
	if runtime.GOOS == "windows" {
		return // a symbolic link needs a privilege
	}
	// A dangling symbolic link exists too.
	root := t.TempDir()
	require.NoError(t, os.Symlink("nowhere", filepath.Join(root, "x")))
	_, err := atomicfile.Create(context.Background(), filepath.Join(root, "x"), atomicfile.Options{})
	require.ErrorIs(t, err, atomicfile.ErrExists)
}

func TestOutput_existsAtCommit(t *testing.T) {
	for _, dir := range []bool{false, true} {
		for _, oldDir := range []bool{false, true} {
			root := t.TempDir()
			target := filepath.Join(root, "x")
			o, err := atomicfile.Create(context.Background(), target, atomicfile.Options{})
			require.NoError(t, err)
			makeAt(t, o.Path(), "new", dir)
			makeAt(t, target, "old", oldDir)
			err = o.Commit()
			require.ErrorIs(t, err, atomicfile.ErrExists)
			require.ErrorIs(t, err, fs.ErrExist)
			require.Equal(t, "old", textAt(t, target, oldDir))
			require.NoError(t, o.Abort())
			require.Equal(t, []string{"x"}, names(t, root))
		}
	}
}

func TestOverwrite(t *testing.T) {
	for _, dir := range []bool{false, true} {
		for _, old := range []string{"none", "file", "directory", "link"} {
			if old == "link" && runtime.GOOS == "windows" {
				continue // needs a privilege
			}
			root := t.TempDir()
			target := filepath.Join(root, "x")
			switch old {
			case "file", "directory":
				makeAt(t, target, "old", old == "directory")
			case "link":
				write(t, filepath.Join(root, "y"), "pointed at")
				require.NoError(t, os.Symlink("y", target))
			}
			o, err := atomicfile.Create(context.Background(), target, atomicfile.Options{Overwrite: true})
			require.NoError(t, err)
			makeAt(t, o.Path(), "new", dir)
			if runtime.GOOS == "windows" && (old == "directory" || dir && old != "none") {
				require.ErrorIs(t, o.Commit(), errors.ErrUnsupported)
				require.Equal(t, "old", textAt(t, target, old == "directory"))
				require.NoError(t, o.Abort())
				continue
			}
			require.NoError(t, o.Commit(), "%s to directory %v", old, dir)
			require.Equal(t, "new", textAt(t, target, dir))
			if old == "link" {
				require.Equal(t, "pointed at", read(t, filepath.Join(root, "y")))
				require.Equal(t, []string{"x", "y"}, names(t, root))
			} else {
				require.Equal(t, []string{"x"}, names(t, root))
			}
		}
	}
}

func TestOutput_abort(t *testing.T) {
	root := t.TempDir()
	target := filepath.Join(root, "x")
	write(t, target, "old")
	o, err := atomicfile.Create(context.Background(), target, atomicfile.Options{Overwrite: true})
	require.NoError(t, err)
	write(t, o.Path(), "half")
	require.NoError(t, o.Abort())
	require.Equal(t, "old", read(t, target))
	require.Equal(t, []string{"x"}, names(t, root))
}

// TestOutput_race checks that exactly one of several outputs with the same target succeeds.
func TestOutput_race(t *testing.T) {
	for _, dir := range []bool{false, true} {
		root := t.TempDir()
		target := filepath.Join(root, "x")
		var wg sync.WaitGroup
		var mu sync.Mutex
		var won []string
		var outs []*atomicfile.Output
		for i := range 16 {
			o, err := atomicfile.Create(context.Background(), target, atomicfile.Options{})
			require.NoError(t, err)
			makeAt(t, o.Path(), fmt.Sprint(i), dir)
			outs = append(outs, o)
		}
		for i, o := range outs {
			text := fmt.Sprint(i)
			wg.Go(func() {
				switch err := o.Commit(); {
				case err == nil:
					mu.Lock()
					won = append(won, text)
					mu.Unlock()
				case !errors.Is(err, atomicfile.ErrExists):
					t.Errorf("commit %d: %v", i, err)
				}
				if err := o.Abort(); err != nil {
					t.Errorf("abort %d: %v", i, err)
				}
			})
		}
		wg.Wait()
		require.Len(t, won, 1)
		require.Equal(t, won[0], textAt(t, target, dir))
		require.Equal(t, []string{"x"}, names(t, root))
	}
}

// TestOverwriteRace checks that all outputs succeed with Overwrite, one after the other, and that
// the target is complete at any time.
func TestOverwriteRace(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows cannot replace a directory")
	}
	root := t.TempDir()
	target := filepath.Join(root, "x")
	makeAt(t, target, "first", true)
	done := make(chan struct{})
	var wg, look sync.WaitGroup
	look.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			if _, err := os.Lstat(target); err != nil {
				t.Errorf("the target was gone: %v", err)
				return
			}
		}
	})
	for i := range 8 {
		o, err := atomicfile.Create(context.Background(), target, atomicfile.Options{Overwrite: true})
		require.NoError(t, err)
		makeAt(t, o.Path(), fmt.Sprint(i), true)
		wg.Go(func() {
			if err := o.Commit(); err != nil {
				t.Errorf("commit %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	close(done)
	look.Wait()
	textAt(t, target, true)
	require.Equal(t, []string{"x"}, names(t, root))
}

func TestAbortAll(t *testing.T) {
	root := t.TempDir()
	var outs []*atomicfile.Output
	for i := range 4 {
		o, err := atomicfile.Create(context.Background(), filepath.Join(root, fmt.Sprint(i)), atomicfile.Options{})
		require.NoError(t, err)
		makeAt(t, o.Path(), "text", i%2 == 1)
		outs = append(outs, o)
	}
	require.NoError(t, outs[0].Commit())
	require.NoError(t, atomicfile.AbortAll())
	require.Equal(t, []string{"0"}, names(t, root))
	require.ErrorIs(t, outs[1].Commit(), fs.ErrClosed)
	require.NoError(t, atomicfile.AbortAll())
}

func TestCreateErrors(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "file"), "")
	_, err := atomicfile.Create(context.Background(), filepath.Join(root, "no", "x"), atomicfile.Options{})
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = atomicfile.Create(context.Background(), filepath.Join(root, "file", "x"), atomicfile.Options{})
	require.Error(t, err)
	for _, bad := range []string{"", ".", "..", "/"} {
		_, err = atomicfile.Create(context.Background(), bad, atomicfile.Options{})
		require.Error(t, err, "%q", bad)
	}
	if runtime.GOOS == "windows" {
		return // it reports a long name when the file is created
	}
	_, err = atomicfile.Create(context.Background(), filepath.Join(root, strings.Repeat("n", 300)), atomicfile.Options{})
	require.Error(t, err, "a name longer than the file system takes")
}

func TestLongNames(t *testing.T) {
	root := t.TempDir()
	target := filepath.Join(root, strings.Repeat("n", 255))
	o, err := atomicfile.Create(context.Background(), target, atomicfile.Options{})
	require.NoError(t, err)
	write(t, o.Path(), "text")
	require.NoError(t, o.Commit())
	require.Equal(t, "text", read(t, target))
}

// TestRelativeTarget checks that a relative target is relative to the working directory of Create
// and Commit.
func TestRelativeTarget(t *testing.T) {
	t.Chdir(t.TempDir())
	o, err := atomicfile.Create(context.Background(), "x", atomicfile.Options{})
	require.NoError(t, err)
	write(t, o.Path(), "text")
	require.NoError(t, o.Commit())
	require.Equal(t, "text", read(t, "x"))
}

// TestOutput_leftoverNames checks that temporary names of an ended process with the same process id
// are not reused.
func TestOutput_leftoverNames(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("names contain no namespace")
	}
	root := t.TempDir()
	target := filepath.Join(root, "x")
	first, err := atomicfile.Create(context.Background(), target, atomicfile.Options{})
	require.NoError(t, err)
	var n int
	var rest string
	_, err = fmt.Sscanf(filepath.Base(first.Path()), fmt.Sprintf(".x.tmp-%d-%%d%%s", os.Getpid()), &n, &rest)
	require.NoError(t, err)
	left := filepath.Join(root, fmt.Sprintf(".x.tmp-%d-%d%s", os.Getpid(), n+1, rest))
	write(t, left, "left")
	second, err := atomicfile.Create(context.Background(), target, atomicfile.Options{})
	require.NoError(t, err)
	require.NotEqual(t, left, second.Path())
	require.NoError(t, first.Abort())
	require.NoError(t, second.Abort())
	require.Equal(t, "left", read(t, left))
}

// TestOverwrite_directory replaces directories of arrays and empty ones, and no others.
func TestOverwrite_directory(t *testing.T) {
	for name, c := range map[string]struct {
		files []string
		other string
	}{
		"empty":               {},
		"arrays":              {files: []string{"x.b2nd", "g/y.b2nd", "g/y.b2nd.sha256"}},
		"unfinished array":    {files: []string{"g/.y.b2nd.tmp-1-1"}},
		"sparse frame":        {files: []string{"chunks.b2frame", "00000000.chunk"}},
		"container":           {files: []string{"embed.b2e", "notes.txt"}},
		"member of bcolz":     {files: []string{"c/meta/storage", "c/meta/sizes", "c/data/__0.blp"}},
		"other file":          {files: []string{"thesis.txt"}, other: "thesis.txt"},
		"other file at depth": {files: []string{"x.b2nd", "g/h/thesis.txt"}, other: "g/h/thesis.txt"},
	} {
		t.Run(name, func(t *testing.T) {
			target := filepath.Join(t.TempDir(), "target")
			require.NoError(t, os.Mkdir(target, 0o700))
			for _, f := range c.files {
				path := filepath.Join(target, f)
				require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
				require.NoError(t, os.WriteFile(path, []byte("{}"), 0o600))
			}
			out, err := atomicfile.Create(t.Context(), target, atomicfile.Options{Overwrite: true})
			if c.other != "" {
				require.ErrorIs(t, err, atomicfile.ErrExists)
				require.ErrorContains(t, err, c.other)
				require.FileExists(t, filepath.Join(target, c.other))
				return
			}
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(out.Path(), nil, 0o600))
			require.NoError(t, out.Commit())
		})
	}
}

func TestCommitted(t *testing.T) {
	dir := t.TempDir()
	before, _ := atomicfile.Committed()
	commit := func(target string, o atomicfile.Options) {
		out, err := atomicfile.Create(t.Context(), target, o)
		require.NoError(t, err)
		write(t, out.Path(), "text")
		require.NoError(t, out.Commit())
	}
	whole, err := atomicfile.Create(t.Context(), filepath.Join(dir, "whole"), atomicfile.Options{})
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(whole.Path(), 0o777))
	stage, err := atomicfile.Create(t.Context(), filepath.Join(dir, "stage"), atomicfile.Options{Volatile: true})
	require.NoError(t, err)
	commit(filepath.Join(whole.Path(), "member"), atomicfile.Options{})
	commit(stage.Path(), atomicfile.Options{})
	commit(filepath.Join(dir, "volatile"), atomicfile.Options{Volatile: true})
	require.NoError(t, stage.Abort())
	count, _ := atomicfile.Committed()
	require.Equal(t, before, count, "members and volatile files are no targets")
	require.NoError(t, whole.Commit())
	count, last := atomicfile.Committed()
	require.Equal(t, before+1, count)
	require.Equal(t, filepath.Join(dir, "whole"), last)
}
