// Copies of files and directories that are changed and then replace the original.

package atomicfile

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hyperslab/hyperslab/internal/files/regularfile"
)

// copyTries is the maximum number of copies of a source that changes meanwhile.
const copyTries = 10

// Copy copies a file or a directory, with its permissions, to a name that must not exist. The file
// system shares the blocks if it can. Nothing is synced. Copy stops when ctx is done.
//
// Copy starts again if another program changes or replaces the source meanwhile, because the files
// of a directory would be those of two versions. It returns regularfile.ErrReplaced if this happens
// in each of 10 tries.
func Copy(ctx context.Context, to, from string) error {
	from, err := filepath.EvalSymlinks(from)
	if err != nil {
		return err
	}
	for try := 1; ; try++ {
		changed, err := copyOnce(ctx, to, from)
		if !changed || try == copyTries || ctx.Err() != nil {
			return err
		}
		if err := os.RemoveAll(to); err != nil {
			return err
		}
	}
}

// copyOnce reports whether the source changed during the copy, which is an error too.
func copyOnce(ctx context.Context, to, from string) (changed bool, err error) {
	before, err := regularfile.Observe(from)
	if err == nil {
		err = copyAll(ctx, to, from)
	}
	var check error
	if before != nil {
		check = before.Check()
	}
	changed = errors.Is(check, regularfile.ErrReplaced) || errors.Is(err, fs.ErrNotExist) || errors.Is(check, fs.ErrNotExist)
	return changed, errors.Join(err, check)
}

// copyAll copies a file or a directory.
func copyAll(ctx context.Context, to, from string) error {
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
	src, _, err := regularfile.Open(from)
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
