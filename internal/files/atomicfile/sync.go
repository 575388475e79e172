package atomicfile

import (
	"path/filepath"
	"slices"
	"sync"
)

// A Syncer is an open file.
type Syncer interface{ Sync() error }

// fsync makes an open file durable. Tests replace it.
var fsync = Syncer.Sync

var unsynced struct {
	sync.Mutex
	dirs []string
}

// SyncFile makes the contents of an open file durable. On a file system without fsync it has no
// effect, and Unsynced lists the directory of the file.
func SyncFile(f Syncer) error {
	err := fsync(f)
	if !cannotSync(err) {
		return err
	}
	named, ok := f.(interface{ Name() string })
	if !ok {
		return nil
	}
	unsynced.Lock()
	defer unsynced.Unlock()
	if dir := filepath.Dir(named.Name()); !slices.Contains(unsynced.dirs, dir) {
		unsynced.dirs = append(unsynced.dirs, dir)
	}
	return nil
}

// Unsynced returns the directories with files that SyncFile could not make durable.
func Unsynced() []string {
	unsynced.Lock()
	defer unsynced.Unlock()
	return slices.Clone(unsynced.dirs)
}
