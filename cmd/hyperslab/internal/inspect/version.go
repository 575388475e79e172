// hyperslab version: show the versions of the program and its libraries.

package inspect

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/filter"
	"github.com/hyperslab/hyperslab/internal/advisory"
)

// version is set by the linker (see the Makefile). If it is empty, the module's version is used.
var version string

// VersionDoc is the document of version --json.
type VersionDoc struct {
	Schema    string        `json:"schema"`
	Version   string        `json:"version"`
	Module    string        `json:"module"`
	Go        string        `json:"go"`
	Platform  string        `json:"platform"`
	Tags      []string      `json:"tags"`
	Libraries []LibraryDoc  `json:"libraries"`
	Filters   []HDF5Ability `json:"hdf5_filters"`
	Build     *BuildDoc     `json:"build"`
	Known     []KnownDoc    `json:"vulnerabilities"`
}

// KnownDoc is a published vulnerability that a linked library has.
type KnownDoc struct {
	ID      string `json:"id"`
	Library string `json:"library"`
	Version string `json:"version"`
	FixedIn string `json:"fixed_in"`
}

// BuildDoc describes the build of the vendored libraries.
type BuildDoc struct {
	Recipe   string `json:"recipe"`
	Compiler string `json:"compiler"`
	Flags    string `json:"flags"`
	Sources  string `json:"sources"`
}

// LibraryDoc is one linked C library.
type LibraryDoc struct {
	Name    string  `json:"name"`
	Version string  `json:"version"`
	Inside  *string `json:"inside"`
}

// HDF5Ability is an HDF5 filter and whether it can decode and encode.
type HDF5Ability struct {
	ID     int    `json:"id"`
	Name   string `json:"name"`
	Decode bool   `json:"decode"`
	Encode bool   `json:"encode"`
}

// versionJob is one run of version.
type versionJob struct {
	*shell.App

	libs  bool
	check bool
	json  bool
}

func newVersion(a *shell.App) *cobra.Command {
	j := &versionJob{App: a}
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Show the version of the program and of its libraries",
		Long: `version shows the parts of this program, with --libs also the C libraries that are
linked, with their versions at run time, and the filters of HDF5. Files with other
filters cannot be read.

With --check it also lists the published vulnerabilities of the linked releases. The
exit code stays 0. --untrusted protects from them.`,
		Example: `  hyperslab version
  hyperslab version --libs
  hyperslab version --libs --check
  hyperslab version --libs --json`,
		Args:              shell.Arity(0, 0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(*cobra.Command, []string) error { return j.run() },
	}
	cmd.Flags().BoolVar(&j.libs, "libs", false, "also the linked C libraries and the filters of HDF5")
	cmd.Flags().BoolVar(&j.check, "check", false,
		"also the known vulnerabilities of the linked releases, and the defects that are guarded against")
	shell.JSONFlag(cmd, &j.json)
	a.Paged(cmd)
	return cmd
}

func (j *versionJob) run() error {
	d := NewVersionDoc()
	if j.libs {
		if err := d.addLibraries(); err != nil {
			return err
		}
	}
	if j.check {
		if err := d.addFaults(); err != nil {
			return err
		}
	}
	if j.json {
		return j.WriteDocument(j.Stdout, d)
	}
	if err := d.table().Write(j.Stdout, j.Data); err != nil {
		return err
	}
	return d.writeFaults(j.Stdout, j.Data)
}

// NewVersionDoc returns the version of the program, without its libraries.
func NewVersionDoc() VersionDoc {
	d := VersionDoc{
		Schema: shell.SchemaVersion, Version: version, Tags: []string{},
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

// linked returns the versions that the libraries report.
func linked() ([]LibraryDoc, error) {
	list := []LibraryDoc{{Name: advisory.CBlosc2, Version: cblosc.Version()}}
	codecs, err := cblosc.CodecVersions()
	if err != nil {
		return nil, err
	}
	seen := make(map[string]bool) // LZ4 serves two codecs
	for _, c := range codecs {
		if !seen[c.Library] {
			seen[c.Library] = true
			inside := advisory.CBlosc2
			list = append(list, LibraryDoc{Name: c.Library, Version: c.Version, Inside: &inside})
		}
	}
	hdf5, err := h5.Version()
	if err != nil {
		return nil, err
	}
	return append(list, LibraryDoc{Name: advisory.HDF5, Version: hdf5}), nil
}

// addLibraries adds the linked libraries, their filters and their build.
func (d *VersionDoc) addLibraries() (err error) {
	if d.Libraries, err = linked(); err != nil {
		return err
	}
	for _, f := range []struct {
		id   int
		name string
	}{
		{h5.FilterDeflate, "deflate"}, {h5.FilterShuffle, "shuffle"}, {h5.FilterFletcher32, "fletcher32"},
		{h5.FilterSzip, "szip"}, {h5.FilterNbit, "nbit"}, {h5.FilterScaleOffset, "scaleoffset"},
		{filter.IDBZip2, "bzip2"}, {filter.IDLZF, "lzf"}, {filter.IDBlosc, "blosc"}, {filter.IDLZ4, "lz4"},
		{filter.IDBitShuffle, "bitshuffle"}, {filter.IDZstd, "zstd"}, {filter.IDBlosc2, "blosc2"},
	} {
		can, err := h5.FilterAvailable(f.id)
		if err != nil {
			return err
		}
		d.Filters = append(d.Filters, HDF5Ability{ID: f.id, Name: f.name, Decode: can.Decode, Encode: can.Encode})
	}
	if b, ok := cblosc.BuildInfo(); ok {
		d.Build = &BuildDoc{Recipe: b.Recipe, Compiler: b.Compiler, Flags: b.Flags, Sources: b.Sources}
	}
	return nil
}

// addFaults adds the known vulnerabilities of the linked releases.
func (d *VersionDoc) addFaults() error {
	libraries, err := linked()
	if err != nil {
		return err
	}
	d.Known = []KnownDoc{}
	for _, l := range libraries {
		for _, v := range advisory.Open(l.Name, l.Version) {
			d.Known = append(d.Known, KnownDoc{ID: v.ID, Library: l.Name, Version: l.Version, FixedIn: v.Fixed})
		}
	}
	return nil
}

// writeFaults writes the output of --check.
func (d *VersionDoc) writeFaults(w io.Writer, p term.Paint) error {
	if d.Known == nil {
		return nil
	}
	t := term.Table{Head: []string{"vulnerability", "of", "fixed in"}}
	for _, v := range d.Known {
		t.Add(v.ID, v.Library+" "+v.Version, cmp.Or(v.FixedIn, "not yet"))
	}
	title := "Published vulnerabilities of the linked releases; read files from untrusted sources with --untrusted:"
	if len(d.Known) == 0 {
		title, t.Head = "No published vulnerability of the linked releases is known here.", nil
	}
	fmt.Fprintf(w, "\n%s\n\n", title)
	return t.Write(w, p)
}

func (d *VersionDoc) table() *term.Table {
	t := &term.Table{Keys: true}
	t.Add("hyperslab", d.Version)
	t.Add("go", d.Go)
	t.Add("platform", d.Platform)
	if len(d.Tags) > 0 {
		t.Add("tags", shell.Joined(d.Tags))
	}
	for _, l := range d.Libraries {
		name := l.Name
		if l.Inside != nil {
			name = "  " + name
		}
		t.Add(name, l.Version)
	}
	for _, f := range d.Filters {
		t.Add("  "+f.Name, f.ability())
	}
	if b := d.Build; b != nil {
		t.Add("built by", b.Compiler)
		t.Add("  flags", b.Flags)
		t.Add("  sources", b.Sources)
		t.Add("  recipe", b.Recipe)
	}
	return t
}

// ability describes whether the filter can read and write.
func (f HDF5Ability) ability() string {
	switch {
	case f.Decode && f.Encode:
		return "read and write"
	case f.Decode:
		return "read"
	default:
		return "absent"
	}
}
