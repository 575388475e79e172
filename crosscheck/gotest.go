// The runner for Go: ten lines in anyone's test.

package crosscheck

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// Reader judges a function that decodes files of one area, one subtest a case. It
// emits the vectors into a folder of the test. read gets the path of the file or
// directory and, for HDF5, the object; it returns the decoded bytes as the package
// comment says, or an error where the file is broken. skip names cases that the
// reader does not claim to read; a name that is no case is an error, and so is a
// skipped case that passes: the list stays true.
func Reader(t *testing.T, area string, read func(path, object string) ([]byte, error), skip ...string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "vectors")
	m, err := Emit(t.Context(), dir, &Options{Areas: []string{area}})
	if err != nil {
		t.Fatal(err)
	}
	left := slices.Clone(skip)
	for _, c := range m.Cases {
		i := slices.Index(left, c.ID)
		if i >= 0 {
			left = slices.Delete(left, i, i+1)
		}
		t.Run(c.ID, func(t *testing.T) {
			res := try(dir, c, read)
			switch {
			case i >= 0 && res.Verdict == Pass:
				t.Error("passes, and stands among the skipped")
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
		t.Errorf("no such cases: %v", left)
	}
}

// Codec judges a function that decodes Blosc2 chunks, as Reader does for files.
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

// try calls read for one case; a panic is a crash.
func try(dir string, c Case, read func(path, object string) ([]byte, error)) (res Result) {
	res = Result{Case: c.ID, Area: c.Area}
	start := time.Now()
	defer func() {
		res.Time = time.Since(start)
		if r := recover(); r != nil {
			res.Verdict, res.Detail = Crash, fmt.Sprint("panic: ", r)
		}
	}()
	got, err := read(filepath.Join(dir, filepath.FromSlash(c.Path)), c.Object)
	switch {
	case err != nil && c.Must == Refuse:
		res.Verdict = Pass
	case err != nil:
		res.Verdict, res.Detail = Refused, err.Error()
	case c.Must == Refuse:
		res.Verdict, res.Detail = WronglyAccepted, c.Rule
	default:
		judge(&res, dir, c, got)
	}
	return res
}
