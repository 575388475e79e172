// The JSON document of commands without other output.

package cli

import (
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// doneDoc is the document of --json of commands that change files or draw pictures. It is written
// at the end. A command that fails writes no document.
type doneDoc struct {
	Schema    string    `json:"schema"`
	Command   string    `json:"command"`
	Arguments []string  `json:"arguments"`
	DryRun    bool      `json:"dry_run"`
	Seconds   jsonFloat `json:"seconds"`

	LossyChanges *jsonInt `json:"lossy_changes"` // of append --allow-lossy, else nil
}

// done adds --json to a command.
func (a *app) done(cmd *cobra.Command) { a.doneWith(cmd, func(*doneDoc) {}) }

// doneWith is done with a function that sets further keys at the end.
func (a *app) doneWith(cmd *cobra.Command, set func(*doneDoc)) {
	asJSON := false
	jsonFlag(cmd, &asJSON)
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		start := time.Now()
		if err := run(cmd, args); err != nil || !asJSON {
			return err
		}
		dry, _ := cmd.Flags().GetBool("dry-run") // false for a command without such a flag
		doc := doneDoc{
			Schema: schemaDone, Command: strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" "), Arguments: args, DryRun: dry, Seconds: seconds(time.Since(start)),
		}
		set(&doc)
		return a.writeJSON(a.stdout, doc)
	}
}
