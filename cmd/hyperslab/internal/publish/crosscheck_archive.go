// hyperslab crosscheck archive: write test vectors that need nothing of this program.

package publish

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/crosscheck"
)

func newCrosscheckArchive(a *shell.App) *cobra.Command {
	o := crosscheck.Options{Small: true}
	all, force := false, false
	cmd := &cobra.Command{
		Use:   "archive FILE",
		Short: "Write the vectors to a ZIP file with judges in Python and JavaScript",
		Long: `archive writes the vectors to FILE, a ZIP file that needs nothing of this program: the
files, a manifest in JSON with the expected values, the rules that the files exercise, and
judges that need only Python or Node.js. The small set has at most 5 MB. The bytes depend
only on the versions of the program and of its libraries.`,
		Example: `  hyperslab crosscheck archive vectors.zip
  hyperslab crosscheck archive chunks.zip --area chunk --area frame`,
		Args: shell.Arity(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkAreas(o.Areas); err != nil {
				return err
			}
			o.Small = !all
			return replaceFile(cmd.Context(), args[0], force, func(w io.Writer) error { return crosscheck.Archive(cmd.Context(), w, &o) })
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "the default set instead of the small one")
	shell.ForceFlag(cmd, &force, "replace FILE if it exists")
	areaFlag(cmd, &o.Areas)
	return cmd
}
