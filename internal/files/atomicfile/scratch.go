// Files that exist during one call.

package atomicfile

import (
	"context"
	"errors"
	"os"
	"path/filepath"
)

// Scratch calls write with the path of a file or directory called name in a new temporary directory
// (os.TempDir), which write creates, and then removes the directory. If the process is killed, the
// next Scratch removes it.
func Scratch(ctx context.Context, name string, write func(path string) error) (err error) {
	dir, err := Create(ctx, filepath.Join(os.TempDir(), "hyperslab-scratch"), Options{Overwrite: true, Volatile: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Abort()) }()
	if err := os.Mkdir(dir.Path(), 0o700); err != nil {
		return err
	}
	return write(filepath.Join(dir.Path(), name))
}
