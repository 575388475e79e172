// The line after an error that suggests a remedy.

package shell

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/internal/location/shellword"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/plan"
	"github.com/hyperslab/hyperslab/remote"
)

// failure is a failed command, for which advice is looked up.
type failure struct {
	app  *App
	cmd  *cobra.Command
	err  error
	at   *ndarray.Error // the operation and the path that failed, or an empty one
	help string         // advice for errors without better advice

	file   string // the file of the path as a word of a shell, if it exists
	format hyperslab.Format
}

// object returns the path as a word of a shell.
func (f *failure) object() string { return shellword.Quote(f.at.Path) }

// hint is advice for some errors. The first one that fits is given.
type hint struct {
	is      error                 // the error must match it; nil: any error
	command string                // the name of the command; "": any command
	when    func(f *failure) bool // nil: always
	advice  string
	text    func(f *failure) string // instead of advice
}

func (h *hint) fits(f *failure) bool {
	return (h.is == nil || errors.Is(f.err, h.is)) && (h.command == "" || h.command == f.cmd.Name()) && (h.when == nil || h.when(f))
}

// first returns the advice of the first hint that fits.
func (f *failure) first(list []hint) (text string, ok bool) {
	i := slices.IndexFunc(list, func(h hint) bool { return h.fits(f) })
	if i < 0 {
		return "", false
	}
	if h := list[i]; h.text != nil {
		return h.text(f), true
	}
	return list[i].advice, true
}

// advice returns the line after an error that suggests a remedy, or "" without one.
func (a *App) advice(cmd *cobra.Command, err error) string {
	f := &failure{app: a, cmd: cmd, err: err, at: &ndarray.Error{}, help: "see " + cmd.CommandPath() + " --help"}
	errors.As(err, &f.at)
	if text, ok := f.first(hints()); ok {
		return text
	}
	loc, ok := existing(f.at.Path)
	if !ok {
		return f.help
	}
	f.file = shellword.Quote(loc.File)
	f.format, _ = hyperslab.Sniff(loc.File)
	if text, ok := f.first(fileHints()); ok {
		return text
	}
	return "hyperslab verify " + f.file + " reports whether the file is corrupt"
}

// hints returns the advice for errors of any kind, in the order in which they are tried.
func hints() []hint {
	around := func(f *failure) string { return cmp.Or(lookAround(f.at.Path), f.help) }
	means := func(f *failure) string { return f.app.didYouMean(f.cmd.Context(), f.at.Path) + around(f) }
	fullDisk := func(also func(f *failure) bool) func(f *failure) bool {
		return func(f *failure) bool { return full(f.err) && (also == nil || also(f)) }
	}
	const newPlan = "hyperslab plan makes a new plan"
	const open = "hyperslab work PLAN --missing lists the shards that are not done"
	return []hint{
		{when: contains[SummaryError]},
		{when: contains[*SignalError]},
		{when: contains[*AbsentAttr], text: absentAdvice},
		{when: contains[*usageError], text: usageAdvice},

		{is: plan.ErrSource, advice: newPlan},
		{is: plan.ErrPlan, advice: newPlan},
		{is: plan.ErrShard, advice: open},
		{is: plan.ErrIncomplete, advice: open},
		{is: plan.ErrTarget, advice: "name another target, or delete the directory to abandon the other plan"},
		{is: plan.ErrReceipt, advice: "delete the receipt and do the shard again"},
		{is: fs.ErrExist, command: "work", advice: "a commit wrote the target, or it is another file; rename it to do the shards again"},
		{is: fs.ErrExist, command: "commit", advice: "the target is another file: rename it, or make a plan with another target"},

		{is: remote.ErrPrivate, advice: "--allow-private allows URLs with addresses in private networks"},
		{is: remote.ErrChanged, advice: "another program replaced the object; run the command again"},
		{is: remote.ErrRefused, when: func(f *failure) bool { return strings.HasSuffix(f.at.Path, "://") },
			advice: "a URL contains a host or a bucket, for example https://example.org/x.h5 or s3://bucket/x.h5"},
		{when: contains[*remote.Error]},

		{is: atomicfile.ErrForeign, advice: foreignAdvice},
		{is: fs.ErrExist, when: cannotReplace, advice: "name a target that does not exist"},
		{is: fs.ErrExist, when: holdsOthers, advice: foreignAdvice},
		{is: fs.ErrExist, advice: "-f replaces it"},
		{is: hyperslab.ErrLocked, when: func(f *failure) bool { return f.cmd.Flags().Lookup("wait") != nil },
			advice: "end the program that writes to the file, or wait longer with --wait DURATION, for example --wait 5m"},
		{is: ErrLossy, advice: "--allow-lossy appends the elements and reports how many the filter changes"},
		{is: h5.ErrNoFilter, advice: "--plugin-path DIR loads HDF5 filters from the directory DIR"},
		{is: fs.ErrNotExist, when: func(f *failure) bool { return f.at.Op == "create" }, text: parentAdvice},

		{when: fullDisk(func(f *failure) bool { return toStdout(f.err) }),
			advice: "make space on the disk of standard output, or write to another; the output is not complete"},
		{when: fullDisk(func(f *failure) bool { return inPlace(f.cmd) && f.at.Path != "" }), text: func(f *failure) string {
			return "free space there; the file was changed in place: hyperslab verify " + f.object() +
				" checks it, and hyperslab recover saves its contents"
		}},
		{when: fullDisk(nil), advice: "free space there, or write to another disk; incomplete output has been removed"},
		{is: syscall.EIO, when: func(f *failure) bool { return writing(f.err) }, advice: "the disk or its connection failed: the output is not " +
			"complete and has been removed; the log of the system names the device"},
		{is: syscall.EFBIG, advice: "raise the limit on the size of files (ulimit -f), or write to a file system without one"},
		{is: syscall.EROFS, advice: "the file system is read-only: name another directory, or mount it for writing"},

		{when: func(f *failure) bool { return elsewhere(f.err) && f.cmd.Flags().Lookup("allow-missing") != nil },
			advice: "--external-dir DIR looks for external files in DIR, --allow-missing reads missing elements as fill value"},
		{when: contains[*h5.OutsideError], advice: "copy that file and this one to a local directory, and read them there"},
		{is: fs.ErrNotExist, when: func(f *failure) bool { return errors.Is(f.err, ndarray.ErrCorrupt) },
			text: corruptAdvice}, // a missing part
		{is: fs.ErrNotExist, text: means},
		{is: ndarray.ErrFormat, when: rawBytes, advice: "for raw bytes add --shape, for example --shape -1 for all of them"},
		{is: ndarray.ErrFormat, text: means},
		{is: ndarray.ErrParam, text: means},
		{is: fs.ErrPermission, advice: "check the permissions of the file and of its directory"},
		{is: format.ErrLimit, when: func(f *failure) bool { return f.cmd.Flags().Changed("untrusted") },
			advice: "this limit applies to untrusted files only, because --untrusted was given"},
		{is: syscall.ENOTDIR, text: around},
		{is: ndarray.ErrCorrupt, text: corruptAdvice},
		{is: format.ErrVersion, text: corruptAdvice},
	}
}

// fileHints returns the advice for errors about a file that exists, in the order in which they are
// tried.
func fileHints() []hint {
	help := func(f *failure) string { return f.help }
	without := func(command string, also func(f *failure) bool) func(f *failure) bool {
		return func(f *failure) bool { return f.cmd.Name() != command && (also == nil || also(f)) }
	}
	metadata := func(f *failure) bool {
		return unreadableElements(f.err) && slices.Contains([]string{"info", "chunks", "attr"}, f.cmd.Name())
	}
	return []hint{
		{is: ndarray.ErrRegion, when: without("info", nil), text: func(f *failure) string {
			return "hyperslab info " + f.object() + " shows its shape; indexes count from 0"
		}},
		{is: ndarray.ErrType, when: func(f *failure) bool { return f.at.Op == "summarize" }, text: func(f *failure) string {
			return "hyperslab dump " + f.object() + " writes its elements"
		}},
		{is: ndarray.ErrValue, command: "convert", advice: "--round rounds values of --dtype, and --clip limits them to the range of the type"},
		{is: ndarray.ErrValue, command: "work", advice: "make a new plan with --round or --clip"},
		{is: ndarray.ErrValue, command: "dump", advice: "--csv and --json write all dates and integers, and missing values as NaN or NaT"},
		{is: ndarray.ErrValue, command: "stats", advice: "--raw takes the stored elements"},
		{command: "recover", when: func(f *failure) bool { return IsStore(f.format) }, text: func(f *failure) string {
			return "hyperslab cp takes a frame out of " + f.file + ", and hyperslab recover reads that"
		}},
		{when: metadata, advice: "without --untrusted the command shows the metadata"},
		{when: func(f *failure) bool { return unreadableElements(f.err) }, text: func(f *failure) string {
			return "hyperslab info " + f.object() + " shows the metadata; python-blosc2 can save the elements with another codec"
		}},
		{when: func(f *failure) bool {
			return unsupportedType(f.err) && f.format == hyperslab.HDF5 && !f.cmd.Flags().Changed("ddl")
		}, text: func(f *failure) string {
			return "hyperslab dump " + f.file + " --ddl writes the types that arrays cannot represent as text"
		}},
		{is: ndarray.ErrType, when: without("info", func(f *failure) bool { return f.format != hyperslab.HDF5 }),
			text: func(f *failure) string {
				return "hyperslab info " + f.object() + " shows its element type"
			}},
		{when: func(f *failure) bool { return unsupportedType(f.err) }, text: help},
		{is: ndarray.ErrRegion, text: help},
		{command: "verify", text: help},
	}
}

// writing reports whether an error is one of writing or syncing a file.
func writing(err error) bool {
	e, ok := errors.AsType[*fs.PathError](err)
	return ok && slices.Contains([]string{"sync", "write", "close", "truncate"}, e.Op)
}

// contains reports whether the error contains one of a type.
func contains[T error](f *failure) bool {
	_, is := errors.AsType[T](f.err)
	return is
}

// usageAdvice is for a mistake in the command line.
func usageAdvice(f *failure) string {
	usage, _ := errors.AsType[*usageError](f.err)
	return cmp.Or(usage.hint, f.help)
}

// rawBytes reports whether the type of raw bytes is given, but not their shape.
func rawBytes(f *failure) bool {
	flags := f.cmd.Flags()
	return flags.Lookup("shape") != nil && flags.Changed("dtype") && !flags.Changed("shape")
}

// absentAdvice is for an attribute that does not exist.
func absentAdvice(f *failure) string {
	absent, _ := errors.AsType[*AbsentAttr](f.err)
	if near := nearWord(absent.Name, absent.Names); near != "" {
		return "did you mean " + shellword.Quote(near) + "?"
	}
	return "hyperslab attr list " + shellword.Quote(absent.Address) + " lists the existing attributes"
}

// foreignAdvice is for a target that is a directory with other files than those of arrays.
const foreignAdvice = "-f replaces arrays and empty directories only: name another target, or remove the directory first"

// holdsOthers reports whether the existing target is a directory that -f does not replace.
func holdsOthers(f *failure) bool {
	loc, ok := existing(f.at.Path)
	if !ok || !IsDirectory(loc.File) {
		return false
	}
	other, err := detect.Foreign(loc.File)
	return err == nil && other != ""
}

// cannotReplace reports whether the command does not replace an existing target.
func cannotReplace(f *failure) bool {
	flags := f.cmd.Flags()
	return flags.Lookup("force") == nil || flags.Changed("split") || flags.Changed("join")
}

// parentAdvice is for a target in a group or directory that does not exist.
func parentAdvice(f *failure) string {
	if loc, ok := existing(f.at.Path); ok && loc.Object != "" {
		return "hyperslab ls -r " + shellword.Quote(loc.File) + " lists the objects of the file"
	}
	if loc, err := locate.Parse(f.at.Path); err == nil && !remote.IsURL(f.at.Path) {
		if dir := filepath.Dir(loc.File); dir != "" && !IsDirectory(dir) {
			return "create the directory " + shellword.Quote(dir) + " first"
		}
	}
	return "the directory must exist"
}

// corruptAdvice is for a file that is corrupt or of an unknown version.
func corruptAdvice(f *failure) string {
	text := "the file is corrupt, truncated, or of a newer version than the libraries here (hyperslab version --libs)"
	if loc, ok := existing(f.at.Path); ok && f.cmd.Name() != "verify" && f.cmd.Name() != "recover" {
		file := shellword.Quote(loc.File)
		text += "\n  hyperslab verify " + file + " reports where, hyperslab recover " + file + " NEW saves the readable part"
	}
	return text
}

// elsewhere reports whether an error is about another file that contains elements.
func elsewhere(err error) bool {
	text := err.Error()
	return errors.Is(err, fs.ErrNotExist) &&
		(strings.Contains(text, "source of a virtual dataset") || strings.Contains(text, "external file"))
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
	return ok && errors.Is(err, errors.ErrUnsupported) &&
		(strings.Contains(e.Got, "values are not in the file") || strings.HasPrefix(e.Want, "an available "))
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

// SummaryError counts failures that were reported one by one, each with its advice.
type SummaryError string

func (e SummaryError) Error() string { return string(e) }

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

// IsDirectory reports whether a directory of that name exists.
func IsDirectory(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// lookAround returns advice on how to find the array that location does not lead to.
func lookAround(location string) string {
	loc, err := locate.Parse(location)
	if err != nil {
		return ""
	}
	if location == Stdio {
		return "only convert reads standard input; save the data to a file and name that file"
	}
	switch format, err := hyperslab.Sniff(loc.File); {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		if meant := insideFile(location); meant != "" {
			return "did you mean " + shellword.Quote(meant) + "?"
		}
		if advice := cmp.Or(urlAdvice(location), otherAddress(location)); advice != "" {
			return advice
		}
		return "check the name of the file; an address is FILE or FILE:/path"
	case errors.Is(err, regularfile.ErrNot):
		return "these formats need random access, which a pipe does not have: save the data to a file and name that file"
	case err != nil && foreign(loc.File) != "":
		return foreign(loc.File)
	case err != nil && IsDirectory(loc.File):
		return "this directory is not an array and contains no arrays that hyperslab stores; name one of its files"
	case err != nil:
		return "supported formats are b2nd, Caterva, bcolz, HDF5 and .npy, detected by content; check that the file is the right one " +
			"and complete"
	case format == hyperslab.HDF5, IsStore(format):
		return "hyperslab ls -r " + shellword.Quote(loc.File) + " lists the objects of the file"
	case format == hyperslab.Directory:
		return "hyperslab ls -r " + shellword.Quote(loc.File) + " lists the objects of the directory"
	case loc.Object != "":
		return shellword.Quote(loc.File) + " alone names its array"
	}
	return ""
}
