// Untrusted files, which are read in a separate process.

package cli

import (
	"context"
	"errors"
	"iter"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/formats"
	"github.com/hyperslab/hyperslab/ndarray/worker"
)

type untrustedKey struct{}

// untrustedFlags are the flags for untrusted sources.
type untrustedFlags struct{ untrusted, sandbox bool }

// add gives a command --untrusted, which applies to every array that openArray opens.
func (u *untrustedFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&u.untrusted, "untrusted", false, "for files from untrusted sources: check the whole structure first, and read in a sandbox")
	f.BoolVar(&u.sandbox, "sandbox", true, "with --untrusted: decode in an isolated process")
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if cmd.Flags().Changed("sandbox") && !u.untrusted {
			return usagef("--sandbox goes with --untrusted")
		}
		if u.untrusted {
			o := formats.Untrusted{Isolation: formats.Required}
			if !u.sandbox {
				o.Isolation = formats.Off
			}
			cmd.SetContext(context.WithValue(cmd.Context(), untrustedKey{}, o))
		}
		return noSandbox(run(cmd, args))
	}
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
		return usagef("%w; --sandbox=false does without", err)
	}
	return err
}

// openArray opens an array, in a sandbox if its file is untrusted.
func openArray(ctx context.Context, location string, opts ...formats.Option) (*ndarray.Array, error) {
	o, ok := ctx.Value(untrustedKey{}).(formats.Untrusted)
	if !ok {
		return formats.Open(ctx, location, append(opts, otherFiles(ctx)...)...)
	}
	g, err := formats.OpenUntrusted(ctx, location, o, opts...)
	if err != nil {
		return nil, err
	}
	return g.Array, nil
}

// walk lists the objects at and below an address, in a sandbox if the file is untrusted.
func walk(ctx context.Context, address string, opts ...formats.Option) iter.Seq2[formats.Entry, error] {
	if o, ok := ctx.Value(untrustedKey{}).(formats.Untrusted); ok {
		return formats.WalkUntrusted(ctx, address, o, opts...)
	}
	return formats.Walk(ctx, address, opts...)
}

// groupAttrs reads the attributes of a group, in a sandbox if the file is untrusted.
func groupAttrs(ctx context.Context, address string) (ndarray.Attrs, error) {
	if o, ok := ctx.Value(untrustedKey{}).(formats.Untrusted); ok {
		return formats.GroupAttrsUntrusted(ctx, address, o)
	}
	return formats.GroupAttrs(ctx, address)
}

// openTree opens a file to read it object by object, in a sandbox if the file is untrusted.
func openTree(ctx context.Context, address string) (*formats.Tree, error) {
	if o, ok := ctx.Value(untrustedKey{}).(formats.Untrusted); ok {
		return formats.OpenTreeUntrusted(ctx, address, o)
	}
	return formats.OpenTree(ctx, address, otherFiles(ctx)...)
}

// untrusted reports whether --untrusted is given.
func untrusted(ctx context.Context) bool {
	_, ok := ctx.Value(untrustedKey{}).(formats.Untrusted)
	return ok
}

// sandboxed reports whether the files are read in a separate process.
func sandboxed(ctx context.Context) bool {
	o, ok := ctx.Value(untrustedKey{}).(formats.Untrusted)
	return ok && o.Isolation != formats.Off
}
