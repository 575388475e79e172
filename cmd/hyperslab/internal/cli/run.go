// One run of the command, from its arguments to its exit code.

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"runtime/pprof"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/inspect"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/cmem"
	"github.com/hyperslab/hyperslab/ndarray"
)

// CatchCrashes ends the process with its own exit code and one line if a C library crashes.
func CatchCrashes() { cmem.CatchCrashes(shell.ExitCrashed) }

// Run executes the command line args (without the program's name) and returns the exit code. See
// the package comment for its values.
func Run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	secrets, flush := new(shell.Secrets), func() error { return nil }
	if secrets.Of(args) {
		out, diagnostics := secrets.Writer(stdout), secrets.Writer(stderr)
		stdout, stderr = out, diagnostics
		flush = func() error { return errors.Join(out.Flush(), diagnostics.Flush()) }
	}
	a := &shell.App{Stdout: stdout, Stderr: stderr, Secrets: secrets, Help: shell.Output{Writer: stdout}, Color: term.ColorAuto}
	defer func() { _ = flush() }() // the message of an error has no reader any more
	a.Name.Store(new("hyperslab"))
	ctx, stop := shell.WithSignals(context.Background(), func(sig *shell.SignalError) {
		if sig.Signal != syscall.SIGPIPE {
			fmt.Fprintf(stderr, "%s: %v\n", *a.Name.Load(), shell.StopError(sig))
		}
	})
	defer stop()
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1)) // --memory changes both
	defer ndarray.SetReadMemory(ndarray.SetReadMemory(0))
	root := newRoot(a)
	root.SetArgs(append([]string{}, args...)) // nil would mean os.Args
	if len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd) {
		shell.RegisterValues(root)
	}
	root.SetIn(stdin)
	end, err := startProfile()
	if err != nil {
		return a.Finish(ctx, root, err)
	}
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		err = a.Help.Err
	}
	a.Remote.End(a)
	if a.Plugins {
		err = errors.Join(err, h5.AllowPlugins())
	}
	if failed := errors.Join(end(), flush()); failed != nil {
		err = errors.Join(err, failed)
	}
	return a.Finish(ctx, cmd, err)
}

func newRoot(a *shell.App) *cobra.Command {
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
		Version:       inspect.NewVersionDoc().Version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return shell.Usagef("there is no command %q%s", args[0], shell.Near(cmd, args[0]))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(cmd *cobra.Command, args []string) error {
			a.Name.Store(new(cmd.CommandPath()))
			shell.NameFiles(cmd.CommandPath(), args, cmd.Flags().Lookup("untrusted") != nil)
			if err := shell.OneOf("--color", a.Color, term.ColorAuto, term.ColorAlways, term.ColorNever); err != nil {
				return err
			}
			if err := shell.Together(cmd); err != nil {
				return err
			}
			a.Isolation, a.Lines = shell.IsolationOf(cmd), shell.JSONLines(cmd)
			if err := a.Remote.Begin(a); err != nil {
				return err
			}
			a.Data = term.Colors(a.Color, a.Stdout, os.Getenv)
			a.Talk = term.Colors(a.Color, a.Stderr, os.Getenv)
			if len(plugins) == 0 {
				return nil
			}
			if f := cmd.Flags().Lookup("untrusted"); f != nil && f.Changed && f.Value.String() != "false" {
				return shell.Usagef("--plugin-path and --untrusted do not go together: code of a plug-in runs outside the sandbox")
			}
			a.Plugins = true
			return h5.AllowPlugins(plugins...)
		},
	}
	root.SetFlagErrorFunc(shell.FlagError)
	root.Flags().Bool("version", false, "show the version")
	root.PersistentFlags().StringVar(&a.Color, "color", a.Color, "colour headings and messages `WHEN`: auto, always or never")
	root.PersistentFlags().StringArrayVar(&plugins, "plugin-path", nil,
		"allow HDF5 to load filters that a file names from `DIR`; their code runs in this process; may be given several times")
	a.Remote.Add(root)
	root.SetOut(&a.Help)
	root.SetErr(a.Stderr)
	root.AddCommand(commands(a)...)
	root.SetHelpCommand(helpCommand())
	shell.Completions(root) // which copies the current output stream
	return root
}

// helpCommand is cobra's help command, except that help on an unknown command is an error.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "help [COMMAND]",
		Short:             "Show the help of a command",
		Args:              shell.Arity(0, 1),
		ValidArgsFunction: shell.CompleteCommands,
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return shell.Usagef("there is no command %q%s", args[0], shell.Near(cmd.Root(), args[0]))
			}
			return found.Help()
		},
	}
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
