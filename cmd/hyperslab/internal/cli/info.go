// hyperslab info: show the properties of one array or group.

package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/format/msgpack"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Maximum number of characters of a value or a type on the screen, in its own column and in a
// narrow one.
const (
	wide   = 72
	narrow = 32
)

// infoDoc is the document of info --json. Missing properties are null.
type infoDoc struct {
	Schema           string           `json:"schema"`
	Address          string           `json:"address"`
	Format           string           `json:"format"`
	Shape            []jsonInt        `json:"shape"`
	MaxShape         []jsonInt        `json:"max_shape"`
	Axes             []string         `json:"dimension_names"`
	DType            string           `json:"dtype"`
	ItemSize         int              `json:"item_size"`
	Elements         jsonInt          `json:"elements"`
	Bytes            jsonInt          `json:"bytes"`
	StoredBytes      *jsonInt         `json:"stored_bytes"`
	Ratio            *jsonFloat       `json:"ratio"`
	Chunks           []jsonInt        `json:"chunks"`
	NumChunks        *jsonInt         `json:"num_chunks"`
	Blocks           []jsonInt        `json:"blocks"`
	Codec            *string          `json:"codec"`
	Level            *int             `json:"level"`
	Filters          []string         `json:"filters"`
	Nullable         bool             `json:"nullable"`
	Fill             any              `json:"fill"`
	Attributes       []attrDoc        `json:"attributes"`
	UnsupportedAttrs []unsupportedDoc `json:"unsupported_attributes"`
	HDF5             *hdf5Doc         `json:"hdf5"`
}

// attrDoc is one attribute with its value.
type attrDoc struct {
	Name  string    `json:"name"`
	DType string    `json:"dtype"`
	Shape []jsonInt `json:"shape"`
	Value any       `json:"value"`
}

// unsupportedDoc is one attribute whose value cannot be represented.
type unsupportedDoc struct {
	Name   string          `json:"name"`
	Type   string          `json:"type"`
	Reason string          `json:"reason"`
	Value  json.RawMessage `json:"value"` // of a metalayer in MessagePack or of bcolz; null otherwise
}

func newUnsupportedDoc(u ndarray.UnsupportedAttr) unsupportedDoc {
	d := unsupportedDoc{Name: u.Name, Type: u.Type, Reason: u.Reason}
	if u.Raw != nil {
		d.Value, _ = msgpack.JSON(u.Raw)
	}
	return d
}

func (a *app) infoCommand() *cobra.Command {
	var asJSON, meta, storage bool
	cmd := &cobra.Command{
		Use:   "info FILE[:/path]...",
		Short: "Show the properties of one array or group",
		Long: `info shows shape, element type, chunks, compression, size and attributes of one array,
or the contents and the attributes of a group or of a file with many arrays.

--meta writes the metadata in stored form as JSON: metalayers of Blosc2, metadata files
of bcolz, comment and times of HDF5, and attributes, for arrays and groups.

--storage shows the bytes of each kind of structure in the whole file, for HDF5 by the
allocation types of its specification, and the free space.` + addressHelp + twoArguments + sliceHelp,
		Example: `  hyperslab info rose.b2nd
  hyperslab info etopo.h5:/ROSE
  hyperslab info etopo.h5 /ROSE
  hyperslab info etopo.h5:/ROSE --json
  hyperslab info waves.b2nd --meta
  hyperslab info etopo.h5 --storage`,
		Args:              arity(1, 2),
		ValidArgsFunction: completeAddress,
		RunE: func(cmd *cobra.Command, args []string) error {
			a.access.metadata = true
			switch {
			case meta:
				d, err := a.gatherMeta(cmd.Context(), address(args))
				if err != nil {
					return err
				}
				return a.writeJSON(a.stdout, d)
			case storage:
				loc, err := locate.Parse(address(args))
				if err != nil {
					return err
				}
				if strings.Trim(loc.Object, "/") != "" {
					return usagef("--storage is of a whole file; give it %s alone", loc.File)
				}
				file, done, err := fetched(cmd.Context(), loc.File)
				if err != nil {
					return err
				}
				d, err := gatherStorage(file)
				if err = errors.Join(err, done()); err != nil {
					return err
				}
				d.File = loc.File
				if asJSON {
					return a.writeJSON(a.stdout, d)
				}
				return d.write(a.stdout, a.data)
			}
			return a.info(cmd.Context(), address(args), asJSON)
		},
	}
	cmd.Flags().BoolVar(&meta, "meta", false, "write metalayers, comments and times, as JSON")
	cmd.Flags().BoolVar(&storage, "storage", false, "show the space of each structure and the free space")
	a.each(cmd)
	(&untrustedFlags{}).add(a, cmd)
	addDType(a, cmd)
	cmd.MarkFlagsMutuallyExclusive("meta", "storage")
	jsonFlag(cmd, &asJSON)
	a.paged(cmd)
	return cmd
}

// info shows the properties of the array or group at an address.
func (a *app) info(ctx context.Context, address string, asJSON bool) (err error) {
	loc, err := locate.Parse(address)
	if err != nil {
		return err
	}
	tree, p, err := a.openEither(ctx, address)
	if err != nil {
		return err
	}
	if p == nil { // a ctable is also an array of structures
		if arr, _ := tree.Open(ctx, loc.Object); arr != nil {
			p = &part{Array: arr, tree: tree}
		}
	}
	if p == nil {
		defer func() { err = errors.Join(err, tree.Close()) }()
		return a.infoGroup(ctx, tree, loc, address, asJSON)
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	f, err := newFacts(ctx, address, p.Array)
	if err != nil {
		return err
	}
	if f.hdf5, err = hdf5Of(cmp.Or(p.source, p.Array), loc.File); err != nil {
		return err
	}
	if asJSON {
		return errors.Join(f.broken, a.writeJSON(a.stdout, f.doc()))
	}
	return errors.Join(f.broken, f.write(a.stdout, a.data))
}

// infoGroup shows the properties of the group of a tree, whose address was parsed.
func (a *app) infoGroup(ctx context.Context, tree *hyperslab.Tree, loc locate.Location, address string, asJSON bool) error {
	d, err := gatherGroup(ctx, tree, loc, address)
	if err != nil {
		return err
	}
	if asJSON {
		err = a.writeJSON(a.stdout, d)
	} else {
		err = d.write(a.stdout, a.data)
	}
	if err == nil && d.incomplete != nil {
		a.note("%s %s: %s", a.talk.Failure("hyperslab info:"), term.Safe(address), term.SafeLines(d.incomplete.Error()))
		return a.unlisted(loc.File)
	}
	return err
}

// facts contains the properties that info shows of an array.
type facts struct {
	address string
	meta    ndarray.Meta
	bytes   int64            // of all elements in memory
	storage *ndarray.Storage // nil if the backend cannot report it
	attrs   ndarray.Attrs
	broken  error    // of attributes that cannot be read; the others are in attrs
	hdf5    *hdf5Doc // only of the command info; nil for other formats
}

// gatherFacts returns the properties of the array at an address.
func (a *app) gatherFacts(ctx context.Context, address string) (f *facts, err error) {
	p, err := a.openPart(ctx, address)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	if f, err = newFacts(ctx, address, p.Array); err == nil {
		err = f.broken
	}
	return f, err
}

// newFacts returns the properties of an array.
func newFacts(ctx context.Context, address string, arr *ndarray.Array) (f *facts, err error) {
	f = &facts{address: address, meta: arr.Meta(), bytes: arr.NBytes()}
	if f.storage, err = storageOf(ctx, arr); err != nil {
		return nil, err
	}
	f.attrs, f.broken = attrsOf(ctx, arr)
	if f.broken != nil && ctx.Err() != nil {
		return nil, f.broken
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

// attrsOf returns the attributes, or none if the backend does not support attributes.
func attrsOf(ctx context.Context, arr *ndarray.Array) (ndarray.Attrs, error) {
	attrs, err := arr.Attrs(ctx)
	if lib, failed := errors.AsType[*h5.Error](err); failed {
		return attrs, lib // there are attributes, which cannot be read
	}
	if errors.Is(err, errors.ErrUnsupported) {
		return ndarray.Attrs{}, nil
	}
	return attrs, err
}

// ratio returns bytes in memory divided by stored bytes, rounded to three decimals, or nil if one
// of them is unknown or zero.
func ratio(bytes int64, s *ndarray.Storage) *jsonFloat {
	if s == nil || s.StoredBytes == 0 || bytes == 0 {
		return nil
	}
	r := jsonFloat(math.Round(float64(bytes)/float64(s.StoredBytes)*1000) / 1000)
	return &r
}

func (f *facts) doc() infoDoc {
	m := f.meta
	d := infoDoc{
		Schema: schemaInfo, Address: f.address, Format: m.Format,
		Shape: shapeDoc(m), MaxShape: jsonShape(m.MaxShape), Axes: m.AxisNames,
		DType: m.DType.String(), ItemSize: m.DType.Size, Nullable: m.Nullable,
		Elements: jsonInt(m.NumElems()), Bytes: jsonInt(f.bytes), Ratio: ratio(f.bytes, f.storage),
		Chunks: jsonShape(m.ChunkShape), Blocks: jsonShape(m.BlockShape),
		Attributes: []attrDoc{}, UnsupportedAttrs: []unsupportedDoc{}, HDF5: f.hdf5,
	}
	if f.storage != nil {
		stored, chunks := jsonInt(f.storage.StoredBytes), jsonInt(f.storage.NumChunks)
		d.StoredBytes, d.NumChunks = &stored, &chunks
	}
	if c := m.Compression; c != nil {
		d.Codec, d.Level, d.Filters = &c.Codec, &c.Level, append([]string{}, c.Filters...)
	}
	if m.Fill != nil {
		d.Fill = elementJSON(m.DType, m.Fill)
	}
	for _, attr := range f.attrs.List {
		d.Attributes = append(d.Attributes, newAttrDoc(attr))
	}
	for _, u := range f.attrs.Unsupported {
		d.UnsupportedAttrs = append(d.UnsupportedAttrs, newUnsupportedDoc(u))
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
	return joined(shown)
}

func newAttrDoc(attr ndarray.Attr) attrDoc {
	v := attr.Value
	doc := attrDoc{Name: attr.Name, DType: v.DType.String(), Value: valueJSON(v)}
	if !v.Null {
		doc.Shape = append([]jsonInt{}, jsonShape(v.Shape)...)
	}
	return doc
}

func (f *facts) write(w io.Writer, p term.Paint) error {
	if err := f.table().Write(w, p); err != nil {
		return err
	}
	return attrsTable(f.attrs).Write(w, false)
}

// table lists the properties, except the attributes.
func (f *facts) table() *term.Table {
	m := f.meta
	t := &term.Table{Keys: true}
	row := func(key, value string) { t.Add(key, value) }
	row("array", term.Safe(f.address))
	row("format", m.Format)
	row("shape", fmt.Sprintf("%s (%s)", metaShape(m), term.Plural(m.NumElems(), "element")))
	if m.MaxShape != nil {
		row("max shape", term.FormatShape(m.MaxShape))
	}
	if m.AxisNames != nil {
		row("dimension names", axisNames(m.AxisNames))
	}
	row("dtype", dtypeText(m.DType))
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
			row("filters", joined(c.Filters))
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
	if f.storage != nil {
		row("stored", term.FormatBytes(f.storage.StoredBytes))
	}
	if r := ratio(f.bytes, f.storage); r != nil {
		row("ratio", fmt.Sprintf("%.2fx", float64(*r)))
	}
	row("attributes", fmt.Sprint(len(f.attrs.List)+len(f.attrs.Unsupported)))
	return t
}

func (f *facts) chunkCount() string {
	if f.storage == nil {
		return ""
	}
	return " (" + term.Plural(f.storage.NumChunks, "chunk") + ")"
}

// attrsTable lists the names, types and values of attributes.
func attrsTable(attrs ndarray.Attrs) *term.Table {
	var t term.Table
	for _, attr := range attrs.List {
		v := attr.Value
		shape := ""
		if len(v.Shape) > 0 {
			shape = " " + term.FormatShape(v.Shape)
		}
		t.Add("  "+term.Safe(attr.Name), v.DType.String()+shape, shorten(v.String(), wide))
	}
	for _, u := range attrs.Unsupported {
		text := u.Type
		if j := newUnsupportedDoc(u).Value; j != nil {
			text += " " + string(j)
		}
		t.Add("  "+term.Safe(u.Name), "unsupported", shorten(term.Safe(text), wide))
	}
	return &t
}

// metaShape formats the shape of an array; a null array has no shape.
func metaShape(m ndarray.Meta) string {
	if m.Null {
		return "null"
	}
	return term.FormatShape(m.Shape)
}

// dtypeText returns, for example, "<f4 (float, 4 bytes, little-endian)".
func dtypeText(d ndarray.DType) string {
	text := fmt.Sprintf("%v (%v, %s", d, d.Kind, term.Plural(int64(d.Size), "byte"))
	switch d.Order {
	case ndarray.Little:
		text += ", little-endian"
	case ndarray.Big:
		text += ", big-endian"
	}
	if d.Kind == ndarray.Bytes {
		text += ", " + d.CharSet.String() + ", " + d.Pad.String()
	}
	return text + ")"
}
