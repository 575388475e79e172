// Comparison of a verdict with the answer of the judge.

package judge

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Exception is a finding of Verify in files that the reference library reads, or an answer of the
// judge about files that Verify finds valid.
type Exception struct {
	Files   string         // pattern of the names of files; "" for all
	Finding *regexp.Regexp // matches the finding or the answer
	Row     string         // first column of the row in docs/known-issues.md
}

func (x Exception) covers(file, text string) bool {
	if x.Files != "" {
		if is, err := filepath.Match(x.Files, filepath.Base(file)); err != nil || !is {
			return false
		}
	}
	return x.Finding.MatchString(text)
}

// excepted reports whether an exception covers text.
func excepted(file, text string) bool {
	for _, x := range Exceptions {
		if x.covers(file, text) {
			return true
		}
	}
	return false
}

// Result is the comparison for a file. Difference is "" if both agree. Excepted reports whether
// exceptions cover a difference.
type Result struct {
	Name       string
	Verdict    string // "valid", "corrupt", "partly", or "refused" if Verify returned an error
	Answer     Answer
	Difference string
	Excepted   bool
}

// Compare verifies a file in a worker and compares the verdict with the answer of the judge.
func (j *Judge) Compare(ctx context.Context, path string) (r Result, err error) {
	r.Name = filepath.Base(path)
	if r.Answer, err = j.Read(path); err != nil {
		return r, err
	}
	report, err := hyperslab.Verify(ctx, path, &hyperslab.VerifyOptions{Isolated: true, Workers: 1})
	if ctx.Err() != nil {
		return r, ctx.Err()
	}
	reads := r.Answer.Outcome == Reads
	switch r.Verdict = verdict(report, err); {
	case r.Verdict == "valid" && !reads && r.Answer.Outcome != Large:
		r.Difference = "valid, but the reference library " + r.Answer.String()
		r.Excepted = excepted(r.Name, r.Answer.String())
	case r.Verdict == "corrupt" && reads:
		r.Difference, r.Excepted = "corrupt, but the reference library reads everything", true
		for _, f := range report.Findings {
			if !excepted(r.Name, f.String()) {
				r.Excepted = false
				r.Difference += "; " + f.String()
			}
		}
	case r.Verdict == "refused" && (reads || !errors.Is(err, ndarray.ErrFormat)):
		r.Difference = fmt.Sprintf("%v, but the reference library %v", err, r.Answer)
		r.Excepted = excepted(r.Name, err.Error())
	}
	return r, nil
}

func verdict(report *hyperslab.VerifyReport, err error) string {
	switch {
	case err != nil:
		return "refused"
	case report.NumFindings > 0:
		return "corrupt"
	case report.NumUnchecked > 0:
		return "partly"
	}
	return "valid"
}

// Recover recovers the file at path and reports whether there was something to recover. The
// difference is not "" if the judge cannot read the new file.
func (j *Judge) Recover(ctx context.Context, path string) (recovered bool, difference string, err error) {
	dst := strings.TrimSuffix(path, filepath.Ext(path)) + "-recovered" + filepath.Ext(path)
	_, err = hyperslab.Recover(ctx, dst, path, &hyperslab.RecoverOptions{Isolated: true})
	if ctx.Err() != nil {
		return false, "", ctx.Err()
	}
	if err != nil {
		for _, is := range []error{ndarray.ErrCorrupt, ndarray.ErrFormat, errors.ErrUnsupported, hyperslab.ErrLimit} {
			if errors.Is(err, is) {
				return false, "", nil
			}
		}
		return false, "recover: " + err.Error(), nil
	}
	a, err := j.Read(dst)
	if err == nil && a.Outcome != Reads && a.Outcome != Large {
		difference = "the reference library " + a.String() + " in the recovered file"
	}
	return true, difference, err
}
