// The list of subcommands.

package cli

import "github.com/spf13/cobra"

// commands are the subcommands; completion is cobra's own.
func (a *app) commands() []*cobra.Command {
	return []*cobra.Command{a.lsCommand(), a.infoCommand(), a.convertCommand(), a.diffCommand(), a.versionCommand()}
}
