package cli

import (
	"errors"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab/ndarray"
)

// advice is the line after an error that says what to do, "" where the error
// says it itself.
func advice(cmd *cobra.Command, err error) string {
	var usage *usageError
	switch {
	case errors.As(err, &usage):
		return "see " + cmd.CommandPath() + " --help"
	case errors.Is(err, fs.ErrExist):
		return "-f replaces it"
	case errors.Is(err, fs.ErrNotExist):
		return "check the name; hyperslab ls FILE lists what a file holds"
	case errors.Is(err, fs.ErrPermission):
		return "check the permissions of the file and of its folder"
	case errors.Is(err, ndarray.ErrFormat):
		return "readable are b2nd, Caterva and HDF5 files, recognised by content; is this the right file, and complete?"
	case errors.Is(err, ndarray.ErrCorrupt):
		return "the file is damaged or cut short; fetch or write it again"
	}
	return ""
}
