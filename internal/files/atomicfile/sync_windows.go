package atomicfile

import (
	"errors"
	"os"
)

// syncFile makes the contents of a file durable. Windows does this only for a file that is open for
// writing, and refuses for a file that is read-only.
func syncFile(path string) (err error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return SyncFile(f)
}

func syncDir(string) error { return nil }

// SyncDir has no effect because Windows has no such operation: NTFS keeps a journal of names.
func SyncDir(*os.Root, string) error { return nil }

func cannotSync(error) bool { return false }
