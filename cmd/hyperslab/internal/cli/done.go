// The document of commands that do something and have nothing to show for it.

package cli

import (
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// doneDoc is the document of --json of commands that change files or draw pictures. It is
// written when all is done; a failure is an error and writes none.
type doneDoc struct {
	Schema    string    `json:"schema"`
	Command   string    `json:"command"`
	Arguments []string  `json:"arguments"`
	DryRun    bool      `json:"dry_run"`
	Seconds   jsonFloat `json:"seconds"`
}

// done gives a command --json.
func (a *app) done(cmd *cobra.Command) {
	asJSON := false
	jsonFlag(cmd, &asJSON)
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		start := time.Now()
		if err := run(cmd, args); err != nil || !asJSON {
			return err
		}
		dry, _ := cmd.Flags().GetBool("dry-run") // false for a command that has no such flag
		return a.writeJSON(a.stdout, doneDoc{
			Schema: schemaDone, Command: strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" "), Arguments: args, DryRun: dry, Seconds: seconds(time.Since(start)),
		})
	}
}
