package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
	"github.com/hyperslab/hyperslab/internal/location/shellword"
	"github.com/hyperslab/hyperslab/internal/sandbox/worker"
	"github.com/hyperslab/hyperslab/internal/tree/opened"
	"github.com/hyperslab/hyperslab/ndarray"
)

// App is the state that the parts of one call of Run share.
type App struct {
	Stdout, Stderr io.Writer
	Secrets        *Secrets   // not written to them
	Help           Output     // standard output for cobra, which does not return errors of help
	Color          string     // --color
	width          int        // columns of the terminal that the pager uses, 0 without a pager
	Data, Talk     term.Paint // colours of standard output and of standard error
	Isolation      string     // isolation of untrusted files, "" without --untrusted

	Lines bool   // documents of --json are written on one line each
	About string // source that messages are about, if there are several; "": it follows from the command

	Access  access   // how the command opens the files that it reads
	warned  sync.Map // messages and files of warnings that are written once
	Plugins bool     // HDF5 may load filters until the end of Run
	Remote  remoteFlags

	FilePlan *FilePlan // Into makes or does a part of a plan; nil: it writes all targets

	Name atomic.Pointer[string] // of the running command, including its parent commands
}

// Output remembers the first error of a writer.
type Output struct {
	io.Writer
	Err error
}

func (o *Output) Write(b []byte) (int, error) {
	n, err := o.Writer.Write(b)
	if o.Err == nil {
		o.Err = err
	}
	return n, err
}

// OpenHDF5 opens an HDF5 file for reading, and warns if it has no lock.
func (a *App) OpenHDF5(ctx context.Context, file string) (*h5.File, error) {
	return opened.OpenHDF5(ctx, file, nil, a.Unlocked)
}

// HDF5Files returns an empty set of open HDF5 files, which warns about files without a lock.
func (a *App) HDF5Files() *opened.Files { return &opened.Files{Unlocked: a.Unlocked} }

// Unlocked warns once about each file that is read without a lock.
func (a *App) Unlocked(path string, _ error) {
	if _, before := a.warned.LoadOrStore(path, true); !before {
		a.Note("%s warning: %s is read without a file lock, because its file system refuses locks; another program can change it meanwhile",
			a.Talk.Notice(*a.Name.Load()+":"), term.Safe(path))
	}
}

// OtherNames are names of commands in other programs, with the commands and flags of this one.
var OtherNames = map[string]string{
	"cat": "dump", "head": "dump", "print": "dump", "show": "dump", "dir": "ls", "list": "ls",
	"describe": "info", "header": "info", "check": "verify", "test": "verify", "compress": "repack",
	"cmp": "diff", "compare": "diff", "copy": "cp", "delete": "rm", "remove": "rm", "open": "view",
	"repair": "recover", "export": "convert", "import": "convert", "validate": "verify", "stat": "info", "attrs": "attr",
	"h5ls": "ls", "h5dump": "dump --ddl", "h5diff": "diff", "h5repack": "repack", "h5copy": "cp", "h5stat": "info", "h5glance": "tree",
	"ncdump": "dump --ddl", "nccopy": "convert", "ptdump": "tree", "ptrepack": "repack", "b2view": "view",
}

// Near suggests the commands whose names resemble word or mean the same, or how to list a file of
// that name.
func Near(cmd *cobra.Command, word string) string {
	if loc, ok := existing(word); ok && !cmd.HasParent() {
		return "; hyperslab ls " + shellword.Quote(loc.File) + " lists it"
	}
	names := []string{OtherNames[word]}
	if names[0] == "" || cmd.HasParent() {
		cmd.SuggestionsMinimumDistance = min(2, max(1, len(word)/2))
		names = cmd.SuggestionsFor(word)
	}
	if len(names) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(names, " or ") + "?"
}

// Finish reports err and turns it into the exit code.
func (a *App) Finish(ctx context.Context, cmd *cobra.Command, err error) int {
	cleanup := atomicfile.AbortAll() // an output is pending only if the job was interrupted
	if errors.Is(err, worker.ErrCrashed) {
		// An interrupt of the process group also ends a worker that is not yet in a group of its
		// own.
		select {
		case <-ctx.Done():
		case <-time.After(signalDelay):
		}
	}
	var sig *SignalError
	switch {
	case errors.As(context.Cause(ctx), &sig), errors.As(err, &sig):
	case errors.Is(err, syscall.EPIPE) && outputClosed(): // the signal will arrive
		sig = &SignalError{syscall.SIGPIPE}
	}
	if sig != nil && err == nil && sig.Signal != syscall.SIGPIPE {
		sig = nil // the work was done before it could be stopped
	}
	code := exitCode(err)
	switch {
	case sig != nil:
		code = sig.code()
		if sig.Signal != syscall.SIGPIPE {
			a.complain(cmd, StopError(sig))
		}
	case err != nil:
		if !onlyCode(err) {
			a.complain(cmd, err)
		}
	}
	for _, dir := range atomicfile.Unsynced() {
		a.Note("%s the file system of %s cannot sync files: a power failure can lose the output", a.Talk.Notice(cmd.CommandPath()+":"), dir)
	}
	if cleanup != nil {
		a.complain(cmd, fmt.Errorf("removing temporary files: %w", cleanup))
		if code == ExitOK {
			code = exitCannot
		}
	}
	return code
}

// StopError reports that a signal ended the command, and the outputs that it had completed.
func StopError(sig *SignalError) error {
	switch count, last := atomicfile.Committed(); count {
	case 0:
		return fmt.Errorf("stopped by a signal (%w); no temporary file is left", sig)
	case 1:
		return fmt.Errorf("stopped by a signal (%w) after it wrote %s; no temporary file is left", sig, last)
	default:
		return fmt.Errorf("stopped by a signal (%w) after it wrote %d files, the last one %s; no temporary file is left", sig, count, last)
	}
}

// temporary matches the name of an incomplete output.
var temporary = regexp.MustCompile(`(^|[/ ])\.([^/]*?)\.tmp-[0-9]+-[0-9]+(-[0-9a-f]+)?`)

// complain writes "hyperslab COMMAND: PROBLEM" and a line with advice.
func (a *App) complain(cmd *cobra.Command, err error) {
	text := strings.TrimPrefix(err.Error(), "ndarray: ") // the name of the package does not help users
	failed, file := &ndarray.Error{}, &fs.PathError{}
	if errors.As(err, &failed) { // operation and path should appear only once
		if errors.As(failed.Err, &file) && failed.Path == file.Path {
			text = strings.Replace(text, file.Op+" "+file.Path+": ", "", 1)
		}
		if failed.Op == cmd.Name() {
			text = strings.TrimPrefix(text, failed.Op+" ")
		}
	}
	text = temporary.ReplaceAllString(text,
		"$1$2") // the user named the target
	text = term.SafeLines(strings.ReplaceAll(text, ": register it (RegisterFilter) or allow a plugin (AllowPlugins)",
		"")) // advice names the flag
	fmt.Fprintf(a.Stderr, "%s %s\n", a.Talk.Failure(cmd.CommandPath()+":"), text)
	if todo := a.advice(cmd, err); todo != "" {
		fmt.Fprintf(a.Stderr, "  %s\n", term.SafeLines(todo))
	}
}

// Note writes a line to standard error. Control characters appear as escapes, except those of a
// paint.
func (a *App) Note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	var out strings.Builder
	for text != "" {
		at, code := len(text), "" // of the next sequence
		for _, c := range term.Sequences {
			if i := strings.Index(text, c); bool(a.Talk) && i >= 0 && i < at {
				at, code = i, c
			}
		}
		out.WriteString(term.SafeLines(text[:at]) + code)
		text = text[min(at+len(code), len(text)):]
	}
	fmt.Fprintln(a.Stderr, out.String())
}

// Together returns an error for two mutually exclusive flags (MarkFlagsMutuallyExclusive). It runs
// before cobra's check, whose message lists all flags of the group.
func Together(cmd *cobra.Command) (err error) {
	given := make(map[string]string) // the flag, by group
	cmd.Flags().Visit(func(f *pflag.Flag) {
		for _, group := range f.Annotations["cobra_annotation_mutually_exclusive"] {
			if other, ok := given[group]; ok && err == nil {
				err = Usagef("--%s and --%s do not go together", other, f.Name)
			}
			given[group] = f.Name
		}
	})
	return err
}

// Arity checks the number of arguments. A most of -1 means any number.
func Arity(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch n := len(args); {
		case n < least:
			return Usagef("%s missing: %s", term.Plural(int64(least-n), "argument"), usage(cmd))
		case most >= 0 && n > most:
			return Hintf(excess(cmd, args), "%q is one argument too many: %s", args[most], usage(cmd))
		}
		return nil
	}
}

// usage returns the usage line, including the parent commands.
func usage(cmd *cobra.Command) string {
	return strings.TrimSuffix(cmd.CommandPath(), cmd.Name()) + cmd.Use
}
