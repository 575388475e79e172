// Flags that several commands share.

package shell

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/ndarray"
)

// JSONFlag adds --json to a command.
func JSONFlag(cmd *cobra.Command, to *bool) {
	f := cmd.Flags().VarPF(&jsonValue{on: to}, "json", "", "write one JSON document (schema in docs/json.md); =lines: one line for each")
	f.NoOptDefVal = "true"
}

// jsonValue is the value of --json.
type jsonValue struct {
	on    *bool
	lines bool
}

// Set implements pflag.Value.
func (v *jsonValue) Set(text string) error {
	v.lines = text == "lines"
	if v.lines {
		*v.on = true
		return nil
	}
	on, err := strconv.ParseBool(text)
	if err != nil {
		return fmt.Errorf("got %q, want lines or no value", text)
	}
	*v.on = on
	return nil
}

// String implements pflag.Value.
func (v *jsonValue) String() string { return strconv.FormatBool(v.on != nil && *v.on) }

// Type implements pflag.Value.
func (v *jsonValue) Type() string { return "bool" }

// JSONLines reports whether a command was called with --json=lines.
func JSONLines(cmd *cobra.Command) bool {
	f := cmd.Flags().Lookup("json")
	if f == nil {
		return false
	}
	v, is := f.Value.(*jsonValue)
	return is && v.lines
}

// The functions that follow add flags that several commands have, so that name, letter and type are
// the same everywhere. usage describes the flag for the command.

// ForceFlag adds --force to a command.
func ForceFlag(cmd *cobra.Command, to *bool, usage string) {
	cmd.Flags().BoolVarP(to, "force", "f", false, usage)
}

// AllFlag adds --all to a command.
func AllFlag(cmd *cobra.Command, to *bool, usage string) {
	cmd.Flags().BoolVar(to, "all", false, usage)
}

// QuietFlag adds --quiet to a command.
func QuietFlag(cmd *cobra.Command, to *bool, usage string) {
	cmd.Flags().BoolVarP(to, "quiet", "q", false, usage)
}

// InPlaceFlag adds --in-place to a command that changes files.
func InPlaceFlag(cmd *cobra.Command, to *bool, usage string) {
	cmd.Flags().BoolVar(to, "in-place", false, usage)
}

// DryRunFlag adds --dry-run to a command.
func DryRunFlag(cmd *cobra.Command, to *bool, usage string) {
	cmd.Flags().BoolVar(to, "dry-run", false, usage)
}

// RecursiveFlag adds --recursive to a command.
func RecursiveFlag(cmd *cobra.Command, to *bool, usage string) {
	cmd.Flags().BoolVarP(to, "recursive", "r", false, usage)
}

// OutputFlag adds --output to a command that writes a file.
func OutputFlag(cmd *cobra.Command, to *string, usage string) {
	cmd.Flags().StringVarP(to, "output", "o", "", usage)
}

// JobsFlag adds --jobs to a command.
func JobsFlag(cmd *cobra.Command, to *int, value int, usage string) {
	cmd.Flags().IntVarP(to, "jobs", "j", value, usage)
}

// MemoryFlag adds --memory to a command.
func MemoryFlag(cmd *cobra.Command, to *string, value, usage string) {
	cmd.Flags().StringVarP(to, "memory", "M", value, usage)
}

// LimitFlag adds --limit to a command that lists findings.
func LimitFlag(cmd *cobra.Command, to *int, value int, usage string) {
	cmd.Flags().IntVarP(to, "limit", "n", value, usage)
}

// DepthFlag adds --level to a command that prints a tree.
func DepthFlag(cmd *cobra.Command, to *int) {
	cmd.Flags().IntVarP(to, "level", "L", 0, "only `N` levels; 0 means all")
}

// SizeFlag adds --size to a command that draws a picture.
func SizeFlag(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "size", "900x600", "`WIDTHxHEIGHT` of the picture in pixels")
}

// CopyMissingFlag adds --allow-missing to a command that copies datasets.
func CopyMissingFlag(cmd *cobra.Command, to *bool) {
	cmd.Flags().BoolVar(to, "allow-missing", false,
		"copy virtual datasets and datasets with external files although those files are missing")
}

// RawFlag adds --raw to a command that shows values. verb begins its description. The flag was
// --as-is before, which still works.
func RawFlag(cmd *cobra.Command, to *bool, verb string) {
	cmd.Flags().BoolVar(to, "raw", false,
		verb+" the stored elements: no scale_factor, add_offset, _FillValue, missing_value or valid_range")
	cmd.Flags().BoolVar(to, "as-is", false, "same as --raw")
	_ = cmd.Flags().MarkHidden("as-is")
}

// JobFlags are the flags of commands that process whole arrays.
type JobFlags struct {
	Jobs     int
	Memory   string
	Progress string
	Quiet    bool

	Given bool  // --memory was given
	Limit int64 // --memory in bytes, after Check
	Flags *pflag.FlagSet
}

// Goroutines returns the number of goroutines for --jobs, of which 0 means one for each processor.
func Goroutines(jobs int) int { return cmp.Or(jobs, runtime.GOMAXPROCS(0)) }

// ownMemory is the memory of the program in addition to the buffers of a job, in bytes.
const ownMemory = 32 << 20

// Add adds the flags to a command. quiet describes --quiet.
func (j *JobFlags) Add(cmd *cobra.Command, quiet string) {
	f := cmd.Flags()
	j.Flags = f
	JobsFlag(cmd, &j.Jobs, 0, "number `N` of workers; 0 means all cores")
	MemoryFlag(cmd, &j.Memory, "128MiB",
		"maximum `BYTES` of the buffers of all workers; if the flag is given, a chunk that needs more is an error")
	ProgressFlag(cmd, &j.Progress)
	QuietFlag(cmd, &j.Quiet, quiet)
}

// ProgressFlag adds --progress to a command.
func ProgressFlag(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "progress", term.ProgressAuto, "`KIND` of progress: auto (a bar on a terminal), none, plain or json")
	CompleteWords(cmd, "progress", term.ProgressAuto, term.ProgressNone, term.ProgressPlain, term.ProgressJSON)
}

// CheckProgress checks the value of --progress.
func CheckProgress(kind string) error {
	return OneOf("--progress", kind, term.ProgressAuto, term.ProgressNone, term.ProgressPlain, term.ProgressJSON)
}

// Check checks the flags and returns the memory limit in bytes.
func (j *JobFlags) Check() (memory int64, err error) {
	if j.Jobs < 0 {
		return 0, Usagef("-j %d: want 0 or more workers", j.Jobs)
	}
	if err := CheckProgress(j.Progress); err != nil {
		return 0, err
	}
	j.Given = j.Flags != nil && j.Flags.Changed("memory")
	if j.Quiet {
		j.Progress = term.ProgressNone
	}
	memory, err = term.ParseBytes(j.Memory)
	switch {
	case err != nil:
		return 0, Usagef("--memory: %w", err)
	case memory < 1:
		return 0, Usagef("--memory %s: want at least one byte", j.Memory)
	}
	if own := memory + ownMemory; own > memory {
		debug.SetMemoryLimit(own) // so that unused memory does not accumulate
	}
	ndarray.SetReadMemory(memory)
	j.Limit = memory
	return memory, nil
}

// AttrFlags choose the attributes that are left out.
type AttrFlags struct {
	Names       []string
	Unsupported bool
}

// Add adds the flags to a command. verb begins their descriptions, for example "leave out".
func (x *AttrFlags) Add(cmd *cobra.Command, verb string) {
	f := cmd.Flags()
	f.StringArrayVar(&x.Names, "exclude-attr", nil, verb+" the attribute `NAME`; may be given several times")
	f.BoolVar(&x.Unsupported, "exclude-unsupported", false, verb+" attributes of unsupported types")
}

// Accept reports whether the flags allow that a tree loses something.
func (x *AttrFlags) Accept(p hyperslab.Problem) bool {
	name, isAttr := strings.CutPrefix(p.What, "attribute ")
	return x.Unsupported || isAttr && slices.Contains(x.Names, name)
}

// Lost reports things that the target of a command does not keep.
func (a *App) Lost(command string, lost []string) {
	for _, text := range lost {
		a.Note("%s %snot kept: %s", a.Talk.Notice("hyperslab "+command+":"), a.about(), term.Safe(text))
	}
}

// about begins a message about one of several sources.
func (a *App) about() string {
	if a.About == "" {
		return ""
	}
	return term.Safe(a.About) + ": "
}

// Unreadable reports objects that were left out, and returns their descriptions.
func (a *App) Unreadable(command string, problems []hyperslab.Problem) []string {
	texts := []string{}
	for _, p := range problems {
		texts = append(texts, p.String())
		a.Note("%s %scannot be read, left out: %s", a.Talk.Failure("hyperslab "+command+":"), a.about(), term.Safe(p.String()))
	}
	return texts
}

// PickFlags choose the objects of a tree that are left out.
type PickFlags struct {
	exclude []string
	Skip    bool
}

// Add adds the flags to a command.
func (p *PickFlags) Add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVar(&p.exclude, "exclude", nil, "leave out the objects of a tree that `PATTERN` matches and all objects below them: a "+
		"path or a name, with *, ? and [ ]; repeatable")
	f.BoolVar(&p.Skip, "skip-unreadable", false, "of a tree, leave out objects that cannot be read, report each, and end with exit code 3")
}

// Given reports whether one of the flags leaves out objects.
func (p *PickFlags) Given() bool { return len(p.exclude) > 0 || p.Skip }

// Check checks that the patterns are valid.
func (p *PickFlags) Check() error {
	for _, pattern := range p.exclude {
		if _, err := path.Match(pattern, ""); err != nil {
			return Usagef("--exclude %s: not a valid pattern", pattern)
		}
	}
	return nil
}

// Excluded reports whether a pattern matches an object. A pattern with a slash is compared with the
// object's path, any other with its name.
func (p *PickFlags) Excluded(object string) bool {
	return slices.ContainsFunc(p.exclude, func(pattern string) bool {
		of := path.Base(object)
		if strings.Contains(pattern, "/") {
			pattern, of = "/"+strings.Trim(pattern, "/"), object
		}
		matches, err := path.Match(pattern, of)
		return matches && err == nil || pattern == of
	})
}

// Unreadable returns a function that reports objects of a file that cannot be copied, each once. It
// returns nil if such objects are errors.
func (p *PickFlags) Unreadable(a *App, command string, list *[]string) func(path string, err error) bool {
	if !p.Skip {
		return nil
	}
	return func(path string, err error) bool {
		switch {
		case errors.Is(err, ndarray.ErrCorrupt), errors.Is(err, h5.ErrNoFilter), errors.Is(err, errors.ErrUnsupported), errors.Is(err,
			ndarray.ErrFormat):
		default:
			return false // for example a full disk
		}
		text := path + ": " + err.Error()
		if !slices.Contains(*list, text) {
			*list = append(*list, text)
			a.Note("%s %scannot be read, left out: %s", a.Talk.Failure("hyperslab "+command+":"), a.about(), term.Safe(text))
		}
		return true
	}
}

// Joined returns words with commas between them.
func Joined(words []string) string { return strings.Join(words, ", ") }
