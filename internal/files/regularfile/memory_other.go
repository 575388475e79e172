//go:build !linux

package regularfile

import (
	"errors"
	"os"
)

// Memory returns a file with the content that write writes. It is a file of Temp in os.TempDir(),
// because only Linux has files in memory.
func Memory(write func(*os.File) error) (*os.File, error) {
	f, err := Temp("")
	if err != nil {
		return nil, err
	}
	if err := write(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
