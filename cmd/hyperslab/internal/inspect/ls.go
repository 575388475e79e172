// hyperslab ls: list the objects of a file.

package inspect

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/internal/location/shellword"
	"github.com/hyperslab/hyperslab/ndarray"
)

// LsDoc is the document of ls --json.
type LsDoc struct {
	Schema  string    `json:"schema"`
	Address string    `json:"address"`
	Entries []LsEntry `json:"entries"`
}

// LsEntry is one object. Missing properties are null.
type LsEntry struct {
	Path        string           `json:"path"`
	Kind        string           `json:"kind"`
	Shape       []shell.JSONInt  `json:"shape"`
	MaxShape    []shell.JSONInt  `json:"max_shape"`
	Axes        []string         `json:"dimension_names"`
	DType       *string          `json:"dtype"`
	Type        *string          `json:"type"`
	Bytes       *shell.JSONInt   `json:"bytes"`
	StoredBytes *shell.JSONInt   `json:"stored_bytes"`
	Ratio       *shell.JSONFloat `json:"ratio"`
	Chunks      []shell.JSONInt  `json:"chunks"`
	Blocks      []shell.JSONInt  `json:"blocks"`
	Codec       *string          `json:"codec"`
	Level       *int             `json:"level"`
	Filters     []string         `json:"filters"`
	Attributes  *int             `json:"attributes"`
	LinkKind    *string          `json:"link_kind"`
	Target      *string          `json:"target"`
	Error       *string          `json:"error"`

	compression string // codec and filters in one cell
	null        bool   // an array with no elements, of a null dataspace
}

// lsJob is one run of ls.
type lsJob struct {
	*shell.App

	recursive, long, json, noSizes bool
}

func newLs(a *shell.App) *cobra.Command {
	j := &lsJob{App: a}
	cmd := &cobra.Command{
		Use:   "ls FILE[:/path]...",
		Short: "List the objects of a file or group",
		Long: `ls lists the objects of a file or of a group in it: arrays with shape, element type,
chunks, compression and stored bytes, groups with a slash at the end, and links with
their target. Objects that cannot be opened as arrays are listed with their type in the
file.` + shell.AddressHelp + shell.TwoArguments,
		Example: `  hyperslab ls etopo.h5
  hyperslab ls -lr etopo.h5:/
  hyperslab ls etopo.h5 /ROSE
  hyperslab ls rose.b2nd --json`,
		Args:              shell.Arity(1, 2),
		ValidArgsFunction: shell.CompleteAddress,
		RunE: func(cmd *cobra.Command, args []string) error {
			return j.run(cmd.Context(), shell.Address(args))
		},
	}
	f := cmd.Flags()
	shell.RecursiveFlag(cmd, &j.recursive, "also the objects of the groups, recursively")
	f.BoolVarP(&j.long, "long", "l", false, "also the maximum shape, dimension names, blocks, bytes in memory and ratio")
	f.BoolVar(&j.noSizes, "no-sizes", false, "do not measure stored bytes; at a URL the chunk indexes of HDF5 are then not read")
	shell.JSONFlag(cmd, &j.json)
	a.Each(cmd)
	(&shell.UntrustedFlags{}).Add(a, cmd)
	a.Paged(cmd)
	return cmd
}

func (j *lsJob) run(ctx context.Context, address string) error {
	loc, err := locate.Parse(address)
	if err != nil {
		return err
	}
	base := "/" + strings.Trim(loc.Object, "/")
	doc, table := LsDoc{Schema: shell.SchemaLs, Address: address, Entries: []LsEntry{}}, newLsTable(j)
	failed := false
	below := func(e hyperslab.Entry) bool { return !j.recursive && e.Path != base }
	for e, err := range j.Walk(ctx, address, hyperslab.WalkOptions{Prune: below, NoSizes: j.noSizes}) {
		if err != nil {
			return err
		}
		if !listed(e, base, j.recursive) {
			if e.Path == base && e.Err != nil && !Unsupported(e) { // its members are unknown
				failed = true
				j.Note("%s %s: %s", j.Talk.Failure("hyperslab ls:"), term.Safe(loc.File+":"+e.Path), term.SafeLines(e.Err.Error()))
			}
			continue
		}
		if l := newLsEntry(e); j.json {
			doc.Entries = append(doc.Entries, l)
		} else {
			table.Add(l.cells(j)...)
		}
		if e.Err != nil && !described(e) {
			failed = failed || !Unsupported(e)
			j.Note("%s %s: %s", j.Talk.Failure("hyperslab ls:"), term.Safe(loc.File+":"+e.Path), term.SafeLines(e.Err.Error()))
		}
	}
	switch {
	case j.json:
		err = j.WriteJSON(j.Stdout, doc)
	case j.long && len(table.Rows) > 0:
		err = table.WithoutEmpty().Write(j.Stdout, j.Data)
	default:
		err = table.Write(j.Stdout, j.Data)
	}
	if err == nil && failed {
		return unlisted(j.App, loc.File)
	}
	return err
}

// unlisted returns the error for an incomplete listing. The missing objects have been reported.
func unlisted(a *shell.App, file string) error {
	a.Note("  hyperslab verify %s reports whether the file is corrupt", shellword.Quote(file))
	return &shell.ExitError{Code: shell.ExitPartly}
}

// listed reports whether an entry of the walk from base on belongs in the listing. The listed group
// itself does not, and members of its groups only if recursive is set.
func listed(e hyperslab.Entry, base string, recursive bool) bool {
	if e.Path == base {
		return e.Kind != hyperslab.Group
	}
	inside := strings.TrimPrefix(strings.TrimPrefix(e.Path, base), "/")
	return recursive || !strings.Contains(inside, "/")
}

// described reports whether the listing can describe e. An array without a dtype shows its type in
// the format's notation.
func described(e hyperslab.Entry) bool {
	return e.Err == nil || Unsupported(e) && e.Meta.Format != ""
}

// describedElements reports whether the entry of an array has its dtype, also if its elements
// cannot be read.
func describedElements(e hyperslab.Entry) bool {
	return e.Kind == hyperslab.Array && described(e) && e.Meta.DType.Kind != 0
}

// Unsupported reports whether e is a valid array whose type has no dtype. That is not a failure.
func Unsupported(e hyperslab.Entry) bool {
	return errors.Is(e.Err, errors.ErrUnsupported) || errors.Is(e.Err, ndarray.ErrType)
}

func newLsEntry(e hyperslab.Entry) LsEntry {
	entry := LsEntry{Path: e.Path, Kind: string(e.Kind), Type: shell.OrNull(e.Type), LinkKind: shell.OrNull(e.LinkKind),
		Target: shell.OrNull(e.Target)}
	if e.Err != nil {
		entry.Error = shell.OrNull(e.Err.Error())
	}
	if e.Kind == hyperslab.Group || e.Kind == hyperslab.Array {
		attrs := e.Attrs // a pointer to e.Attrs would keep all of e
		entry.Attributes = &attrs
	}
	if e.Kind != hyperslab.Array || !described(e) {
		return entry
	}
	m := e.Meta
	entry.Shape, entry.MaxShape, entry.Axes, entry.null = shell.ShapeDoc(m), shell.JSONShape(m.MaxShape), m.AxisNames, m.Null
	if stored := shell.JSONInt(e.Storage.StoredBytes); stored >= 0 {
		entry.StoredBytes = &stored
	}
	entry.Chunks, entry.Blocks = shell.JSONShape(m.ChunkShape), shell.JSONShape(m.BlockShape)
	if c := m.Compression; c != nil {
		entry.Codec, entry.Level, entry.Filters = &c.Codec, &c.Level, append([]string{}, c.Filters...)
		entry.compression = c.String()
	}
	if describedElements(e) {
		bytes := m.NumElems() * int64(m.DType.Size)
		if entry.DType, entry.Bytes = shell.OrNull(m.DType.String()), (*shell.JSONInt)(&bytes); entry.StoredBytes != nil {
			entry.Ratio = shell.Ratio(bytes, &e.Storage)
		}
	}
	return entry
}

// newLsTable returns a table with the columns of the listing.
func newLsTable(o *lsJob) *term.Table {
	switch {
	case o.long:
		return &term.Table{
			Head: []string{"PATH", "SHAPE", "MAX SHAPE", "DIMENSIONS", "DTYPE", "CHUNKS", "BLOCKS", "CODEC", "BYTES", "STORED", "RATIO",
				"ATTRS"},
			Right: []bool{8: true, 9: true, 10: true, 11: true},
		}
	case o.noSizes:
		return &term.Table{Head: []string{"PATH", "SHAPE", "DTYPE", "CHUNKS", "CODEC"}}
	}
	return &term.Table{
		Head:  []string{"PATH", "SHAPE", "DTYPE", "CHUNKS", "CODEC", "STORED"},
		Right: []bool{5: true},
	}
}

// cells returns the row of an entry in a table of newLsTable.
func (e *LsEntry) cells(o *lsJob) []string {
	shape, chunks, dtype, stored := shell.ShapeCell(e.Shape), shell.ShapeCell(e.Chunks), "", ""
	if e.Kind == string(hyperslab.Array) && e.null {
		shape = "null"
	}
	if e.DType != nil {
		dtype = *e.DType
	} else if e.Type != nil {
		dtype = shell.Shorten(term.Safe(*e.Type), shell.Narrow)
	}
	if e.StoredBytes != nil {
		stored = term.FormatBytes(int64(*e.StoredBytes))
	}
	if !o.long {
		cells := []string{e.name(), shape, dtype, chunks, e.compression}
		if !o.noSizes {
			cells = append(cells, stored)
		}
		return cells
	}
	dimensions, bytes, ratio, attrs := "", "", "", ""
	if e.Axes != nil {
		dimensions = shell.Shorten(axisNames(e.Axes), shell.Narrow)
	}
	if e.Bytes != nil {
		bytes = term.FormatBytes(int64(*e.Bytes))
	}
	if e.Ratio != nil {
		ratio = fmt.Sprintf("%.2fx", float64(*e.Ratio))
	}
	if e.Attributes != nil {
		attrs = fmt.Sprint(*e.Attributes)
	}
	return []string{e.name(), shape, shell.ShapeCell(e.MaxShape), dimensions, dtype, chunks, shell.ShapeCell(e.Blocks), e.compression,
		bytes, stored, ratio, attrs}
}

// name returns the path as listed, for example "/group/" or "/link -> /target".
func (e *LsEntry) name() string {
	name := term.Safe(e.Path)
	if e.Kind == string(hyperslab.Group) && !strings.HasSuffix(name, "/") {
		name += "/"
	}
	if e.Target != nil {
		name += " -> " + term.Safe(*e.Target)
	}
	return name
}
