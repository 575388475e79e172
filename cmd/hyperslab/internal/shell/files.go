// Other files that contain elements: --allow-missing and --external-dir.

package shell

import (
	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
)

// FilesFlags are the options for the sources of virtual datasets and for external files.
type FilesFlags struct {
	Missing bool
	Dir     string
}

// Add gives a command --allow-missing and --external-dir, which apply to every array that
// openArray and openTree open.
func (o *FilesFlags) Add(a *App, cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&o.Missing, "allow-missing", false,
		"read elements in missing sources of virtual datasets and in missing external files as fill value, with a warning")
	o.AddDir(cmd)
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		a.Access.Others = *o
		return run(cmd, args)
	}
}

// AddDir adds only --external-dir.
func (o *FilesFlags) AddDir(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.Dir, "external-dir", "",
		"look for external files with relative names in `DIR` instead of the working directory")
}

// Missing writes a warning for each missing file once.
func (a *App) Missing(err error) {
	text := err.Error()
	if _, before := a.warned.LoadOrStore(text, true); !before {
		a.Note("%s warning: %s; its elements are read as fill value", a.Talk.Notice(*a.Name.Load()+":"), term.Safe(text))
	}
}
