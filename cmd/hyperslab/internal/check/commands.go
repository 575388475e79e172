// The list of the commands.

package check

import (
	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
)

// app runs the commands of this package.
type app struct{ *shell.App }

// Commands returns the commands of this package.
func Commands(s *shell.App) []*cobra.Command {
	a := &app{s}
	return []*cobra.Command{
		a.diffCommand(),
		a.verifyCommand(),
		a.recoverCommand(),
		a.benchCommand(),
	}
}
