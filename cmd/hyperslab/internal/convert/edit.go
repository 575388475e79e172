// Changes of an existing file: made to a copy in its directory, which replaces the file at the end,
// or in the file itself with --in-place.

package convert

import (
	"context"
	"errors"
	"io/fs"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
)

// editFlags are the flags of commands that change a file.
type editFlags struct {
	inPlace  bool
	dryRun   bool
	progress string

	app   *shell.App
	cmd   *cobra.Command
	locks shell.FileLocks
}

// add must be called after the flags of a job are added, if the command has them, and before
// anything else that wraps cmd.RunE.
func (e *editFlags) add(a *shell.App, cmd *cobra.Command) {
	e.app, e.cmd = a, cmd
	f := cmd.Flags()
	shell.InPlaceFlag(cmd, &e.inPlace, "change the file itself instead of a copy: needs no space, but a crash can corrupt the file")
	shell.DryRunFlag(cmd, &e.dryRun, "report the changes and change no file")
	if f.Lookup("progress") == nil {
		shell.ProgressFlag(cmd, &e.progress)
	}
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := shell.CheckProgress(e.kind()); err != nil {
			return err
		}
		return errors.Join(run(cmd, args), e.locks.Release())
	}
	a.LockFlags(cmd)
}

// hold locks a file that the command changes, before the command reads it. edit uses the lock.
func (e *editFlags) hold(ctx context.Context, file string) error {
	if e.dryRun {
		return nil
	}
	return e.locks.Hold(ctx, file)
}

// editHelp ends the long help of commands with these flags.
const editHelp = `

The change is made to a copy, which then replaces the file. A run that is stopped leaves
the old file or the new one. --in-place makes no copy. While another program of this
module or of libhdf5 writes to the file, the command waits for it: see --wait.`

// kind returns the value of the command's flag --progress.
func (e *editFlags) kind() string {
	f := e.cmd.Flags()
	if quiet, err := f.GetBool("quiet"); err == nil && quiet {
		return term.ProgressNone
	}
	return f.Lookup("progress").Value.String()
}

// plan reports, for a dry run, how many bytes are copied before a file changes. It does not
// estimate the time, because a file system that shares blocks needs no time.
func (e *editFlags) plan(file string) error {
	size, err := shell.PathBytes(file)
	switch {
	case err != nil:
		return err
	case e.inPlace:
		e.app.Note("would change %s itself, of %s", term.Safe(file), term.FormatBytes(size))
	default:
		e.app.Note("would copy %s first, %s, and put the copy in its place", term.Safe(file), term.FormatBytes(size))
	}
	return nil
}

// meter returns a progress meter for a part of the command.
func (e *editFlags) meter(total int64) *term.Meter {
	return term.NewMeter(e.kind(), e.app.Stderr, e.cmd.Name(), total, time.Now)
}

// edit calls change with the name of a file or directory that change may write to. The changes take
// effect only if it returns nil, unless it works in place. If the file system does not share
// blocks, the copy takes time.
func (e *editFlags) edit(ctx context.Context, file string, change func(file string) error) error {
	var held *hyperslab.Lock
	done, err := e.changes(file, &held)
	if err != nil {
		return err
	}
	defer done()
	if e.inPlace {
		return change(file)
	}
	return hyperslab.UpdateWith(ctx, file, &hyperslab.UpdateOptions{Lock: held}, func(file string) error {
		done()
		return change(file)
	})
}

// changes begins the change of a file, which may be missing. It shows the progress of the copy
// until done, and sets held to the lock of the file. A change in place locks the file itself.
func (e *editFlags) changes(file string, held **hyperslab.Lock) (done func(), err error) {
	if e.inPlace {
		shell.ChangesInPlace.Add(1)
		return sync.OnceFunc(func() { shell.ChangesInPlace.Add(-1) }), e.locks.Release()
	}
	*held = e.locks.Lock(file)
	size, err := shell.PathBytes(file)
	if errors.Is(err, fs.ErrNotExist) {
		return func() {}, nil
	}
	m := e.meter(size).Watch(shell.UnfinishedBytes)
	return m.Finish, err
}

// growing returns a function that returns how many bytes a file or directory has grown since now.
func growing(file string) func() int64 {
	before, _ := shell.PathBytes(file) // 0 if the file does not exist yet
	return func() int64 {
		n, _ := shell.PathBytes(file)
		return max(n-before, 0)
	}
}
