// The lock that writers of a file hold.

package hyperslab

import (
	"context"
	"errors"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/files/filelock"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/internal/tree"
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

// lockTo returns a reference to the lock of a file that will be replaced: to held if it is not nil.
func lockTo(ctx context.Context, held *Lock, file string) (*Lock, error) {
	if held != nil {
		return held.Share(), nil
	}
	return filelock.Acquire(ctx, file, &filelock.Options{Tree: true})
}

// lockInPlace is lockTo for a file of the given format that is changed in place. If libhdf5 changes
// the file, other arrays of this process may have the same lock.
func lockInPlace(ctx context.Context, held *Lock, file string, f Format) (_ *Lock, err error) {
	if held == nil {
		return filelock.Acquire(ctx, file, &filelock.Options{Library: f == HDF5})
	}
	if f == HDF5 {
		err = held.ForLibrary()
	}
	return held.Share(), err
}

// lockFormat locks a file to change it in place, and returns its format.
func lockFormat(ctx context.Context, held *Lock, l locate.Location) (*Lock, Format, error) {
	for {
		s, f, err := find(ctx, l.File, false)
		if err != nil {
			return nil, "", err
		}
		file := l.File
		if f.Part != nil && l.Object != "" {
			part, _, err := f.Part(s, l.Object)
			if err != nil {
				return nil, "", errors.Join(err, s.Close())
			}
			file = part.Path
		}
		format := Format(f.Name)
		lock, err := lockInPlace(ctx, held, file, format)
		same := true
		if err == nil {
			same, err = locked(ctx, s, lock, l.File, format)
		}
		if err = errors.Join(err, s.Close()); err == nil && same {
			return lock, format, nil
		}
		if err = errors.Join(err, lock.Release()); err != nil {
			return nil, "", err
		}
	}
}

// locked reports whether a file that was opened before it was locked is the locked one, or still
// has the same format.
func locked(ctx context.Context, s *tree.Source, lock *Lock, name string, format Format) (bool, error) {
	if s.OS != nil {
		if info, err := s.OS.Stat(); err != nil || lock.Locks(info) {
			return true, err
		}
	}
	now, err := sniff(ctx, name)
	return now == format, err
}

// openWritable opens an HDF5 file for writing. It waits for other programs that have it open.
func openWritable(ctx context.Context, file string) (f *h5.File, err error) {
	err = filelock.Retry(ctx, file, func() error {
		f, err = h5.Open(file, h5.ReadWrite)
		return err
	})
	return f, err
}
