// hyperslab crosscheck advise: list the readers that misread a file.

package publish

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/crosscheck"
)

// adviseJob is one run of crosscheck advise.
type adviseJob struct {
	*shell.App

	area   string
	reader []string
	json   bool
}

func newCrosscheckAdvise(a *shell.App) *cobra.Command {
	j := &adviseJob{App: a}
	cmd := &cobra.Command{
		Use:   "advise FILE",
		Short: "List the other readers that misread a file with these features",
		Long: `advise lists the readers that were judged with the vectors (docs/crosscheck.md), and how
each reads files with the features of FILE: versions of structures, indexes, filters,
datatypes and so on. It runs none of the readers.

  wrong             other elements, and no error
  crash, hang       the process ends, or does not answer
  refused           an error
  wrongly accepted  no error, although the file violates a rule of the format
  not known         FILE has features, or two together, that no passed vector has
  right             vectors with each pair of the features pass

VECTOR is a vector with this result; crosscheck emit writes it. A result is "possible"
if the reader passes other vectors with the same features, because it depends on values,
or if fewer than 5 vectors have both features. Next to "not known" VECTOR fails with
FEATURES, but differs from FILE in other features.

Elements and attributes of HDF5 files are judged apart; KINDS lists the kinds of objects
that a reader reads. Other kinds do not count.

FILE is parsed in Go, without a C library. Chunks have no signature and need --vectors.`,
		Example: `  hyperslab crosscheck advise etopo.h5
  hyperslab crosscheck advise etopo.h5 --reader pyfive --reader jsfive
  hyperslab crosscheck advise rose.b2nd --json`,
		Args: shell.Arity(1, 1),
		RunE: func(_ *cobra.Command, args []string) error { return j.run(args[0]) },
	}
	cmd.Flags().StringVar(&j.area, "vectors", "", "`AREA` of the vectors ("+shell.Joined(crosscheck.Areas())+") instead of the detected one")
	shell.CompleteWords(cmd, "vectors", crosscheck.Areas()...)
	cmd.Flags().StringArrayVar(&j.reader, "reader", nil, "only the reader `NAME`; may be given several times")
	shell.JSONFlag(cmd, &j.json)
	return cmd
}

func (j *adviseJob) run(file string) error {
	if j.area != "" {
		if err := shell.OneOf("--vectors", j.area, crosscheck.Areas()...); err != nil {
			return err
		}
	}
	d, err := crosscheck.Advise(file, j.area)
	if err != nil {
		return err
	}
	for _, name := range j.reader {
		if !slices.ContainsFunc(d.Readers, func(r crosscheck.Advised) bool { return r.Reader == name }) {
			return shell.Usagef("--reader %s: no such reader of area %s", name, d.Area)
		}
	}
	if len(j.reader) > 0 {
		d.Readers = slices.DeleteFunc(d.Readers, func(r crosscheck.Advised) bool { return !slices.Contains(j.reader, r.Reader) })
	}
	if j.json {
		return j.WriteDocument(j.Stdout, d)
	}
	if len(d.Readers) == 0 {
		_, err := fmt.Fprintf(j.Stdout, "no reader was judged with vectors of area %s\n", d.Area)
		return err
	}
	return adviceTable(d).Write(j.Stdout, j.Data)
}

// adviceTable lists the readers of an advice.
func adviceTable(d *crosscheck.Advice) *term.Table {
	t := &term.Table{Head: []string{"READER", "VERSION", "RESULT", "OBJECT", "FEATURES", "VECTOR", "KINDS"}}
	for _, r := range d.Readers {
		result := string(r.Verdict)
		switch {
		case r.Verdict == crosscheck.Pass:
			result = "right"
		case r.Possible:
			result += " possible"
		}
		object := term.Safe(r.Object)
		if r.Objects > 1 {
			object += fmt.Sprintf(" and %d more", r.Objects-1)
		}
		if r.Verdict == crosscheck.Pass {
			object = ""
		}
		t.Add(r.Reader, r.Version, result, object, shell.Shorten(term.Safe(strings.Join(r.Features, "; ")), shell.Wide), r.Vector, strings.Join(r.Kinds, ", "))
	}
	return t
}
