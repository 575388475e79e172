// hyperslab attr set: add or replace an attribute.

package convert

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/ndarray"
)

// attrSetJob is one run of attr set.
type attrSetJob struct {
	*shell.App

	edit  editFlags
	dtype string
}

func newAttrSet(a *shell.App) *cobra.Command {
	j := &attrSetJob{App: a}
	cmd := &cobra.Command{
		Use:   "set FILE[:/path] NAME VALUE",
		Short: "Add an attribute, or replace its value",
		Long: `set writes one attribute. VALUE is parsed as JSON: a number, true or false, a string in
quotes, or nested lists of these. A VALUE that is not JSON is a string. Numbers become
int64, or float64 if one of them has a fraction or an exponent. --dtype selects another
type by its NumPy name, or "string" for a string of any content. A value that does not
fit the type is an error. {"dtype": TYPE, "value": VALUE}, which attr get writes, sets a
value of any type. In a b2nd and a bcolz array any other JSON object is stored as it is.` + editHelp,
		Example: `  hyperslab attr set waves.b2nd units km
  hyperslab attr set waves.b2nd range [-1,1.5] --dtype f4
  hyperslab attr set waves.h5:/waves version 2 --dtype string`,
		Args:              shell.Arity(3, 3),
		ValidArgsFunction: a.CompleteAttribute,
		RunE: func(cmd *cobra.Command, args []string) error {
			return j.run(cmd.Context(), args[0], args[1], args[2])
		},
	}
	cmd.Flags().StringVar(&j.dtype, "dtype", "", "element `TYPE` of the value")
	j.edit.add(a, cmd)
	a.Done(cmd)
	return cmd
}

func (j *attrSetJob) run(ctx context.Context, address, name, value string) error {
	attr, err := parseAttr(value, j.dtype)
	if err != nil {
		return shell.Usagef("%s: %w", name, err)
	}
	attr.Name = name
	if err := attr.Validate(); attr.Raw == nil && err != nil {
		return err
	}
	if err := j.edit.holdAt(ctx, address); err != nil {
		return err
	}
	if !j.edit.dryRun {
		return j.edit.editAttrs(ctx, address, []ndarray.Attr{attr}, nil)
	}
	if _, err := j.AttrsAt(ctx, address); err != nil {
		return err
	}
	shown := attr.Value.DType.String() + " " + attr.Value.String()
	if attr.Raw != nil {
		shown = rawLine(attr.Raw)
	}
	j.Note("would set %s of %s to %s", term.Safe(attr.Name), term.Safe(address), term.Safe(shown))
	return j.edit.planAt(address)
}
