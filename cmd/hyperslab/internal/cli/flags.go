// Flags that several commands share.

package cli

import (
	"cmp"
	"errors"
	"path"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/ndarray"
)

func jsonFlag(cmd *cobra.Command, to *bool) {
	cmd.Flags().BoolVar(to, "json", false, "write one JSON document (schema in docs/json.md)")
}

// jobFlags are the flags of commands that process whole arrays.
type jobFlags struct {
	jobs     int
	memory   string
	progress string
	quiet    bool

	given bool // --memory was given
	flags *pflag.FlagSet
}

// goroutines returns the number of goroutines for --jobs, of which 0 means one for each processor.
func goroutines(jobs int) int { return cmp.Or(jobs, runtime.GOMAXPROCS(0)) }

// ownMemory is the memory of the program in addition to the buffers of a job, in bytes.
const ownMemory = 32 << 20

func (j *jobFlags) add(cmd *cobra.Command, quiet string) {
	f := cmd.Flags()
	j.flags = f
	f.IntVarP(&j.jobs, "jobs", "j", 0, "number `N` of workers; 0 means all cores")
	f.StringVarP(&j.memory, "memory", "M", "128MiB", "maximum `BYTES` of the buffers of all workers; if the flag is given, a chunk that needs more is an error")
	progressFlag(cmd, &j.progress)
	f.BoolVarP(&j.quiet, "quiet", "q", false, quiet)
}

func progressFlag(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "progress", term.ProgressAuto, "`KIND` of progress: auto (a bar on a terminal), none, plain or json")
	completeWords(cmd, "progress", term.ProgressAuto, term.ProgressNone, term.ProgressPlain, term.ProgressJSON)
}

func checkProgress(kind string) error {
	return oneOf("--progress", kind, term.ProgressAuto, term.ProgressNone, term.ProgressPlain, term.ProgressJSON)
}

// check checks the flags and returns the memory limit in bytes.
func (j *jobFlags) check() (memory int64, err error) {
	if j.jobs < 0 {
		return 0, usagef("-j %d: want 0 or more workers", j.jobs)
	}
	if err := checkProgress(j.progress); err != nil {
		return 0, err
	}
	j.given = j.flags != nil && j.flags.Changed("memory")
	if j.quiet {
		j.progress = term.ProgressNone
	}
	memory, err = term.ParseBytes(j.memory)
	switch {
	case err != nil:
		return 0, usagef("--memory: %w", err)
	case memory < 1:
		return 0, usagef("--memory %s: want at least one byte", j.memory)
	}
	if own := memory + ownMemory; own > memory {
		debug.SetMemoryLimit(own) // so that unused memory does not accumulate
	}
	ndarray.SetReadMemory(memory)
	return memory, nil
}

// attrFlags choose the attributes that are left out.
type attrFlags struct {
	names       []string
	unsupported bool
}

func (x *attrFlags) add(cmd *cobra.Command, verb string) {
	f := cmd.Flags()
	f.StringArrayVar(&x.names, "exclude-attr", nil, verb+" the attribute `NAME`; may be given several times")
	f.BoolVar(&x.unsupported, "exclude-unsupported", false, verb+" attributes of unsupported types")
}

// pickFlags choose the objects of a tree that are left out.
type pickFlags struct {
	exclude []string
	skip    bool
}

func (p *pickFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVar(&p.exclude, "exclude", nil, "leave out the objects of a tree that `PATTERN` matches and all objects below them: a path or a name, with *, ? and [ ]; repeatable")
	f.BoolVar(&p.skip, "skip-unreadable", false, "of a tree, leave out objects that cannot be read, report each, and end with exit code 3")
}

func (p *pickFlags) given() bool { return len(p.exclude) > 0 || p.skip }

// check checks that the patterns are valid.
func (p *pickFlags) check() error {
	for _, pattern := range p.exclude {
		if _, err := path.Match(pattern, ""); err != nil {
			return usagef("--exclude %s: not a valid pattern", pattern)
		}
	}
	return nil
}

// excluded reports whether a pattern matches an object. A pattern with a slash is compared with the
// object's path, any other with its name.
func (p *pickFlags) excluded(object string) bool {
	return slices.ContainsFunc(p.exclude, func(pattern string) bool {
		of := path.Base(object)
		if strings.Contains(pattern, "/") {
			pattern, of = "/"+strings.Trim(pattern, "/"), object
		}
		matches, err := path.Match(pattern, of)
		return matches && err == nil || pattern == of
	})
}

// unreadable returns a function that reports objects of a file that cannot be copied, each once. It
// returns nil if such objects are errors.
func (p *pickFlags) unreadable(a *app, command string, list *[]string) func(path string, err error) bool {
	if !p.skip {
		return nil
	}
	return func(path string, err error) bool {
		switch {
		case errors.Is(err, ndarray.ErrCorrupt), errors.Is(err, h5.ErrNoFilter), errors.Is(err, errors.ErrUnsupported), errors.Is(err, ndarray.ErrFormat):
		default:
			return false // for example a full disk
		}
		text := path + ": " + err.Error()
		if !slices.Contains(*list, text) {
			*list = append(*list, text)
			a.note("%s cannot be read, left out: %s", a.talk.Failure("hyperslab "+command+":"), term.Safe(text))
		}
		return true
	}
}

func joined(words []string) string { return strings.Join(words, ", ") }
