// hyperslab crosscheck emit: write test vectors.

package publish

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/crosscheck"
	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
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

// emitJob is one run of crosscheck emit.
type emitJob struct {
	*shell.App

	options  crosscheck.Options
	archive  bool // to a ZIP file
	force    bool
	progress string
	json     bool
}

func newCrosscheckEmit(a *shell.App) *cobra.Command {
	j := &emitJob{App: a}
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
		RunE: func(cmd *cobra.Command, args []string) error { return j.run(cmd.Context(), args[0]) },
	}
	cmd.Flags().BoolVar(&j.options.Full, "full", false, "all combinations of parameters instead of all pairs (several GB)")
	cmd.Flags().BoolVar(&j.options.Small, "small", false, "the small set, at most 5 MB")
	cmd.MarkFlagsMutuallyExclusive("full", "small")
	areaFlag(cmd, &j.options.Areas)
	shell.ProgressFlag(cmd, &j.progress)
	shell.JSONFlag(cmd, &j.json)
	return cmd
}

func (j *emitJob) run(ctx context.Context, directory string) error {
	if err := cmp.Or(checkAreas(j.options.Areas), shell.CheckProgress(j.progress)); err != nil {
		return err
	}
	done, all := int64(0), int64(len(crosscheck.Areas()))
	if len(j.options.Areas) > 0 {
		all = int64(len(j.options.Areas))
	}
	bar := term.NewMeter(j.progress, j.Stderr, "crosscheck", all, time.Now)
	bar.UpdateUnits(0, all, "areas")
	j.options.Progress = func(string, int) { done++; bar.UpdateUnits(done, all, "areas") }
	var m *crosscheck.Manifest
	var err error
	if j.archive {
		err = replaceFile(ctx, directory, j.force, func(w io.Writer) error {
			m, err = crosscheck.Archive(ctx, w, &j.options)
			return err
		})
	} else {
		m, err = emitInto(ctx, directory, &j.options)
	}
	bar.Finish()
	if err != nil {
		return err
	}
	d := newEmitDoc(directory, m)
	if j.json {
		return j.WriteDocument(j.Stdout, d)
	}
	return d.table().Write(j.Stdout, j.Data)
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

func newEmitDoc(directory string, m *crosscheck.Manifest) EmitDoc {
	d := EmitDoc{Schema: shell.SchemaEmit, Directory: directory, Manifest: crosscheck.ManifestName, Full: m.Full, Versions: m.Versions,
		Cases: len(m.Cases)}
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
