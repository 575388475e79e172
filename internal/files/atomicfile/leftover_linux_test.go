package atomicfile_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
	"github.com/hyperslab/hyperslab/internal/files/filelock"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
)

// TestCreate_leftovers checks that Create removes the temporary files of processes that have ended,
// and no other file.
func TestCreate_leftovers(t *testing.T) {
	ended := exec.Command(os.Args[0], "-test.run=^$")
	require.NoError(t, ended.Run())
	running := exec.Command("sleep", "1000")
	require.NoError(t, running.Start())
	t.Cleanup(func() {
		_ = running.Process.Kill()
		_ = running.Wait()
	})

	// A name made by Create contains the namespace of this system.
	o, err := atomicfile.Create(context.Background(), filepath.Join(t.TempDir(), "x"), atomicfile.Options{})
	require.NoError(t, err)
	require.NoError(t, o.Abort())
	namespace := o.Path()[strings.LastIndex(o.Path(), "-")+1:]
	require.Len(t, namespace, 8)
	name := func(target string, pid int, namespace string) string {
		return fmt.Sprintf(".%s.tmp-%d-1-%s", target, pid, namespace)
	}

	dir := t.TempDir()
	dead := []string{name("file", ended.Process.Pid, namespace), name("other", ended.Process.Pid, namespace), name("tree", ended.Process.Pid, namespace)}
	kept := []string{
		name("alive", running.Process.Pid, namespace),
		name("own", os.Getpid(), namespace),
		name("elsewhere", ended.Process.Pid, "00000000"),
		fmt.Sprintf(".old.tmp-%d-1", ended.Process.Pid), // without a namespace
		fmt.Sprintf("shown.tmp-%d-1-%s", ended.Process.Pid, namespace),
		name("x", 0, namespace),
		"data",
	}
	require.NoError(t, os.Mkdir(filepath.Join(dir, dead[2]), 0o700))
	write(t, filepath.Join(dir, dead[2], "chunk"), "text")
	for _, n := range append(dead[:2:2], kept...) {
		write(t, filepath.Join(dir, n), "text")
	}

	// A writer that copies the directory must see no change.
	lock, err := filelock.Acquire(context.Background(), dir, &filelock.Options{Tree: true})
	require.NoError(t, err)
	before, err := regularfile.Observe(dir)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err = atomicfile.Create(ctx, filepath.Join(dir, "file"), atomicfile.Options{})
	require.ErrorIs(t, err, filelock.ErrLocked)
	require.NoError(t, before.Check())
	require.NoError(t, lock.Release())

	o, err = atomicfile.Create(context.Background(), filepath.Join(dir, "file"), atomicfile.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, o.Abort()) }()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	require.ElementsMatch(t, kept, names)
}
