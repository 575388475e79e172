// The list of the commands.

package publish

import (
	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
)

// Commands returns the commands of this package.
func Commands(a *shell.App) []*cobra.Command {
	return []*cobra.Command{
		newIndex(a),
		newServe(a),
		newPlan(a),
		newWork(a),
		newCommit(a),
		newCrosscheck(a),
	}
}
