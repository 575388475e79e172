// hyperslab verify: check whole files for corruption.

package check

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/internal/verify"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/remote"
)

// VerifyDoc is the document of verify --json.
type VerifyDoc struct {
	Schema  string          `json:"schema"`
	Files   []VerifyFile    `json:"files"`
	Totals  *verifyTotals   `json:"totals"` // null in a line of one source
	Seconds shell.JSONFloat `json:"seconds"`
}

// verifyTotals counts the files by verdict, and adds up their parts.
type verifyTotals struct {
	Files        shell.JSONInt `json:"files"`
	Valid        shell.JSONInt `json:"valid"`
	Corrupt      shell.JSONInt `json:"corrupt"`
	NotChecked   shell.JSONInt `json:"not_checked"` // also partly checked ones
	Arrays       shell.JSONInt `json:"arrays"`
	Chunks       shell.JSONInt `json:"chunks"`
	DecodedBytes shell.JSONInt `json:"decoded_bytes"`
}

func (t *verifyTotals) add(row *VerifyFile) {
	t.Files++
	switch row.Verdict {
	case verdictValid:
		t.Valid++
	case verdictCorrupt:
		t.Corrupt++
	default:
		t.NotChecked++
	}
	t.Arrays += row.Arrays
	t.Chunks += row.Chunks
	t.DecodedBytes += row.DecodedBytes
}

// VerifyFile is the result of one file.
type VerifyFile struct {
	Path         string        `json:"path"`
	Format       *string       `json:"format"`
	Verdict      string        `json:"verdict"`
	Arrays       shell.JSONInt `json:"arrays"`
	Chunks       shell.JSONInt `json:"chunks"`
	DecodedBytes shell.JSONInt `json:"decoded_bytes"`
	StoredBytes  shell.JSONInt `json:"stored_bytes"`
	Checksums    shell.JSONInt `json:"checksums"`
	Verified     bool          `json:"values_verified"`
	Digests      shell.JSONInt `json:"digests"`
	NumFindings  shell.JSONInt `json:"num_findings"`
	Findings     []PlaceDoc    `json:"findings"`
	NumUnchecked shell.JSONInt `json:"num_unchecked"`
	Unchecked    []PlaceDoc    `json:"unchecked"`
	Sandbox      *string       `json:"sandbox"`
	Error        *string       `json:"error"`
}

// PlaceDoc is one finding, or one part that was not checked.
type PlaceDoc struct {
	Object    *string         `json:"object"`
	Structure string          `json:"structure"`
	File      *string         `json:"file"`
	Offset    *shell.JSONInt  `json:"offset"`
	Chunk     *shell.JSONInt  `json:"chunk"`
	Index     []shell.JSONInt `json:"index"`
	Error     string          `json:"error"`

	Consequences []PlaceDoc `json:"consequences"` // findings that follow from this one
}

// Verdicts of verifyFile.
const (
	verdictValid   = "valid"
	verdictCorrupt = "corrupt"
	verdictPartly  = "partly checked"
	verdictNone    = "not checked"
	verdictUnknown = "cannot be verified"
)

// mostFindings is the minimum number of findings that are collected, so that consequences do not
// hide other causes.
const mostFindings = 1000

// mostConsequences is the maximum number of consequences of a finding that are written as text.
const mostConsequences = 3

// verifyJob is one run of verify.
type verifyJob struct {
	*shell.App

	job       shell.JobFlags
	batch     shell.BatchFlags
	sandbox   bool
	untrusted bool
	digests   string
	force     bool
	format    corruptFormat
	most      int
	recursive bool
	cloud     bool
	json      bool
}

func newVerify(a *shell.App) *cobra.Command {
	j := &verifyJob{App: a}
	cmd := &cobra.Command{
		Use:   "verify FILE...",
		Short: "Check whole files for corruption",
		Long: `verify checks the structure of files of every format without trusting any byte, decodes
every chunk on all cores, compares all checksums, and lets the reference library open
each object. Each error is listed with its location: the object, the chunk with its
first element, and the offset in the file. Errors that follow from another one, for
example chunks of a corrupt index, are listed below it as consequences. The work is done
in a sandbox, where the crash of a library is reported as an error of the file.

External files of an HDF5 file and the source files of its virtual datasets are checked
too, except with --untrusted. The first member of a family, multi or split set
stands for all of them.

Of a directory, verify checks each file and each array at any depth. The verdict of a
directory or a container is the worst one of its members, and no member is left out
silently. -r also prints a line for each member and a line of totals.

The verdicts:
  valid                The reference library (libhdf5, C-Blosc2 or bcolz) reads every
                       element and every attribute, and every checksum is right.
  valid, no checksums  Valid, but some chunks have no checksum: a changed bit in their
                       values is not noticed.
  corrupt              A structure, a chunk or a checksum is wrong. Each error is listed
                       with object and offset (exit code 1).
  partly checked       No error was found, and some objects were not checked. Each is
                       listed with the reason (exit code 3).
  not checked          The file was not checked, for example because its format is
                       unknown. The reason is listed (exit code 3, or 2 if no file was
                       checked).

--digests write stores the SHA-256 digests of a valid file in FILE.sha256, which
sha256sum can check too, and --digests check compares them.

--cloud reports the layout of HDF5 files for reads from an object store instead: the
number of requests for all metadata, the chunk sizes, and each problem with the option
that fixes it. It reads metadata only, also of URLs. The exit code is 1 if there are
problems.

Exit codes: 0 valid, 1 corrupt, 2 no file could be checked, 3 some files or objects
were not checked.` + shell.BatchHelp,
		Example: `  hyperslab verify tree.h5 waves.b2nd
  hyperslab verify -r runs/
  hyperslab verify waves.h5 --digests write
  hyperslab verify waves.h5 --digests check --json
  hyperslab verify --cloud waves.h5`,
		Args: j.batch.Arity,
		RunE: func(cmd *cobra.Command, args []string) error {
			if j.cloud {
				return j.verifyCloud(cmd, args)
			}
			return shell.NoSandbox(j.run(cmd, args))
		},
	}
	f := cmd.Flags()
	j.job.Flags = f
	shell.JobsFlag(cmd, &j.job.Jobs, 0, "number `N` of workers; 0 means all cores")
	shell.MemoryFlag(cmd, &j.job.Memory, "2GiB", "maximum `BYTES` of memory of the sandbox")
	shell.ProgressFlag(cmd, &j.job.Progress)
	shell.QuietFlag(cmd, &j.job.Quiet, "do not show progress and valid files")
	f.BoolVar(&j.sandbox, "sandbox", true, "decode in an isolated process")
	f.BoolVar(&j.untrusted, "untrusted", false, "do not use codecs and libraries that are unsafe on crafted bytes")
	f.StringVar(&j.digests, "digests", "", "`ACTION` for the digests in FILE.sha256: write or check")
	shell.ForceFlag(cmd, &j.force, "replace existing digests")
	j.format.add(cmd)
	shell.LimitFlag(cmd, &j.most, 20, "list at most `N` errors of a file, with 3 consequences of each; all if 0")
	shell.RecursiveFlag(cmd, &j.recursive, "show the verdict of each member of a directory, and totals")
	j.batch.AddList(cmd, "also the files that `FILE` lists, one per line; - is standard input",
		"continue after a file that cannot be checked")
	f.BoolVar(&j.cloud, "cloud", false, "report the layout for reads from an object store, and check no values")
	shell.CompleteWords(cmd, "digests", "write", "check")
	shell.JSONFlag(cmd, &j.json)
	return cmd
}

// options converts the flags to options of hyperslab.Verify.
func (j *verifyJob) options() (*hyperslab.VerifyOptions, error) {
	memory, err := j.job.Check()
	if err != nil {
		return nil, err
	}
	v := &hyperslab.VerifyOptions{
		Format: hyperslab.Format(j.format), Workers: j.job.Jobs, Untrusted: j.untrusted, Isolated: j.sandbox, Memory: memory,
		MaxFindings: max(j.most, mostFindings),
	}
	if j.job.Given && !j.sandbox {
		return nil, shell.Usagef("--memory %s is the limit of the sandbox, which --sandbox=false turns off", j.job.Memory)
	}
	if j.digests != "" {
		if err := shell.OneOf("--digests", j.digests, "write", "check"); err != nil {
			return nil, err
		}
		v.CheckDigests, v.WriteDigests = j.digests == "check", j.digests == "write"
	}
	if err := j.format.check(); err != nil {
		return nil, err
	}
	if j.most < 0 {
		return nil, shell.Usagef("-n %d: want 0 or more findings", j.most)
	}
	if j.most == 0 {
		v.MaxFindings = 1 << 30
	}
	return v, nil
}

// verified is the result of one source.
type verified struct {
	rows    []VerifyFile
	reports []*hyperslab.VerifyReport
	code    int
}

func (j *verifyJob) run(cmd *cobra.Command, args []string) error {
	v, err := j.options()
	if err != nil {
		return err
	}
	start := time.Now()
	doc := VerifyDoc{Schema: shell.SchemaVerify, Files: []VerifyFile{}, Totals: &verifyTotals{}}
	write := func(d VerifyDoc) error {
		d.Seconds = shell.Seconds(time.Since(start))
		return j.WriteDocument(j.Stdout, d)
	}
	worst, lines := shell.ExitOK, j.json && j.Lines
	job := j.job
	job.Quiet = true
	_, err = j.Files(cmd, args, &shell.Into{
		Flags: &j.batch, Job: &job, Lines: lines,
		Do: func(ctx context.Context, w *shell.Work) (any, error) { return j.verify(ctx, w, *v) },
		Report: func(o *shell.Outcome) error {
			x, ok := o.Value.(*verified)
			if !ok || o.Err != nil {
				x = &verified{rows: []VerifyFile{newVerifyFile(o.Source)}}
				x.rows[0].Error = shell.OrNull(o.Err.Error())
			} else if x.code == shell.ExitDiffers || worst == shell.ExitOK {
				worst = x.code
			}
			for i := range x.rows {
				doc.add(x.rows[i])
				if !j.json && x.reports != nil {
					j.printVerdict(&x.rows[i], x.reports[i])
				}
			}
			if !lines {
				return nil
			}
			doc.Files = []VerifyFile{}
			return write(VerifyDoc{Schema: doc.Schema, Files: x.rows})
		},
	})
	switch {
	case doc.Totals.Files == 0:
	case j.json:
		err = errors.Join(err, write(doc))
	case j.recursive:
		j.printTotals(doc.Totals)
	}
	if worst == shell.ExitOK || err != nil && worst != shell.ExitDiffers {
		return err
	}
	return &shell.ExitError{Code: worst, Err: err} // findings are reported even if other files failed
}

// verify verifies one source.
func (j *verifyJob) verify(ctx context.Context, w *shell.Work, v hyperslab.VerifyOptions) (*verified, error) {
	if err := shell.WholeFile("verify", w.Source); err != nil {
		return nil, err
	}
	if sidecar := filepath.Clean(w.Source) + verify.SidecarExt; v.WriteDigests && !j.force {
		if _, err := os.Lstat(sidecar); err == nil {
			return nil, &ndarray.Error{Op: "create", Path: sidecar, Err: ndarray.ErrExists}
		}
	}
	v.Workers, v.Unlocked = w.Workers, w.Unlocked
	if j.job.Given {
		v.Memory = w.Memory
	}
	m := term.NewMeter(j.job.Progress, w.Stderr, "verify", 0, time.Now)
	defer m.Finish()
	v.Progress = func(p ndarray.Progress) {
		m.UpdateDecoded(p.DoneUnits, p.TotalUnits, "chunks", p.DoneBytes, p.StoredBytes)
	}
	x := &verified{}
	add := func(r *hyperslab.VerifyReport) error {
		row := newVerifyFile(r.Path)
		row.fill(r, j.most)
		x.rows, x.reports = append(x.rows, row), append(x.reports, r)
		return nil
	}
	if j.recursive {
		v.Member = add
	}
	r, err := verifySource(ctx, w.Source, &v)
	if err != nil {
		return nil, err
	}
	if x.code = verifyCode(r); len(x.rows) == 0 {
		err = add(r)
	}
	return x, err
}

func newVerifyFile(path string) VerifyFile {
	return VerifyFile{Path: path, Verdict: verdictUnknown, Findings: []PlaceDoc{}, Unchecked: []PlaceDoc{}}
}

func (d *VerifyDoc) add(row VerifyFile) {
	d.Files = append(d.Files, row)
	d.Totals.add(&row)
}

// printTotals writes the totals of a run in one line.
func (j *verifyJob) printTotals(t *verifyTotals) {
	fmt.Fprintf(j.Stdout, "%s: %d valid, %d corrupt, %d not or partly checked (%s, %s checked, %s decoded)\n",
		term.Plural(int64(t.Files), "file"),
		t.Valid, t.Corrupt, t.NotChecked, term.Plural(int64(t.Arrays), "array"), term.Plural(int64(t.Chunks), "chunk"),
		term.FormatBytes(int64(t.DecodedBytes)))
}

// verifySource verifies a file, or a local copy of the file at a URL.
func verifySource(ctx context.Context, source string, v *hyperslab.VerifyOptions) (*hyperslab.VerifyReport, error) {
	if remote.IsURL(source) && (v.CheckDigests || v.WriteDigests) {
		return nil, shell.Usagef("%s: digests are stored next to local files", remote.Redact(source))
	}
	file, done, err := shell.Fetched(ctx, source)
	if err != nil {
		return nil, err
	}
	r, err := hyperslab.Verify(ctx, file, v)
	if r != nil {
		r.Path = source
	}
	return r, errors.Join(err, done())
}

// fill copies a report with at most the given number of causes and of unchecked parts, all if it is
// 0.
func (row *VerifyFile) fill(r *hyperslab.VerifyReport, most int) {
	row.Format = shell.OrNull(string(r.Format))
	row.Arrays, row.Chunks = shell.JSONInt(r.Arrays), shell.JSONInt(r.Chunks)
	row.DecodedBytes, row.StoredBytes = shell.JSONInt(r.DecodedBytes), shell.JSONInt(r.StoredBytes)
	row.Verified = r.ValuesVerified
	row.Checksums, row.Digests = shell.JSONInt(r.Checksums), shell.JSONInt(r.Digests)
	row.NumFindings, row.NumUnchecked = shell.JSONInt(r.NumFindings), shell.JSONInt(r.NumUnchecked)
	for _, c := range causes(r.Findings, most) {
		d := newPlaceDoc(c[0])
		for _, p := range c[1:] {
			d.Consequences = append(d.Consequences, newPlaceDoc(p))
		}
		row.Findings = append(row.Findings, d)
	}
	for _, c := range causes(r.Unchecked, most) {
		row.Unchecked = append(row.Unchecked, newPlaceDoc(c[0]))
	}
	if r.Isolated {
		row.Sandbox = shell.OrNull(r.Level)
	}
	switch verifyCode(r) {
	case shell.ExitOK:
		row.Verdict = verdictValid
	case shell.ExitDiffers:
		row.Verdict = verdictCorrupt
	default:
		row.Verdict = verdictPartly
		if r.Format == "" {
			row.Verdict = verdictNone
		}
	}
}

// causes returns each cause with its consequences, at most the given number of causes, all if it is
// 0.
func causes(list []hyperslab.Finding, most int) (groups [][]hyperslab.Finding) {
	for i, p := range list {
		switch {
		case p.Consequence && len(groups) > 0:
			last := &groups[len(groups)-1]
			*last = list[i-len(*last) : i+1]
		case len(groups) == most && most > 0:
			return groups
		default:
			groups = append(groups, list[i:i+1])
		}
	}
	return groups
}

// verifyCode returns the exit code for the report of one file.
func verifyCode(r *hyperslab.VerifyReport) int {
	switch {
	case r.NumFindings > 0:
		return shell.ExitDiffers
	case r.NumUnchecked > 0:
		return shell.ExitPartly
	}
	return shell.ExitOK
}

func newPlaceDoc(p hyperslab.Finding) PlaceDoc {
	d := PlaceDoc{Object: shell.OrNull(p.Object), Structure: p.What, File: shell.OrNull(p.File), Index: shell.JSONShape(p.Coords),
		Error: p.Err.Error(), Consequences: []PlaceDoc{}}
	if p.Offset >= 0 {
		d.Offset = (*shell.JSONInt)(&p.Offset)
	}
	if p.Chunk >= 0 {
		d.Chunk = (*shell.JSONInt)(&p.Chunk)
	}
	return d
}

// printVerdict writes the result of a file for users: one line, and one for each finding.
func (j *verifyJob) printVerdict(row *VerifyFile, r *hyperslab.VerifyReport) {
	if j.job.Quiet && row.Verdict == verdictValid {
		return
	}
	facts := []string{term.Plural(r.Arrays, "array"), term.Plural(r.Chunks, "chunk") + " checked",
		term.FormatBytes(r.DecodedBytes) + " decoded"}
	if r.Checksums > 0 {
		facts = append(facts, term.Plural(r.Checksums, "checksum"))
	}
	if r.Digests > 0 {
		facts = append(facts, term.Plural(r.Digests, "digest"))
	}
	verdict := row.Verdict
	if verdict == verdictValid && !row.Verified {
		verdict += ", no checksums: values not verified"
		if r.Checksums > 0 {
			verdict = fmt.Sprintf("%s, %s without checksum: values not verified", row.Verdict, term.Plural(r.Chunks-r.Checksums, "chunk"))
		}
	}
	fmt.Fprintf(j.Stdout, "%s: %s (%s)\n", term.Safe(row.Path), verdict, shell.Joined(facts))
	j.printFindings("error", r.Findings, r.NumFindings, j.most)
	j.printFindings("not checked", r.Unchecked, r.NumUnchecked, j.most)
}

// printFindings writes findings with the first of their consequences, all if most is 0.
func (j *verifyJob) printFindings(what string, list []hyperslab.Finding, all int64, most int) {
	line := func(indent, what string, p hyperslab.Finding) {
		fmt.Fprintf(j.Stdout, "%s%s: %s\n", indent, what, strings.ReplaceAll(term.SafeLines(p.String()), "\n", "\n"+indent+"  "))
	}
	for _, c := range causes(list, most) {
		all -= int64(len(c))
		line("  ", what, c[0])
		for i, p := range c[1:] {
			if i == mostConsequences && most > 0 {
				fmt.Fprintf(j.Stdout, "    and %s more; -n 0 lists all\n", term.Plural(int64(len(c)-1-i), "consequence"))
				break
			}
			line("    ", "consequence", p)
		}
	}
	if all > 0 {
		fmt.Fprintf(j.Stdout, "  and %d more; -n 0 lists all\n", all)
	}
}
