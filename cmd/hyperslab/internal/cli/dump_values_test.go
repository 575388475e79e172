package cli_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

// leaf is a word of h5dump in the values of a dataset: a string or a word between commas and
// brackets.
var leaf = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|[^\s,{}()\[\]"]+`)

// longDimension matches the dataspace of an array that is left out because h5dump needs minutes.
var longDimension = regexp.MustCompile(`SIMPLE \{ \( [^)]*[0-9]{6}`)

// TestDump_valuesOfH5dump compares the values in dump --json with those of h5dump, for the datasets
// in the test files of the tools of HDF5 and in testdata with numbers, strings, enumerations, and
// structures, arrays and sequences of them.
func TestDump_valuesOfH5dump(t *testing.T) {
	if !testenv.All() {
		t.Skip("only with HYPERSLAB_ALL=1: h5dump runs for each dataset of 150 files")
	}
	tool := testenv.Tool(t, "h5dump")
	files := testenv.Files(t, "HYPERSLAB_HDF5_SRC", "tools/test/h5dump/testfiles/*.h5", "tools/test/h5copy/testfiles/*.h5", "tools/test/h5ls/testfiles/*.h5", "hl/test/testfiles/*.h5")
	own, err := filepath.Glob("../../../../testdata/*.h5")
	require.NoError(t, err)
	compared, values := 0, 0
	for _, file := range append(files, own...) {
		list, err := exec.Command(tool, "-n", file).Output()
		if err != nil || filepath.Base(file) == "tstr3.h5" {
			continue // h5dump cannot read the file, or writes control characters of strings as they are
		}
		for line := range strings.Lines(string(list)) {
			path, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), " dataset    ")
			path, _, _ = strings.Cut(path, " -> ")
			if !ok || strings.ContainsAny(path, "[]\\\"%:,") || strings.TrimSpace(path) != path {
				continue // h5dump escapes the name
			}
			header, err := exec.Command(tool, "-H", "-A", "0", "-d", path, file).Output()
			if err != nil || longDimension.Match(header) {
				continue
			}
			out, err := exec.Command(tool, "-A", "0", "-y", "-w", "60000", "-m", "%.17g", "-d", path, file).Output()
			head, data, ok := strings.Cut(string(out), "\n   DATA {\n")
			if err != nil || !ok || regexp.MustCompile(`H5T_(OPAQUE|REFERENCE|BITFIELD|STD_B|TIME|UNIX_|COMPLEX)|precision|unknown|H5T_NATIVE_LDOUBLE`).MatchString(head) {
				continue // another notation in JSON
			}
			stdout, stderr, code := run("dump", "--json", file+":"+path)
			if !check(t, code == 0, "%s:%s: %s", file, path, stderr) {
				continue
			}
			if strings.Contains(stdout, `{"base64":`) { // bytes that are not UTF-8 have another notation
				continue
			}
			var doc struct {
				DType  string
				Values json.RawMessage
			}
			require.NoError(t, json.Unmarshal([]byte(stdout), &doc))
			got := jsonLeaves(t, doc.Values)
			want := leaf.FindAllString(data[:strings.LastIndex(data, "\n   }\n")+1], -1)
			if !check(t, len(got) == len(want), "%s:%s: %d values, h5dump has %d: %.200q %.200q", file, path, len(got), len(want), got, want) {
				continue
			}
			for i := range got {
				if !check(t, sameLeaf(doc.DType, got[i], want[i]), "%s:%s: value %d of %s: %q, h5dump has %q", file, path, i, doc.DType, got[i], want[i]) {
					break
				}
			}
			compared, values = compared+1, values+len(got)
		}
	}
	t.Logf("%d values of %d datasets of %d files", values, compared, len(files)+len(own))
	require.Greater(t, compared, 380)
}

// check reports a failure and goes on.
func check(t *testing.T, ok bool, format string, args ...any) bool {
	t.Helper()
	if !ok {
		t.Errorf(format, args...)
	}
	return ok
}

// jsonLeaves returns the numbers and strings in a JSON value, without the names of fields, in the
// order of the document.
func jsonLeaves(t *testing.T, document []byte) []string {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(document))
	d.UseNumber()
	var list []string
	var nested []bool // for each open bracket: it is an object
	name := false     // the next token is the name of a field
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return list
		}
		require.NoError(t, err)
		if bracket, ok := token.(json.Delim); ok {
			if bracket == '{' || bracket == '[' {
				nested = append(nested, bracket == '{')
			} else {
				nested = nested[:len(nested)-1]
			}
		} else if name {
			name = false
			continue
		} else if token != nil { // null is an array without elements
			list = append(list, fmt.Sprint(token))
		}
		name = len(nested) > 0 && nested[len(nested)-1]
	}
}

// sameLeaf compares a value of dump with a word of h5dump. The padding of strings is not compared.
func sameLeaf(dtype, got, want string) bool {
	if text, ok := strings.CutPrefix(want, `"`); ok {
		text = strings.TrimSuffix(text, `"`)
		for strings.HasSuffix(text, `\000`) {
			text = strings.TrimSuffix(text, `\000`)
		}
		text = regexp.MustCompile(`\\[0-7]{3}`).ReplaceAllStringFunc(text, func(s string) string {
			n, _ := strconv.ParseUint(s[1:], 8, 8)
			return string([]byte{byte(n)})
		})
		text = strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\r`, "\r", `\"`, `"`, `\\`, `\`, `\a`, "\a", `\b`, "\b", `\f`, "\f", `\v`, "\v").Replace(text)
		return strings.TrimRight(got, " ") == strings.TrimRight(text, " ")
	}
	if got == want || want == "NULL" && got == "" {
		return true
	}
	if b, err := hex.DecodeString(strings.ReplaceAll(want, ":", "")); err == nil && len(b) == 4 && strings.Contains(want, ":") {
		return got == strconv.Itoa(int(int32(binary.LittleEndian.Uint32(b)))) // a number without a name in the enumeration
	}
	x, err := strconv.ParseFloat(got, 64)
	y, failed := strconv.ParseFloat(strings.TrimPrefix(want, "-nan"), 64)
	if strings.HasSuffix(want, "nan") {
		return err == nil && math.IsNaN(x)
	}
	if err != nil || failed != nil || !slices.ContainsFunc([]string{"f2", "f4", "f8", "f16", "g"}, func(s string) bool { return strings.Contains(dtype, s) }) {
		return false
	}
	if strings.Contains(dtype, "f2") {
		return math.Abs(x-y) <= math.Abs(y)/(1<<11)
	}
	return x == y || strings.Contains(dtype, "f4") && float32(x) == float32(y)
}
