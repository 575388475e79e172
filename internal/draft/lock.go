// Locks of files that are replaced.

package draft

import (
	"context"

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
