// hyperslab attr get: show the value of an attribute.

package convert

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/ndarray"
)

// attrGetJob is one run of attr get.
type attrGetJob struct {
	*shell.App

	plain bool
	json  bool
}

func newAttrGet(a *shell.App) *cobra.Command {
	j := &attrGetJob{App: a}
	cmd := &cobra.Command{
		Use:   "get FILE[:/path] NAME",
		Short: "Write the value of an attribute to standard output",
		Long: `get writes one attribute in the form that attr set reads back with the same type and
value: a string of variable length as it is, or in quotes if it is also JSON; true and
false, numbers of 8 bytes and lists of these as JSON; and every other value as
{"dtype": TYPE, "value": VALUE}. The guide lists the forms of all types. --plain writes
the value without its type, for scripts. The exit code is 2 if the attribute does not
exist.`,
		Example: `  hyperslab attr get waves.b2nd units
  hyperslab attr get waves.b2nd range
  hyperslab attr get waves.b2nd range --plain`,
		Args:              shell.Arity(2, 2),
		ValidArgsFunction: a.CompleteAttribute,
		RunE: func(cmd *cobra.Command, args []string) error {
			return j.run(cmd.Context(), args[0], args[1])
		},
	}
	cmd.Flags().BoolVar(&j.plain, "plain", false, "write the value without its type: a string as it is, other values as JSON")
	shell.JSONFlag(cmd, &j.json)
	cmd.MarkFlagsMutuallyExclusive("plain", "json")
	(&shell.UntrustedFlags{}).Add(a, cmd)
	a.Paged(cmd)
	return cmd
}

func (j *attrGetJob) run(ctx context.Context, address, name string) error {
	attrs, err := j.AttrsAt(ctx, address)
	i := slices.IndexFunc(attrs.List, func(x ndarray.Attr) bool { return x.Name == name })
	if i < 0 && err != nil {
		return err
	}
	if i < 0 {
		return j.getUnsupported(address, name, attrs)
	}
	attr := attrs.List[i]
	if j.json {
		return j.WriteJSON(j.Stdout, newAttrListDoc(address, ndarray.Attrs{List: []ndarray.Attr{attr}}))
	}
	text := attrLine(attr)
	if j.plain {
		text = plainLine(attr.Value)
	}
	if term.IsTerminal(j.Stdout) {
		text = term.SafeLines(text)
	}
	_, err = fmt.Fprintln(j.Stdout, text)
	return err
}

// getUnsupported writes an attribute without a Value, if its content is known.
func (j *attrGetJob) getUnsupported(address, name string, attrs ndarray.Attrs) error {
	list := attrs.Unsupported
	i := slices.IndexFunc(list, func(u ndarray.UnsupportedAttr) bool { return u.Name == name })
	if i < 0 {
		return &shell.AbsentAttr{Address: address, Name: name, Names: shell.AttrNames(attrs)}
	}
	u := list[i]
	switch {
	case u.Raw == nil:
		return ndarray.Wrap("read attribute "+u.Name+" of", address, fmt.Errorf("%w: %s", errors.ErrUnsupported, u.Reason))
	case j.json:
		return j.WriteJSON(j.Stdout, newAttrListDoc(address, ndarray.Attrs{Unsupported: []ndarray.UnsupportedAttr{u}}))
	}
	_, err := fmt.Fprintln(j.Stdout, rawLine(u.Raw))
	return err
}
