// The list of the commands.

package check

import (
	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab"
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

// corruptFormat is the value of --format for files with a corrupt beginning; "" is the format that
// the beginning shows.
type corruptFormat string

func (c *corruptFormat) add(cmd *cobra.Command) {
	cmd.Flags().StringVar((*string)(c), "format", "", "`FORMAT` of files with a corrupt beginning: b2nd, hdf5 or bcolz")
}

func (c corruptFormat) check() error {
	if c == "" {
		return nil
	}
	return shell.OneOf("--format", string(c), string(hyperslab.B2ND), string(hyperslab.HDF5), string(hyperslab.Bcolz))
}
