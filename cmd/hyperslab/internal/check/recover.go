// hyperslab recover: write the readable parts of a corrupt file to a new file.

package check

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/ndarray"
)

// RecoverDoc is the document of recover --json.
type RecoverDoc struct {
	Schema      string          `json:"schema"`
	Source      string          `json:"source"`
	Target      string          `json:"target"`
	Format      string          `json:"format"`
	Whole       bool            `json:"whole"`
	Arrays      shell.JSONInt   `json:"arrays"`
	Chunks      shell.JSONInt   `json:"chunks"`
	Certain     shell.JSONInt   `json:"certain"`
	Unverified  shell.JSONInt   `json:"unverified"`
	Guessed     shell.JSONInt   `json:"guessed"`
	Lost        shell.JSONInt   `json:"lost"`
	LostObjects shell.JSONInt   `json:"lost_objects"`
	NumFindings shell.JSONInt   `json:"num_findings"`
	Findings    []FindingDoc    `json:"findings"`
	Seconds     shell.JSONFloat `json:"seconds"`
}

// FindingDoc is one finding.
type FindingDoc struct {
	Certainty string         `json:"certainty"`
	Object    *string        `json:"object"`
	What      string         `json:"structure"`
	Chunk     *shell.JSONInt `json:"chunk"`
	Offset    *shell.JSONInt `json:"offset"`
	Text      string         `json:"text"`
}

// recoverJob is one run of recover.
type recoverJob struct {
	*shell.App

	force  bool
	format corruptFormat
	most   int
	quiet  bool
	json   bool
	dryRun bool

	progress string
	fix      repairFlags
	batch    shell.BatchFlags
	jobs     int
}

func newRecover(a *shell.App) *cobra.Command {
	j := &recoverJob{App: a}
	cmd := &cobra.Command{
		Use:   "recover SOURCE [TARGET]",
		Short: "Write the recoverable contents of a corrupt file to a new one",
		Long: `recover reads a corrupt b2nd file, sparse frame, bcolz tree or HDF5 file without the
reference libraries and writes the recoverable contents to a new file of the same
format. The corrupt file is never changed. The new file is verified before it is renamed
to TARGET. Chunks are counted as certain (a checksum or redundant structure confirms
values and location), unverified (valid, but the format has no checksum of the values),
guessed (likely), or lost (fill values). All other findings are reported too.

HDF5 datasets that no path leads to are written to /lost+found.

With --untrusted the work is done in a sandbox that can access only the corrupt file and
a directory beside the target, from which the new file is moved.

--repair finds the smallest change of an HDF5 file after which the reference library
reads it: wrong element sizes in the layout or in parameters of filters, flags of a
writer that did not close the file, a wrong end of the file, checksums of metadata, and
single bytes of metadata that a checksum disproves. Elements are not changed. Without
TARGET it only shows the changes; with TARGET it writes a copy with them. --json prints
the plan. --plan applies a stored plan to the file for which it was made, and --plan
with --reverse restores that file from its copy.

Exit codes: 0 no data is guessed or lost, 2 no valid file could be written, 3 some data
is guessed or lost, or a change of a new plan of --repair is guessed.` + shell.IntoHelp,
		Example: `  hyperslab recover broken.h5 saved.h5
  hyperslab recover waves.b2nd whole.b2nd --untrusted
  hyperslab recover --repair unclosed.h5
  hyperslab recover --repair unclosed.h5 --json > repair.json
  hyperslab recover --repair unclosed.h5 repaired.h5 --plan repair.json
  hyperslab recover --repair repaired.h5 original.h5 --plan repair.json --reverse`,
		Args: j.batch.ArityOr(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := j.batch.CheckOne(cmd); err != nil {
				return err
			}
			if j.batch.Into != "" {
				return j.into(cmd, args)
			}
			if err := j.fix.check(len(args), j); err != nil {
				return err
			}
			if j.fix.on {
				return j.repair(cmd.Context(), args[0], strings.Join(args[1:], ""))
			}
			return j.run(cmd.Context(), args[0], args[1])
		},
	}
	f := cmd.Flags()
	shell.ForceFlag(cmd, &j.force, "replace the target if it exists")
	j.format.add(cmd)
	shell.LimitFlag(cmd, &j.most, 20, "list at most `N` findings, all if 0")
	shell.QuietFlag(cmd, &j.quiet, "do not show findings and progress")
	shell.DryRunFlag(cmd, &j.dryRun, "report the bytes to read and write no file; the recoverable part is known only after reading")
	f.BoolVar(&j.fix.on, "repair", false, "show the smallest change that makes an HDF5 file readable, or write a copy with it")
	f.StringVar(&j.fix.plan, "plan", "", "with --repair: apply the changes of `PLAN`, from --repair --json")
	f.BoolVar(&j.fix.reverse, "reverse", false, "with --plan: restore the file for which the plan was made")
	shell.ProgressFlag(cmd, &j.progress)
	shell.JSONFlag(cmd, &j.json)
	j.batch.Add(cmd)
	shell.JobsFlag(cmd, &j.jobs, 0, "with --into: number `N` of files that are read at the same time; 0 means all cores")
	a.LockFlags(cmd)
	(&shell.UntrustedFlags{}).Add(a, cmd)
	return cmd
}

// into recovers each source to a directory.
func (j *recoverJob) into(cmd *cobra.Command, args []string) error {
	if j.fix.on {
		return shell.Usagef("--into and --repair: a plan is for one file")
	}
	if err := j.check(); err != nil {
		return err
	}
	return j.IntoDoc(cmd, args, &shell.Into{
		Flags: &j.batch, Job: &shell.JobFlags{Jobs: j.jobs, Progress: j.progress, Quiet: j.quiet}, Force: j.force, DryRun: j.dryRun,
		Target: func(_ context.Context, s *shell.Source) (string, error) {
			return shell.JoinTarget(j.batch.Into, s.Rel), nil
		},
		Do: func(ctx context.Context, w *shell.Work) (any, error) {
			one := *j
			one.App, one.force, one.json = w.App, w.Replace, false
			if one.dryRun {
				return nil, one.planRecovery(w.Source, w.Target)
			}
			r, err := one.recover(ctx, w.Source, w.Target)
			if err == nil && !r.report.Complete {
				err = &shell.ExitError{Code: shell.ExitPartly}
			}
			return r, err
		},
		Report: func(o *shell.Outcome) error {
			r, ok := o.Value.(*recovered)
			if !ok || o.Err != nil {
				return nil
			}
			if !j.quiet && len(r.report.Findings) > 0 {
				if _, err := fmt.Fprintf(j.Stdout, "%s\n", j.Data.Heading("==> "+term.Safe(o.Source)+" <==")); err != nil {
					return err
				}
			}
			return j.tellRecovery(r.report, j.quiet)
		},
	}, func(o *shell.Outcome) any {
		if r, ok := o.Value.(*recovered); ok && o.Err == nil {
			return newRecoverDoc(r.report, r.took)
		}
		return nil
	})
}

// check checks the flags.
func (j *recoverJob) check() error {
	if err := j.format.check(); err != nil {
		return err
	}
	if err := shell.CheckProgress(j.progress); err != nil {
		return err
	}
	if j.quiet {
		j.progress = term.ProgressNone
	}
	if j.most < 0 {
		return shell.Usagef("-n %d: want 0 or more findings", j.most)
	}
	return nil
}

func (j *recoverJob) run(ctx context.Context, source, target string) error {
	if err := j.check(); err != nil {
		return err
	}
	if j.dryRun {
		if err := whole(source, target); err != nil {
			return err
		}
		return j.planRecovery(source, target)
	}
	r, err := j.recover(ctx, source, target)
	if err != nil {
		return err
	}
	if err = j.show(r); !r.report.Complete {
		return &shell.ExitError{Code: shell.ExitPartly, Err: err}
	}
	return err
}

// whole checks the names of a source and its target.
func whole(source, target string) error {
	if err := shell.WholeFile("recover", source); err != nil {
		return err
	}
	if shell.SameFile(source, target) {
		return shell.Usagef("%s is the corrupt file, which is never changed; give the new one another name", target)
	}
	return nil
}

// recovered is the result of a recovery.
type recovered struct {
	report *hyperslab.RecoverReport
	took   time.Duration
}

// recover writes the recoverable contents of a file to a new one.
func (j *recoverJob) recover(ctx context.Context, source, target string) (*recovered, error) {
	if err := whole(source, target); err != nil {
		return nil, err
	}
	opts := &hyperslab.RecoverOptions{Format: hyperslab.Format(j.format), Overwrite: j.force, MaxFindings: j.most, Isolated: j.Sandboxed()}
	if j.most == 0 {
		opts.MaxFindings = 1 << 30
	}
	start := time.Now()
	m := term.NewMeter(j.progress, j.Stderr, "recover", 0, time.Now)
	defer m.Finish()
	opts.Progress = m.UpdateOf
	r, err := hyperslab.Recover(ctx, target, source, opts)
	if err != nil {
		return nil, err
	}
	return &recovered{r, time.Since(start)}, nil
}

// show writes the result of a recovery.
func (j *recoverJob) show(r *recovered) error {
	if j.json {
		return j.WriteJSON(j.Stdout, newRecoverDoc(r.report, r.took))
	}
	return j.tellRecovery(r.report, j.quiet)
}

// planRecovery reports the input of a recovery. Only the recovery itself shows whether data can be
// recovered.
func (j *recoverJob) planRecovery(source, target string) error {
	start := time.Now()
	if _, err := os.Stat(source); err != nil {
		return ndarray.Wrap("recover", source, err)
	}
	if _, err := os.Lstat(target); err == nil && !j.force {
		return ndarray.Wrap("recover", source, fmt.Errorf("%w: %s", ndarray.ErrExists, target))
	}
	size, err := shell.PathBytes(source)
	if err != nil {
		return ndarray.Wrap("recover", source, err)
	}
	format := string(j.format)
	if format == "" {
		f, err := hyperslab.Sniff(source)
		if named, ok := shell.NamedFormat(source); err != nil && ok {
			f, err = named, nil
		}
		if err != nil {
			return err
		}
		format = string(f)
	}
	j.Note("would read all of %s as %s, %s, and write the readable part to %s", term.Safe(source), format, term.FormatBytes(size),
		term.Safe(target))
	if !j.json {
		return nil
	}
	return j.WriteJSON(j.Stdout, shell.DoneDoc{
		Schema: shell.SchemaDone, Command: "recover", Arguments: []string{source, target}, DryRun: true,
		Seconds: shell.Seconds(time.Since(start)),
	})
}

func newRecoverDoc(r *hyperslab.RecoverReport, took time.Duration) *RecoverDoc {
	d := &RecoverDoc{
		Schema: shell.SchemaRecover, Source: r.Source, Target: r.Destination, Format: string(r.Format), Whole: r.Complete,
		Arrays: shell.JSONInt(r.Arrays), Chunks: shell.JSONInt(r.Chunks), Certain: shell.JSONInt(r.Certain),
		Unverified: shell.JSONInt(r.Unverified), Guessed: shell.JSONInt(r.Guessed),
		Lost: shell.JSONInt(r.Lost), LostObjects: shell.JSONInt(r.LostObjects), NumFindings: shell.JSONInt(r.NumFindings),
		Findings: []FindingDoc{},
		Seconds:  shell.Seconds(took),
	}
	for _, f := range r.Findings {
		doc := FindingDoc{Certainty: f.Certainty, Object: shell.OrNull(f.Object), What: f.What, Text: f.Err.Error()}
		if f.Chunk >= 0 {
			doc.Chunk = (*shell.JSONInt)(&f.Chunk)
		}
		if f.Offset >= 0 {
			doc.Offset = (*shell.JSONInt)(&f.Offset)
		}
		d.Findings = append(d.Findings, doc)
	}
	return d
}

// tellRecovery writes the findings and the summary.
func (j *recoverJob) tellRecovery(r *hyperslab.RecoverReport, quiet bool) error {
	if !quiet {
		for _, f := range r.Findings {
			if _, err := fmt.Fprintln(j.Stdout, term.SafeLines(f.String())); err != nil {
				return err
			}
		}
		if more := r.NumFindings - int64(len(r.Findings)); more > 0 {
			j.Note("and %d more; -n 0 lists all", more)
		}
	}
	line := fmt.Sprintf("%s: %s, %s: %d certain, %d unverified, %d guessed, %d lost", term.Safe(r.Destination),
		term.Plural(r.Arrays, "array"), term.Plural(r.Chunks+r.Lost, "chunk"), r.Certain, r.Unverified, r.Guessed, r.Lost)
	if r.LostObjects > 0 {
		line += ", and " + term.Plural(r.LostObjects, "object") + " lost"
	}
	j.Note("%s", line)
	return nil
}
