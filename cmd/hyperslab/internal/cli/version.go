// hyperslab version: what this program is made of.

package cli

import (
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/h5"
)

// version is set by the linker (see the Makefile); empty means that the module's
// own version counts.
var version string

// versionDoc is the document of version --json.
type versionDoc struct {
	Schema    string        `json:"schema"`
	Version   string        `json:"version"`
	Module    string        `json:"module"`
	Go        string        `json:"go"`
	Platform  string        `json:"platform"`
	Tags      []string      `json:"tags"`
	Libraries []libraryDoc  `json:"libraries"`
	Filters   []hdf5Ability `json:"hdf5_filters"`
	Build     *buildDoc     `json:"build"`
}

// buildDoc says how the vendored libraries were made.
type buildDoc struct {
	Recipe   string `json:"recipe"`
	Compiler string `json:"compiler"`
	Flags    string `json:"flags"`
	Sources  string `json:"sources"`
}

// libraryDoc is one linked C library.
type libraryDoc struct {
	Name    string  `json:"name"`
	Version string  `json:"version"`
	Inside  *string `json:"inside"`
}

// hdf5Ability is a filter of HDF5 and what it can do here.
type hdf5Ability struct {
	ID     int    `json:"id"`
	Name   string `json:"name"`
	Decode bool   `json:"decode"`
	Encode bool   `json:"encode"`
}

func (a *app) versionCommand() *cobra.Command {
	asJSON, libs := false, false
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Show the version of the program and of its libraries",
		Long: `version shows what this program is made of. With --libs also the C libraries that are
linked, as they call themselves at run time, and which filters HDF5 has: files written
with a filter that is missing here cannot be read.`,
		Example: `  hyperslab version
  hyperslab version --libs
  hyperslab version --libs --json`,
		Args:              arity(0, 0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			d := newVersionDoc()
			if libs {
				if err := d.addLibraries(); err != nil {
					return err
				}
			}
			if asJSON {
				return writeJSON(a.stdout, d)
			}
			return d.table().write(a.stdout, a.data)
		},
	}
	cmd.Flags().BoolVar(&libs, "libs", false, "also the linked C libraries and the filters of HDF5")
	jsonFlag(cmd, &asJSON)
	return cmd
}

func newVersionDoc() versionDoc {
	d := versionDoc{
		Schema: schemaVersion, Version: version, Tags: []string{},
		Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	if b, ok := debug.ReadBuildInfo(); ok {
		d.Module = b.Main.Path
		if d.Version == "" {
			d.Version = b.Main.Version
		}
		for _, s := range b.Settings {
			if s.Key == "-tags" && s.Value != "" {
				d.Tags = strings.Split(s.Value, ",")
			}
		}
	}
	if d.Version == "" {
		d.Version = "(unknown)" // not built as a module
	}
	return d
}

// addLibraries asks the libraries themselves.
func (d *versionDoc) addLibraries() error {
	const blosc = "C-Blosc2"
	d.Libraries = []libraryDoc{{Name: blosc, Version: cblosc.Version()}}
	codecs, err := cblosc.CodecVersions()
	if err != nil {
		return err
	}
	seen := make(map[string]bool) // LZ4 serves two codecs
	for _, c := range codecs {
		if !seen[c.Library] {
			seen[c.Library] = true
			inside := blosc
			d.Libraries = append(d.Libraries, libraryDoc{Name: c.Library, Version: c.Version, Inside: &inside})
		}
	}
	hdf5, err := h5.Version()
	if err != nil {
		return err
	}
	d.Libraries = append(d.Libraries, libraryDoc{Name: "HDF5", Version: hdf5})
	for _, f := range []struct {
		id   int
		name string
	}{
		{h5.FilterDeflate, "deflate"}, {h5.FilterShuffle, "shuffle"}, {h5.FilterFletcher32, "fletcher32"},
		{h5.FilterSzip, "szip"}, {h5.FilterNbit, "nbit"}, {h5.FilterScaleOffset, "scaleoffset"},
	} {
		can, err := h5.FilterAvailable(f.id)
		if err != nil {
			return err
		}
		d.Filters = append(d.Filters, hdf5Ability{ID: f.id, Name: f.name, Decode: can.Decode, Encode: can.Encode})
	}
	if b, ok := cblosc.BuildInfo(); ok {
		d.Build = &buildDoc{Recipe: b.Recipe, Compiler: b.Compiler, Flags: b.Flags, Sources: b.Sources}
	}
	return nil
}

func (d *versionDoc) table() *table {
	t := &table{keys: true}
	t.add("hyperslab", d.Version)
	t.add("go", d.Go)
	t.add("platform", d.Platform)
	if len(d.Tags) > 0 {
		t.add("tags", joined(d.Tags))
	}
	for _, l := range d.Libraries {
		name := l.Name
		if l.Inside != nil {
			name = "  " + name
		}
		t.add(name, l.Version)
	}
	for _, f := range d.Filters {
		t.add("  "+f.Name, f.ability())
	}
	if b := d.Build; b != nil {
		t.add("built by", b.Compiler)
		t.add("  flags", b.Flags)
		t.add("  sources", b.Sources)
		t.add("  recipe", b.Recipe)
	}
	return t
}

// ability says in words what the filter can do.
func (f hdf5Ability) ability() string {
	switch {
	case f.Decode && f.Encode:
		return "read and write"
	case f.Decode:
		return "read"
	default:
		return "absent"
	}
}
