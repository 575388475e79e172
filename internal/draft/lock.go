// Locks of files that are replaced, and HDF5 files that are changed.

package draft

import (
	"context"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/files/filelock"
	"github.com/hyperslab/hyperslab/ndarray"
)

// LockTo returns a reference to the lock of a file that will be replaced: to held if it is not nil.
func LockTo(ctx context.Context, held *ndarray.Lock, file string) (*ndarray.Lock, error) {
	if held != nil {
		return held.Share(), nil
	}
	return filelock.Acquire(ctx, file, &filelock.Options{Tree: true})
}

// OpenWritable opens an HDF5 file for writing. It waits for other programs that have it open.
func OpenWritable(ctx context.Context, file string) (f *h5.File, err error) {
	err = filelock.Retry(ctx, file, func() error {
		f, err = h5.Open(file, h5.ReadWrite)
		return err
	})
	return f, err
}
