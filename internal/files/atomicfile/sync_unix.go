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
	return SyncFile(f)
}

func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(syncOpenDir(d), d.Close())
}

// SyncDir makes the entries of a directory in root durable. On Windows it has no effect.
func SyncDir(root *os.Root, name string) error {
	d, err := root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(syncOpenDir(d), d.Close())
}

// syncOpenDir syncs a directory if its file system can do so.
func syncOpenDir(d *os.File) error {
	if err := d.Sync(); !cannotSync(err) {
		return err
	}
	return nil
}

// cannotSync reports whether an error of fsync means that the file system does not have it, as of
// some network and user-space file systems.
func cannotSync(err error) bool {
	return errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) || errors.Is(err, syscall.ENOSYS)
}
