// hyperslab attr list: list attributes.

package convert

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
)

// attrListJob is one run of attr list.
type attrListJob struct {
	*shell.App

	json bool
}

func newAttrList(a *shell.App) *cobra.Command {
	j := &attrListJob{App: a}
	cmd := &cobra.Command{
		Use:   "list FILE[:/path]...",
		Short: "List the attributes with their types and values",
		Example: `  hyperslab attr list waves.b2nd
  hyperslab attr list etopo.h5:/ROSE --json`,
		Args:              shell.Arity(1, 2),
		ValidArgsFunction: shell.CompleteAddress,
		RunE: func(cmd *cobra.Command, args []string) error {
			return j.run(cmd.Context(), shell.Address(args))
		},
	}
	shell.JSONFlag(cmd, &j.json)
	a.Each(cmd)
	(&shell.UntrustedFlags{}).Add(a, cmd)
	a.Paged(cmd)
	return cmd
}

func (j *attrListJob) run(ctx context.Context, address string) error {
	attrs, broken := j.AttrsAt(ctx, address)
	if broken != nil && len(attrs.List)+len(attrs.Unsupported) == 0 {
		return broken
	}
	if j.json {
		return errors.Join(broken, j.WriteJSON(j.Stdout, newAttrListDoc(address, attrs)))
	}
	t := term.Table{Head: []string{"NAME", "DTYPE", "SHAPE", "VALUE"}}
	for _, attr := range attrs.List {
		v := attr.Value
		shape := term.FormatShape(v.Shape)
		if v.Null {
			shape = "null"
		}
		t.Add(term.Safe(attr.Name), v.DType.String(), shape, shell.Shorten(term.Safe(v.String()), shell.Wide))
	}
	for _, u := range attrs.Unsupported {
		text := "(" + u.Reason + ")"
		if raw := shell.NewUnsupportedDoc(u).Value; raw != nil {
			text = string(raw)
		}
		t.Add(term.Safe(u.Name), shell.Shorten(term.Safe(u.Type), shell.Narrow), "", shell.Shorten(term.Safe(text), shell.Wide))
	}
	return errors.Join(broken, t.Write(j.Stdout, j.Data))
}
