// hyperslab crosscheck: conformance vectors for authors of other implementations, and a test
// runner.

package publish

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/crosscheck"
	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
	"github.com/hyperslab/hyperslab/ndarray"
)

// EmitDoc is the document of crosscheck emit --json.
type EmitDoc struct {
	Schema    string            `json:"schema"`
	Directory string            `json:"directory"`
	Manifest  string            `json:"manifest"`
	Full      bool              `json:"full"`
	Versions  map[string]string `json:"versions"`
	Cases     int               `json:"cases"`
	Bytes     shell.JSONInt     `json:"bytes"`
	Areas     []EmitArea        `json:"areas"`
}

// EmitArea is one area of vectors.
type EmitArea struct {
	Area       string        `json:"area"`
	Accept     int           `json:"accept"`
	Refuse     int           `json:"refuse"`
	Bytes      shell.JSONInt `json:"bytes"`
	Pairs      int           `json:"pairs"`
	Covered    int           `json:"covered"`
	Impossible int           `json:"impossible"`
}

func (a *app) crosscheckCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "crosscheck",
		Short: "Test other readers and writers of these formats against the reference libraries",
		Long: `crosscheck is for authors of other implementations, in any language. emit writes test
vectors: files made by the reference libraries, with a manifest that contains the
expected bytes of each or the requirement that it is refused. run tests a program with
them and explains its errors. docs/crosscheck-manifest.md describes the manifest, the
decoded bytes and the report.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return shell.Usagef("there is no command %q%s", args[0], shell.Near(cmd, args[0]))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.crosscheckEmitCommand(), a.crosscheckRunCommand())
	return cmd
}

func (a *app) crosscheckEmitCommand() *cobra.Command {
	var o crosscheck.Options
	asJSON := false
	progress := ""
	cmd := &cobra.Command{
		Use:   "emit DIRECTORY",
		Short: "Write the vectors and their manifest",
		Long: `emit writes the vectors to DIRECTORY, which must be new or empty. Their bytes depend only
on the versions of the linked libraries: two runs write the same bytes. The default set
has about 25 MB. --small writes at most 5 MB, with at least one vector for each rule of
the formats (crosscheck/coverage.md).`,
		Example: `  hyperslab crosscheck emit vectors
  hyperslab crosscheck emit few --small
  hyperslab crosscheck emit chunks --area chunk --area frame
  hyperslab crosscheck emit layers --area metalayer --json`,
		Args: shell.Arity(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkAreas(o.Areas); err != nil {
				return err
			}
			if err := shell.CheckProgress(progress); err != nil {
				return err
			}
			done, all := int64(0), int64(len(crosscheck.Areas()))
			if len(o.Areas) > 0 {
				all = int64(len(o.Areas))
			}
			bar := term.NewMeter(progress, a.Stderr, "crosscheck", all, time.Now)
			bar.UpdateUnits(0, all, "areas")
			o.Progress = func(string, int) { done++; bar.UpdateUnits(done, all, "areas") }
			m, err := emitInto(cmd.Context(), args[0], &o)
			bar.Finish()
			if err != nil {
				return err
			}
			d := newEmitDoc(args[0], m)
			if asJSON {
				return shell.WriteJSON(a.Stdout, d)
			}
			return d.table().Write(a.Stdout, a.Data)
		},
	}
	cmd.Flags().BoolVar(&o.Full, "full", false, "all combinations of parameters instead of all pairs (several GB)")
	cmd.Flags().BoolVar(&o.Small, "small", false, "the small set, at most 5 MB")
	cmd.MarkFlagsMutuallyExclusive("full", "small")
	areaFlag(cmd, &o.Areas)
	shell.ProgressFlag(cmd, &progress)
	shell.JSONFlag(cmd, &asJSON)
	return cmd
}

// emitInto writes the vectors into a directory that appears when all are written. It does not wait
// for the disk, because the files are many and easily made again.
func emitInto(ctx context.Context, directory string, o *crosscheck.Options) (*crosscheck.Manifest, error) {
	entries, err := os.ReadDir(directory)
	out, err := shell.NewOutput(ctx, directory, atomicfile.Options{Overwrite: err == nil && len(entries) == 0, Volatile: true})
	if err != nil {
		return nil, err
	}
	m, err := crosscheck.Emit(ctx, out.Path(), o)
	if err == nil {
		err = out.Commit()
	}
	if err != nil {
		return nil, errors.Join(err, out.Abort())
	}
	return m, nil
}

func areaFlag(cmd *cobra.Command, to *[]string) {
	cmd.Flags().StringArrayVar(to, "area", nil, "only the `AREA` ("+shell.Joined(crosscheck.Areas())+"); may be given several times")
	shell.CompleteWords(cmd, "area", crosscheck.Areas()...)
}

func checkAreas(names []string) error {
	for _, name := range names {
		if err := shell.OneOf("--area", name, crosscheck.Areas()...); err != nil {
			return err
		}
	}
	return nil
}

func newEmitDoc(directory string, m *crosscheck.Manifest) EmitDoc {
	d := EmitDoc{Schema: shell.SchemaEmit, Directory: directory, Manifest: crosscheck.ManifestName, Full: m.Full, Versions: m.Versions, Cases: len(m.Cases)}
	for _, name := range crosscheck.Areas() {
		e := EmitArea{Area: name}
		for _, c := range m.Cases {
			switch {
			case c.Area != name:
				continue
			case c.Must == crosscheck.Accept:
				e.Accept++
			default:
				e.Refuse++
			}
			e.Bytes += shell.JSONInt(c.Bytes)
		}
		for _, c := range m.Coverage {
			if c.Area == name {
				e.Pairs, e.Covered, e.Impossible = c.Pairs, c.Covered, c.Impossible
			}
		}
		if e.Accept+e.Refuse > 0 {
			d.Areas = append(d.Areas, e)
			d.Bytes += e.Bytes
		}
	}
	return d
}

func (d *EmitDoc) table() *term.Table {
	t := &term.Table{Head: []string{"AREA", "ACCEPT", "REFUSE", "SIZE", "PAIRS COVERED"}, Right: []bool{false, true, true, true, true}}
	for _, e := range d.Areas {
		pairs := ""
		if e.Pairs > 0 {
			pairs = strconv.Itoa(e.Covered) + " of " + strconv.Itoa(e.Pairs)
		}
		t.Add(e.Area, strconv.Itoa(e.Accept), strconv.Itoa(e.Refuse), term.FormatBytes(int64(e.Bytes)), pairs)
	}
	return t
}

// crosscheckFlags are the flags of crosscheck run.
type crosscheckFlags struct {
	run     crosscheck.RunOptions
	memory  string
	junit   string
	reports string
	force   bool
	explain int

	progress string
	json     bool
}

func (a *app) crosscheckRunCommand() *cobra.Command {
	var o crosscheckFlags
	cmd := &cobra.Command{
		Use:   "run DIRECTORY",
		Short: "Test a program with the vectors",
		Long: `run starts a program for each vector of DIRECTORY, by /bin/sh, and prints the result:

  pass              the right bytes, or an error where one is required
  refused           an error for a valid vector
  wrong             other bytes, and no error
  wrongly accepted  no error for an invalid vector
  unreadable        the reference library or verify refuses the written file
  crash             a signal, a panic, or an exit code of 128 or more
  hang              longer than --timeout

In the command, {in} is the vector and {out} the file for the decoded bytes; {object} is
the path inside an HDF5 file and {area} the area. Exit code 0 means that the program
decoded the vector, any other code that it refused it. With --write the program gets a
{spec} instead, in JSON, with the name of the file of the elements and the requested
properties. The reference library reads the file that the program writes to {out}, and
verify checks it.

With --adapter one process answers many requests on its standard input, for example a
script of 40 lines around a library. docs/crosscheck-peers.md describes the protocol and
the limits. --reports then writes a page for each group of similar failures, for the
authors of the library, with the smallest file that shows the failure.

The exit code is 0 if every case passed, 1 if one failed, 2 if the cases could not be
run.`,
		Example: `  hyperslab crosscheck run vectors --read './their-reader {in} {out}' --area chunk
  hyperslab crosscheck run vectors --read 'python read.py {in} {object} {out}' --timeout 30s --junit report.xml
  hyperslab crosscheck run vectors --write './their-writer {spec} {out}' --area hdf5
  hyperslab crosscheck run vectors --adapter 'python3 adapter.py' --reports reports`,
		Args: shell.Arity(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.crosscheckRun(cmd.Context(), args[0], &o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.run.Read, "read", "", "the `COMMAND` that reads {in} and writes the decoded bytes to {out}")
	f.StringVar(&o.run.Write, "write", "", "the `COMMAND` that writes the file described by {spec} to {out}")
	f.StringVar(&o.run.Adapter, "adapter", "", "the `COMMAND` of an adapter, which answers requests on its standard input")
	f.BoolVar(&o.run.Writes, "writes", false, "also let the adapter write files")
	f.StringVar(&o.run.Only, "case", "", "only the case with this `ID`")
	f.StringVar(&o.reports, "reports", "", "write a page for each group of similar failures to the new `DIRECTORY`")
	areaFlag(cmd, &o.run.Areas)
	f.DurationVar(&o.run.Timeout, "timeout", 10*time.Second, "maximum `TIME` for one case")
	f.StringVarP(&o.memory, "memory", "M", "", "maximum address space, in `BYTES`, of one process of the command; maximum data of an adapter (default 4GiB)")
	f.IntVarP(&o.run.Workers, "jobs", "j", 0, "number `N` of cases at a time; 0 means all cores")
	f.IntVarP(&o.explain, "explain", "n", 3, "number of failures that are explained in full")
	f.StringVar(&o.junit, "junit", "", "also write the report to `FILE` as JUnit XML")
	f.BoolVarP(&o.force, "force", "f", false, "replace the report of --junit if it exists")
	shell.ProgressFlag(cmd, &o.progress)
	shell.JSONFlag(cmd, &o.json)
	return cmd
}

// check checks the flags.
func (o *crosscheckFlags) check() error {
	switch {
	case o.run.Read == "" && o.run.Write == "" && o.run.Adapter == "":
		return shell.Usagef("--read, --write or --adapter missing: the command that is judged")
	case o.run.Adapter != "" && (o.run.Read != "" || o.run.Write != ""):
		return shell.Usagef("--adapter with --read or --write: want one of them")
	case o.run.Adapter == "" && (o.run.Writes || o.reports != ""):
		return shell.Usagef("--writes and --reports need --adapter")
	case o.run.Write != "" && (!strings.Contains(o.run.Write, "{spec}") || !strings.Contains(o.run.Write, "{out}")):
		return shell.Usagef("--write %q: want {spec} and {out} in it", o.run.Write)
	case o.run.Read != "" && (!strings.Contains(o.run.Read, "{in}") || !strings.Contains(o.run.Read, "{out}")):
		return shell.Usagef("--read %q: want {in} and {out} in it", o.run.Read)
	case o.run.Timeout <= 0:
		return shell.Usagef("--timeout %v: want more than 0", o.run.Timeout)
	case o.run.Workers < 0:
		return shell.Usagef("-j %d: want 0 or more workers", o.run.Workers)
	case o.explain < 0:
		return shell.Usagef("-n %d: want 0 or more explanations", o.explain)
	}
	if o.memory != "" {
		n, err := term.ParseBytes(o.memory)
		switch {
		case err != nil:
			return shell.Usagef("--memory: %w", err)
		case n < 1<<20:
			return shell.Usagef("--memory %s: want at least 1MiB", o.memory)
		}
		o.run.Memory = n
	}
	if o.reports != "" { // before any work is done
		if _, err := os.Lstat(o.reports); err == nil {
			return &ndarray.Error{Op: "create", Path: o.reports, Err: ndarray.ErrExists}
		}
	}
	if o.junit != "" && !o.force {
		if _, err := os.Lstat(o.junit); err == nil {
			return &ndarray.Error{Op: "create", Path: o.junit, Err: ndarray.ErrExists}
		}
	}
	return cmp.Or(shell.CheckProgress(o.progress), checkAreas(o.run.Areas))
}

func (a *app) crosscheckRun(ctx context.Context, directory string, o *crosscheckFlags) error {
	if err := o.check(); err != nil {
		return err
	}
	var m *term.Meter
	cases, done := int64(0), int64(0)
	o.run.Begin = func(n int) {
		cases, m = int64(n), term.NewMeter(o.progress, a.Stderr, "crosscheck", int64(n), time.Now)
	}
	o.run.Done = func(crosscheck.Result) { done++; m.UpdateUnits(done, cases, "cases") }
	r, err := crosscheck.Run(ctx, directory, o.run)
	if m != nil {
		m.Finish()
	}
	if err != nil {
		return err
	}
	if o.junit != "" {
		if err := replaceFile(ctx, o.junit, o.force, r.WriteJUnit); err != nil {
			return err
		}
	}
	if o.reports != "" {
		if err := a.writeReports(ctx, r, directory, o); err != nil {
			return err
		}
	}
	if o.json {
		err = shell.WriteJSON(a.Stdout, r)
	} else {
		err = a.writeVerdicts(r, o.explain)
	}
	if err == nil && !r.OK() {
		err = &shell.ExitError{Code: shell.ExitDiffers}
	}
	return err
}

// writeReports writes the pages into a directory that appears when all are written.
func (a *app) writeReports(ctx context.Context, r *crosscheck.Report, vectors string, o *crosscheckFlags) error {
	out, err := shell.NewOutput(ctx, o.reports, atomicfile.Options{Volatile: true})
	if err != nil {
		return err
	}
	err = r.WriteUpstream(ctx, vectors, o.run, out.Path())
	if err == nil {
		err = out.Commit()
	}
	if err != nil {
		return errors.Join(err, out.Abort())
	}
	return nil
}

// replaceFile writes a file completely or not at all.
func replaceFile(ctx context.Context, name string, force bool, write func(io.Writer) error) (err error) {
	out, err := shell.NewOutput(ctx, name, atomicfile.Options{Overwrite: force})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Abort()) }() // no effect after Commit
	f, err := os.Create(out.Path())
	if err != nil {
		return err
	}
	if err := errors.Join(write(f), f.Close()); err != nil {
		return err
	}
	return out.Commit()
}

// writeVerdicts lists the cases that did not pass, explains the first of them, and counts all cases
// by area.
func (a *app) writeVerdicts(r *crosscheck.Report, explain int) error {
	failed := term.Table{Head: []string{"VERDICT", "CASE", "WHY"}}
	var long []string
	for _, x := range r.Results {
		if x.Verdict == crosscheck.Pass {
			continue
		}
		name := term.Safe(x.Case)
		if x.Direction == crosscheck.Writing {
			name = "write " + name
		}
		failed.Add(string(x.Verdict), name, shell.Shorten(term.Safe(x.Detail), shell.Wide))
		if x.Explanation != nil && len(long) < explain {
			long = append(long, x.Case+"\n  "+strings.ReplaceAll(x.Explanation.String(), "\n", "\n  ")+"\n")
		}
	}
	counts := term.Table{Head: []string{"AREA", "CASES"}, Right: []bool{false, true}}
	for _, v := range crosscheck.Verdicts {
		counts.Head = append(counts.Head, strings.ToUpper(string(v)))
		counts.Right = append(counts.Right, true)
	}
	areas := crosscheck.Areas()
	for _, area := range crosscheck.Areas() {
		areas = append(areas, "write "+area)
	}
	for _, area := range areas {
		n := 0
		row := []string{area, ""}
		for _, v := range crosscheck.Verdicts {
			n += r.Counts[area][v]
			row = append(row, strconv.Itoa(r.Counts[area][v]))
		}
		if row[1] = strconv.Itoa(n); n > 0 {
			counts.Add(row...)
		}
	}
	if len(failed.Rows) > 0 {
		slices.SortStableFunc(failed.Rows, func(x, y term.Row) int { return strings.Compare(x.Cells(nil)[0], y.Cells(nil)[0]) })
		if err := failed.Write(a.Stdout, a.Data); err != nil {
			return err
		}
		if _, err := io.WriteString(a.Stdout, "\n"); err != nil {
			return err
		}
	}
	for _, text := range long {
		if _, err := io.WriteString(a.Stdout, term.SafeLines(text)+"\n"); err != nil {
			return err
		}
	}
	return counts.Write(a.Stdout, a.Data)
}
