// Untrusted files, which are read in a separate process.

package cli

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
	others    filesFlags           // the sources of virtual datasets and external files
	dtype     *ndarray.DType       // of the elements of arrays that store no type; nil: opaque bytes
	typed     bool                 // an array has got that type
	metadata  bool                 // no elements are read, so that they need not be readable
}

// untrustedFlags are the flags for untrusted sources.
type untrustedFlags struct{ untrusted, sandbox bool }

// add gives a command --untrusted, which applies to every array that openArray opens.
func (u *untrustedFlags) add(a *app, cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&u.untrusted, "untrusted", false, "for files from untrusted sources: check the whole structure first and read in a sandbox")
	f.BoolVar(&u.sandbox, "sandbox", true, "with --untrusted: decode in an isolated process")
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if cmd.Flags().Changed("sandbox") && !u.untrusted {
			return usagef("--sandbox requires --untrusted")
		}
		if u.untrusted {
			a.access.untrusted = &hyperslab.Untrusted{InProcess: !u.sandbox, FullIsolation: u.sandbox}
		}
		return noSandbox(run(cmd, args))
	}
}

// addDType gives a command --dtype, which applies to every array that the command opens and that
// stores no element type.
func addDType(a *app, cmd *cobra.Command) {
	var text string
	cmd.Flags().StringVar(&text, "dtype", "", "`TYPE` of the elements of arrays that store none: Caterva arrays and plain frames")
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if text != "" {
			d, err := ndarray.ParseDType(text)
			if err != nil {
				return usagef("--dtype %s: %w", text, err)
			}
			a.access.dtype = &d
		}
		err := run(cmd, args)
		if err == nil && text != "" && !a.access.typed {
			return usagef("--dtype %s: all arrays store their types", text)
		}
		return err
	}
}

// open opens an array. If it stores no element type, it has that of --dtype.
func (a *app) open(ctx context.Context, location string, o hyperslab.OpenOptions) (*ndarray.Array, error) {
	arr, err := hyperslab.Open(ctx, location, &o)
	if err != nil || a.access.dtype == nil || o.DType != nil {
		return arr, err
	}
	if f := arr.Meta().Format; f != string(hyperslab.Caterva) && f != "frame" {
		return arr, nil
	}
	if err := arr.Close(); err != nil {
		return nil, err
	}
	o.DType, a.access.typed = a.access.dtype, true
	return hyperslab.Open(ctx, location, &o)
}

// isolationOf returns the value of the key isolation in the document of a command. A command that
// cannot isolate fully fails.
func isolationOf(cmd *cobra.Command) string {
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

// noSandbox adds advice to an error of a missing sandbox.
func noSandbox(err error) error {
	if errors.Is(err, worker.ErrUnavailable) {
		return usagef("%w; --sandbox=false works without it", err)
	}
	return err
}

// openOptions returns the options of the command for files that it reads.
func (a *app) openOptions() *hyperslab.OpenOptions {
	if a.access.untrusted != nil {
		return &hyperslab.OpenOptions{Untrusted: a.access.untrusted}
	}
	o := &hyperslab.OpenOptions{ExternalDir: a.access.others.dir, Unlocked: a.unlocked, Metadata: a.access.metadata}
	if a.access.others.missing {
		o.Missing = a.missing
	}
	return o
}

// openArray opens an array, in a sandbox if its file is untrusted.
func (a *app) openArray(ctx context.Context, location string) (*ndarray.Array, error) {
	return a.open(ctx, location, *a.openOptions())
}

// walk lists the objects at and below an address, in a sandbox if the file is untrusted. It sets
// the options Unlocked and Untrusted.
func (a *app) walk(ctx context.Context, address string, o hyperslab.WalkOptions) iter.Seq2[hyperslab.Entry, error] {
	o.Unlocked, o.Untrusted = a.unlocked, a.access.untrusted
	return hyperslab.Walk(ctx, address, &o)
}

// openTree opens a file to read it object by object, in a sandbox if the file is untrusted.
func (a *app) openTree(ctx context.Context, address string) (*hyperslab.Tree, error) {
	return hyperslab.OpenTree(ctx, address, a.openOptions())
}

// untrusted reports whether --untrusted is given.
func (a *app) untrusted() bool { return a.access.untrusted != nil }

// sandboxed reports whether the files are read in a separate process.
func (a *app) sandboxed() bool { return a.untrusted() && !a.access.untrusted.InProcess }
