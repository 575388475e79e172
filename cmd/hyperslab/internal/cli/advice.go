// What to do about an error.

package cli

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab/format"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/formats"
)

// advice is the line after an error that says what to do, "" where all has been said.
func advice(cmd *cobra.Command, err error) string {
	var summary summaryError
	var usage *usageError
	var absent *absentAttr
	failed := &ndarray.Error{}
	errors.As(err, &failed)
	help := "see " + cmd.CommandPath() + " --help"
	around := func() string { return cmp.Or(lookAround(failed.Path), help) }
	switch {
	case errors.As(err, &summary):
		return ""
	case errors.As(err, &absent):
		return "hyperslab attr list " + shellWord(absent.address) + " shows those there are"
	case errors.As(err, &usage):
		return help
	case errors.Is(err, fs.ErrExist):
		if cmd.Flags().Lookup("force") == nil {
			return "give the name of a new folder"
		}
		return "-f replaces it, as a whole"
	case errors.Is(err, fs.ErrNotExist) && failed.Op == "create":
		return "the folder must exist"
	case full(err) && inPlace(cmd) && failed.Path != "":
		return "make room there; the file was being changed itself, so hyperslab verify " + shellWord(failed.Path) + " tells what became of it, and hyperslab recover saves what it holds"
	case full(err):
		return "make room there, or write to another disk; what is half done has been removed"
	case errors.Is(err, syscall.EFBIG):
		return "raise the limit on the size of files (ulimit -f), or write to a file system without one"
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, ndarray.ErrFormat), errors.Is(err, ndarray.ErrParam):
		return around()
	case errors.Is(err, fs.ErrPermission):
		return "check the permissions of the file and of its folder"
	case errors.Is(err, ndarray.ErrCorrupt), errors.Is(err, format.ErrVersion):
		return "the file is damaged, cut short, or of a newer version than the libraries here (hyperslab version --libs)"
	case errors.Is(err, ndarray.ErrRegion) && failed.Path != "":
		return "hyperslab info " + shellWord(failed.Path) + " shows its shape; indexes count from 0"
	case errors.Is(err, ndarray.ErrType) && failed.Path != "":
		return "hyperslab info " + shellWord(failed.Path) + " shows its element type; hyperslab dump writes the values"
	}
	loc, ok := existing(failed.Path)
	if is, err := formats.Sniff(loc.File); ok && err == nil && is == formats.HDF5 && errors.Is(failed, errors.ErrUnsupported) {
		return "hyperslab dump " + shellWord(loc.File) + " --ddl writes what arrays here cannot hold, in the words of h5dump"
	}
	if ok {
		return "hyperslab verify " + shellWord(loc.File) + " tells whether the file is damaged"
	}
	return help
}

// full reports whether a disk has no room.
func full(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// inPlace reports whether the file itself was to be changed, and not a copy of it.
func inPlace(cmd *cobra.Command) bool {
	f := cmd.Flags().Lookup("in-place")
	return f != nil && f.Value.String() == "true"
}

// summaryError counts failures that were told one by one, with what to do about each.
type summaryError string

func (e summaryError) Error() string { return string(e) }

// existing is where a location leads, if there is such a file.
func existing(location string) (formats.Location, bool) {
	loc, err := formats.ParseLocation(location)
	if err != nil || location == "" {
		return loc, false
	}
	_, err = os.Stat(loc.File)
	return loc, err == nil
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
	case loc.Object != "":
		return shellWord(loc.File) + " alone names its array"
	}
	return ""
}
