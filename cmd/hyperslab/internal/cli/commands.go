// The list of subcommands.

package cli

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/check"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/convert"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/draw"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/inspect"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/publish"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
)

// commands returns the subcommands, except completion, which cobra provides.
func (a *app) commands() []*cobra.Command {
	own := []*cobra.Command{a.manCommand()}
	return slices.Concat(inspect.Commands(a.App), convert.Commands(a.App), draw.Commands(a.App), check.Commands(a.App), publish.Commands(a.App), own)
}

// app runs a command line.
type app struct{ *shell.App }
