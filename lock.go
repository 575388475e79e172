// The lock that writers of a file hold.

package hyperslab

import (
	"context"

	"github.com/hyperslab/hyperslab/internal/files/filelock"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Errors of concurrent writers, for errors.Is.
var (
	// ErrLocked means that another writer holds the lock of the file for longer than the context
	// allows to wait. The message contains the file and, if the kernel reports it, the process.
	ErrLocked = ndarray.ErrLocked
	// ErrReplaced means that a program without the lock replaced or changed the file of an open
	// array or of a change in progress. The change was not made.
	ErrReplaced = ndarray.ErrReplaced
)

// Lock is the lock of a file or directory, from LockFile. Release releases it.
type Lock = ndarray.Lock

// LockOptions are the options of LockFile. Nil means the zero value.
type LockOptions struct {
	// NoLock continues if the file system refuses locks. Only the writers of this process then
	// exclude each other.
	NoLock bool

	// Unlocked is called if NoLock has an effect. It may be nil.
	Unlocked func(file string, err error)
}

// LockFile locks an existing file or directory for a caller that changes it in several steps. The
// other writers of this module, in all processes, wait until Release. Each function that changes
// files takes this lock itself unless its options contain it. Readers are not stopped. The kernel
// releases the lock if the process ends. A symbolic link and a hard link lock the same file. The
// lock of a directory also excludes the writers of files in it and below, except on Windows.
//
// LockFile waits until the lock is free or ctx ends, and then returns ErrLocked. A ctx without a
// deadline waits without limit for other processes, and for 10 seconds while one writer of this
// process keeps the lock, because the caller may be that writer. It also returns
// ndarray.ErrNotFound, errors of the file system, and errors.ErrUnsupported if the file system
// refuses locks and NoLock is not set.
func LockFile(ctx context.Context, file string, o *LockOptions) (*Lock, error) {
	x := orZero(o)
	l, err := filelock.Acquire(ctx, file, &filelock.Options{NoLock: x.NoLock, Unlocked: x.Unlocked, Tree: true})
	return l, ndarray.Wrap("lock", file, err)
}
