// Locks of files that are changed in place.

package opened

import (
	"context"
	"errors"

	"github.com/hyperslab/hyperslab/internal/files/filelock"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/internal/tree/opener"
	"github.com/hyperslab/hyperslab/ndarray"
)

// LockInPlace returns a reference to the lock of a file of the given format that is changed in
// place: to held if it is not nil. If libhdf5 changes the file, other arrays of this process may
// have the same lock.
func LockInPlace(ctx context.Context, held *ndarray.Lock, file, format string) (_ *ndarray.Lock, err error) {
	if held == nil {
		return filelock.Acquire(ctx, file, &filelock.Options{Library: format == detect.HDF5})
	}
	if format == detect.HDF5 {
		err = held.ForLibrary()
	}
	return held.Share(), err
}

// LockFormat locks a file to change it in place, and returns its format.
func LockFormat(ctx context.Context, held *ndarray.Lock, l locate.Location) (_ *ndarray.Lock, format string, err error) {
	for {
		s, f, err := opener.Find(ctx, l.File, false)
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
		lock, err := LockInPlace(ctx, held, file, f.Name)
		same := true
		if err == nil {
			same, err = locked(ctx, s, lock, l.File, f.Name)
		}
		if err = errors.Join(err, s.Close()); err == nil && same {
			return lock, f.Name, nil
		}
		if err = errors.Join(err, lock.Release()); err != nil {
			return nil, "", err
		}
	}
}

// locked reports whether a file that was opened before it was locked is the locked one, or still
// has the same format.
func locked(ctx context.Context, s *tree.Source, lock *ndarray.Lock, name, format string) (bool, error) {
	if s.OS != nil {
		if info, err := s.OS.Stat(); err != nil || lock.Locks(info) {
			return true, err
		}
	}
	now, err := opener.Sniff(ctx, name)
	return now == format, err
}
