// Changes to a file that is there: made to a copy beside it, which takes its place
// when all is well, or in the file itself if that was asked for.

package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab/ndarray/formats"
)

// editFlags are the flags of commands that change a file.
type editFlags struct {
	inPlace bool
	dryRun  bool
}

func (e *editFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&e.inPlace, "in-place", false, "change the file itself, not a copy that then replaces it: takes no room, and a crash can damage the file")
	f.BoolVar(&e.dryRun, "dry-run", false, "say what would be done and change nothing")
}

// editHelp ends the long help of commands with these flags.
const editHelp = `

The change is made to a copy, which replaces the file when all is well: a run that is
stopped leaves the old file or the new one. --in-place saves the copy.`

// edit calls change with the name of a file or directory that it may write to. What
// it has done counts if it returns nil, and not at all otherwise, unless it worked
// in place.
func (e *editFlags) edit(ctx context.Context, file string, change func(file string) error) error {
	if e.inPlace {
		return change(file)
	}
	return formats.Edit(ctx, file, change)
}
