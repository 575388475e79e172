// The states of an output: pending, committed or aborted.

package atomicfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/files/filelock"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/format/detect"
)

// ErrExists means that the target exists and must not be replaced.
var ErrExists = errs.ErrExists

// ErrForeign matches ErrExists too: the target is a directory that is not replaced.
var ErrForeign = errs.New(ErrExists.Error()+": a directory with files that belong to no array", ErrExists)

// Options are the options of Create.
type Options struct {
	Overwrite bool // replace a target that exists, except a directory of other files: see ErrForeign
	Volatile  bool // Commit does not wait for the disk: for files that are easily made again

	// Lock is the lock of the target, which the caller holds. After Commit it is the lock of the
	// new file. Nil: with Overwrite, the Output itself locks a target that exists, until Commit or
	// Abort.
	Lock *filelock.Lock

	// Own makes Lock the lock of the Output, which releases it at the end.
	Own bool

	// Around is another lock, for example of the directory that contains the target, or nil. The
	// Output releases it, also if Create returns an error.
	Around *filelock.Lock
}

// Output is a file or directory that is being written under a temporary name.
type Output struct {
	target, temp string
	overwrite    bool
	volatile     bool
	ctx          context.Context // bounds the wait for the lock
	lock, around *filelock.Lock
	lent         bool         // lock is the caller's
	leave        func() error // releases the lock of the directory of a new file; nil: there is none
	public       func()       // ends the exception of temp from locks

	mu    sync.Mutex
	state state
}

type state int

const (
	pending state = iota
	committed
	aborted
)

// unfinished contains the outputs that AbortAll removes.
var unfinished struct {
	sync.Mutex
	set map[*Output]bool
}

// serial makes the temporary names of one process unique.
var serial atomic.Int64

// nameMax is the longest name of a directory entry, in bytes (NAME_MAX).
const nameMax = 255

// Create starts an output that will become target, whose directory must exist. It creates no file
// yet, but on Linux it removes temporary files in that directory whose process was killed. A
// symbolic link at target counts as the target itself: it is replaced, not followed.
//
// With Overwrite, other writers of this module cannot change an existing target between Create and
// Commit or Abort, and none can replace its directory. Create waits for them as filelock.Acquire
// does.
//
// Create returns ErrExists if target exists and Overwrite is not set, ErrForeign if target is a
// directory with files that belong to no array and no container, syscall.ENOTDIR if its parent is
// not a directory, and syscall.EROFS if the file system is read-only. It also returns the errors of
// filelock.Acquire.
func Create(ctx context.Context, target string, o Options) (_ *Output, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, o.Around.Release())
		}
	}()
	dir, base := filepath.Split(filepath.Clean(target))
	if base == "" || base == "." || base == ".." {
		return nil, &fs.PathError{Op: "create", Path: target, Err: errors.New("not the name of a file")}
	}
	if info, err := os.Stat(filepath.Join(dir, ".")); err != nil {
		return nil, err
	} else if !info.IsDir() {
		return nil, &fs.PathError{Op: "create", Path: target, Err: syscall.ENOTDIR}
	}
	switch _, err := os.Lstat(target); {
	case err == nil && !o.Overwrite:
		return nil, &fs.PathError{Op: "create", Path: target, Err: ErrExists}
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	if readOnly(filepath.Join(dir, ".")) {
		return nil, &fs.PathError{Op: "create", Path: target, Err: syscall.EROFS}
	}
	out := &Output{target: filepath.Join(dir, base), overwrite: o.Overwrite, volatile: o.Volatile, ctx: ctx, lock: o.Lock, around: o.Around, lent: o.Lock != nil && !o.Own}
	if err := out.exclude(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, out.unlock())
		}
	}()
	if err := onlyArrays(out.target); err != nil {
		return nil, err
	}
	// The lock excludes a writer that copies the directory, for which this would be a change.
	removeLeftovers(filepath.Join(dir, "."))
	for { // a killed process with this process id may have left a name
		suffix := fmt.Sprintf(".tmp-%d-%d", os.Getpid(), serial.Add(1))
		if ns := namespace(); ns != "" {
			suffix += "-" + ns
		}
		out.temp = filepath.Join(dir, "."+base[:min(len(base), nameMax-1-len(suffix))]+suffix)
		if _, err := os.Lstat(out.temp); errors.Is(err, fs.ErrNotExist) {
			break
		} else if err != nil {
			return nil, err
		}
	}
	out.public = filelock.Private(out.temp)
	unfinished.Lock()
	defer unfinished.Unlock()
	if unfinished.set == nil {
		unfinished.set = make(map[*Output]bool)
	}
	unfinished.set[out] = true
	return out, nil
}

// onlyArrays returns an error if the target is a directory with files that belong to no array.
func onlyArrays(target string) error {
	info, err := os.Lstat(target)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return nil
	}
	other := ""
	if err == nil {
		other, err = detect.Foreign(target)
	}
	if err == nil && other != "" {
		err = fmt.Errorf("%w: got %s", ErrForeign, other)
	}
	if err != nil {
		return &fs.PathError{Op: "replace", Path: target, Err: err}
	}
	return nil
}

// exclude locks the target if it exists and will be replaced, and otherwise its directory for a new
// file.
func (o *Output) exclude() (err error) {
	if o.lock != nil || o.around.Tree() {
		return nil
	}
	if o.overwrite {
		o.lock, err = filelock.Acquire(o.ctx, o.target, &filelock.Options{Inside: o.around != nil, Tree: true})
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, regularfile.ErrNot) { // such as a symbolic link without a target
			return err
		}
	}
	if o.around != nil || o.leave != nil {
		return nil
	}
	o.leave, err = filelock.Enter(o.ctx, o.target)
	return err
}

// unlock releases the lock unless it is the caller's.
func (o *Output) unlock() error {
	err := o.around.Release()
	if !o.lent {
		err = errors.Join(err, o.lock.Release())
	}
	if o.leave != nil {
		err = errors.Join(err, o.leave())
	}
	return err
}

// Path is the temporary name. The caller must create a file or directory there and close it before
// Commit.
func (o *Output) Path() string { return o.temp }

// Commit makes the output at Path durable, unless it is Volatile, and moves it to the target. It
// removes the file or directory that it replaces. At every moment the target is either the old one
// or the new one, complete. A second Commit does nothing.
//
// After an error before the move the output is still pending, and Abort removes it. An error after
// the move, for example of syncing the parent or of removing the replaced file, leaves the output
// committed.
//
// Commit returns regularfile.ErrReplaced if another program has replaced or removed a locked
// target, ErrExists if the target has been created since Create and Overwrite is not set,
// errors.ErrUnsupported if a directory must be replaced on a file system that cannot exchange two
// names, and fs.ErrClosed after Abort.
func (o *Output) Commit() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch o.state {
	case committed:
		return nil
	case aborted:
		return &fs.PathError{Op: "commit", Path: o.target, Err: fs.ErrClosed}
	}
	if !o.volatile {
		if err := syncTree(o.temp); err != nil {
			return err
		}
	}
	if err := o.replace(); err != nil {
		return err
	}
	if !o.volatile && !partial(o.target) {
		published.Lock()
		published.count++
		published.last = o.target
		published.Unlock()
	}
	// After an exchange the temporary name holds the replaced file or directory.
	err := os.RemoveAll(o.temp)
	if !o.volatile {
		err = errors.Join(syncDir(filepath.Dir(o.target)), err)
	}
	return errors.Join(err, o.finish(committed))
}

// published counts the committed outputs, except volatile ones and parts of other outputs.
var published struct {
	sync.Mutex
	count int
	last  string
}

// partial reports whether a target is a part of an output that is not finished, for example a
// member of a .b2z.
func partial(target string) bool {
	return slices.ContainsFunc(Unfinished(), func(temp string) bool {
		return target == temp || strings.HasPrefix(target, temp+string(filepath.Separator))
	})
}

// Committed returns the number of targets of committed outputs, except volatile ones and parts of
// other outputs, and the last of them.
func Committed() (count int, last string) {
	published.Lock()
	defer published.Unlock()
	return published.count, published.last
}

// replace moves the output to the target under the lock of a target that is replaced. The lock of
// the caller is then that of the new file.
func (o *Output) replace() error {
	if err := o.exclude(); err != nil { // the target may have been created since Create
		return err
	}
	if err := o.lock.Check(); err != nil {
		return err
	}
	if !o.lent {
		return o.move()
	}
	moved, err := o.lock.Follow(o.temp)
	if err != nil {
		return err
	}
	err = o.move()
	return errors.Join(err, moved(err == nil))
}

// Committed reports whether the output is at its target, for example after a Commit that returned
// an error of syncing the parent.
func (o *Output) Committed() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.state == committed
}

// Abort removes the output at Path. After Commit, or a second time, it does nothing.
func (o *Output) Abort() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.state != pending {
		return nil
	}
	if err := os.RemoveAll(o.temp); err != nil {
		if _, lost := os.Lstat(o.temp); !errors.Is(lost, fs.ErrNotExist) { // otherwise there is no file that is left over
			return err
		}
	}
	return o.finish(aborted)
}

// AbortAll aborts every output that is neither committed nor aborted. It waits for a Commit that is
// in progress, and that output stays committed.
func AbortAll() error {
	unfinished.Lock()
	all := make([]*Output, 0, len(unfinished.set))
	for o := range unfinished.set {
		all = append(all, o)
	}
	unfinished.Unlock()
	var errs []error
	for _, o := range all {
		errs = append(errs, o.Abort())
	}
	return errors.Join(errs...)
}

// Unfinished returns the temporary paths of the outputs that are neither committed nor aborted,
// sorted. The paths need not exist yet.
func Unfinished() (paths []string) {
	unfinished.Lock()
	defer unfinished.Unlock()
	for o := range unfinished.set {
		paths = append(paths, o.temp)
	}
	slices.Sort(paths)
	return paths
}

func (o *Output) finish(s state) error {
	o.state = s
	o.public()
	unfinished.Lock()
	delete(unfinished.set, o)
	unfinished.Unlock()
	return o.unlock()
}

// move moves the temporary file to the target in one step.
func (o *Output) move() error {
	if !o.overwrite {
		return moveNew(o.temp, o.target)
	}
	for {
		old, err := os.Lstat(o.target)
		if errors.Is(err, fs.ErrNotExist) {
			if err = moveNew(o.temp, o.target); errors.Is(err, ErrExists) {
				continue // the target was created in between: replace it
			}
			return err
		}
		if err != nil {
			return err
		}
		made, err := os.Lstat(o.temp)
		if err != nil {
			return err
		}
		if !old.IsDir() && !made.IsDir() {
			return os.Rename(o.temp, o.target)
		}
		// rename(2) does not replace a directory that has entries.
		if err = exchange(o.temp, o.target); errors.Is(err, fs.ErrNotExist) {
			continue // the target was removed in between
		}
		return err
	}
}

// moveNew moves temp to target, which must not exist, in one step.
func moveNew(temp, target string) error {
	err := renameNoReplace(temp, target)
	if errors.Is(err, errors.ErrUnsupported) {
		err = claim(temp, target)
	}
	if errors.Is(err, fs.ErrExist) {
		return &fs.PathError{Op: "commit", Path: target, Err: ErrExists}
	}
	return err
}

// claim moves temp to target on a file system without exclusive rename. It makes a second link, or
// an empty directory, at target, which fails if target exists, and then replaces that.
func claim(temp, target string) error {
	info, err := os.Lstat(temp)
	if err != nil {
		return err
	}
	if info.IsDir() {
		if err := os.Mkdir(target, info.Mode().Perm()); err != nil {
			return err
		}
		if err := syscall.Rename(temp, target); err != nil { // os.Rename refuses a directory
			return &os.LinkError{Op: "rename", Old: temp, New: target, Err: err}
		}
		return nil
	}
	if err := os.Link(temp, target); err != nil {
		return err
	}
	return os.Remove(temp)
}

// syncTree makes a file, or a directory with all its content, durable.
func syncTree(path string) error {
	return filepath.WalkDir(path, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return syncDir(path)
		case !d.Type().IsRegular():
			return nil
		}
		return syncFile(path)
	})
}

// Sync makes a file and its name durable.
func Sync(path string) error {
	return errors.Join(syncFile(path), syncDir(filepath.Dir(path)))
}
