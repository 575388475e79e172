// Other files that contain elements: --allow-missing and --external-dir.

package cli

import (
	"context"
	"sync"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab"
)

type filesKey struct{}

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
		cmd.SetContext(context.WithValue(cmd.Context(), filesKey{}, o.options(a, cmd.Name())))
		return run(cmd, args)
	}
}

// addDir adds only --external-dir.
func (o *filesFlags) addDir(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.dir, "external-dir", "", "look for external files with relative names in `DIR` instead of the working directory")
}

func (o *filesFlags) options(a *app, command string) hyperslab.OpenOptions {
	opts := hyperslab.OpenOptions{ExternalDir: o.dir}
	if o.missing {
		opts.Missing = a.missing(command)
	}
	return opts
}

// missing returns a function that writes a warning for each missing file once.
func (a *app) missing(command string) func(error) {
	var seen sync.Map
	return func(err error) {
		text := err.Error()
		if _, before := seen.LoadOrStore(text, true); !before {
			a.note("%s warning: %s; its elements are read as fill value", a.talk.notice("hyperslab "+command+":"), safe(text))
		}
	}
}
