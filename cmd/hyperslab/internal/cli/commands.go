// The list of subcommands.

package cli

import (
	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/check"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/convert"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/draw"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/inspect"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/publish"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
)

// commands returns the subcommands, except completion, which cobra provides.
func commands(a *shell.App) (all []*cobra.Command) {
	for _, list := range []func(*shell.App) []*cobra.Command{
		inspect.Commands, convert.Commands, draw.Commands, check.Commands, publish.Commands,
	} {
		all = append(all, list(a)...)
	}
	return append(all, newMan(a))
}
