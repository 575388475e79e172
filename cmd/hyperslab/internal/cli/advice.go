// The line after an error that suggests a remedy.

package cli

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/atomicfile"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/locate"
	"github.com/hyperslab/hyperslab/internal/regular"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/plan"
	"github.com/hyperslab/hyperslab/remote"
)

// advice returns the line after an error that suggests a remedy, or "" without one.
func (a *app) advice(cmd *cobra.Command, err error) string {
	var summary summaryError
	var usage *usageError
	var absent *absentAttr
	failed := &ndarray.Error{}
	errors.As(err, &failed)
	help := "see " + cmd.CommandPath() + " --help"
	around := func() string { return cmp.Or(lookAround(failed.Path), help) }
	var stopped *signalError
	switch {
	case errors.As(err, &summary), errors.As(err, &stopped):
		return ""
	case errors.As(err, &absent):
		return "hyperslab attr list " + shellWord(absent.address) + " lists the existing attributes"
	case errors.As(err, &usage):
		return help
	case errors.Is(err, plan.ErrSource), errors.Is(err, plan.ErrPlan):
		return "hyperslab plan makes a new plan"
	case errors.Is(err, plan.ErrShard), errors.Is(err, plan.ErrIncomplete):
		return "hyperslab work PLAN --missing lists the shards that are not done"
	case errors.Is(err, plan.ErrTarget):
		return "name another target, or delete the directory to abandon the other plan"
	case errors.Is(err, plan.ErrReceipt):
		return "delete the receipt and do the shard again"
	case errors.Is(err, fs.ErrExist) && cmd.Name() == "work":
		return "a commit wrote the target, or it is another file; rename it to do the shards again"
	case errors.Is(err, fs.ErrExist) && cmd.Name() == "commit":
		return "the target is another file: rename it, or make a plan with another target"
	case errors.Is(err, remote.ErrRefused) && strings.Contains(err.Error(), "private address"):
		return "--allow-private allows URLs with addresses in private networks"
	case errors.Is(err, remote.ErrChanged):
		return "another program replaced the object; run the command again"
	case errors.As(err, new(*remote.Error)):
		return ""
	case errors.Is(err, atomicfile.ErrForeign):
		return "-f replaces arrays and empty directories only: name another target, or remove the directory first"
	case errors.Is(err, fs.ErrExist):
		if cmd.Flags().Lookup("force") == nil || cmd.Flags().Changed("split") || cmd.Flags().Changed("join") {
			return "name a target that does not exist"
		}
		return "-f replaces it"
	case errors.Is(err, hyperslab.ErrLocked) && cmd.Flags().Lookup("wait") != nil:
		return "end the program that writes to the file, or wait longer with --wait DURATION, for example --wait 5m"
	case errors.Is(err, errLossy):
		return "--allow-lossy appends the elements and reports how many the filter changes"
	case errors.Is(err, h5.ErrNoFilter):
		return "--plugin-path DIR loads HDF5 filters from the directory DIR"
	case errors.Is(err, fs.ErrNotExist) && failed.Op == "create":
		if loc, ok := existing(failed.Path); ok && loc.Object != "" {
			return "hyperslab ls -r " + shellWord(loc.File) + " lists the objects of the file"
		}
		return "the directory must exist"
	case full(err) && toStdout(err):
		return "make space on the disk of standard output, or write to another; the output is not complete"
	case full(err) && inPlace(cmd) && failed.Path != "":
		return "free space there; the file was changed in place: hyperslab verify " + shellWord(failed.Path) + " checks it, and hyperslab recover saves its contents"
	case full(err):
		return "free space there, or write to another disk; incomplete output has been removed"
	case errors.Is(err, syscall.EFBIG):
		return "raise the limit on the size of files (ulimit -f), or write to a file system without one"
	case errors.Is(err, syscall.EROFS):
		return "the file system is read-only: name another directory, or mount it for writing"
	case elsewhere(err) && cmd.Flags().Lookup("allow-missing") != nil:
		return "--external-dir DIR looks for external files in DIR, --allow-missing reads missing elements as fill value"
	case outside(err):
		return "copy that file and this one to a local directory, and read them there"
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, ndarray.ErrFormat), errors.Is(err, ndarray.ErrParam):
		return a.didYouMean(cmd.Context(), failed.Path) + around()
	case errors.Is(err, fs.ErrPermission):
		return "check the permissions of the file and of its directory"
	case errors.Is(err, format.ErrLimit) && cmd.Flags().Changed("untrusted"):
		return "this limit applies to untrusted files only, because --untrusted was given"
	case errors.Is(err, syscall.ENOTDIR):
		return around()
	case errors.Is(err, ndarray.ErrCorrupt), errors.Is(err, format.ErrVersion):
		text := "the file is corrupt, truncated, or of a newer version than the libraries here (hyperslab version --libs)"
		if loc, ok := existing(failed.Path); ok && cmd.Name() != "verify" && cmd.Name() != "recover" {
			file := shellWord(loc.File)
			text += "\n  hyperslab verify " + file + " reports where, hyperslab recover " + file + " NEW saves the readable part"
		}
		return text
	}
	loc, ok := existing(failed.Path)
	if !ok {
		return help
	}
	format, _ := hyperslab.Sniff(loc.File)
	file, command := shellWord(loc.File), cmd.Name()
	switch {
	case errors.Is(err, ndarray.ErrRegion) && command != "info":
		return "hyperslab info " + shellWord(failed.Path) + " shows its shape; indexes count from 0"
	case failed.Op == "summarize" && errors.Is(err, ndarray.ErrType):
		return "hyperslab dump " + shellWord(failed.Path) + " writes its elements"
	case command == "dump" && errors.Is(err, ndarray.ErrValue):
		return "--csv and --json write all dates and integers, and missing values as NaN or NaT"
	case command == "stats" && errors.Is(err, ndarray.ErrValue):
		return "--as-is takes the stored elements"
	case command == "recover" && isStore(format):
		return "hyperslab cp takes a frame out of " + file + ", and hyperslab recover reads that"
	case unreadableElements(err) && (command == "info" || command == "chunks" || command == "attr"):
		return "without --untrusted the command shows the metadata"
	case unreadableElements(err):
		return "hyperslab info " + shellWord(failed.Path) + " shows the metadata; python-blosc2 can save the elements with another codec"
	case unsupportedType(err) && format == hyperslab.HDF5 && !cmd.Flags().Changed("ddl"):
		return "hyperslab dump " + file + " --ddl writes the types that arrays cannot represent as text"
	case unsupportedType(err) && format != hyperslab.HDF5 && command != "info" && errors.Is(err, ndarray.ErrType):
		return "hyperslab info " + shellWord(failed.Path) + " shows its element type"
	case unsupportedType(err), errors.Is(err, ndarray.ErrRegion), command == "verify":
		return help
	}
	return "hyperslab verify " + file + " reports whether the file is corrupt"
}

// elsewhere reports whether an error is about another file that contains elements.
func elsewhere(err error) bool {
	text := err.Error()
	return errors.Is(err, fs.ErrNotExist) && (strings.Contains(text, "source of a virtual dataset") || strings.Contains(text, "external file"))
}

// outside reports whether the elements of a file at a URL are in another file.
func outside(err error) bool {
	_, is := errors.AsType[*h5.OutsideError](err)
	return is
}

// unsupportedType reports whether an error means that a valid file holds something that the
// command cannot represent.
func unsupportedType(err error) bool {
	return errors.Is(err, ndarray.ErrType) || errors.Is(err, errors.ErrUnsupported)
}

// unreadableElements reports whether an error means that a Blosc2 array has valid metadata, but
// elements that are not in the file, or that need a codec or filter that is not available.
func unreadableElements(err error) bool {
	e, ok := errors.AsType[*format.Error](err)
	return ok && errors.Is(err, errors.ErrUnsupported) && (strings.Contains(e.Got, "values are not in the file") || strings.HasPrefix(e.Want, "an available "))
}

// toStdout reports whether an error is one of writing to standard output.
func toStdout(err error) bool {
	write, ok := errors.AsType[*fs.PathError](err)
	return ok && write.Op == "write" && write.Path == os.Stdout.Name()
}

// full reports whether a disk has no space left.
func full(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// inPlace reports whether the command changes the file itself and not a copy of it.
func inPlace(cmd *cobra.Command) bool {
	f := cmd.Flags().Lookup("in-place")
	return f != nil && f.Value.String() == "true"
}

// summaryError counts failures that were reported one by one, each with its advice.
type summaryError string

func (e summaryError) Error() string { return string(e) }

// existing parses a location and reports whether its file exists.
func existing(location string) (locate.Location, bool) {
	loc, err := locate.Parse(location)
	if err != nil || location == "" {
		return loc, false
	}
	_, err = os.Stat(loc.File)
	return loc, err == nil
}

// insideFile returns FILE:/path if location is FILE:path or FILE/path and FILE exists, otherwise
// "".
func insideFile(location string) string {
	for at := len(location); at > 0; at = strings.LastIndexAny(location[:at], ":/") {
		file, object := location[:at], strings.Trim(location[at:], ":/")
		if info, err := os.Stat(file); err == nil && !info.IsDir() && object != "" {
			return locate.Location{File: file, Object: "/" + object}.String()
		}
	}
	return ""
}

// isDirectory reports whether a directory of that name exists.
func isDirectory(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// lookAround returns advice on how to find the array that location does not lead to.
func lookAround(location string) string {
	loc, err := locate.Parse(location)
	if err != nil {
		return ""
	}
	if location == stdio {
		return "only convert reads standard input; save the data to a file and name that file"
	}
	switch format, err := hyperslab.Sniff(loc.File); {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		if meant := insideFile(location); meant != "" {
			return "did you mean " + shellWord(meant) + "?"
		}
		return "check the name of the file; an address is FILE or FILE:/path"
	case errors.Is(err, regular.ErrNot):
		return "these formats need random access, which a pipe does not have: save the data to a file and name that file"
	case err != nil && isDirectory(loc.File):
		return "this directory is not an array and contains no arrays that hyperslab stores; name one of its files"
	case err != nil:
		return "supported formats are b2nd, Caterva, bcolz, HDF5 and .npy, detected by content; check that the file is the right one and complete"
	case format == hyperslab.HDF5, format == hyperslab.B2Z, format == hyperslab.B2D, format == hyperslab.B2E:
		return "hyperslab ls -r " + shellWord(loc.File) + " lists the objects of the file"
	case format == hyperslab.Directory:
		return "hyperslab ls -r " + shellWord(loc.File) + " lists the objects of the directory"
	case loc.Object != "":
		return shellWord(loc.File) + " alone names its array"
	}
	return ""
}
