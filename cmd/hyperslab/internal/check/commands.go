// The list of the commands.

package check

import (
	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
)

// Commands returns the commands of this package.
func Commands(a *shell.App) []*cobra.Command {
	return []*cobra.Command{
		newDiff(a),
		newVerify(a),
		newRecover(a),
		newBench(a),
	}
}
