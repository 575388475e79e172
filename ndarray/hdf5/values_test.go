package hdf5_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5walk"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
)

// plain returns an element in the form of testdata/values.py.
func plain(t *testing.T, d ndarray.DType, b []byte) any {
	switch d.Kind {
	case ndarray.Struct, ndarray.SubArray, ndarray.VLen:
		parts, err := d.Split(b)
		require.NoError(t, err)
		list := []any{}
		for i, p := range parts {
			part := d.Base
			if d.Kind == ndarray.Struct {
				part = &d.Fields[i].Type
			}
			list = append(list, plain(t, *part, p))
		}
		if d.Kind == ndarray.SubArray {
			return nested(d.Dims, list)
		}
		return list
	case ndarray.Reference:
		if len(b) == 0 {
			return nil
		}
		path, _, _ := strings.Cut(string(b), "[")
		path, _, _ = strings.Cut(path, "(")
		return path
	case ndarray.String:
		return latin1(string(b))
	case ndarray.Bytes:
		text, err := strconv.Unquote(ndarray.FormatElement(d, b))
		require.NoError(t, err)
		if d.Pad == ndarray.NullTerm {
			text, _, _ = strings.Cut(text, "\x00")
		}
		return latin1(text)
	case ndarray.Void:
		return hex.EncodeToString(b)
	case ndarray.Enum:
		return plain(t, *d.Base, b)
	case ndarray.Bool:
		return strconv.Itoa(int(b[0]))
	case ndarray.Complex:
		part := ndarray.DType{Kind: ndarray.Float, Size: d.Size / 2}
		return []any{plain(t, part, b[:d.Size/2]), plain(t, part, b[d.Size/2:])}
	case ndarray.Float:
		return "float " + ndarray.FormatElement(d, b)
	}
	d.Tag = ""
	return ndarray.FormatElement(d, b)
}

func latin1(s string) string {
	runes := make([]rune, len(s))
	for i := range len(s) {
		runes[i] = rune(s[i])
	}
	return string(runes)
}

func nested(shape []int64, list []any) any {
	if len(shape) == 0 {
		return list[0]
	}
	out := []any{}
	step := len(list) / int(max(shape[0], 1))
	for i := range shape[0] {
		out = append(out, nested(shape[1:], list[int(i)*step:(int(i)+1)*step]))
	}
	return out
}

// requireSame compares the value of h5py with ours: floats by value, everything else as text.
func requireSame(t *testing.T, name string, want, got any) {
	switch g := got.(type) {
	case []any:
		w, ok := want.([]any)
		require.True(t, ok, "%s: %v, want %v", name, got, want)
		require.Len(t, g, len(w), name)
		for i := range g {
			requireSame(t, name, w[i], g[i])
		}
	case string:
		text, isFloat := strings.CutPrefix(g, "float ")
		w, ok := want.(string)
		if !isFloat || !ok {
			require.Equal(t, want, got, name)
			return
		}
		x, err1 := strconv.ParseFloat(text, 64)
		y, err2 := strconv.ParseFloat(w, 64)
		require.True(t, err1 == nil && err2 == nil && (x == y || x != x && y != y || float32(x) == float32(y)), "%s: %v, want %v", name, got, want)
	default:
		require.Equal(t, want, got, name)
	}
}

// values reads all elements of an array in the form of testdata/values.py.
func values(t *testing.T, a *ndarray.Array) any {
	m := a.Meta()
	n := int(m.NumElems())
	strs, data := make([]string, n), make([]byte, n*m.DType.Size)
	if m.DType.Size == 0 {
		require.NoError(t, a.ReadStrings(bg, strs, ndarray.Whole(m.Shape)))
	} else {
		require.NoError(t, a.Read(bg, data, ndarray.Whole(m.Shape)))
	}
	list := make([]any, n)
	for i := range list {
		b := []byte(strs[i])
		if m.DType.Size > 0 {
			b = data[i*m.DType.Size:][:m.DType.Size]
		}
		list[i] = plain(t, m.DType, b)
	}
	return nested(m.Shape, list)
}

// unusual reports whether elements of d have another form in memory than in the file.
func unusual(d ndarray.DType) bool {
	found := d.Size == 0 && d.Kind != ndarray.String
	d.MapParts(func(p ndarray.DType) ndarray.DType {
		found = found || p.Tag != "" && p.Kind != ndarray.Void
		return p
	})
	return found
}

// requireLikeH5py compares datasets with the values that h5py reads, and returns the number
// compared for each kind.
func requireLikeH5py(t *testing.T, datasets map[string][]string) map[ndarray.Kind]int {
	t.Helper()
	in, err := json.Marshal(datasets)
	require.NoError(t, err)
	cmd := exec.Command(testenv.Python(t, "h5py"), "testdata/values.py")
	cmd.Stdin = bytes.NewReader(in)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s", &stderr)
	var want map[string]map[string]any
	require.NoError(t, json.Unmarshal(out, &want))
	compared := map[ndarray.Kind]int{}
	for file, names := range datasets {
		for _, name := range names {
			if _, failed := want[file][name].(map[string]any); failed {
				continue
			}
			b, err := hdf5.Open(file, name, nil)
			require.NoError(t, err)
			a, err := ndarray.New(b)
			require.NoError(t, err)
			requireSame(t, file+":"+name, want[file][name], values(t, a))
			compared[a.DType().Kind]++
			require.NoError(t, a.Close())
		}
	}
	return compared
}

// TestValues_suite compares the elements of all datasets of unusual types in the test files of the
// HDF5 tools with those that h5py reads.
func TestValues_suite(t *testing.T) {
	testenv.NoAssertions(t)
	datasets, seen := map[string][]string{}, map[string]bool{}
	err := filepath.WalkDir(filepath.Join(testenv.Directory(t, testenv.HDF5Source), "tools"), func(file string, e fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(file) != ".h5" || !e.Type().IsRegular() || seen[e.Name()] {
			return err
		}
		seen[e.Name()] = true
		f, err := h5.Open(file, h5.ReadOnly)
		if err != nil {
			return nil // not a file that libhdf5 opens
		}
		var names []string
		err = h5walk.Walk(f, file, "/", h5walk.Sizes, func(o h5walk.Object) (bool, error) {
			m := o.Dataset.Meta
			if o.Err == nil && o.Link == nil && o.Dataset.Type != "" && unusual(m.DType) && !m.Null && m.NumElems() > 0 && m.NumElems() < 1<<12 {
				names = append(names, o.Path)
			}
			return true, nil
		})
		if err == nil && len(names) > 0 {
			datasets[file] = names
		}
		return f.Close()
	})
	require.NoError(t, err)
	compared := requireLikeH5py(t, datasets)
	t.Log(compared)
	for _, k := range []ndarray.Kind{ndarray.VLen, ndarray.Reference, ndarray.Struct, ndarray.SubArray, ndarray.Uint, ndarray.Int} {
		require.Positive(t, compared[k], "%v", k)
	}
}

// TestValues_write checks that h5py reads elements of every type of variable size that this package
// writes.
func TestValues_write(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.h5")
	f, err := h5.Create(file, nil)
	require.NoError(t, err)
	create := func(name, dtype string) *ndarray.Array {
		d, err := ndarray.ParseDType(dtype)
		require.NoError(t, err)
		b, err := hdf5.CreateIn(f, name, ndarray.Spec{Shape: []int64{3}, ChunkShape: []int64{2}, DType: d}, nil)
		require.NoError(t, err)
		a, err := ndarray.New(b)
		require.NoError(t, err)
		require.True(t, d.Equal(a.DType()), "%v, want %v", a.DType(), d)
		return a
	}
	i4 := func(v ...int32) []byte { return ndarray.Vector(v...).Data }
	join := func(d ndarray.DType, parts ...[]byte) []byte {
		b, err := d.Join(parts...)
		require.NoError(t, err)
		return b
	}
	names := []string{"sequence", "nested", "record", "list", "object", "region", "any"}
	write := func(name, dtype string, element func(d ndarray.DType, i int) string) {
		a := create(name, dtype)
		strs := make([]string, 3)
		for i := range strs {
			strs[i] = element(a.DType(), i)
		}
		require.NoError(t, a.WriteStrings(bg, strs, ndarray.Whole([]int64{3})))
		got := make([]string, 3)
		require.NoError(t, a.ReadStrings(bg, got, ndarray.Whole([]int64{3})))
		require.Equal(t, strs, got)
		require.NoError(t, a.Close())
	}
	write("sequence", "sequence('<i4')", func(_ ndarray.DType, i int) string { return string(i4([]int32{7, -8}[:i]...)) })
	write("nested", `sequence("sequence('<i4')")`, func(d ndarray.DType, i int) string {
		return string(join(d, [][]byte{i4(1), i4(2, 3)}[:i]...))
	})
	write("record", `[('n', '<i4'), ('s', 'string'), ('q', "sequence('<i4')"), ('a', '>i4', (2,))]`, func(d ndarray.DType, i int) string {
		return string(join(d, i4(int32(i)), []byte("abc"[:i]), i4([]int32{4, 5}[:i]...), i4(9, int32(-i))))
	})
	write("list", "('string', (2,))", func(d ndarray.DType, i int) string { return string(join(d, []byte("x"), []byte("yz"[:i]))) })
	write("object", "reference('object')", func(_ ndarray.DType, i int) string { return []string{"/sequence", "", "/list"}[i] })
	write("region", "reference('region')", func(_ ndarray.DType, i int) string {
		return []string{"/sequence[0:2]", "", "/sequence(2)(0)"}[i]
	})
	write("any", "reference", func(_ ndarray.DType, i int) string { return []string{"/object", "", "/region[0:3:2]"}[i] })

	t.Run("missing targets", func(t *testing.T) {
		a := create("missing", "reference('object')")
		for _, bad := range []string{"/nothing", "#0x00000320", "list", "/list[0:1]"} {
			err := a.WriteStrings(bg, []string{"/list", bad}, ndarray.Region{Start: []int64{1}, Shape: []int64{2}})
			require.ErrorIs(t, err, ndarray.ErrNotFound, bad)
			require.ErrorContains(t, err, "element [2]: ")
			require.ErrorContains(t, err, "the target of reference")
		}
		require.NoError(t, a.Close())
	})
	t.Run("regions outside the target", func(t *testing.T) {
		a := create("outside", "reference('region')")
		for _, bad := range []string{"/sequence[2:4]", "/sequence[0:1, 0:1]", "/sequence(9)", "/sequence[2:1]", "/sequence[x]"} {
			require.Error(t, a.WriteStrings(bg, []string{bad, "", ""}, ndarray.Whole([]int64{3})), bad)
		}
		require.NoError(t, a.Close())
	})
	t.Run("invalid elements", func(t *testing.T) {
		a := create("invalid", `[('s', 'string'), ('q', "sequence('<i4')")]`)
		d := a.DType()
		for _, bad := range []string{"", "\x01", string(join(d, []byte("a\x00"), nil)), string(join(d, []byte("a"), []byte{1, 2, 3})), string(join(d, nil, nil)) + "x"} {
			err := a.WriteStrings(bg, []string{bad, bad, bad}, ndarray.Whole([]int64{3}))
			require.ErrorIs(t, err, ndarray.ErrValue, "%q", bad)
			require.ErrorContains(t, err, "element [0]")
		}
		require.NoError(t, a.Close())
	})
	t.Run("dangling", func(t *testing.T) {
		a := create("dangling", "reference('object')")
		gone := create("gone", "<i4")
		require.NoError(t, gone.Close())
		require.NoError(t, a.WriteStrings(bg, []string{"/gone", "/list", ""}, ndarray.Whole([]int64{3})))
		require.NoError(t, f.Root().Unlink("/gone"))
		got := make([]string, 3)
		require.NoError(t, a.ReadStrings(bg, got, ndarray.Whole([]int64{3})))
		require.Regexp(t, "^#0x[0-9a-f]{8,}$", got[0])
		require.Equal(t, []string{"/list", ""}, got[1:])
		require.NoError(t, a.Close())
	})
	require.NoError(t, f.Close())
	compared := requireLikeH5py(t, map[string][]string{file: names[:6]})
	require.Equal(t, map[ndarray.Kind]int{ndarray.VLen: 2, ndarray.Struct: 1, ndarray.SubArray: 1, ndarray.Reference: 2}, compared)
}

// TestValues_regions checks the notation of selections against the elements that h5py selects.
func TestValues_regions(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.h5")
	f, err := h5.Create(file, nil)
	require.NoError(t, err)
	d, err := f.Root().CreateDataset("data", h5.Int(4, h5.LittleEndian), h5.SimpleSpace(12, 10), nil)
	require.NoError(t, err)
	require.NoError(t, d.Close())
	want := map[string]int{
		"/data[2:8, 0:10:3]": 24, "/data[0:1, 0:1]+[4:6, 5:7]": 5, "/data(6, 9)(2, 2)": 2, "/data[...]": 120,
		"/data[0:10:4:2, 1:2]": 6, "/data[11:12, 9:10]": 1,
	}
	kind, err := ndarray.ParseDType("reference('region')")
	require.NoError(t, err)
	b, err := hdf5.CreateIn(f, "regions", ndarray.Spec{Shape: []int64{int64(len(want))}, DType: kind}, nil)
	require.NoError(t, err)
	a, err := ndarray.New(b)
	require.NoError(t, err)
	strs := slices.Sorted(maps.Keys(want))
	require.NoError(t, a.WriteStrings(bg, strs, ndarray.Whole(a.Shape())))
	got := make([]string, len(strs))
	require.NoError(t, a.ReadStrings(bg, got, ndarray.Whole(a.Shape())))
	require.Equal(t, strs, got)
	require.NoError(t, errors.Join(a.Close(), f.Close()))
	out := testutil.Python(t, []string{"h5py"}, "-c", `
import h5py, sys
f = h5py.File(sys.argv[1])
for r in f["regions"][()]:
    print(h5py.h5r.get_region(r, f["data"].id).get_select_npoints())`, file)
	var counts []string
	for _, text := range strs {
		counts = append(counts, strconv.Itoa(want[text]))
	}
	require.Equal(t, counts, strings.Fields(string(out)))
}
