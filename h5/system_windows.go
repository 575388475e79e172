package h5

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// sameFile returns an error unless f is the file of a handle.
func sameFile(handle int, f *os.File) error {
	var was, is windows.ByHandleFileInformation
	err := errors.Join(
		windows.GetFileInformationByHandle(windows.Handle(handle), &was),
		windows.GetFileInformationByHandle(windows.Handle(f.Fd()), &is))
	if err == nil && (was.VolumeSerialNumber != is.VolumeSerialNumber ||
		was.FileIndexHigh != is.FileIndexHigh || was.FileIndexLow != is.FileIndexLow) {
		err = errors.New("another file is at its path now")
	}
	return err
}

// inMotion returns false because libhdf5 does not lock files on Windows.
func inMotion(*os.File) bool { return false }
