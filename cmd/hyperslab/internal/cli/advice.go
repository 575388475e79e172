// What to do about an error.

package cli

import (
	"errors"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab/format"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/formats"
)

// advice is the line after an error that says what to do, "" where the error
// says it itself.
func advice(cmd *cobra.Command, err error) string {
	var usage *usageError
	var failed *ndarray.Error
	if !errors.As(err, &failed) {
		failed = &ndarray.Error{}
	}
	var absent *absentAttr
	switch {
	case errors.As(err, &absent):
		return "hyperslab attr list " + shellWord(absent.address) + " shows those there are"
	case errors.As(err, &usage):
		return "see " + cmd.CommandPath() + " --help"
	case errors.Is(err, fs.ErrExist):
		if cmd.Flags().Lookup("force") == nil {
			return "give the name of a new folder"
		}
		return "-f replaces it, as a whole"
	case errors.Is(err, fs.ErrNotExist) && failed.Op == "create":
		return "the folder must exist"
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, ndarray.ErrFormat):
		return lookAround(failed.Path)
	case errors.Is(err, fs.ErrPermission):
		return "check the permissions of the file and of its folder"
	case errors.Is(err, ndarray.ErrCorrupt), errors.Is(err, format.ErrVersion):
		return "the file is damaged, cut short, or of a newer version than the libraries here (hyperslab version --libs)"
	}
	return ""
}

// lookAround says how to find the array that location did not lead to.
func lookAround(location string) string {
	loc, err := formats.ParseLocation(location)
	if err != nil {
		return ""
	}
	switch format, err := formats.Sniff(loc.File); {
	case errors.Is(err, fs.ErrNotExist):
		return "check the name of the file; an address is FILE or FILE:/path"
	case err != nil:
		return "readable are b2nd, Caterva, bcolz and HDF5, recognised by content; is this the right file, and complete?"
	case format == formats.HDF5:
		return "hyperslab ls -r " + shellWord(loc.File) + " lists what the file holds"
	}
	return ""
}
