// The list of the commands.

package inspect

import (
	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
)

// Commands returns the commands of this package.
func Commands(a *shell.App) []*cobra.Command {
	return []*cobra.Command{
		newLs(a),
		newTree(a),
		newInfo(a),
		newChunks(a),
		newDump(a),
		newStats(a),
		newExplain(a),
		newScan(a),
		newVersion(a),
	}
}
