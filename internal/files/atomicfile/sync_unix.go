//go:build !windows

package atomicfile

import (
	"errors"
	"os"
	"syscall"
)

func syncFile(path string) (err error) {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return f.Sync()
}

func syncDir(path string) error { return ignoreEINVAL(syncFile(path)) }

// SyncDir makes the entries of a directory in root durable. On Windows it has no effect.
func SyncDir(root *os.Root, name string) error {
	d, err := root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(ignoreEINVAL(d.Sync()), d.Close())
}

// ignoreEINVAL returns nil for EINVAL, which file systems that do not sync directories return.
func ignoreEINVAL(err error) error {
	if errors.Is(err, syscall.EINVAL) {
		return nil
	}
	return err
}
