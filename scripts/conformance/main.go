// Conformance formats every .h5 file below the given directories as DDL, and compares the words
// with the output of h5dump of the same library.
//
//	go run ./scripts/conformance [-h5dump third_party/build/bin/h5dump] [-v] DIRECTORY…
//
// Line breaks inside values and the indexes before lines of values are not compared. The program
// prints a verdict for each file, and a table. The exit status is 1 if a file that h5dump reads
// differs.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/ddl"
)

// verdict is the result for one file.
type verdict string

const (
	same     verdict = "same"            // all words are equal
	headers  verdict = "same, no values" // too large for a full output of h5dump; all words of the headers are equal
	differs  verdict = "differs"
	refused  verdict = "refused by both"
	unread   verdict = "read by h5dump only"
	partial  verdict = "same as far as readable" // neither program reads a part; all words are equal
	ahead    verdict = "h5dump fails, ours goes on"
	noOracle verdict = "read by us only"

	// References into other files are not followed, because only files that the user named may be
	// opened.
	elsewhere verdict = "same except references into other files"
)

func main() {
	h5dump := flag.String("h5dump", "third_party/build/bin/h5dump", "the oracle")
	verbose := flag.Bool("v", false, "show the first difference of each file")
	flag.Parse()
	tool, err := filepath.Abs(*h5dump)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if err := besideTheFile(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	os.Exit(run(os.Stdout, tool, flag.Args(), *verbose))
}

// besideTheFile makes libhdf5 in this process and in h5dump look for external files in the
// directory of the file that names them, not in the working directory. libhdf5 reads the variable
// once, when it starts.
func besideTheFile() error { return os.Setenv("HDF5_EXTFILE_PREFIX", "${ORIGIN}") }

func run(w io.Writer, tool string, directories []string, verbose bool) int {
	counts := map[verdict]int{}
	for _, directory := range directories {
		files, err := find(directory)
		if err != nil {
			fmt.Fprintln(w, err)
			return 2
		}
		for _, file := range files {
			v, detail := judge(tool, file)
			counts[v]++
			name, err := filepath.Rel(directory, file)
			if err != nil {
				name = file
			}
			fmt.Fprintf(w, "%-40s %s\n", v, name)
			if verbose && detail != "" {
				fmt.Fprintf(w, "    %s\n", strings.ReplaceAll(detail, "\n", "\n    "))
			}
		}
	}
	fmt.Fprintln(w)
	total := 0
	for _, v := range []verdict{same, headers, partial, elsewhere, refused, ahead, noOracle, differs, unread} {
		fmt.Fprintf(w, "%5d %s\n", counts[v], v)
		total += counts[v]
	}
	fmt.Fprintf(w, "%5d files\n", total)
	if counts[differs]+counts[unread] > 0 || total == 0 {
		return 1
	}
	return 0
}

func find(directory string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(directory, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.HasSuffix(p, ".h5") {
			files = append(files, p)
		}
		return err
	})
	slices.Sort(files)
	return files, err
}

// Limits of a full comparison.
const (
	patience   = 2 * time.Minute
	maxText    = 64 << 20 // bytes of h5dump's output
	maxElement = 4 << 20  // elements of a dataset
)

func judge(tool, file string) (verdict, string) {
	f, err := open(file)
	if err != nil {
		if _, oracle := oracleOf(tool, "-H", file); oracle == nil {
			return unread, err.Error()
		}
		return refused, err.Error()
	}
	defer f.Close()
	args, o, equal := []string{}, &ddl.Options{}, same
	if large(f) {
		args, o.WithoutValues, equal = []string{"-H"}, true, headers
	}
	want, oracleErr := oracleOf(tool, append(args, file)...)
	if driver, name := setOf(file); len(want) == 0 && driver != "" {
		o.Name = name
		want, oracleErr = oracleOf(tool, append(args, "--vfd-name="+driver, name)...)
	}
	var got bytes.Buffer
	ourErr := ddl.Write(&got, f, o)
	a, b := words(want), words(got.Bytes())
	at := firstDifference(a, b)
	switch {
	case at < 0 && oracleErr == nil:
		return equal, text(ourErr)
	case at < 0:
		return partial, text(errors.Join(oracleErr, ourErr))
	case oracleErr != nil && len(want) == 0:
		return noOracle, oracleErr.Error()
	}
	v := differs
	switch {
	case oracleErr != nil:
		v = ahead
	case !o.WithoutValues && intoOtherFile(ourErr) && sameHeaders(tool, file, f):
		return elsewhere, text(ourErr)
	}
	return v, fmt.Sprintf("word %d: h5dump %q, ours %q; errors: %v; %v", at, around(a, at), around(b, at), oracleErr, ourErr)
}

// open opens a file. If that fails and the file can be the first member of a family without a
// driver information block, as HDF5 1.6 wrote them, it opens the family.
func open(file string) (*h5.File, error) {
	f, err := h5.Open(file, h5.ReadOnly)
	if driver, name := setOf(file); err != nil && driver == "family" {
		o := h5.OpenOptions{}
		access := h5.DefaultFileAccess()
		access.Driver = h5.Family{}
		o.Access = &access
		if f, err := h5.OpenWith(name, &o); err == nil {
			return f, nil
		}
	}
	return f, err
}

// setOf returns the driver and the name of a set of files, for h5dump, if file is the member that
// opens the set. Otherwise it returns an empty driver.
func setOf(file string) (driver, name string) {
	for suffix, as := range map[string][2]string{"-s.h5": {"multi", ""}, "-m.h5": {"split", ""}, "00000.h5": {"family", "%05d.h5"}} {
		if base, ok := strings.CutSuffix(file, suffix); ok {
			return as[0], base + as[1]
		}
	}
	return "", ""
}

// intoOtherFile reports whether err is that of a reference that leads out of the file.
func intoOtherFile(err error) bool {
	return errors.Is(err, h5.ErrNotFound) && strings.Contains(err.Error(), "reference into the file")
}

func sameHeaders(tool, file string, f *h5.File) bool {
	want, oracleErr := oracleOf(tool, "-H", file)
	var got bytes.Buffer
	err := ddl.Write(&got, f, &ddl.Options{WithoutValues: true})
	return oracleErr == nil && err == nil && firstDifference(words(want), words(got.Bytes())) < 0
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// large reports whether a file has a dataset that is too large to compare.
func large(f *h5.File) bool {
	for v, err := range f.Root().Visit() {
		if err != nil || v.Kind != h5.DatasetObject {
			continue
		}
		d, err := f.Root().OpenDataset(v.Path)
		if err != nil {
			continue
		}
		info, err := d.Info()
		_ = d.Close()
		if n := info.Space.NumElems(); err == nil && (n < 0 || n > maxElement) {
			return true
		}
	}
	return false
}

// oracleOf runs h5dump. The output is valid even if h5dump fails in the end.
func oracleOf(tool string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, tool, args...)
	var out limited
	cmd.Stdout = &out
	err := cmd.Run()
	return out.Bytes(), err
}

// limited is a buffer that refuses to grow beyond maxText.
type limited struct{ bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	if l.Len()+len(p) > maxText {
		return 0, errors.New("too much output")
	}
	return l.Buffer.Write(p)
}

// place matches the index before a line of values.
var place = regexp.MustCompile(`(?m)^\s*\([0-9]+(,[0-9]+)*\): `)

// pointer matches the number that h5dump 1.14 prints for an object that a reference inside another
// element refers to. It is not the object's address but that of h5dump's own buffer.
var pointer = regexp.MustCompile(`\b(DATASET|GROUP|DATATYPE) [0-9]+ "`)

func words(dump []byte) []string {
	dump = place.ReplaceAll(dump, nil)
	return strings.Fields(string(pointer.ReplaceAll(dump, []byte(`$1 "`))))
}

// firstDifference returns the index of the first word that differs, or -1.
func firstDifference(a, b []string) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	if len(a) != len(b) {
		return min(len(a), len(b))
	}
	return -1
}

func around(w []string, at int) string {
	return strings.Join(w[max(min(at, len(w))-3, 0):min(at+4, len(w))], " ")
}
