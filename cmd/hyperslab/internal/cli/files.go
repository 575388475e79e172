// Other files that contain elements: --allow-missing and --external-dir.

package cli

import (
	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
)

// filesFlags are the options for the sources of virtual datasets and for external files.
type filesFlags struct {
	missing bool
	dir     string
}

// add gives a command --allow-missing and --external-dir, which apply to every array that
// openArray and openTree open.
func (o *filesFlags) add(a *app, cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&o.missing, "allow-missing", false, "read elements in missing sources of virtual datasets and in missing external files as fill value, with a warning")
	o.addDir(cmd)
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		a.access.others = *o
		return run(cmd, args)
	}
}

// addDir adds only --external-dir.
func (o *filesFlags) addDir(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.dir, "external-dir", "", "look for external files with relative names in `DIR` instead of the working directory")
}

// missing writes a warning for each missing file once.
func (a *app) missing(err error) {
	text := err.Error()
	if _, before := a.warned.LoadOrStore(text, true); !before {
		a.note("%s warning: %s; its elements are read as fill value", a.talk.Notice(*a.name.Load()+":"), term.Safe(text))
	}
}
