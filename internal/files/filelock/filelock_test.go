package filelock

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sync/errgroup"

	"github.com/hyperslab/hyperslab/internal/files/regularfile"
)

var bg = context.Background()

// TestMain also runs the other processes of the tests: the arguments hold PATH and count PATH N.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && (os.Args[1] == "hold" || os.Args[1] == "count") {
		if err := other(os.Args[1:]); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

func other(args []string) error {
	if args[0] == "hold" {
		if _, err := Acquire(bg, args[1], nil); err != nil {
			return err
		}
		fmt.Println("locked")
		_, err := bufio.NewReader(os.Stdin).ReadString('\n') // until it is killed
		return err
	}
	n, err := strconv.Atoi(args[2])
	for range n {
		err = errors.Join(err, increment(args[1]))
	}
	return err
}

// increment adds 1 to the number in a file, which it replaces.
func increment(path string) error {
	l, err := Acquire(bg, path, nil)
	if err != nil {
		return err
	}
	defer l.Release() //nolint:errcheck // read-only
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(string(b))
	if err != nil {
		return err
	}
	temp := path + "." + strconv.Itoa(os.Getpid())
	if err := os.WriteFile(temp, []byte(strconv.Itoa(n+1)), 0o600); err != nil {
		return err
	}
	return os.Rename(temp, path)
}

func start(t *testing.T, args ...string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd, bufio.NewReader(out)
}

func file(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// busy checks that a path is locked.
func busy(t *testing.T, path string, o *Options) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(bg, 20*time.Millisecond)
	defer cancel()
	l, err := Acquire(ctx, path, o)
	require.ErrorIs(t, err, ErrLocked)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Nil(t, l)
	return err
}

// vacant checks that a path is not locked.
func vacant(t *testing.T, path string, o *Options) {
	t.Helper()
	l, err := Acquire(bg, path, o)
	require.NoError(t, err)
	require.NoError(t, l.Release())
}

func TestAcquire_names(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.WriteFile(at("file"), nil, 0o600))
	require.NoError(t, os.Link(at("file"), at("hard")))
	require.NoError(t, os.Symlink("file", at("soft")))
	require.NoError(t, os.Mkdir(at("dir"), 0o700))
	require.NoError(t, os.Symlink("dir", at("softdir")))
	t.Chdir(dir)
	for _, names := range [][]string{{at("file"), at("hard"), at("soft"), "file", "./dir/../hard"}, {at("dir"), at("softdir"), "dir", "dir/."}} {
		for _, first := range names {
			l, err := Acquire(bg, first, nil)
			require.NoError(t, err)
			for _, second := range names {
				require.ErrorContains(t, busy(t, second, nil), "file is locked by this process")
			}
			require.NoError(t, l.Check())
			require.NoError(t, l.Release())
			require.NoError(t, l.Release())
			vacant(t, names[0], nil)
		}
	}
	_, err := Acquire(bg, at("none"), nil)
	require.ErrorIs(t, err, os.ErrNotExist)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 5, "no file is left")
}

func TestAcquire_otherProcess(t *testing.T) {
	for name, path := range map[string]string{"file": file(t, ""), "directory": t.TempDir()} {
		t.Run(name, func(t *testing.T) {
			cmd, out := start(t, "hold", path)
			line, err := out.ReadString('\n')
			require.NoError(t, err)
			require.Equal(t, "locked\n", line)
			err = busy(t, path, nil)
			if runtime.GOOS == "linux" {
				require.ErrorContains(t, err, fmt.Sprintf("process %d (filelock.test)", cmd.Process.Pid))
			}
			require.ErrorContains(t, err, path)
			ctx, cancel := context.WithCancelCause(bg)
			stop := errors.New("stop")
			cancel(stop)
			_, err = Acquire(ctx, path, nil)
			require.ErrorIs(t, err, context.Canceled)
			require.NoError(t, cmd.Process.Kill())
			vacant(t, path, nil)
		})
	}
}

func TestAcquire_counter(t *testing.T) {
	path := file(t, "0")
	const goroutines, each, processes = 8, 25, 2
	begin := time.Now()
	var outs []*bufio.Reader
	for range processes {
		_, out := start(t, "count", path, strconv.Itoa(4*each))
		outs = append(outs, out)
	}
	var wg sync.WaitGroup
	errs := make([]error, goroutines)
	for i := range goroutines {
		wg.Go(func() {
			for range each {
				errs[i] = errors.Join(errs[i], increment(path))
			}
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	for _, out := range outs {
		line, _ := out.ReadString('\n')
		require.Empty(t, line)
	}
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, strconv.Itoa(goroutines*each+processes*4*each), string(b))
	require.Less(t, time.Since(begin), 10*time.Second)
}

// TestAcquire_order checks that the writers of a process get the lock in the order of their calls,
// also if each replaces the file.
func TestAcquire_order(t *testing.T) {
	path := file(t, "0")
	synctest.Test(t, func(t *testing.T) {
		l, err := Acquire(bg, path, nil)
		require.NoError(t, err)
		var order []int
		for i := range 10 {
			go func() {
				l, err := Acquire(bg, path, nil)
				if err == nil {
					order = append(order, i)
					err = errors.Join(os.WriteFile(path+".new", nil, 0o600), os.Rename(path+".new", path), l.Release())
				}
				if err != nil {
					panic(err)
				}
			}()
			synctest.Wait() // the writer waits in the queue
		}
		require.NoError(t, l.Release())
		synctest.Wait()
		require.Equal(t, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, order)
	})
}

func TestAcquire_patience(t *testing.T) {
	defer func(d time.Duration) { patience = d }(patience)
	patience = 400 * time.Millisecond
	path := file(t, "")
	l, err := Acquire(bg, path, nil)
	require.NoError(t, err)
	_, err = Acquire(bg, path, nil)
	require.ErrorIs(t, err, ErrLocked)
	require.ErrorContains(t, err, "file is locked by this process")
	require.NoError(t, os.Link(path, path+".link"))
	_, err = Acquire(bg, path+".link", nil)
	require.ErrorContains(t, err, "file is locked by")
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs { // together they wait longer than patience
		wg.Go(func() {
			l, err := Acquire(bg, path, nil)
			if err == nil {
				time.Sleep(80 * time.Millisecond)
				err = l.Release()
			}
			errs[i] = err
		})
	}
	require.NoError(t, l.Release())
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
}

func TestAcquire_replaced(t *testing.T) {
	path := file(t, "old")
	l, err := Acquire(bg, path, nil)
	require.NoError(t, err)
	replace := func() {
		require.NoError(t, os.WriteFile(path+".new", []byte("new"), 0o600))
		require.NoError(t, os.Rename(path+".new", path))
	}
	replace()
	require.ErrorIs(t, l.Check(), regularfile.ErrReplaced)
	vacant(t, path, nil)
	require.NoError(t, l.Release())
	require.Empty(t, queues.of)

	l, err = Acquire(bg, path, nil)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path+".new", []byte("new"), 0o600))
	moved, err := l.Follow(path + ".new")
	require.NoError(t, err)
	require.NoError(t, os.Rename(path+".new", path))
	require.NoError(t, moved(true))
	require.NoError(t, l.Check())
	busy(t, path, nil)
	require.NoError(t, l.Release())
	vacant(t, path, nil)

	require.NoError(t, os.Remove(path))
	_, err = Acquire(bg, path, nil)
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestLock_Share(t *testing.T) {
	path := file(t, "")
	l, err := Acquire(bg, path, nil)
	require.NoError(t, err)
	second := l.Share()
	require.NoError(t, l.Release())
	require.Nil(t, l.Share())
	busy(t, path, nil)
	require.NoError(t, second.Release())
	vacant(t, path, nil)

	library := &Options{Library: true}
	l, err = Acquire(bg, path, library)
	require.NoError(t, err)
	second, err = Acquire(bg, path, library)
	require.NoError(t, err)
	require.NoError(t, l.Release())
	busy(t, path, nil)
	require.NoError(t, second.Release())
	vacant(t, path, nil)

	l, err = Acquire(bg, path, nil)
	require.NoError(t, err)
	shared := make(chan *Lock)
	for range 3 {
		go func() {
			l, err := Acquire(bg, path, library)
			if err != nil {
				panic(err)
			}
			shared <- l
		}()
	}
	time.Sleep(5 * time.Millisecond)
	require.NoError(t, l.Release())
	all := []*Lock{<-shared, <-shared, <-shared}
	for _, l := range all {
		require.NoError(t, l.Release())
	}
	require.Empty(t, queues.of)
}

func TestPrivate(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "temp", "file")
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	end := Private(filepath.Join(dir, "temp"))
	for range 2 {
		l, err := Acquire(bg, path, nil)
		require.NoError(t, err)
		require.Nil(t, l)
		require.NoError(t, errors.Join(l.Check(), l.Release(), l.ForLibrary()))
	}
	end()
	vacant(t, path, nil)
	require.Empty(t, queues.private)
}

func TestAcquire_refused(t *testing.T) {
	defer func(f func(*inode, bool) (bool, error)) { try = f }(try)
	try = func(*inode, bool) (bool, error) { return false, fmt.Errorf("refused: %w", errors.ErrUnsupported) }
	path := file(t, "")
	_, err := Acquire(bg, path, nil)
	require.ErrorIs(t, err, errors.ErrUnsupported)
	warned := ""
	o := &Options{NoLock: true, Unlocked: func(path string, err error) { warned = path }}
	l, err := Acquire(bg, path, o)
	require.NoError(t, err)
	require.Equal(t, path, warned)
	require.NoError(t, l.Check())
	busy(t, path, o)
	require.NoError(t, l.Release())
	vacant(t, path, o)
}

func TestSetPolicy(t *testing.T) {
	path := file(t, "")
	told := make(chan string, 1)
	old := SetPolicy(Policy{Wait: 1200 * time.Millisecond, Waiting: func(path, holder string) { told <- path + " " + holder }})
	defer SetPolicy(old)
	l, err := Acquire(bg, path, nil)
	require.NoError(t, err)
	_, err = Acquire(bg, path, nil)
	require.ErrorIs(t, err, ErrLocked)
	require.NotErrorIs(t, err, context.DeadlineExceeded)
	require.Equal(t, path+" this process", <-told)
	require.NoError(t, l.Release())
}

// TestAcquire_fair checks that a process gets the lock although another one holds it nearly always.
func TestAcquire_fair(t *testing.T) {
	path := file(t, "0")
	_, out := start(t, "count", path, "20")
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				l, err := Acquire(bg, path, nil)
				if err != nil {
					panic(err)
				}
				time.Sleep(time.Millisecond)
				_ = l.Release()
			}
		})
	}
	begin := time.Now()
	line, _ := out.ReadString('\n') // the end of the output
	close(stop)
	wg.Wait()
	require.Empty(t, line)
	require.Less(t, time.Since(begin), 5*time.Second)
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "20", strings.TrimSpace(string(b)))
}

func TestAcquire_directory(t *testing.T) {
	dir := t.TempDir()
	inner := filepath.Join(dir, "a", "b")
	require.NoError(t, os.MkdirAll(inner, 0o700))
	var locks []func() error
	for _, name := range []string{"x", "y"} {
		path := filepath.Join(inner, name)
		require.NoError(t, os.WriteFile(path, nil, 0o600))
		l, err := Acquire(bg, path, nil)
		require.NoError(t, err)
		locks = append(locks, l.Release)
	}
	created, err := Enter(bg, filepath.Join(inner, "new"))
	require.NoError(t, err)
	for _, release := range append(locks, created) {
		busy(t, inner, nil)
		for _, d := range []string{dir, filepath.Dir(inner), inner} {
			busy(t, d, &Options{Tree: true})
		}
		require.NoError(t, release())
	}
	for _, d := range []string{dir, filepath.Dir(inner), inner} {
		whole, err := Acquire(bg, d, &Options{Tree: true})
		require.NoError(t, err)
		busy(t, filepath.Join(inner, "x"), nil)
		ctx, cancel := context.WithTimeout(bg, 20*time.Millisecond)
		_, err = Enter(ctx, filepath.Join(inner, "new"))
		cancel()
		require.ErrorIs(t, err, ErrLocked)
		l, err := Acquire(bg, filepath.Join(inner, "x"), &Options{Inside: true})
		require.NoError(t, err)
		require.NoError(t, errors.Join(l.Release(), whole.Release()))
	}
	vacant(t, filepath.Join(inner, "x"), nil)
	vacant(t, dir, &Options{Tree: true})
}

// TestAcquire_removedDirectory removes subdirectories while the lock of a tree is taken.
func TestAcquire_removedDirectory(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a/below", "b", "c/below"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, name), 0o755))
	}
	defer func(f func(*inode, bool) (bool, error)) { try = f }(try)
	calls, was := 0, try
	try = func(on *inode, library bool) (bool, error) {
		if calls++; calls == 2 { // of a, after the names in dir were read
			require.NoError(t, os.RemoveAll(filepath.Join(dir, "a")))
			require.NoError(t, os.Remove(filepath.Join(dir, "b")))
		}
		return was(on, library)
	}
	l, err := Acquire(bg, dir, &Options{Tree: true})
	require.NoError(t, err)
	require.Len(t, l.h.around, 3, "the directory around it, c and c/below")
	require.NoError(t, l.Release())
}

// TestAcquire_opposite locks directories from above and from below at the same time: a writer of a
// subdirectory, and one of a file, beside a writer of the whole tree.
func TestAcquire_opposite(t *testing.T) {
	dir := t.TempDir()
	inner := filepath.Join(dir, "a", "b")
	require.NoError(t, os.MkdirAll(inner, 0o700))
	x := filepath.Join(inner, "x")
	require.NoError(t, os.WriteFile(x, nil, 0o600))
	ctx, cancel := context.WithTimeout(bg, time.Minute)
	defer cancel()
	var g errgroup.Group
	loop := func(path string, o *Options, then func() error) {
		g.Go(func() error {
			for range 100 {
				l, err := Acquire(ctx, path, o)
				if err == nil && then != nil {
					err = then()
				}
				if err := errors.Join(err, l.Release()); err != nil {
					return fmt.Errorf("%s: %w", path, err)
				}
			}
			return nil
		})
	}
	for _, path := range []string{dir, filepath.Dir(inner), inner} {
		loop(path, &Options{Tree: true}, nil)
		loop(path, nil, nil)
	}
	loop(inner, &Options{Tree: true}, func() error {
		l, err := Acquire(ctx, x, &Options{Inside: true})
		return errors.Join(err, l.Release())
	})
	loop(x, nil, nil)
	require.NoError(t, g.Wait())
}
