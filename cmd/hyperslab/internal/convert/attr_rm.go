// hyperslab attr rm: remove attributes.

package convert

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/ndarray"
)

// attrRmJob is one run of attr rm.
type attrRmJob struct {
	*shell.App

	edit editFlags
}

func newAttrRm(a *shell.App) *cobra.Command {
	j := &attrRmJob{App: a}
	cmd := &cobra.Command{
		Use:   "rm FILE[:/path] NAME...",
		Short: "Remove attributes",
		Long:  "rm removes all named attributes, or fails without a change." + editHelp,
		Example: `  hyperslab attr rm waves.b2nd scale
  hyperslab attr rm waves.h5:/waves scale range`,
		Args:              shell.Arity(2, -1),
		ValidArgsFunction: a.CompleteAttribute,
		RunE: func(cmd *cobra.Command, args []string) error {
			return j.run(cmd.Context(), args[0], args[1:])
		},
	}
	j.edit.add(a, cmd)
	a.Done(cmd)
	return cmd
}

func (j *attrRmJob) run(ctx context.Context, address string, names []string) error {
	if err := j.edit.holdAt(ctx, address); err != nil {
		return err
	}
	attrs, err := j.AttrsAt(ctx, address)
	if err != nil {
		return err
	}
	for _, name := range names {
		_, ok := attrs.Get(name)
		ok = ok || slices.ContainsFunc(attrs.Unsupported, func(u ndarray.UnsupportedAttr) bool { return u.Name == name })
		if !ok {
			return &shell.AbsentAttr{Address: address, Name: name, Names: shell.AttrNames(attrs), Then: "; no attribute was removed"}
		}
	}
	if j.edit.dryRun {
		j.Note("would remove %s of %s", term.Plural(int64(len(names)), "attribute"), term.Safe(address))
		return j.edit.planAt(address)
	}
	return j.edit.editAttrs(ctx, address, nil, names)
}
