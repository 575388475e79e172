// Copies of files and directories that are changed and then replace the original.

package atomicfile

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/hyperslab/hyperslab/internal/regular"
)

// Copy copies a file or a directory, with its permissions, to a name that must not exist. The file
// system shares the blocks if it can. Nothing is synced. Copy stops when ctx is done.
func Copy(ctx context.Context, to, from string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if info.IsDir() {
		if err := os.CopyFS(to, os.DirFS(from)); err != nil {
			return err
		}
		return os.Chmod(to, info.Mode().Perm())
	}
	return copyFile(ctx, to, from, info.Mode().Perm())
}

// copyStep is the number of bytes that are copied between two checks of the context.
const copyStep = 64 << 20

func copyFile(ctx context.Context, to, from string, mode os.FileMode) (err error) {
	src, _, err := regular.Open(from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dst.Close()) }()
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		switch _, err := io.CopyN(dst, src, copyStep); {
		case errors.Is(err, io.EOF):
			return dst.Chmod(mode)
		case err != nil:
			return err
		}
	}
}
