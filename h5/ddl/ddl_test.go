package ddl_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/ddl"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/testkit/leak"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

func TestMain(m *testing.M) {
	leak.Main(m, leak.Check{Name: "open HDF5 ids", Left: h5.OpenIDs})
}

func write(t testing.TB, f *h5.File, o *ddl.Options) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, ddl.Write(&b, f, o))
	return b.String()
}

var place = regexp.MustCompile(`(?m)^\s*\([0-9]+(,[0-9]+)*\): `)

func words(dump string) []string { return strings.Fields(place.ReplaceAllString(dump, "")) }

type inner struct {
	S string   `h5:"s"`
	V []int16  `h5:"v"`
	A [2]uint8 `h5:"a"`
}

// everything creates a file with objects and elements of every kind.
func everything(t testing.TB) *h5.File {
	t.Helper()
	f, err := h5.Create(filepath.Join(t.TempDir(), "x.h5"), nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() })
	r := f.Root()
	make := func(name string, dt h5.Datatype, space h5.Dataspace, o *h5.DatasetOptions) *h5.Dataset {
		d, err := r.CreateDataset(name, dt, space, o)
		require.NoError(t, err)
		return d
	}
	numbers := make("g/numbers", h5.Int(2, h5.BigEndian), h5.SimpleSpace(3, 30), nil)
	values := []int16{}
	for i := range 90 {
		values = append(values, int16(i*i*7))
	}
	require.NoError(t, h5value.Write(numbers, values, h5.All))
	floats := make("floats", h5.IEEEFloat(8, h5.LittleEndian), h5.SimpleSpace(9), nil)
	require.NoError(t, h5value.Write(floats, []float64{0, -0.5, 1e6, 123456789, 1e-5, 0.0001, 1e300, 1.0 / 3, 999999.5}, h5.All))
	make("grows", h5.Uint(1, h5.LittleEndian), h5.Dataspace{Kind: h5.Simple, Dims: []int64{2}, MaxDims: []int64{h5.Unlimited}}, &h5.DatasetOptions{ChunkShape: []int64{2}})
	make("null", h5.Int(4, 0), h5.NullSpace(), nil)
	make("one", h5value.Bool(), h5.ScalarSpace(), nil)
	strs := make("texts", h5.VariableString(h5.UTF8), h5.SimpleSpace(3), nil)
	require.NoError(t, h5value.Write(strs, []string{"", "two words", `a "quote" and \`}, h5.SimpleSpace(3).All()))
	fixed := make("fixed", h5.FixedString(5, h5.SpacePad, h5.ASCII), h5.SimpleSpace(2), nil)
	require.NoError(t, h5value.Write(fixed, []string{"ab", "abcde"}, h5.SimpleSpace(2).All()))
	dt, err := h5value.DatatypeFor[inner]()
	require.NoError(t, err)
	records := make("records", dt, h5.SimpleSpace(2), nil)
	require.NoError(t, h5value.Write(records, []inner{{"x", []int16{1, -2}, [2]uint8{3, 4}}, {"", nil, [2]uint8{}}}, h5.All))
	require.NoError(t, numbers.WriteAttribute(h5.Attribute{Name: "unit", Datatype: h5.FixedString(2, h5.NullTerm, h5.ASCII), Space: h5.ScalarSpace(), Strings: []string{"m"}}))
	require.NoError(t, numbers.SetComment("of no meaning"))
	require.NoError(t, r.LinkHard("same", "g/numbers"))
	require.NoError(t, r.LinkHard("g/up", "/"))
	require.NoError(t, r.LinkSoft("soft", "/nowhere"))
	require.NoError(t, r.LinkExternal("out", "nowhere.h5", "/x"))
	require.NoError(t, r.LinkUser("user", 200, []byte("v")))
	kind, err := r.CommitDatatype("kind", dt)
	require.NoError(t, err)
	require.NoError(t, kind.WriteAttribute(h5.Attribute{Name: "of", Datatype: h5.FixedString(5, h5.NullTerm, h5.ASCII), Space: h5.ScalarSpace(), Strings: []string{"what"}}))
	require.NoError(t, kind.Close())
	require.NoError(t, f.Flush())
	return f
}

// TestWrite_H5dump checks that the output for objects of every kind is exactly h5dump's.
func TestWrite_H5dump(t *testing.T) {
	tool := testenv.Tool(t, "h5dump") // the oracle
	f := everything(t)
	for _, o := range []*ddl.Options{nil, {WithoutValues: true}} {
		args := []string{f.Path()}
		if o != nil {
			args = []string{"-H", f.Path()}
		}
		got := write(t, f, o)
		require.NoError(t, f.Flush())
		cmd := exec.Command(tool, args...)
		cmd.Env = append(os.Environ(), "HDF5_USE_FILE_LOCKING=FALSE")
		want, err := cmd.Output()
		require.NoError(t, err)
		require.Equal(t, words(string(want)), words(got))
	}
}

func TestDump_rowIndices(t *testing.T) {
	f := everything(t)
	got := write(t, f, &ddl.Options{Name: "x"})
	require.True(t, strings.HasPrefix(got, "HDF5 \"x\" {\nGROUP \"/\" {\n"), got)
	require.Contains(t, got, "\n         (0,0): 0, 7, 28,")
	require.Contains(t, got, "\n         (1,0): 6300,")
	for line := range strings.Lines(got) {
		require.LessOrEqual(t, len(line), 90)
	}
	require.True(t, strings.HasSuffix(got, "\n}\n}\n"))
}

// TestDump_pieces checks that datasets of any rank are read in pieces that contain every element.
func TestDump_pieces(t *testing.T) {
	f, err := h5.Create(filepath.Join(t.TempDir(), "x.h5"), nil)
	require.NoError(t, err)
	defer f.Close()
	const n = 3 * 70_001 * 2
	values := make([]uint8, n)
	for i := range values {
		values[i] = uint8(i * 7 >> 3)
	}
	d, err := f.Root().CreateDataset("d", h5.Uint(1, 0), h5.SimpleSpace(3, 70_001, 2), nil)
	require.NoError(t, err)
	require.NoError(t, h5value.Write(d, values, h5.All))
	got := words(write(t, f, nil))
	from := 0
	for i, w := range got {
		if w == "DATA" {
			from = i + 2
		}
	}
	for i, v := range values {
		require.Equal(t, string(appendInt(nil, int(v))), strings.TrimSuffix(got[from+i], ","), i)
	}
	require.Equal(t, "}", got[from+n])
}

func appendInt(b []byte, v int) []byte {
	if v >= 10 {
		b = appendInt(b, v/10)
	}
	return append(b, byte('0'+v%10))
}

// TestErrors checks that Write returns the error of its writer, and ErrClosed for a closed file.
func TestErrors(t *testing.T) {
	f := everything(t)
	broken := errors.New("broken")
	require.ErrorIs(t, ddl.Write(failing{broken}, f, nil), broken)
	closed := everything(t)
	require.NoError(t, closed.Close())
	var b bytes.Buffer
	require.ErrorIs(t, ddl.Write(&b, closed, nil), h5.ErrClosed)
}

// TestWrite_unwritable checks that no more elements are read after an error of the writer: reading
// all of this dataset would take hours.
func TestWrite_unwritable(t *testing.T) {
	f, err := h5.Create(filepath.Join(t.TempDir(), "x.h5"), nil)
	require.NoError(t, err)
	defer f.Close()
	const n = 1 << 40
	_, err = f.Root().CreateDataset("d", h5.Uint(1, 0), h5.SimpleSpace(n), &h5.DatasetOptions{ChunkShape: []int64{1 << 20}})
	require.NoError(t, err)
	broken := errors.New("broken")
	require.ErrorIs(t, ddl.Write(failing{broken}, f, nil), broken)
	part := h5.Region{Start: []int64{0}, Stride: []int64{1}, Count: []int64{n}, Block: []int64{1}}
	require.ErrorIs(t, ddl.Write(failing{broken}, f, &ddl.Options{Object: "/d", Part: &part}), broken)
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// TestWrite_ObjectsH5dump checks that the output for one object or attribute is exactly h5dump's. A
// name that does not exist must return an error, and nothing must be written.
func TestWrite_ObjectsH5dump(t *testing.T) {
	tool := testenv.Tool(t, "h5dump") // the oracle
	f := everything(t)
	for _, tt := range []struct {
		flag, path string
		o          ddl.Options
	}{
		{"-d", "/g/numbers", ddl.Options{Object: "/g/numbers"}},
		{"-d", "/same", ddl.Options{Object: "/same"}},
		{"-d", "/records", ddl.Options{Object: "/records"}},
		{"-d", "/texts", ddl.Options{Object: "/texts", WithoutValues: true}},
		{"-g", "/g", ddl.Options{Object: "/g"}},
		{"-g", "/", ddl.Options{Object: "/"}},
		{"-t", "/kind", ddl.Options{Object: "/kind"}},
		{"-a", "/g/numbers/unit", ddl.Options{Object: "/g/numbers", Attribute: "unit"}},
	} {
		got := write(t, f, &tt.o)
		args := []string{tt.flag, tt.path, f.Path()}
		if tt.o.WithoutValues {
			args = append([]string{"-H"}, args...)
		}
		cmd := exec.Command(tool, args...)
		cmd.Env = append(os.Environ(), "HDF5_USE_FILE_LOCKING=FALSE")
		want, err := cmd.Output()
		require.NoError(t, err)
		require.Equal(t, words(string(want)), words(got), "%s %s", tt.flag, tt.path)
	}
	for _, o := range []ddl.Options{{Object: "/nope"}, {Object: "/g/numbers", Attribute: "nope"}, {Attribute: "nope"}} {
		var b bytes.Buffer
		require.ErrorIs(t, ddl.Write(&b, f, &o), h5.ErrNotFound, o)
		require.Empty(t, b.String())
	}
}
