package cli_test

import (
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
)

// TestDump_numpy checks that NumPy reads the output of dump --npy, and that its values equal those
// of dump --json.
func TestDump_numpy(t *testing.T) {
	interpreter := testenv.Python(t, "numpy")
	dir := field(t)
	create(t, filepath.Join(dir, "ints.b2nd"), ndarray.Spec{Shape: []int64{2, 3, 4}}, []uint16{
		0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 65535})
	for _, c := range []struct{ address, npy string }{
		{"waves.b2nd", "<f4 (20, 30)"},
		{"waves.b2nd[::7, ::-9]", "<f4 (3, 4)"},
		{"waves.b2nd[3]", "<f4 (30,)"},
		{"waves.b2nd[3, 4]", "<f4 ()"},
		{"waves.b2nd[:0]", "<f4 (0, 30)"},
		{"tree.h5:/time", "<i4 (8, 10)"},
		{"ints.b2nd", "<u2 (2, 3, 4)"},
		{"records.b2nd[['id']]", ""},
		{"records.b2nd", "[('id', '<i4'), ('name', 'S8'), ('when', '<M8[s]'), ('at', '<f8', (2,)), ('z', '<c8'), ('in', [('B', '?')])] (3,)"},
	} {
		stdout, stderr, code := run("dump", "--npy", filepath.Join(dir, c.address))
		if c.npy == "" {
			require.Equal(t, 2, code)
			continue
		}
		require.Zero(t, code, stderr)
		file := filepath.Join(t.TempDir(), "a.npy")
		require.NoError(t, os.WriteFile(file, []byte(stdout), 0o644))
		document, stderr, code := run("dump", "--json", filepath.Join(dir, c.address))
		require.Zero(t, code, stderr)
		cmd := exec.Command(interpreter, "-c", npyOracle, file)
		cmd.Stdin = strings.NewReader(document)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s: %s", c.address, out)
		require.Equal(t, c.npy, strings.TrimSpace(string(out)), c.address)
	}
}

const npyOracle = `
import sys, json, numpy
a = numpy.load(sys.argv[1])
d = json.load(sys.stdin)
assert list(a.shape) == d["shape"], (a.shape, d["shape"])
if a.dtype.names is None:
    b = numpy.array(d["values"], dtype=a.dtype).reshape(a.shape)
    assert (a == b).all()
else:
    assert [int(x) for x in a["id"]] == [v["id"] for v in d["values"]]
    assert [x.decode() for x in a["name"]] == [v["name"] for v in d["values"]]
    assert [str(x) for x in a["when"]] == [v["when"] for v in d["values"]]
print(str(a.dtype) if a.dtype.names else a.dtype.str, a.shape)
`

// TestDump_Slabs checks that dump writes an array that is larger than one piece completely.
func TestDump_Slabs(t *testing.T) {
	dir := t.TempDir()
	values := make([]int32, 3000*1000)
	for i := range values {
		values[i] = int32(i)
	}
	file := filepath.Join(dir, "a.b2nd")
	create(t, file, ndarray.Spec{Shape: []int64{3000, 1000}, ChunkShape: []int64{100, 300}}, values)
	stdout, stderr, code := run("dump", file, "--npy")
	require.Zero(t, code, stderr)
	require.Len(t, stdout, 128+4*len(values))
	require.Equal(t, []byte{0xbf, 0xc6, 0x2d, 0}, []byte(stdout[len(stdout)-4:]))
	stdout, _, code = run("dump", file+"[::100]", "--ndjson")
	require.Zero(t, code)
	require.Equal(t, 30, strings.Count(stdout, "\n"))
}

// TestDump_h5dump compares dump --ddl of objects and selections with h5dump. dump must refuse
// untrusted files and everything that DDL cannot express.
func TestDump_h5dump(t *testing.T) {
	tool := testenv.Tool(t, "h5dump")
	t.Chdir(field(t))
	f, err := h5.Open("tree.h5", h5.ReadWrite)
	require.NoError(t, err)
	kind, err := f.Root().CommitDatatype("run1/kind", h5.IEEEFloat(8, h5.BigEndian))
	require.NoError(t, err)
	require.NoError(t, errors.Join(kind.Close(), f.Close()))
	place := regexp.MustCompile(`(?m)^\s*\([0-9]+(,[0-9]+)*\): `)
	words := func(s string) []string { return strings.Fields(place.ReplaceAllString(s, "")) }
	for _, tt := range []struct{ theirs, ours string }{
		{"-d /run1/temperature tree.h5", "tree.h5:/run1/temperature"},
		{"-H -d /time tree.h5", "tree.h5 /time --header"},
		{"-g /run1 tree.h5", "tree.h5:/run1"},
		{"-d /waves waves.h5", "waves.h5:/waves"},
		{"tree.h5", "tree.h5"},
		{"-t /run1/kind tree.h5", "tree.h5:/run1/kind"},
		{"-d /time -s 3,0 -c 1,10 tree.h5", "tree.h5:/time[3]"},
		{"-d /time -s 6,1 -S 1,4 -c 2,3 tree.h5", "tree.h5:/time[-2:,1::4]"},
		{"-d /names -s 1 -c 1 tree.h5", "tree.h5:/names[...,1:]"},
	} {
		want, err := exec.Command(tool, strings.Fields(tt.theirs)...).Output()
		require.NoError(t, err, tt.theirs)
		got, stderr, code := run(append([]string{"dump", "--ddl"}, strings.Fields(tt.ours)...)...)
		require.Zero(t, code, "%s: %s", tt.ours, stderr)
		require.Equal(t, words(string(want)), words(got), tt.ours)
	}
	for _, tt := range []struct{ args, says string }{
		{"--ddl tree.h5:/time[::-1]", "axis 0: step -1"},
		{"--ddl tree.h5:/time[[1,2]]", "is not one slice or index an axis"},
		{"--ddl tree.h5:/time[None,0]", "is not one slice or index an axis"},
		{"--ddl tree.h5:/time[9]", "axis 0: index 9, axis has 8"},
		{"--ddl tree.h5:/time[x]", "/time[x]"},
		{"--ddl tree.h5:/run1[0]", "/run1"},
		{"--ddl tree.h5:/nope[0]", "/nope"},
		{"--ddl tree.h5[0]", "a selection is a part of a dataset"},
		{"--ddl tree.h5:/time[0] --header", "--header prints no values"},
		{"--ddl tree.h5:/nope", "/nope"},
		{"--ddl tree.h5:/time --untrusted", "--ddl and --untrusted exclude each other"},
	} {
		stdout, stderr, code := run(append([]string{"dump"}, strings.Fields(tt.args)...)...)
		require.Equal(t, 2, code, "%s: %s", tt.args, stderr)
		require.Empty(t, stdout, tt.args)
		require.Contains(t, stderr, tt.says, tt.args)
	}
}

// TestDump_csv checks that pandas reads the cells and the names of the columns of dump --csv.
func TestDump_csv(t *testing.T) {
	t.Chdir(field(t))
	create(t, "n.h5:/g/n", ndarray.Spec{Shape: []int64{3}}, []float64{math.NaN(), math.Inf(-1), 0.1})
	create(t, "t.h5:/t", ndarray.Spec{Shape: []int64{2, 3}, AxisNames: []string{"time", ""}}, []int32{1, 2, 3, 4, 5, 6})
	f, err := h5.Create("s.h5", nil)
	require.NoError(t, err)
	d, err := f.Root().CreateDataset("s", h5.VariableString(h5.UTF8), h5.SimpleSpace(3), nil)
	require.NoError(t, err)
	require.NoError(t, h5value.Write(d, []string{"", "a,\"b\"\nc", "NaN"}, h5.All))
	require.NoError(t, errors.Join(d.Close(), f.Close()))
	for _, c := range []struct{ args, want string }{
		{"n.h5:/g/n", "n\nNaN\n-Infinity\n0.1\n"},
		{"n.h5:/g/n --no-header", "NaN\n-Infinity\n0.1\n"},
		{"n.h5:/g/n --index", "axis0,n\n0,NaN\n1,-Infinity\n2,0.1\n"},
		{"t.h5:/t --index", "time,column0,column1,column2\n0,1,2,3\n1,4,5,6\n"},
		{"t.h5:/t --index --no-header", "0,1,2,3\n1,4,5,6\n"},
		{"records.b2nd[:].when", "when\n1970-01-01T00:00:00\n2001-09-09T01:46:40\n\"\"\n"},
		{"s.h5:/s", "s\n\"\"\n\"a,\"\"b\"\"\nc\"\nNaN\n"},
		{"n.h5:/g/n[2:] n.h5:/g/n[2:] t.h5:/t[0]", "n\n0.1\n0.1\nt\n1\n2\n3\n"},
	} {
		require.Equal(t, c.want, done(t, append([]string{"dump", "--csv"}, strings.Fields(c.args)...)...), c.args)
	}
	if !testenv.All() { // the nightly lane of remote tests has pandas
		return
	}
	python := testenv.RemotePython(t, "pandas")
	for _, c := range []struct{ address, program, want string }{
		{"n.h5:/g/n", "print(list(f.columns), f.n.dtype, f.n.isna().tolist(), f.n[1], f.n[2])", "['n'] float64 [True, False, False] -inf 0.1\n"},
		{"t.h5:/t", "print(list(f.columns), f.values.tolist())", "['column0', 'column1', 'column2'] [[1, 2, 3], [4, 5, 6]]\n"},
		{"records.b2nd[:].when", "v = pandas.to_datetime(f.when); print(v.isna().tolist(), v[1])", "[False, False, True] 2001-09-09 01:46:40\n"},
		{"s.h5:/s", "print(f.s.tolist())", "['', 'a,\"b\"\\nc', 'NaN']\n"},
	} {
		program := "import pandas; f = pandas.read_csv('x.csv', keep_default_na='" + c.address + "' != 's.h5:/s')\n" + c.program
		require.NoError(t, os.WriteFile("x.csv", []byte(done(t, "dump", "--csv", c.address)), 0o666))
		got, err := exec.Command(python, "-c", program).CombinedOutput()
		require.NoError(t, err, string(got))
		require.Equal(t, c.want, string(got), c.address)
	}
}
