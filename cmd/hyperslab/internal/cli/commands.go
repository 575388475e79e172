// The list of subcommands.

package cli

import "github.com/spf13/cobra"

// commands returns the subcommands, except completion, which cobra provides.
func (a *app) commands() []*cobra.Command {
	return []*cobra.Command{
		a.lsCommand(),
		a.treeCommand(),
		a.infoCommand(),
		a.chunksCommand(),
		a.dumpCommand(),
		a.statsCommand(),
		a.explainCommand(),
		a.indexCommand(),
		a.plotCommand(),
		a.viewCommand(),
		a.serveCommand(),
		a.convertCommand(),
		a.virtualCommand(),
		a.diffCommand(),
		a.verifyCommand(),
		a.scanCommand(),
		a.recoverCommand(),
		a.repackCommand(),
		a.planCommand(),
		a.workCommand(),
		a.commitCommand(),
		a.cpCommand(),
		a.appendCommand(),
		a.attrCommand(),
		a.rmCommand(),
		a.benchCommand(),
		a.crosscheckCommand(),
		a.manCommand(),
		a.versionCommand(),
	}
}
