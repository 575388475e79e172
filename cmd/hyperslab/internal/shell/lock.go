// The lock that commands hold while they change files.

package shell

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/internal/files/filelock"
	"github.com/hyperslab/hyperslab/remote"
)

// defaultWait is the default of --wait.
const defaultWait = 10 * time.Second

// LockFlags adds --wait and --no-lock to a command that changes files.
func (a *App) LockFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	wait := f.Duration("wait", defaultWait, "maximum `DURATION` to wait for another program that writes to the file")
	noLock := f.Bool("no-lock", false, "change files without a lock where the file system refuses locks")
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *wait < 0 {
			return Usagef("--wait %v: want a duration of 0 or more, for example 30s", *wait)
		}
		defer a.setLocks(max(*wait, time.Nanosecond), *noLock)()
		return run(cmd, args)
	}
}

// setLocks sets how long the locks of the command wait, and returns a function that undoes it.
func (a *App) setLocks(wait time.Duration, noLock bool) (undo func()) {
	old := filelock.SetPolicy(filelock.Policy{
		Wait: wait,
		Waiting: func(path, holder string) {
			a.Note("%s waiting for %s, which has %s locked", a.Talk.Notice(*a.Name.Load()+":"), holder, term.Safe(path))
		},
		NoLock: noLock,
		Unlocked: func(path string, _ error) {
			a.Note("%s warning: %s is changed without a lock, because its file system refuses locks; another program can change "+
				"it meanwhile", a.Talk.Notice(*a.Name.Load()+":"), term.Safe(path))
		},
	})
	return func() { filelock.SetPolicy(old) }
}

// FileLocks are the locks of the files that a command changes, from before it reads them.
type FileLocks struct {
	all []fileLock
}

type fileLock struct {
	info os.FileInfo
	lock *hyperslab.Lock
}

// Hold locks a file until release. A missing file is not an error, because the command reports it.
func (l *FileLocks) Hold(ctx context.Context, file string) error {
	if remote.IsURL(file) {
		return nil
	}
	info, err := os.Stat(file)
	if err != nil || l.of(info) != nil {
		return nil
	}
	lock, err := hyperslab.LockFile(ctx, file, nil)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	info, err = os.Stat(file) // of the locked file
	l.all = append(l.all, fileLock{info, lock})
	return err
}

// of returns the lock of a file, or nil.
func (l *FileLocks) of(info os.FileInfo) *hyperslab.Lock {
	for _, x := range l.all {
		if os.SameFile(x.info, info) {
			return x.lock
		}
	}
	return nil
}

// Lock returns the lock of a file, or nil.
func (l *FileLocks) Lock(file string) *hyperslab.Lock {
	info, err := os.Stat(file)
	if err != nil {
		return nil
	}
	return l.of(info)
}

// Release releases all locks.
func (l *FileLocks) Release() (err error) {
	for _, x := range l.all {
		err = errors.Join(err, x.lock.Release())
	}
	l.all = nil
	return err
}
