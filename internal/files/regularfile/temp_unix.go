//go:build !windows

package regularfile

import (
	"errors"
	"os"
)

// Temp creates a file in dir, or in os.TempDir() if dir is empty, for data of this process. The
// file has no name afterwards, so the system removes it when it is closed or the process ends.
func Temp(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, "hyperslab-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
