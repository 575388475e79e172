// hyperslab crosscheck archive: write test vectors for use without this program.

package publish

import (
	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
)

func newCrosscheckArchive(a *shell.App) *cobra.Command {
	j := &emitJob{App: a, archive: true}
	all := false
	cmd := &cobra.Command{
		Use:   "archive FILE",
		Short: "Write the vectors to a ZIP file with judges in Python and JavaScript",
		Long: `archive writes the vectors to FILE, a ZIP file that needs nothing of this program: the
files, a manifest in JSON with the expected values, the rules that the files exercise,
and judges that need only Python or Node.js. It contains the small set, which has at most
5 MB. The bytes depend only on the versions of this program and of its libraries.`,
		Example: `  hyperslab crosscheck archive layers.zip --area metalayer
  hyperslab crosscheck archive trees.zip --area bcolz --json`,
		Args: shell.Arity(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			j.options.Small = !all
			return j.run(cmd.Context(), args[0])
		},
	}
	shell.AllFlag(cmd, &all, "the default set instead of the small one")
	shell.ForceFlag(cmd, &j.force, "replace FILE if it exists")
	areaFlag(cmd, &j.options.Areas)
	shell.ProgressFlag(cmd, &j.progress)
	shell.JSONFlag(cmd, &j.json)
	return cmd
}
