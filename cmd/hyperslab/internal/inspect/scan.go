// hyperslab scan: report references of a file to other files, and limits that it exceeds.

package inspect

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/h5/filter"
	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/verify/scan"
	"github.com/hyperslab/hyperslab/ndarray"
)

// ScanDoc is the document of scan --json.
type ScanDoc struct {
	Schema  string          `json:"schema"`
	Files   []ScanFile      `json:"files"`
	Seconds shell.JSONFloat `json:"seconds"`
}

// ScanFile is the result of one file.
type ScanFile struct {
	Path        string        `json:"path"`
	Format      *string       `json:"format"`
	Worst       *string       `json:"worst"`
	NumFindings shell.JSONInt `json:"num_findings"`
	Findings    []ScanFinding `json:"findings"`
	Error       *string       `json:"error"`
}

// ScanFinding is one finding.
type ScanFinding struct {
	Rule   string         `json:"rule"`
	Level  string         `json:"level"`
	Object *string        `json:"object"`
	File   *string        `json:"file"`
	Offset *shell.JSONInt `json:"offset"`
	Text   string         `json:"text"`
}

// scanJob is one run of scan.
type scanJob struct {
	*shell.App

	batch   shell.BatchFlags
	exclude []string
	limits  struct{ array, chunk, metadata string }
	ratio   int64
	most    int
	jobs    int
	quiet   bool
	json    bool
	sarif   bool
}

func newScan(a *shell.App) *cobra.Command {
	j := &scanJob{App: a}
	var list strings.Builder
	for _, r := range scan.Rules() {
		fmt.Fprintf(&list, "\n  %-18s  %s", r.ID, r.Text)
	}
	cmd := &cobra.Command{
		Use:   "scan FILE...",
		Short: "Report links, plug-ins, excessive sizes and structural errors of untrusted files",
		Long: `scan reports everything in a file that reaches outside the file, needs a decoder that
may not be available, exceeds a limit or contradicts the format. FILE is an HDF5 file, a
Blosc2 frame, a bcolz tree, a container of python-blosc2 or a directory of such files.

Files are parsed in Go. No C library receives their bytes, no chunk is decompressed, and
no target of a link is opened. Therefore scan is safe for files from untrusted sources.
It does not decode elements: use verify to find corrupt elements.

Rules:` + list.String() + `

The limits are those of the option --untrusted of the other commands. --sarif writes the
findings as SARIF 2.1.0, which code scanning tools read.

Exit codes: 0 no findings except notes, 1 findings, 2 no file can be scanned, 3 some
files cannot be scanned.` + shell.BatchHelp,
		Example: `  hyperslab scan etopo.h5 rose.b2nd
  hyperslab scan etopo.h5 --max-array 10MiB --exclude plugin-filter --json
  hyperslab scan corrupt.h5
  hyperslab scan etopo.h5 corrupt.h5 --sarif > scan.sarif`,
		Args: j.batch.Arity,
		RunE: func(cmd *cobra.Command, args []string) error {
			return j.run(cmd, args)
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&j.exclude, "exclude", nil, "ignore findings of `RULE`; may be given several times")
	f.StringVar(&j.limits.array, "max-array", "1TiB", "limit of the declared `BYTES` of an array")
	f.StringVar(&j.limits.chunk, "max-chunk", "512MiB", "limit of the declared `BYTES` of a chunk")
	f.StringVar(&j.limits.metadata, "max-metadata", "64MiB", "limit of the `BYTES` of one structure of metadata")
	f.Int64Var(&j.ratio, "max-ratio", 1000, "limit of the ratio `N` of declared to stored bytes of an array of at least 64 MiB")
	shell.LimitFlag(cmd, &j.most, 100, "list at most `N` findings of a file, all if 0")
	shell.QuietFlag(cmd, &j.quiet, "do not show files without findings")
	shell.JobsFlag(cmd, &j.jobs, 0, "number `N` of files that are scanned at the same time; 0 means all cores")
	j.batch.AddList(cmd, "also the files that `FILE` lists, one per line; - is standard input",
		"continue after a file that cannot be scanned")
	f.BoolVar(&j.sarif, "sarif", false, "write one SARIF 2.1.0 document")
	shell.JSONFlag(cmd, &j.json)
	cmd.MarkFlagsMutuallyExclusive("json", "sarif")
	shell.CompleteWords(cmd, "exclude", ruleIDs()...)
	return cmd
}

// ruleIDs returns the IDs of all rules.
func ruleIDs() (ids []string) {
	for _, r := range scan.Rules() {
		ids = append(ids, r.ID)
	}
	return ids
}

// options checks the flags.
func (j *scanJob) options() (scan.Options, error) {
	s := scan.Options{Ratio: j.ratio, Findings: j.most, Exclude: map[string]bool{}, KnownFilter: filter.Known}
	for _, l := range []struct {
		flag, text string
		to         *int64
	}{{"--max-array", j.limits.array, &s.Array}, {"--max-chunk", j.limits.chunk, &s.Chunk},
		{"--max-metadata", j.limits.metadata, &s.Metadata}} {
		n, err := term.ParseBytes(l.text)
		switch {
		case err != nil:
			return s, shell.Usagef("%s: %w", l.flag, err)
		case n < 1:
			return s, shell.Usagef("%s %s: want at least one byte", l.flag, l.text)
		}
		*l.to = n
	}
	switch {
	case j.ratio < 1:
		return s, shell.Usagef("--max-ratio %d: want at least 1", j.ratio)
	case j.most < 0:
		return s, shell.Usagef("-n %d: want 0 or more findings", j.most)
	case j.most == 0:
		s.Findings = 1 << 30
	}
	for _, id := range j.exclude {
		if err := shell.OneOf("--exclude", id, ruleIDs()...); err != nil {
			return s, err
		}
		s.Exclude[id] = true
	}
	return s, nil
}

func (j *scanJob) run(cmd *cobra.Command, args []string) error {
	s, err := j.options()
	if err != nil {
		return err
	}
	start := time.Now()
	doc := ScanDoc{Schema: shell.SchemaScan, Files: []ScanFile{}}
	found := false
	lines := j.json && j.Lines
	_, err = j.Files(cmd, args, &shell.Into{
		Flags: &j.batch, Job: &shell.JobFlags{Jobs: j.jobs, Quiet: true, Progress: term.ProgressNone}, Lines: lines,
		Do: func(ctx context.Context, w *shell.Work) (any, error) { return scanOne(ctx, w.Source, s) },
		Report: func(o *shell.Outcome) error {
			row, ok := o.Value.(ScanFile)
			if !ok {
				row = failedScan(o.Source, o.Err)
			}
			found = found || row.Worst != nil && *row.Worst != string(scan.Note)
			switch {
			case lines:
				return j.WriteDocument(j.Stdout, ScanDoc{Schema: doc.Schema, Files: []ScanFile{row}, Seconds: shell.Seconds(time.Since(start))})
			case j.json, j.sarif:
				doc.Files = append(doc.Files, row)
			case o.Err == nil:
				return j.writeScan(&row, j.quiet)
			}
			return nil
		},
	})
	if len(doc.Files) > 0 {
		switch {
		case j.json:
			doc.Seconds = shell.Seconds(time.Since(start))
			err = errors.Join(err, j.WriteDocument(j.Stdout, doc))
		case j.sarif:
			err = errors.Join(err, j.WriteDocument(j.Stdout, newSARIF(doc.Files)))
		}
	}
	if !found {
		return err
	}
	return &shell.ExitError{Code: shell.ExitDiffers, Err: err} // findings determine the exit code even if other files failed
}

// scanSource scans a file, or a local copy of the file at a URL.
func scanSource(ctx context.Context, source string, s scan.Options) (*scan.Report, error) {
	file, done, err := shell.Fetched(ctx, source)
	if err != nil {
		return nil, err
	}
	r, err := scan.File(ctx, file, s)
	return r, errors.Join(err, done())
}

// failedScan returns the row of a file that cannot be scanned.
func failedScan(source string, err error) ScanFile {
	return ScanFile{Path: source, Findings: []ScanFinding{}, Error: shell.OrNull(err.Error())}
}

// scanOne scans one file.
func scanOne(ctx context.Context, source string, s scan.Options) (ScanFile, error) {
	row := ScanFile{Path: source, Findings: []ScanFinding{}}
	err := shell.WholeFile("scan", source)
	var r *scan.Report
	if err == nil {
		r, err = scanSource(ctx, source, s)
		if errors.Is(err, scan.ErrFormat) {
			err = errs.Mark(err, ndarray.ErrFormat)
		}
		err = ndarray.Wrap("scan", source, err)
	}
	if err != nil {
		return failedScan(source, err), err
	}
	row.Format, row.Worst, row.NumFindings = shell.OrNull(r.Format), shell.OrNull(string(r.Worst)), shell.JSONInt(r.Count)
	for _, f := range r.Findings {
		d := ScanFinding{Rule: f.Rule.ID, Level: string(f.Level), Object: shell.OrNull(f.Object), File: shell.OrNull(f.File), Text: f.Text}
		if f.Offset >= 0 {
			d.Offset = (*shell.JSONInt)(&f.Offset)
		}
		row.Findings = append(row.Findings, d)
	}
	return row, nil
}

// writeScan writes a line for the file and one for each finding.
func (j *scanJob) writeScan(row *ScanFile, quiet bool) error {
	if quiet && row.NumFindings == 0 {
		return nil
	}
	count := "no findings"
	if row.NumFindings > 0 {
		count = term.Plural(int64(row.NumFindings), "finding")
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%s: %s (%s)\n", term.Safe(row.Path), count, *row.Format)
	for _, f := range row.Findings {
		fmt.Fprintf(&out, "  %s %s: %s\n", f.Level, f.Rule, term.Safe(f.where()+f.Text))
	}
	if more := int64(row.NumFindings) - int64(len(row.Findings)); more > 0 {
		fmt.Fprintf(&out, "  and %d more; -n 0 lists all\n", more)
	}
	_, err := fmt.Fprint(j.Stdout, out.String())
	return err
}

// where names the file, the object and the offset of a finding.
func (f *ScanFinding) where() string {
	var parts []string
	if f.File != nil {
		parts = append(parts, *f.File)
	}
	if f.Object != nil {
		parts = append(parts, *f.Object)
	}
	if f.Offset != nil {
		parts = append(parts, fmt.Sprintf("offset %d", *f.Offset))
	}
	if len(parts) == 0 {
		return ""
	}
	return shell.Joined(parts) + ": "
}
