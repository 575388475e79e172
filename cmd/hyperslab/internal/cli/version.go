package cli

// hyperslab version: what this program is made of.

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// versionDoc is the document of version --json.
type versionDoc struct {
	Schema   string `json:"schema"`
	Module   string `json:"module"`
	Version  string `json:"version"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func (a *app) versionCommand() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Show the version of the program and of its libraries",
		Args:  arity(0, 0),
		RunE: func(*cobra.Command, []string) error {
			d := newVersionDoc()
			if asJSON {
				return writeJSON(a.stdout, d)
			}
			t := table{keys: true}
			t.add("hyperslab", d.Version)
			t.add("go", d.Go)
			t.add("platform", d.Platform)
			return t.write(a.stdout, a.data)
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func newVersionDoc() versionDoc {
	d := versionDoc{
		Schema: schemaVersion, Version: "(unknown)",
		Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	if b, ok := debug.ReadBuildInfo(); ok {
		d.Module, d.Version = b.Main.Path, b.Main.Version
	}
	return d
}
