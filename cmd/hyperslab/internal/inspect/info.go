// hyperslab info: show the properties of one array or group.

package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/ndarray"
)

// InfoDoc is the document of info --json. Missing properties are null.
type InfoDoc struct {
	Schema           string                 `json:"schema"`
	Address          string                 `json:"address"`
	Format           string                 `json:"format"`
	Shape            []shell.JSONInt        `json:"shape"`
	MaxShape         []shell.JSONInt        `json:"max_shape"`
	Axes             []string               `json:"dimension_names"`
	DType            string                 `json:"dtype"`
	ItemSize         int                    `json:"item_size"`
	Elements         shell.JSONInt          `json:"elements"`
	Bytes            shell.JSONInt          `json:"bytes"`
	StoredBytes      *shell.JSONInt         `json:"stored_bytes"`
	Ratio            *shell.JSONFloat       `json:"ratio"`
	Chunks           []shell.JSONInt        `json:"chunks"`
	NumChunks        *shell.JSONInt         `json:"num_chunks"`
	Blocks           []shell.JSONInt        `json:"blocks"`
	Codec            *string                `json:"codec"`
	Level            *int                   `json:"level"`
	Filters          []string               `json:"filters"`
	Nullable         bool                   `json:"nullable"`
	Fill             any                    `json:"fill"`
	Attributes       []shell.AttrDoc        `json:"attributes"`
	UnsupportedAttrs []shell.UnsupportedDoc `json:"unsupported_attributes"`
	HDF5             *HDF5Doc               `json:"hdf5"`
}

// infoJob is one run of info.
type infoJob struct {
	*shell.App

	meta    bool
	storage bool
	json    bool
}

func newInfo(a *shell.App) *cobra.Command {
	j := &infoJob{App: a}
	cmd := &cobra.Command{
		Use:   "info FILE[:/path]...",
		Short: "Show the properties of one array or group",
		Long: `info shows shape, element type, chunks, compression, size and attributes of one array,
or the contents and the attributes of a group or of a file with many arrays.

--meta writes the metadata in stored form as JSON: metalayers of Blosc2, metadata files
of bcolz, comment and times of HDF5, and attributes, for arrays and groups.

--storage shows the bytes of each kind of structure in the whole file, for HDF5 by the
allocation types of its specification, and the free space.` + shell.AddressHelp + shell.TwoArguments + shell.SliceHelp,
		Example: `  hyperslab info rose.b2nd
  hyperslab info etopo.h5:/ROSE
  hyperslab info etopo.h5 /ROSE
  hyperslab info etopo.h5:/ROSE --json
  hyperslab info waves.b2nd --meta
  hyperslab info etopo.h5 --storage`,
		Args:              shell.Arity(1, 2),
		ValidArgsFunction: shell.CompleteAddress,
		RunE: func(cmd *cobra.Command, args []string) error {
			return j.run(cmd.Context(), shell.Address(args))
		},
	}
	cmd.Flags().BoolVar(&j.meta, "meta", false, "write metalayers, comments and times, as JSON")
	cmd.Flags().BoolVar(&j.storage, "storage", false, "show the space of each structure and the free space")
	a.Each(cmd)
	(&shell.UntrustedFlags{}).Add(a, cmd)
	shell.AddDType(a, cmd)
	cmd.MarkFlagsMutuallyExclusive("meta", "storage")
	shell.JSONFlag(cmd, &j.json)
	a.Paged(cmd)
	return cmd
}

// run shows the metadata, the storage, or the properties of the array or group at an address.
func (j *infoJob) run(ctx context.Context, address string) error {
	j.Access.Metadata = true
	switch {
	case j.meta:
		d, err := j.gatherMeta(ctx, address)
		if err != nil {
			return err
		}
		return j.WriteJSON(j.Stdout, d)
	case j.storage:
		return j.writeStorage(ctx, address)
	}
	return j.info(ctx, address)
}

// writeStorage shows the space of each structure of a file.
func (j *infoJob) writeStorage(ctx context.Context, address string) error {
	loc, err := locate.Parse(address)
	if err != nil {
		return err
	}
	if strings.Trim(loc.Object, "/") != "" {
		return shell.Usagef("--storage is of a whole file; give it %s alone", loc.File)
	}
	file, done, err := shell.Fetched(ctx, loc.File)
	if err != nil {
		return err
	}
	d, err := gatherStorage(file)
	if err = errors.Join(err, done()); err != nil {
		return err
	}
	d.File = loc.File
	if j.json {
		return j.WriteJSON(j.Stdout, d)
	}
	return d.write(j.Stdout, j.Data)
}

// info shows the properties of the array or group at an address.
func (j *infoJob) info(ctx context.Context, address string) (err error) {
	loc, err := locate.Parse(address)
	if err != nil {
		return err
	}
	tree, p, err := j.OpenEither(ctx, address)
	if err != nil {
		return err
	}
	if p == nil { // a ctable is also an array of structures
		if arr, _ := tree.Open(ctx, loc.Object); arr != nil {
			p = &shell.Part{Array: arr, Tree: tree}
		}
	}
	if p == nil {
		defer func() { err = errors.Join(err, tree.Close()) }()
		return j.infoGroup(ctx, tree, loc, address)
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	f, err := NewFacts(ctx, address, p.Array)
	if err != nil {
		return err
	}
	if f.hdf5, err = hdf5Of(cmp.Or(p.Source, p.Array), loc.File); err != nil {
		return err
	}
	if j.json {
		return errors.Join(f.Broken, j.WriteJSON(j.Stdout, f.doc()))
	}
	return errors.Join(f.Broken, f.write(j.Stdout, j.Data))
}

// infoGroup shows the properties of the group of a tree, whose address was parsed.
func (j *infoJob) infoGroup(ctx context.Context, tree *hyperslab.Tree, loc locate.Location, address string) error {
	d, err := gatherGroup(ctx, tree, loc, address)
	if err != nil {
		return err
	}
	if j.json {
		err = j.WriteJSON(j.Stdout, d)
	} else {
		err = d.write(j.Stdout, j.Data)
	}
	if err == nil && d.incomplete != nil {
		j.Note("%s %s: %s", j.Talk.Failure("hyperslab info:"), term.Safe(address), term.SafeLines(d.incomplete.Error()))
		return unlisted(j.App, loc.File)
	}
	return err
}

// facts contains the properties that info shows of an array.
type facts struct {
	address string
	Meta    ndarray.Meta
	bytes   int64            // of all elements in memory
	Storage *ndarray.Storage // nil if the backend cannot report it
	Attrs   ndarray.Attrs
	Broken  error    // of attributes that cannot be read; the others are in attrs
	hdf5    *HDF5Doc // only of the command info; nil for other formats
}

// GatherFacts returns the properties of the array at a location, which has no selection.
func GatherFacts(ctx context.Context, a *shell.App, location string) (f *facts, err error) {
	arr, err := a.OpenArray(ctx, location)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, arr.Close()) }()
	if f, err = NewFacts(ctx, location, arr); err == nil {
		err = f.Broken
	}
	return f, err
}

// NewFacts returns the properties of an array.
func NewFacts(ctx context.Context, address string, arr *ndarray.Array) (f *facts, err error) {
	f = &facts{address: address, Meta: arr.Meta(), bytes: arr.NBytes()}
	if f.Storage, err = storageOf(ctx, arr); err != nil {
		return nil, err
	}
	f.Attrs, f.Broken = shell.AttrsOf(ctx, arr)
	if f.Broken != nil && ctx.Err() != nil {
		return nil, f.Broken
	}
	return f, nil
}

// storageOf returns the storage of the array, or nil if its backend cannot report it.
func storageOf(ctx context.Context, arr *ndarray.Array) (*ndarray.Storage, error) {
	s, err := arr.Storage(ctx)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, nil
	}
	return &s, err
}

func (f *facts) doc() InfoDoc {
	m := f.Meta
	d := InfoDoc{
		Schema: shell.SchemaInfo, Address: f.address, Format: m.Format,
		Shape: shell.ShapeDoc(m), MaxShape: shell.JSONShape(m.MaxShape), Axes: m.AxisNames,
		DType: m.DType.String(), ItemSize: m.DType.Size, Nullable: m.Nullable,
		Elements: shell.JSONInt(m.NumElems()), Bytes: shell.JSONInt(f.bytes), Ratio: shell.Ratio(f.bytes, f.Storage),
		Chunks: shell.JSONShape(m.ChunkShape), Blocks: shell.JSONShape(m.BlockShape),
		Attributes: []shell.AttrDoc{}, UnsupportedAttrs: []shell.UnsupportedDoc{}, HDF5: f.hdf5,
	}
	if f.Storage != nil {
		stored, chunks := shell.JSONInt(f.Storage.StoredBytes), shell.JSONInt(f.Storage.NumChunks)
		d.StoredBytes, d.NumChunks = &stored, &chunks
	}
	if c := m.Compression; c != nil {
		d.Codec, d.Level, d.Filters = &c.Codec, &c.Level, append([]string{}, c.Filters...)
	}
	if m.Fill != nil {
		d.Fill = shell.ElementJSON(m.DType, m.Fill)
	}
	for _, attr := range f.Attrs.List {
		d.Attributes = append(d.Attributes, shell.NewAttrDoc(attr))
	}
	for _, u := range f.Attrs.Unsupported {
		d.UnsupportedAttrs = append(d.UnsupportedAttrs, shell.NewUnsupportedDoc(u))
	}
	return d
}

// axisNames joins the dimension names, with a dash for a missing one.
func axisNames(names []string) string {
	shown := make([]string, len(names))
	for i, name := range names {
		if shown[i] = term.Safe(name); name == "" {
			shown[i] = "-"
		}
	}
	return shell.Joined(shown)
}

func (f *facts) write(w io.Writer, p term.Paint) error {
	if err := f.Table().Write(w, p); err != nil {
		return err
	}
	return AttrsTable(f.Attrs).Write(w, false)
}

// Table lists the properties, except the attributes.
func (f *facts) Table() *term.Table {
	m := f.Meta
	t := &term.Table{Keys: true}
	row := func(key, value string) { t.Add(key, value) }
	row("array", term.Safe(f.address))
	row("format", m.Format)
	row("shape", fmt.Sprintf("%s (%s)", shell.MetaShape(m), term.Plural(m.NumElems(), "element")))
	if m.MaxShape != nil {
		row("max shape", term.FormatShape(m.MaxShape))
	}
	if m.AxisNames != nil {
		row("dimension names", axisNames(m.AxisNames))
	}
	row("dtype", shell.DtypeText(m.DType))
	if m.ChunkShape != nil {
		row("chunks", term.FormatShape(m.ChunkShape)+f.chunkCount())
	}
	if m.BlockShape != nil {
		row("blocks", term.FormatShape(m.BlockShape))
	}
	if c := m.Compression; c != nil {
		row("codec", c.Codec)
		if c.Codec != "none" {
			row("level", fmt.Sprint(c.Level))
		}
		if len(c.Filters) > 0 {
			row("filters", shell.Joined(c.Filters))
		}
	}
	if m.Nullable {
		row("nullable", "yes")
	}
	if m.Fill != nil {
		row("fill", ndarray.FormatElement(m.DType, m.Fill))
	}
	if f.hdf5 != nil {
		f.hdf5.rows(row)
	}
	row("bytes", term.FormatBytes(f.bytes))
	if f.Storage != nil {
		row("stored", term.FormatBytes(f.Storage.StoredBytes))
	}
	if r := shell.Ratio(f.bytes, f.Storage); r != nil {
		row("ratio", fmt.Sprintf("%.2fx", float64(*r)))
	}
	row("attributes", fmt.Sprint(len(f.Attrs.List)+len(f.Attrs.Unsupported)))
	return t
}

func (f *facts) chunkCount() string {
	if f.Storage == nil {
		return ""
	}
	return " (" + term.Plural(f.Storage.NumChunks, "chunk") + ")"
}

// AttrsTable lists the names, types and values of attributes.
func AttrsTable(attrs ndarray.Attrs) *term.Table {
	var t term.Table
	for _, attr := range attrs.List {
		v := attr.Value
		shape := ""
		if len(v.Shape) > 0 {
			shape = " " + term.FormatShape(v.Shape)
		}
		t.Add("  "+term.Safe(attr.Name), v.DType.String()+shape, shell.Shorten(v.String(), shell.Wide))
	}
	for _, u := range attrs.Unsupported {
		text := u.Type
		if j := shell.NewUnsupportedDoc(u).Value; j != nil {
			text += " " + string(j)
		}
		t.Add("  "+term.Safe(u.Name), "unsupported", shell.Shorten(term.Safe(text), shell.Wide))
	}
	return &t
}
