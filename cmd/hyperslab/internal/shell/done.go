// The JSON document of commands without other output.

package shell

import (
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// DoneDoc is the document of --json of commands that change files or draw pictures. It is written
// at the end. A command that fails writes no document.
type DoneDoc struct {
	Schema    string    `json:"schema"`
	Command   string    `json:"command"`
	Arguments []string  `json:"arguments"`
	DryRun    bool      `json:"dry_run"`
	Seconds   JSONFloat `json:"seconds"`

	LossyChanges *JSONInt     `json:"lossy_changes"` // of append --allow-lossy, else nil
	Rounded      *JSONInt     `json:"rounded"`       // of commit of a plan with another element type, else nil
	Clipped      *JSONInt     `json:"clipped"`
	LeftOut      []LeftOutDoc `json:"left_out"` // of index --kerchunk --skip-unreadable, else nil
}

// LeftOutDoc is an array that an output does not contain.
type LeftOutDoc struct {
	File   string  `json:"file"`
	Path   string  `json:"path"`
	Reason string  `json:"reason"`
	Filter *string `json:"filter"`
}

// Done adds --json to a command.
func (a *App) Done(cmd *cobra.Command) { a.DoneWith(cmd, func(*DoneDoc) {}) }

// DoneWith is done with a function that sets further keys at the end.
func (a *App) DoneWith(cmd *cobra.Command, set func(*DoneDoc)) {
	asJSON := false
	JSONFlag(cmd, &asJSON)
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		start := time.Now()
		into, _ := cmd.Flags().GetString("into") // "" for a command without this flag
		err := run(cmd, args)
		partly, ok := errors.AsType[*ExitError](err)
		if err != nil && (!ok || partly.Code != ExitPartly || partly.Err != nil) || !asJSON || into != "" {
			return err // with --into the command writes the document of many sources
		}
		dry, _ := cmd.Flags().GetBool("dry-run") // false for a command without such a flag
		doc := DoneDoc{
			Schema: SchemaDone, Command: strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" "), Arguments: args, DryRun: dry,
			Seconds: Seconds(time.Since(start)),
		}
		set(&doc)
		return errors.Join(err, a.WriteJSON(a.Stdout, doc))
	}
}
