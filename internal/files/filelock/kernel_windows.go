// A named mutex for each file. It exists while a process has it open.

package filelock

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
)

// inode identifies a file or directory. The file is not kept open, because Windows does not replace
// a file that is open.
type inode struct {
	volume, high, low uint32
	mutex             windows.Handle
}

func openInode(path string) (*inode, error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	const share = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE
	h, err := windows.CreateFile(name, 0, share, nil, windows.OPEN_EXISTING, windows.FILE_FLAG_BACKUP_SEMANTICS, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	var info windows.ByHandleFileInformation
	if err := errors.Join(windows.GetFileInformationByHandle(h, &info), windows.CloseHandle(h)); err != nil {
		return nil, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	return &inode{volume: info.VolumeSerialNumber, high: info.FileIndexHigh, low: info.FileIndexLow}, nil
}

func (on *inode) try(bool) (locked bool, err error) {
	name, err := windows.UTF16PtrFromString(fmt.Sprintf(`Global\hyperslab-%08x-%08x%08x`, on.volume, on.high, on.low))
	if err != nil {
		return false, err
	}
	h, err := windows.CreateMutex(nil, false, name)
	switch {
	case err == nil:
		on.mutex = h
		return true, nil
	case errors.Is(err, windows.ERROR_ALREADY_EXISTS):
		return false, windows.CloseHandle(h)
	case errors.Is(err, windows.ERROR_ACCESS_DENIED): // another user has it
		return false, nil
	}
	return false, err
}

func (on *inode) is(path string) (bool, error) {
	now, err := openInode(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return now.volume == on.volume && now.high == on.high && now.low == on.low, nil
}

func (on *inode) exclusive() bool       { return false }
func (on *inode) forLibrary() error     { return nil }
func (on *inode) announce()             {}
func (on *inode) awaited() bool         { return false }
func (on *inode) holder() string        { return "" }
func (on *inode) libraryHolder() string { return "" }

func (on *inode) close() error {
	if on.mutex == 0 {
		return nil
	}
	h := on.mutex
	on.mutex = 0
	return windows.CloseHandle(h)
}

// keyOf returns a key for an entry of a directory.
func keyOf(path string) (string, error) { return filepath.EvalSymlinks(path) }

// describes returns false: the caller then looks at the file again.
func (*inode) describes(os.FileInfo) bool { return false }

// isDir returns false: subdirectories are not locked, because their writers share no lock.
func (*inode) isDir() bool { return false }

// tryWithin has no effect: the system has no shared lock of a directory.
func (*inode) tryWithin() (bool, error) { return true, nil }
