// hyperslab crosscheck run: test a program with the vectors.

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

// crosscheckJob is one run of crosscheck run.
type crosscheckJob struct {
	*shell.App

	options crosscheck.RunOptions
	memory  string
	junit   string
	reports string
	force   bool
	explain int

	progress string
	json     bool
}

func newCrosscheckRun(a *shell.App) *cobra.Command {
	j := &crosscheckJob{App: a}
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

With --cli the program prints the object {object} of the file {path} as JSON or as a .npy
file. Exit code 77 skips the case.

With --adapter one process answers many requests on its standard input, for example a
script of 40 lines around a library. docs/crosscheck-peers.md describes the protocol and
the limits. --reports then writes a page for each group of similar failures, for the
authors of the library, with the smallest file that shows the failure.

The exit code is 0 if every case passed, 1 if one failed, 2 if the cases could not be
run.`,
		Example: `  hyperslab crosscheck run vectors --read './their-reader {in} {out}' --area chunk
  hyperslab crosscheck run vectors --read 'python read.py {in} {object} {out}' --timeout 30s --junit report.xml
  hyperslab crosscheck run vectors --write './their-writer {spec} {out}' --area hdf5
  hyperslab crosscheck run vectors --cli './their-reader {path} {object}' --area hdf5
  hyperslab crosscheck run vectors --adapter 'python3 adapter.py' --reports reports`,
		Args: shell.Arity(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error { return j.run(cmd.Context(), args[0]) },
	}
	f := cmd.Flags()
	f.StringVar(&j.options.Read, "read", "", "the `COMMAND` that reads {in} and writes the decoded bytes to {out}")
	f.StringVar(&j.options.Write, "write", "", "the `COMMAND` that writes the file described by {spec} to {out}")
	f.StringVar(&j.options.CLI, "cli", "", "the `COMMAND` that prints {object} of {path} as JSON or .npy")
	f.StringVar(&j.options.Adapter, "adapter", "", "the `COMMAND` of an adapter, which answers requests on its standard input")
	f.BoolVar(&j.options.Writes, "writes", false, "also let the adapter write files")
	f.StringVar(&j.options.Only, "case", "", "only the case with this `ID`")
	f.StringVar(&j.reports, "reports", "", "write a page for each group of similar failures to the new `DIRECTORY`")
	areaFlag(cmd, &j.options.Areas)
	f.DurationVar(&j.options.Timeout, "timeout", 10*time.Second, "maximum `TIME` for one case")
	shell.MemoryFlag(cmd, &j.memory, "",
		"maximum address space, in `BYTES`, of one process of the command; maximum data of an adapter (default 4GiB)")
	shell.JobsFlag(cmd, &j.options.Workers, 0, "number `N` of cases at a time; 0 means all cores")
	f.IntVarP(&j.explain, "explain", "n", 3, "number of failures that are explained in full")
	f.StringVar(&j.junit, "junit", "", "also write the report to `FILE` as JUnit XML")
	shell.ForceFlag(cmd, &j.force, "replace the report of --junit if it exists")
	shell.ProgressFlag(cmd, &j.progress)
	shell.JSONFlag(cmd, &j.json)
	return cmd
}

// check checks the flags.
func (j *crosscheckJob) check() error {
	switch {
	case j.options.Read == "" && j.options.Write == "" && j.options.Adapter == "" && j.options.CLI == "":
		return shell.Usagef("--read, --write, --cli or --adapter missing: the command that is judged")
	case j.options.Adapter != "" && (j.options.Read != "" || j.options.Write != ""):
		return shell.Usagef("--adapter with --read or --write: want one of them")
	case j.options.CLI != "" && (j.options.Read != "" || j.options.Write != "" || j.options.Adapter != ""):
		return shell.Usagef("--cli with --read, --write or --adapter: want one of them")
	case j.options.CLI != "" && !strings.Contains(j.options.CLI, "{path}"):
		return shell.Usagef("--cli %q: want {path} in it", j.options.CLI)
	case j.options.Adapter == "" && (j.options.Writes || j.reports != ""):
		return shell.Usagef("--writes and --reports need --adapter")
	case j.options.Write != "" && (!strings.Contains(j.options.Write, "{spec}") || !strings.Contains(j.options.Write, "{out}")):
		return shell.Usagef("--write %q: want {spec} and {out} in it", j.options.Write)
	case j.options.Read != "" && (!strings.Contains(j.options.Read, "{in}") || !strings.Contains(j.options.Read, "{out}")):
		return shell.Usagef("--read %q: want {in} and {out} in it", j.options.Read)
	case j.options.Timeout <= 0:
		return shell.Usagef("--timeout %v: want more than 0", j.options.Timeout)
	case j.options.Workers < 0:
		return shell.Usagef("-j %d: want 0 or more workers", j.options.Workers)
	case j.explain < 0:
		return shell.Usagef("-n %d: want 0 or more explanations", j.explain)
	}
	return cmp.Or(j.checkOutputs(), shell.CheckProgress(j.progress), checkAreas(j.options.Areas))
}

// checkOutputs checks the memory limit and the outputs, before any work is done.
func (j *crosscheckJob) checkOutputs() error {
	if j.memory != "" {
		n, err := term.ParseBytes(j.memory)
		switch {
		case err != nil:
			return shell.Usagef("--memory: %w", err)
		case n < 1<<20:
			return shell.Usagef("--memory %s: want at least 1MiB", j.memory)
		}
		j.options.Memory = n
	}
	if j.reports != "" {
		if _, err := os.Lstat(j.reports); err == nil {
			return &ndarray.Error{Op: "create", Path: j.reports, Err: ndarray.ErrExists}
		}
	}
	if j.junit != "" && !j.force {
		if _, err := os.Lstat(j.junit); err == nil {
			return &ndarray.Error{Op: "create", Path: j.junit, Err: ndarray.ErrExists}
		}
	}
	return nil
}

func (j *crosscheckJob) run(ctx context.Context, directory string) error {
	if err := j.check(); err != nil {
		return err
	}
	var m *term.Meter
	cases, done := int64(0), int64(0)
	j.options.Begin = func(n int) {
		cases, m = int64(n), term.NewMeter(j.progress, j.Stderr, "crosscheck", int64(n), time.Now)
	}
	j.options.Done = func(crosscheck.Result) { done++; m.UpdateUnits(done, cases, "cases") }
	r, err := crosscheck.Run(ctx, directory, j.options)
	if m != nil {
		m.Finish()
	}
	if err != nil {
		return err
	}
	if j.junit != "" {
		if err := replaceFile(ctx, j.junit, j.force, r.WriteJUnit); err != nil {
			return err
		}
	}
	if j.reports != "" {
		if err := j.writeReports(ctx, r, directory); err != nil {
			return err
		}
	}
	if j.json {
		err = j.WriteDocument(j.Stdout, r)
	} else {
		err = j.writeVerdicts(r)
	}
	if err == nil && !r.OK() {
		err = &shell.ExitError{Code: shell.ExitDiffers}
	}
	return err
}

// writeReports writes the pages into a directory that appears when all are written.
func (j *crosscheckJob) writeReports(ctx context.Context, r *crosscheck.Report, vectors string) error {
	out, err := shell.NewOutput(ctx, j.reports, atomicfile.Options{Volatile: true})
	if err != nil {
		return err
	}
	err = r.WriteUpstream(ctx, vectors, j.options, out.Path())
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
func (j *crosscheckJob) writeVerdicts(r *crosscheck.Report) error {
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
		if x.Explanation != nil && len(long) < j.explain {
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
		if err := failed.Write(j.Stdout, j.Data); err != nil {
			return err
		}
		if _, err := io.WriteString(j.Stdout, "\n"); err != nil {
			return err
		}
	}
	for _, text := range long {
		if _, err := io.WriteString(j.Stdout, term.SafeLines(text)+"\n"); err != nil {
			return err
		}
	}
	return counts.Write(j.Stdout, j.Data)
}
