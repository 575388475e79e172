// hyperslab dump: write the values of an array, for users and for programs.

package inspect

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/h5/ddl"
	"github.com/hyperslab/hyperslab/internal/elements/encode"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/cf"
)

// DumpDoc is the document of dump --json. The values, of which there may be many, are written last,
// as they are read.
type DumpDoc struct {
	Schema  string          `json:"schema"`
	Address string          `json:"address"`
	Shape   []shell.JSONInt `json:"shape"`
	DType   string          `json:"dtype"`
	Values  any             `json:"values"`
}

// dumpJob is one run of dump.
type dumpJob struct {
	*shell.App

	files                                      shell.FilesFlags
	progress                                   string
	json, ndjson, csv, npy, ddl, header, index bool
	csvSafe, unpack, noHeader, coords          bool

	columns *coords // of the array, with coords
	before  string  // the header line of the array before
}

func newDump(a *shell.App) *cobra.Command {
	j := &dumpJob{App: a}
	cmd := &cobra.Command{
		Use:   "dump FILE[:/path][[SELECTION]]...",
		Short: "Write the values of an array: text, JSON, CSV or .npy",
		Long: `dump writes the values of an array, or of a part of it, to standard output. As text,
each line begins with the index of its first value; a structure has a line, with a
column for each field.

--json writes one document. --ndjson writes a line of JSON for each index of the first
axis. --csv writes a line for each structure, or for each row of the last axis, after a
header line with the names of the columns: the fields, the name of the array, or
column0, column1, … --no-header omits it, --index adds columns with the indices of the
other axes, and --csv-safe makes strings harmless for spreadsheets. --coords writes a
line for each element, as to_dataframe of xarray does: its coordinates and its value.
Coordinates are the dimension scale in HDF5 and netCDF, otherwise the array with the
name of the dimension in the group of the array or a group above it; a dimension
without coordinates has indices. --npy writes the
format of numpy.load. --ddl writes an HDF5 file, an object in it with everything below
it, or a part of a dataset, in the DDL of h5dump. Values are read in parts of some
megabytes, so that memory is bounded. A null element of a table is an empty cell in CSV
and null in the other forms; --npy fails if there is one.

--unpack writes dates in the calendar of the file, as cftime does, and missing integers
as NaN. A number that is no date is NaT, and standard error has the number of them. An
attribute that is broken or contradicts another one has no effect, and is reported.
Integers with an integer scale_factor and add_offset are exact integers, of the type
that NumPy has for the result. --npy fails for a date that datetime64 does not have, for
a number out of range of the type, and for a missing integer of 8 bytes.` +
			shell.AddressHelp + shell.TwoArguments + shell.SliceHelp,
		Example: `  hyperslab dump 'etopo.h5:/ROSE[0, :10]'
  hyperslab dump etopo.h5:/ETOPO120X --csv
  hyperslab dump 'etopo.h5:/ROSE[:2, :3]' --csv --coords
  hyperslab dump 'rose.b2nd[::10, ::10]' --json
  hyperslab dump 'rose.b2nd[45]' --npy > row.npy
  hyperslab dump etopo.h5 --ddl --header
  hyperslab dump etopo.h5:/ETOPO120Y --ddl
  hyperslab dump 'etopo.h5:/ROSE[0, :10]' --ddl`,
		Args:              shell.Arity(1, 2),
		ValidArgsFunction: shell.CompleteAddress,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if j.ddl || j.header {
			return j.dumpDDL(cmd.Context(), args)
		}
		return j.run(cmd.Context(), shell.Address(args))
	}
	f := cmd.Flags()
	shell.JSONFlag(cmd, &j.json)
	f.BoolVar(&j.ndjson, "ndjson", false, "write a line of JSON for each index of the first axis")
	f.BoolVar(&j.csv, "csv", false, "write comma-separated values")
	f.BoolVar(&j.npy, "npy", false, "write .npy")
	f.BoolVar(&j.ddl, "ddl", false, "write an HDF5 file, or an object in it, as text, as h5dump does")
	f.BoolVarP(&j.header, "header", "H", false, "with --ddl: metadata without values")
	f.BoolVar(&j.noHeader, "no-header", false, "with --csv: write no line with the names of the columns")
	f.BoolVar(&j.index, "index", false,
		"with --csv: begin each line with the index of its first value, in columns with the names of the dimensions")
	f.BoolVar(&j.coords, "coords", false,
		"with --csv: write a line for each element, with its coordinates in columns with the names of the dimensions")
	f.BoolVar(&j.unpack, "unpack", false, "write values unpacked by the CF conventions (scale_factor, add_offset, _FillValue, "+
		"missing_value, valid_range), and times as dates")
	f.Bool("raw", false, "write the stored elements, which is the default")
	cmd.MarkFlagsMutuallyExclusive("raw", "unpack")
	f.BoolVar(&j.csvSafe, "csv-safe", false, "with --csv: put ' before strings that a spreadsheet would read as a formula")
	shell.ProgressFlag(cmd, &j.progress)
	cmd.MarkFlagsMutuallyExclusive("json", "ndjson", "csv", "npy", "ddl")
	cmd.MarkFlagsMutuallyExclusive("index", "coords")
	a.Each(cmd)
	j.files.Add(a, cmd)
	(&shell.UntrustedFlags{}).Add(a, cmd)
	shell.AddDType(a, cmd)
	a.Paged(cmd)
	return cmd
}

// check checks the flags.
func (j *dumpJob) check() error {
	for _, f := range []struct {
		name string
		is   bool
	}{{"--index", j.index}, {"--coords", j.coords}, {"--no-header", j.noHeader}, {"--csv-safe", j.csvSafe}} {
		if f.is && !j.csv {
			return shell.Usagef("%s requires --csv", f.name)
		}
	}
	if j.npy && term.IsTerminal(j.Stdout) {
		return shell.Usagef("--npy writes bytes that are not for a terminal; send them to a file or a program")
	}
	return shell.CheckProgress(j.progress)
}

func (j *dumpJob) run(ctx context.Context, address string) (err error) {
	if err := j.check(); err != nil {
		return err
	}
	arr, err := j.OpenInTree(ctx, address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, arr.Close()) }()
	if j.coords {
		if j.columns, err = j.coordsOf(ctx, address, arr); err != nil {
			return err
		}
	}
	values := arr.Array
	if j.unpack {
		meant, err := j.Meant(ctx, arr, address, cf.ValueOptions{Dates: true, Strict: j.npy})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, meant.Close()) }()
		defer func() { j.NoteUndated(meant.Variable) }()
		j.NoteWarnings("dump", meant.Variable)
		j.Note("%s %s", j.Talk.Notice("hyperslab dump:"),
			cmp.Or(term.Safe(meant.Applied), "no attribute of the CF conventions changes the values"))
		values = meant.Values
	}
	kind := j.progress
	if kind == term.ProgressAuto && !term.IsFile(j.Stdout) { // a pager or another reader of the output may use the terminal
		kind = term.ProgressNone
	}
	m := term.NewMeter(kind, j.Stderr, "dump", shell.AllBytes(values), time.Now).SetSources(ctx, arr.Stored())
	defer m.Finish()
	out, done := j.Content()
	whole := &shell.Spool{}
	if j.json { // the whole document or no output
		defer func() { err = errors.Join(err, whole.Close()) }()
		to := out
		out = whole
		defer func() {
			if err == nil {
				err = whole.CopyTo(to)
			}
		}()
	}
	w := bufio.NewWriterSize(out, 64<<10)
	o := &encode.Options{Progress: m.Update}
	switch {
	case j.json:
		err = j.dumpJSON(ctx, w, address, values, o)
	case j.csv:
		err = j.dumpCSV(ctx, w, address, values, o)
	case j.ndjson, j.npy:
		if o.Format = encode.Lines; j.npy {
			o.Format = encode.NPY
		}
		err = shell.Encode(ctx, w, values, o)
	default:
		err = dumpText(ctx, w, values, j.Columns(), m.Update)
	}
	return cmp.Or(err, w.Flush(), done())
}

// dumpDDL writes an HDF5 file, or one object in it, as DDL.
func (j *dumpJob) dumpDDL(ctx context.Context, args []string) (err error) {
	switch {
	case !j.ddl:
		return shell.Hintf("h5dump -H FILE is: hyperslab dump --ddl --header FILE", "-H (--header) requires --ddl")
	case j.unpack:
		return shell.Usagef("--unpack and --ddl do not go together: DDL has the stored elements")
	case j.files.Dir != "":
		return shell.Usagef("--external-dir and --ddl do not go together: libhdf5 looks in the working directory")
	case j.Untrusted():
		return shell.Usagef("--ddl and --untrusted exclude each other, because libhdf5 reads the file for --ddl without a check")
	}
	d, err := parseDDL(args)
	if err != nil {
		return err
	}
	if j.header && d.selection != "" {
		return shell.Usagef("%s: --header prints no values: remove the selection", d.where)
	}
	f, err := j.OpenHDF5(ctx, d.file)
	if err != nil {
		switch format, other := hyperslab.Sniff(d.file); {
		case other != nil:
			return other
		case format != hyperslab.HDF5:
			return shell.Usagef("%s: --ddl is for HDF5 files, this is %s", d.file, format)
		}
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	what := &d.what
	what.Name, what.WithoutValues = d.file, j.header
	if j.files.Missing {
		what.Missing = j.Missing
	}
	if err = d.part(f); err == nil {
		w, done := j.Content()
		err = ddl.Write(w, f, what)
		err = errors.Join(err, done())
	}
	if what.Object != "" {
		err = ndarray.Wrap("dump", locate.Location{File: d.file, Object: what.Object}.String(), err)
	}
	return err
}

// dumpJSON writes the document with the values as nested arrays, one line for each row of the last
// axis.
func (j *dumpJob) dumpJSON(ctx context.Context, w *bufio.Writer, address string, arr *ndarray.Array, o *encode.Options) error {
	m := arr.Meta()
	var head strings.Builder
	if err := j.WriteJSON(&head, DumpDoc{Schema: shell.SchemaDump, Address: address, Shape: shell.ShapeDoc(m),
		DType: m.DType.String()}); err != nil {
		return err
	}
	_, _ = w.WriteString(strings.TrimSuffix(head.String(), "null\n}\n")) // the writer keeps its first error
	o.Format, o.Depth = encode.JSON, 1
	if err := shell.Encode(ctx, w, arr, o); err != nil {
		return err
	}
	_, err := w.WriteString("\n}\n")
	return err
}

// dumpText writes lines with as many values as fit, after the index of the first one.
func dumpText(ctx context.Context, w *bufio.Writer, arr *ndarray.Array, columns int, progress func(bytes int64)) error {
	m := arr.Meta()
	if m.DType.Kind == ndarray.Struct {
		return dumpRecords(ctx, w, arr, progress)
	}
	label := 0 // width of the longest index
	if len(m.Shape) > 0 {
		last := make([]int64, len(m.Shape))
		for i, n := range m.Shape {
			last[i] = max(n-1, 0)
		}
		label = len(shell.IndexText(last)) + 2
	}
	p := encode.NewPlace(m.Shape)
	width := 0
	return encode.EachText(ctx, arr, encode.Block/16, progress, func(_ ndarray.Region, e *encode.Batch) error {
		cells := make([]string, e.N)
		for i := range cells {
			cells[i] = e.Text(i)
			width = max(width, term.StringWidth(cells[i]))
		}
		perLine := max((columns-label+1)/(width+1), 1)
		column := 0
		for i, cell := range cells {
			if column == 0 && label > 0 {
				index := shell.IndexText(p.Index)
				_, _ = w.WriteString(index + strings.Repeat(" ", label-len(index)))
			} else if column > 0 {
				_ = w.WriteByte(' ')
			}
			_, _ = w.WriteString(strings.Repeat(" ", width-term.StringWidth(cell)) + cell)
			if column++; column == perLine || p.Ends() > 0 || i == len(cells)-1 || len(p.Shape) == 0 {
				_ = w.WriteByte('\n')
				column = 0
			}
			p.Next()
		}
		return w.Flush()
	})
}

// dumpRecords writes structures, one per line, with a column for each field.
func dumpRecords(ctx context.Context, w *bufio.Writer, arr *ndarray.Array, progress func(bytes int64)) error {
	d := arr.DType()
	t := &term.Table{Head: []string{""}, Right: []bool{false}}
	for _, f := range d.Fields {
		t.Head = append(t.Head, term.Safe(f.Name))
		t.Right = append(t.Right, numeric(f.Type))
	}
	if len(arr.Shape()) == 0 {
		t.Head, t.Right = t.Head[1:], t.Right[1:]
	}
	p := encode.NewPlace(arr.Shape())
	err := encode.EachText(ctx, arr, encode.Block/16, progress, func(_ ndarray.Region, e *encode.Batch) error {
		for i := range e.N {
			var cells []string
			if len(arr.Shape()) > 0 {
				cells = append(cells, shell.IndexText(p.Index))
			}
			parts, err := d.Split(e.Bytes(i))
			if err != nil {
				return err
			}
			nulls := e.Fields(i)
			for k, f := range d.Fields {
				if nulls != nil && nulls[k] {
					cells = append(cells, "null")
					continue
				}
				cells = append(cells, ndarray.FormatElement(f.Type, parts[k]))
			}
			t.Add(cells...)
			p.Next()
		}
		err := t.Write(w, false)
		t.Head, t.Rows = nil, nil
		return errors.Join(err, w.Flush())
	})
	if t.Head != nil && err == nil {
		err = t.Write(w, false)
	}
	return err
}

// numeric reports whether values of d are aligned to the right.
func numeric(d ndarray.DType) bool {
	switch d.Kind {
	case ndarray.Int, ndarray.Uint, ndarray.Float, ndarray.BFloat:
		return true
	}
	return false
}
