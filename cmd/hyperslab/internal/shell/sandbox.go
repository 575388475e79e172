// Untrusted files, which are read in a separate process.

package shell

import (
	"context"
	"errors"
	"iter"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/sandbox/worker"
	"github.com/hyperslab/hyperslab/ndarray"
)

// access is how a command opens the files that it reads.
type access struct {
	untrusted *hyperslab.Untrusted // nil: files are trusted
	Others    FilesFlags           // the sources of virtual datasets and external files
	Dtype     *ndarray.DType       // of the elements of arrays that store no type; nil: opaque bytes
	Typed     bool                 // an array has got that type
	Metadata  bool                 // no elements are read, so that they need not be readable
}

// UntrustedFlags are the flags for untrusted sources.
type UntrustedFlags struct{ untrusted, sandbox bool }

// Add gives a command --untrusted, which applies to every array that openArray opens.
func (u *UntrustedFlags) Add(a *App, cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&u.untrusted, "untrusted", false, "for files from untrusted sources: check the whole structure first and read in a sandbox")
	f.BoolVar(&u.sandbox, "sandbox", true, "with --untrusted: decode in an isolated process")
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if cmd.Flags().Changed("sandbox") && !u.untrusted {
			return Usagef("--sandbox requires --untrusted")
		}
		if u.untrusted {
			a.Access.untrusted = &hyperslab.Untrusted{InProcess: !u.sandbox, FullIsolation: u.sandbox}
		}
		return NoSandbox(run(cmd, args))
	}
}

// AddDType gives a command --dtype, which applies to every array that the command opens and that
// stores no element type.
func AddDType(a *App, cmd *cobra.Command) {
	var text string
	cmd.Flags().StringVar(&text, "dtype", "", "`TYPE` of the elements of arrays that store none: Caterva arrays and plain frames")
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if text != "" {
			d, err := ParseDType(text)
			if err != nil {
				return err
			}
			a.Access.Dtype = &d
		}
		err := run(cmd, args)
		if err == nil && text != "" && !a.Access.Typed {
			return Usagef("--dtype %s: all arrays store their types", text)
		}
		return err
	}
}

// Open opens an array. If it stores no element type, it has that of --dtype.
func (a *App) Open(ctx context.Context, location string, o hyperslab.OpenOptions) (*ndarray.Array, error) {
	arr, err := hyperslab.Open(ctx, location, &o)
	if err != nil || a.Access.Dtype == nil || o.DType != nil {
		return arr, err
	}
	if f := arr.Meta().Format; f != string(hyperslab.Caterva) && f != "frame" {
		return arr, nil
	}
	if err := arr.Close(); err != nil {
		return nil, err
	}
	o.DType, a.Access.Typed = a.Access.Dtype, true
	return hyperslab.Open(ctx, location, &o)
}

// IsolationOf returns the value of the key isolation in the document of a command. A command that
// cannot isolate fully fails.
func IsolationOf(cmd *cobra.Command) string {
	is := func(flag string) bool {
		f := cmd.Flags().Lookup(flag)
		return f != nil && f.Value.String() == "true"
	}
	switch {
	case !is("untrusted") || cmd.Name() == "verify": // which reports a sandbox for each file
		return ""
	case is("sandbox"):
		return "full"
	default:
		return "none"
	}
}

// NoSandbox adds advice to an error of a missing sandbox.
func NoSandbox(err error) error {
	if errors.Is(err, worker.ErrUnavailable) {
		return Usagef("%w; --sandbox=false works without it", err)
	}
	return err
}

// openOptions returns the options of the command for files that it reads.
func (a *App) openOptions() *hyperslab.OpenOptions {
	if a.Access.untrusted != nil {
		return &hyperslab.OpenOptions{Untrusted: a.Access.untrusted}
	}
	o := &hyperslab.OpenOptions{
		ExternalDir: a.Access.Others.Dir, Unlocked: a.Unlocked, Metadata: a.Access.Metadata, Checksums: true,
	}
	if a.Access.Others.Missing {
		o.Missing = a.Missing
	}
	return o
}

// OpenArray opens an array, in a sandbox if its file is untrusted.
func (a *App) OpenArray(ctx context.Context, location string) (*ndarray.Array, error) {
	return a.Open(ctx, location, *a.openOptions())
}

// Walk lists the objects at and below an address, in a sandbox if the file is untrusted. It sets
// the options Unlocked and Untrusted.
func (a *App) Walk(ctx context.Context, address string, o hyperslab.WalkOptions) iter.Seq2[hyperslab.Entry, error] {
	o.Unlocked, o.Untrusted = a.Unlocked, a.Access.untrusted
	return hyperslab.Walk(ctx, address, &o)
}

// OpenTree opens a file to read it object by object, in a sandbox if the file is untrusted.
func (a *App) OpenTree(ctx context.Context, address string) (*hyperslab.Tree, error) {
	return hyperslab.OpenTree(ctx, address, a.openOptions())
}

// Untrusted reports whether --untrusted is given.
func (a *App) Untrusted() bool { return a.Access.untrusted != nil }

// Sandboxed reports whether the files are read in a separate process.
func (a *App) Sandboxed() bool { return a.Untrusted() && !a.Access.untrusted.InProcess }
