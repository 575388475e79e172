// hyperslab crosscheck: test other implementations of the formats.

package publish

import (
	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/crosscheck"
)

func newCrosscheck(a *shell.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "crosscheck",
		Short: "Test other readers and writers of these formats against the reference libraries",
		Long: `crosscheck is for authors of other implementations, in any language. emit writes test
vectors: files made by the reference libraries, with a manifest that contains the
expected bytes of each or the requirement that it is refused. archive writes them to a
ZIP file with judges in Python and JavaScript, for machines without this program. run
tests a program with them and explains its errors. advise lists the readers that misread
a file. docs/crosscheck-manifest.md describes the manifest, the decoded bytes and the
report.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return shell.Usagef("there is no command %q%s", args[0], shell.Near(cmd, args[0]))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newCrosscheckEmit(a), newCrosscheckArchive(a), newCrosscheckRun(a), newCrosscheckAdvise(a))
	return cmd
}

func areaFlag(cmd *cobra.Command, to *[]string) {
	cmd.Flags().StringArrayVar(to, "area", nil, "only the `AREA` ("+shell.Joined(crosscheck.Areas())+"); may be given several times")
	shell.CompleteWords(cmd, "area", crosscheck.Areas()...)
}

func checkAreas(names []string) error {
	for _, name := range names {
		if err := shell.OneOf("--area", name, crosscheck.Areas()...); err != nil {
			return err
		}
	}
	return nil
}
