// Conformance tests for Go functions.

package crosscheck

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"
)

// Reader tests a function that decodes files of one area, with one subtest per case. It emits the
// vectors into a temporary directory. read must return the decoded bytes in the form that the
// package comment defines, or an error if the file is invalid. Methods of Request convert elements
// in little-endian order and numbers.
//
// An error that matches errors.ErrUnsupported skips the case, also one that must be refused. The
// report counts such cases by area, and Reader logs their number. If read supports no valid case,
// the test fails. A panic is a crash, and Result.Stack contains its stack.
//
// skip lists the IDs of cases that fail for a known reason. An unknown ID and a skipped case that
// passes are errors, so that the list stays accurate.
func Reader(t *testing.T, area string, read func(Request) ([]byte, error), skip ...string) *Report {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "vectors")
	m, err := Emit(t.Context(), dir, &Options{Areas: []string{area}})
	if err != nil {
		t.Fatal(err)
	}
	cases := make(map[string]*Case, len(m.Cases))
	for i := range m.Cases {
		cases[m.Cases[i].ID] = &m.Cases[i]
	}
	return eachCase(t, m.Cases, skip, func(c Case) (Result, bool) {
		return try(dir, c, newRequest(dir, c, cases[cmp.Or(c.Params["base"], c.ID)]), read)
	})
}

// Codec tests a function that decodes Blosc2 chunks, as Reader does for files.
func Codec(t *testing.T, decode func(chunk []byte) ([]byte, error), skip ...string) *Report {
	t.Helper()
	return Reader(t, "chunk", func(r Request) ([]byte, error) {
		b, err := os.ReadFile(r.Path)
		if err != nil {
			return nil, err
		}
		return decode(b)
	}, skip...)
}

// Writer tests a function that writes files of one area, as Reader does for one that reads. write
// must create a file or directory at out that contains data as s describes, or return an error if
// it does not support that; errors.ErrUnsupported skips the case. The reference library reads the
// result.
func Writer(t *testing.T, area string, write func(s Spec, data []byte, out string) error, skip ...string) *Report {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "vectors")
	m, err := Emit(t.Context(), dir, &Options{Areas: []string{area}})
	if err != nil {
		t.Fatal(err)
	}
	return writeEach(t, dir, m.Cases, write, skip)
}

// writeEach tests a writer on cases of the vectors in dir.
func writeEach(t *testing.T, dir string, cases []Case, write func(s Spec, data []byte, out string) error, skip []string) *Report {
	t.Helper()
	out := t.TempDir()
	cases = slices.DeleteFunc(slices.Clone(cases), func(c Case) bool { return !writable(c) })
	n := 0
	return eachCase(t, cases, skip, func(c Case) (Result, bool) {
		n++
		return tryWrite(t.Context(), dir, c, filepath.Join(out, fmt.Sprint(n)), write)
	})
}

// eachCase runs one subtest per case. judged returns false for a case that is not supported.
func eachCase(t *testing.T, cases []Case, skip []string, judged func(Case) (Result, bool)) *Report {
	t.Helper()
	r := &Report{Schema: reportSchema, Subject: t.Name()}
	left := slices.Clone(skip)
	valid := 0
	for _, c := range cases {
		i := slices.Index(left, c.ID)
		if i >= 0 {
			left = slices.Delete(left, i, i+1)
		}
		t.Run(c.ID, func(t *testing.T) {
			res, supported := judged(c)
			if !supported {
				r.skip(res)
				t.Skip("not supported: ", res.Detail)
			}
			r.add(res)
			if c.Must == Accept {
				valid++
			}
			switch {
			case i >= 0 && res.Verdict == Pass:
				t.Error("the case passes, but the list of skipped cases contains it")
			case i >= 0:
				t.Skip(res.Verdict, ": ", res.Detail)
			case res.Explanation != nil:
				t.Errorf("%s\n%s", res.Verdict, res.Explanation)
			case res.Verdict != Pass:
				t.Error(strings.TrimSpace(fmt.Sprintf("%s: %s\n%s", res.Verdict, res.Detail, res.Stack)))
			}
		})
	}
	if len(left) > 0 {
		t.Errorf("unknown skipped cases: %v", left)
	}
	if len(r.Skipped) > 0 {
		t.Logf("cases that are not supported: %v", r.Skipped)
	}
	if valid == 0 && len(r.Skipped) > 0 {
		t.Error("no valid case is supported")
	}
	return r
}

// caught sets the verdict of a panic. A function defers it.
func (x *Result) caught(start time.Time) {
	x.Time = time.Since(start)
	if r := recover(); r != nil {
		x.Verdict, x.Detail, x.Stack = Crash, fmt.Sprint("panic: ", r), string(debug.Stack())
	}
}

// tryWrite calls write for one case. A panic counts as a crash.
func tryWrite(ctx context.Context, dir string, c Case, out string, write func(s Spec, data []byte, out string) error) (res Result, supported bool) {
	res = Result{Case: c.ID, Area: c.Area, Direction: Writing}
	s, data, err := newSpec(dir, c)
	if err != nil {
		res.Verdict, res.Detail = Refused, err.Error()
		return res, true
	}
	supported = true
	defer res.caught(time.Now())
	if err := write(*s, data, out); err != nil {
		res.Verdict, res.Detail = Refused, err.Error()
		return res, !errors.Is(err, errors.ErrUnsupported)
	}
	judgeWritten(ctx, &res, s, data, out)
	return res, true
}

// try calls read for one case. A panic counts as a crash.
func try(dir string, c Case, r Request, read func(Request) ([]byte, error)) (res Result, supported bool) {
	res = Result{Case: c.ID, Area: c.Area, Direction: Reading}
	supported = true
	defer res.caught(time.Now())
	got, err := read(r)
	if errors.Is(err, errors.ErrUnsupported) {
		res.Verdict, res.Detail = Refused, err.Error()
		return res, false
	}
	return Judge(dir, c, got, err), true
}
