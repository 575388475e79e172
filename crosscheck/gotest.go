// Conformance tests for Go functions.

package crosscheck

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// Reader tests a function that decodes files of one area, with one subtest per case. It emits the
// vectors into a temporary directory. read gets the path of the file or directory and, for HDF5,
// the object. It must return the decoded bytes in the form that the package comment defines, or an
// error if the file is invalid. skip lists the IDs of cases that the reader does not support. An
// unknown ID and a skipped case that passes are errors, so that the list stays accurate.
func Reader(t *testing.T, area string, read func(path, object string) ([]byte, error), skip ...string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "vectors")
	m, err := Emit(t.Context(), dir, &Options{Areas: []string{area}})
	if err != nil {
		t.Fatal(err)
	}
	eachCase(t, m.Cases, skip, func(c Case) Result { return try(dir, c, read) })
}

// Codec tests a function that decodes Blosc2 chunks, as Reader does for files.
func Codec(t *testing.T, decode func(chunk []byte) ([]byte, error), skip ...string) {
	t.Helper()
	Reader(t, "chunk", func(path, _ string) ([]byte, error) {
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		return decode(b)
	}, skip...)
}

// Writer tests a function that writes files of one area, as Reader does for one that reads. write
// must create a file or directory at out that contains data as s describes, or return an error if
// it does not support that. The reference library reads the result.
func Writer(t *testing.T, area string, write func(s Spec, data []byte, out string) error, skip ...string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "vectors")
	m, err := Emit(t.Context(), dir, &Options{Areas: []string{area}})
	if err != nil {
		t.Fatal(err)
	}
	writeEach(t, dir, m.Cases, write, skip)
}

// writeEach tests a writer on cases of the vectors in dir.
func writeEach(t *testing.T, dir string, cases []Case, write func(s Spec, data []byte, out string) error, skip []string) {
	t.Helper()
	out := t.TempDir()
	cases = slices.DeleteFunc(slices.Clone(cases), func(c Case) bool { return !writable(c) })
	n := 0
	eachCase(t, cases, skip, func(c Case) Result {
		n++
		return tryWrite(t.Context(), dir, c, filepath.Join(out, fmt.Sprint(n)), write)
	})
}

// eachCase runs one subtest per case.
func eachCase(t *testing.T, cases []Case, skip []string, judged func(Case) Result) {
	t.Helper()
	left := slices.Clone(skip)
	for _, c := range cases {
		i := slices.Index(left, c.ID)
		if i >= 0 {
			left = slices.Delete(left, i, i+1)
		}
		t.Run(c.ID, func(t *testing.T) {
			res := judged(c)
			switch {
			case i >= 0 && res.Verdict == Pass:
				t.Error("the case passes, but the list of skipped cases contains it")
			case i >= 0:
				t.Skip(res.Verdict, ": ", res.Detail)
			case res.Explanation != nil:
				t.Errorf("%s\n%s", res.Verdict, res.Explanation)
			case res.Verdict != Pass:
				t.Errorf("%s: %s", res.Verdict, res.Detail)
			}
		})
	}
	if len(left) > 0 {
		t.Errorf("unknown skipped cases: %v", left)
	}
}

// tryWrite calls write for one case. A panic counts as a crash.
func tryWrite(ctx context.Context, dir string, c Case, out string, write func(s Spec, data []byte, out string) error) (res Result) {
	res = Result{Case: c.ID, Area: c.Area, Direction: Writing}
	s, data, err := newSpec(dir, c)
	if err != nil {
		res.Verdict, res.Detail = Refused, err.Error()
		return res
	}
	start := time.Now()
	defer func() {
		res.Time = time.Since(start)
		if r := recover(); r != nil {
			res.Verdict, res.Detail = Crash, fmt.Sprint("panic: ", r)
		}
	}()
	if err := write(*s, data, out); err != nil {
		res.Verdict, res.Detail = Refused, err.Error()
		return res
	}
	judgeWritten(ctx, &res, s, data, out)
	return res
}

// try calls read for one case. A panic counts as a crash.
func try(dir string, c Case, read func(path, object string) ([]byte, error)) (res Result) {
	res = Result{Case: c.ID, Area: c.Area, Direction: Reading}
	start := time.Now()
	defer func() {
		res.Time = time.Since(start)
		if r := recover(); r != nil {
			res.Verdict, res.Detail = Crash, fmt.Sprint("panic: ", r)
		}
	}()
	got, err := read(filepath.Join(dir, filepath.FromSlash(c.Path)), c.Object)
	res = Judge(dir, c, got, err)
	return res
}
