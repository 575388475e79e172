// One run of the command, from its arguments to its exit code.

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"runtime/debug"
	"runtime/pprof"
	"slices"
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
	"github.com/hyperslab/hyperslab/internal/hdf5/h5walk"
	"github.com/hyperslab/hyperslab/internal/sandbox/worker"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/remote"
)

// app is the state that the parts of one call of Run share.
type app struct {
	stdout, stderr io.Writer
	help           output     // standard output for cobra, which does not return errors of help
	color          string     // --color
	width          int        // columns of the terminal that the pager uses, 0 without a pager
	data, talk     term.Paint // colours of standard output and of standard error
	isolation      string     // isolation of untrusted files, "" without --untrusted

	access  access   // how the command opens the files that it reads
	warned  sync.Map // messages and files of warnings that are written once
	plugins bool     // HDF5 may load filters until the end of Run
	remote  remoteFlags

	name atomic.Pointer[string] // of the running command, including its parent commands
}

// output remembers the first error of a writer.
type output struct {
	io.Writer
	err error
}

func (o *output) Write(b []byte) (int, error) {
	n, err := o.Writer.Write(b)
	if o.err == nil {
		o.err = err
	}
	return n, err
}

// Run executes the command line args (without the program's name) and returns the exit code. See
// the package comment for its values.
func Run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{stdout: stdout, stderr: stderr, help: output{Writer: stdout}, color: term.ColorAuto}
	a.name.Store(new("hyperslab"))
	ctx, stop := withSignals(context.Background(), func(sig *signalError) {
		if sig.signal != syscall.SIGPIPE {
			fmt.Fprintf(stderr, "%s: %v\n", *a.name.Load(), stopError(sig))
		}
	})
	defer stop()
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1)) // --memory changes both
	defer ndarray.SetReadMemory(ndarray.SetReadMemory(0))
	root := a.root()
	root.SetArgs(append([]string{}, args...)) // nil would mean os.Args
	if len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd) {
		registerValues(root)
	}
	root.SetIn(stdin)
	end, err := startProfile()
	if err != nil {
		return a.finish(ctx, root, err)
	}
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		err = a.help.err
	}
	a.remote.end(a)
	if a.plugins {
		err = errors.Join(err, h5.AllowPlugins())
	}
	if failed := end(); failed != nil {
		err = errors.Join(err, failed)
	}
	return a.finish(ctx, cmd, err)
}

// openHDF5 opens an HDF5 file for reading, and warns if it has no lock.
func (a *app) openHDF5(file string) (*h5.File, error) {
	if remote.IsURL(file) {
		return openHDF5URL(file)
	}
	return a.openLocalHDF5(file, nil)
}

// openLocalHDF5 opens an HDF5 file, and takes opened: the same file, or nil.
func (a *app) openLocalHDF5(file string, opened *os.File) (*h5.File, error) {
	f, err := h5walk.Open(file, opened)
	if err != nil {
		return nil, err
	}
	if why := f.Unlocked(); why != nil {
		a.unlocked(file, why)
	}
	return f, nil
}

// unlocked warns once about each file that is read without a lock.
func (a *app) unlocked(path string, _ error) {
	if _, before := a.warned.LoadOrStore(path, true); !before {
		a.note("%s warning: %s is read without a file lock, because its file system refuses locks; another program can change it meanwhile", a.talk.Notice(*a.name.Load()+":"), term.Safe(path))
	}
}

func (a *app) root() *cobra.Command {
	var plugins []string
	root := &cobra.Command{
		Use:   "hyperslab",
		Short: "Look at, convert and compare arrays in Blosc2, Caterva, bcolz and HDF5 files",
		Long: `hyperslab shows, converts and compares arrays in Blosc2 (b2nd), Caterva,
bcolz and HDF5 files.

An array is addressed as FILE:/path inside HDF5, and as FILE where the file is the
array. The format of an input is recognised by its content, never by its name.

Standard output carries data, standard error everything else. Exit codes: 0 done or the
same, 1 different or corrupt, 2 wrong usage or impossible, 3 partly done, 4 refused to
overwrite, 5 a C library crashed (one line names the file and the library; temporary
files stay), 130 and 143 interrupted (temporary files are removed first).`,
		Version:       newVersionDoc().Version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("there is no command %q%s", args[0], near(cmd, args[0]))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(cmd *cobra.Command, args []string) error {
			a.name.Store(new(cmd.CommandPath()))
			nameFiles(cmd.CommandPath(), args)
			if err := oneOf("--color", a.color, term.ColorAuto, term.ColorAlways, term.ColorNever); err != nil {
				return err
			}
			if err := together(cmd); err != nil {
				return err
			}
			a.isolation = isolationOf(cmd)
			if err := a.remote.begin(a); err != nil {
				return err
			}
			a.data = term.Colors(a.color, a.stdout, os.Getenv)
			a.talk = term.Colors(a.color, a.stderr, os.Getenv)
			if len(plugins) == 0 {
				return nil
			}
			if f := cmd.Flags().Lookup("untrusted"); f != nil && f.Changed && f.Value.String() != "false" {
				return usagef("--plugin-path and --untrusted do not go together: code of a plug-in runs outside the sandbox")
			}
			a.plugins = true
			return h5.AllowPlugins(plugins...)
		},
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{err} })
	root.Flags().Bool("version", false, "show the version")
	root.PersistentFlags().StringVar(&a.color, "color", a.color, "colour headings and messages `WHEN`: auto, always or never")
	root.PersistentFlags().StringArrayVar(&plugins, "plugin-path", nil, "allow HDF5 to load filters that a file names from `DIR`; their code runs in this process; may be given several times")
	a.remote.add(root)
	root.SetOut(&a.help)
	root.SetErr(a.stderr)
	root.AddCommand(a.commands()...)
	root.SetHelpCommand(helpCommand())
	completions(root) // which copies the current output stream
	return root
}

// helpCommand is cobra's help command, except that help on an unknown command is an error.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "help [COMMAND]",
		Short:             "Show the help of a command",
		Args:              arity(0, 1),
		ValidArgsFunction: completeCommands,
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return usagef("there is no command %q%s", args[0], near(cmd.Root(), args[0]))
			}
			return found.Help()
		},
	}
}

// otherNames are names of commands in other programs.
var otherNames = map[string]string{
	"cat": "dump", "head": "dump", "print": "dump", "show": "dump", "dir": "ls", "list": "ls",
	"describe": "info", "header": "info", "check": "verify", "test": "verify", "compress": "repack",
	"cmp": "diff", "compare": "diff", "copy": "cp", "delete": "rm", "remove": "rm", "open": "view",
	"repair": "recover", "export": "convert", "import": "convert",
}

// near suggests the commands whose names resemble word or mean the same, or how to list a file of
// that name.
func near(cmd *cobra.Command, word string) string {
	if loc, ok := existing(word); ok && !cmd.HasParent() {
		return "; hyperslab ls " + shellWord(loc.File) + " lists it"
	}
	names := []string{otherNames[word]}
	if names[0] == "" || cmd.HasParent() {
		cmd.SuggestionsMinimumDistance = min(2, max(1, len(word)/2))
		names = cmd.SuggestionsFor(word)
	}
	if len(names) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(names, " or ") + "?"
}

// finish reports err and turns it into the exit code.
func (a *app) finish(ctx context.Context, cmd *cobra.Command, err error) int {
	cleanup := atomicfile.AbortAll() // an output is pending only if the job was interrupted
	if errors.Is(err, worker.ErrCrashed) {
		// An interrupt of the process group also ends a worker that is not yet in a group of its
		// own.
		select {
		case <-ctx.Done():
		case <-time.After(signalDelay):
		}
	}
	var sig *signalError
	switch {
	case errors.As(context.Cause(ctx), &sig), errors.As(err, &sig):
	case errors.Is(err, syscall.EPIPE) && outputClosed(): // the signal will arrive
		sig = &signalError{syscall.SIGPIPE}
	}
	code := exitCode(err)
	switch {
	case sig != nil:
		code = sig.code()
		if sig.signal != syscall.SIGPIPE {
			a.complain(cmd, stopError(sig))
		}
	case err != nil:
		if !onlyCode(err) {
			a.complain(cmd, err)
		}
	}
	if cleanup != nil {
		a.complain(cmd, fmt.Errorf("removing temporary files: %w", cleanup))
		if code == exitOK {
			code = exitCannot
		}
	}
	return code
}

// stopError reports that a signal ended the command.
func stopError(sig *signalError) error {
	return fmt.Errorf("stopped by a signal (%w); no temporary file is left", sig)
}

// temporary matches the name of an incomplete output.
var temporary = regexp.MustCompile(`(^|[/ ])\.([^/]*?)\.tmp-[0-9]+-[0-9]+(-[0-9a-f]+)?`)

// complain writes "hyperslab COMMAND: PROBLEM" and a line with advice.
func (a *app) complain(cmd *cobra.Command, err error) {
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
	text = temporary.ReplaceAllString(text, "$1$2")                                                                        // the user named the target
	text = term.SafeLines(strings.ReplaceAll(text, ": register it (RegisterFilter) or allow a plugin (AllowPlugins)", "")) // advice names the flag
	fmt.Fprintf(a.stderr, "%s %s\n", a.talk.Failure(cmd.CommandPath()+":"), text)
	if todo := a.advice(cmd, err); todo != "" {
		fmt.Fprintf(a.stderr, "  %s\n", term.SafeLines(todo))
	}
}

// note writes a line to standard error. Control characters appear as escapes, except those of a
// paint.
func (a *app) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	var out strings.Builder
	for text != "" {
		at, code := len(text), "" // of the next sequence
		for _, c := range term.Sequences {
			if i := strings.Index(text, c); bool(a.talk) && i >= 0 && i < at {
				at, code = i, c
			}
		}
		out.WriteString(term.SafeLines(text[:at]) + code)
		text = text[min(at+len(code), len(text)):]
	}
	fmt.Fprintln(a.stderr, out.String())
}

// oneOf checks a flag that accepts a fixed set of words.
func oneOf(flag, value string, words ...string) error {
	if slices.Contains(words, value) {
		return nil
	}
	last := len(words) - 1
	return usagef("%s %s: want %s or %s", flag, value, strings.Join(words[:last], ", "), words[last])
}

// together returns an error for two mutually exclusive flags (MarkFlagsMutuallyExclusive). It runs
// before cobra's check, whose message lists all flags of the group.
func together(cmd *cobra.Command) (err error) {
	given := make(map[string]string) // the flag, by group
	cmd.Flags().Visit(func(f *pflag.Flag) {
		for _, group := range f.Annotations["cobra_annotation_mutually_exclusive"] {
			if other, ok := given[group]; ok && err == nil {
				err = usagef("--%s and --%s do not go together", other, f.Name)
			}
			given[group] = f.Name
		}
	})
	return err
}

// arity checks the number of arguments. A most of -1 means any number.
func arity(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch n := len(args); {
		case n < least:
			return usagef("%s missing: %s", term.Plural(int64(least-n), "argument"), usage(cmd))
		case most >= 0 && n > most:
			return usagef("%q is one argument too many: %s", args[most], usage(cmd))
		}
		return nil
	}
}

// usage returns the usage line, including the parent commands.
func usage(cmd *cobra.Command) string {
	return strings.TrimSuffix(cmd.CommandPath(), cmd.Name()) + cmd.Use
}

// profileVariable is the environment variable that names the file of a CPU profile.
const profileVariable = "HYPERSLAB_CPUPROFILE"

// startProfile begins a CPU profile in the file that the environment variable HYPERSLAB_CPUPROFILE
// names. stop ends it. Without the variable both have no effect.
func startProfile() (stop func() error, err error) {
	path := os.Getenv(profileVariable)
	if path == "" {
		return func() error { return nil }, nil
	}
	f, err := os.Create(path)
	if err == nil {
		err = pprof.StartCPUProfile(f)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", profileVariable, err)
	}
	return func() error { pprof.StopCPUProfile(); return f.Close() }, nil
}
