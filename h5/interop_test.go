package h5_test

import (
	"math"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
)

// TestInterop_tools checks that the tools of libhdf5 read files of this package: h5dump prints the
// values, and h5diff finds no difference between two layouts of the same numbers.
func TestInterop_tools(t *testing.T) {
	h5dump, h5diff := testenv.Tool(t, "h5dump"), testenv.Tool(t, "h5diff")
	path := filepath.Join(t.TempDir(), "x.h5")
	f, err := h5.Create(path, nil)
	require.NoError(t, err)
	level := 5
	v := make([]float64, 600)
	for i := range v {
		v[i] = math.Sqrt(float64(i))
	}
	for name, tt := range map[string]struct {
		dt h5.Datatype
		o  *h5.DatasetOptions
	}{
		"little": {h5.IEEEFloat(8, h5.LittleEndian), nil},
		"big":    {h5.IEEEFloat(8, h5.BigEndian), &h5.DatasetOptions{ChunkShape: []int64{7, 9}, Deflate: &level, Shuffle: true, Fletcher32: true}},
	} {
		d, err := f.Root().CreateDataset(name, tt.dt, h5.SimpleSpace(20, 30), tt.o)
		require.NoError(t, err)
		require.NoError(t, h5value.Write(d, v, region([]int64{0, 0}, []int64{20, 30})))
	}
	stored(t, f, "bools", h5value.Bool(), []bool{true, false})
	s, err := f.Root().CreateDataset("words", h5.VariableString(h5.UTF8), h5.SimpleSpace(2), nil)
	require.NoError(t, err)
	require.NoError(t, h5value.Write(s, []string{"one", "two words"}, region([]int64{0}, []int64{2})))
	require.NoError(t, s.WriteAttribute(h5.Attribute{
		Name: "n", Datatype: h5.Int(2, h5.BigEndian), Space: h5.SimpleSpace(2), Data: bigEndian(t, int16(-1), int16(300)),
	}))
	require.NoError(t, f.Close())

	run := func(name string, args ...string) string {
		out, err := exec.Command(name, args...).CombinedOutput()
		require.NoError(t, err, "%s %v: %s", name, args, out)
		return string(out)
	}
	require.Empty(t, run(h5diff, path, path, "/little", "/big"))
	out := run(h5dump, path)
	for _, want := range []string{
		`(0): "one", "two words"`, `(0): TRUE, FALSE`, `(0): -1, 300`, "DATATYPE  H5T_IEEE_F64BE", "DATATYPE  H5T_IEEE_F64LE", "COMPRESSION",
	} {
		if want == "COMPRESSION" {
			out, want = run(h5dump, "-p", "-H", path), "COMPRESSION DEFLATE { LEVEL 5 }"
		}
		require.Contains(t, out, want)
	}
}

// python runs a script with h5py under the interpreter named by the environment.
func python(t *testing.T, script string, args ...string) string {
	t.Helper()
	return pythonWith(t, []string{"h5py", "numpy"}, script, args...)
}

// pythonWith runs a script that needs the given modules.
func pythonWith(t *testing.T, modules []string, script string, args ...string) string {
	t.Helper()
	return testutil.Python(t, modules, append([]string{"-c", script}, args...)...)
}

func TestInterop_h5pyReads(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.h5")
	f, err := h5.Create(path, nil)
	require.NoError(t, err)
	r := f.Root()
	stored(t, f, "i", h5.Int(4, h5.BigEndian), []int32{1, -2})
	stored(t, f, "f", h5.IEEEFloat(2, h5.LittleEndian), []float32{0.5, -3})
	stored(t, f, "b", h5value.Bool(), []bool{true, false})
	for name, dt := range map[string]h5.Datatype{
		"variable": h5.VariableString(h5.UTF8), "ascii": h5.VariableString(h5.ASCII),
		"nullpad": h5.FixedString(6, h5.NullPad, h5.UTF8), "nullterm": h5.FixedString(6, h5.NullTerm, h5.ASCII),
		"spacepad": h5.FixedString(6, h5.SpacePad, h5.ASCII),
	} {
		d, err := r.CreateDataset(name, dt, h5.SimpleSpace(2), nil)
		require.NoError(t, err)
		words := []string{"ab", "hello"}
		if dt.CharSet == h5.UTF8 {
			words[1] = "hæé"
		}
		require.NoError(t, h5value.Write(d, words, region([]int64{0}, []int64{2})))
	}
	for _, a := range someAttributes(t) {
		require.NoError(t, r.WriteAttribute(a))
	}
	require.NoError(t, f.Close())
	require.Equal(t, strings.TrimSpace(`
i int32-be [1, -2]
f float16 [0.5, -3.0]
b bool [True, False]
variable ['ab', 'hæé']
ascii ['ab', 'hello']
nullpad ['ab', 'hæé']
nullterm ['ab', 'hello']
spacepad ['ab', 'hello']
array float64 [[1.5, 3.141592653589793], [0.0, inf]]
bool True
empty text ''
fixed b'ab'
null empty
scalar -258
text 'hello'
texts ['a', 'Grüße', '']
Δt 0.1`), python(t, `
import h5py, numpy, sys
sys.stdout.reconfigure(encoding="utf-8")
f = h5py.File(sys.argv[1])
print("i", "int32-be" if f["i"].dtype == ">i4" else f["i"].dtype, f["i"][:].tolist())
print("f", f["f"].dtype, f["f"][:].tolist())
print("b", f["b"].dtype, f["b"][:].tolist())
for n in ["variable", "ascii", "nullpad", "nullterm", "spacepad"]:
    print(n, [s.rstrip(" ") for s in f[n].asstr()[:]])
a = f.attrs
print("array", a["array"].dtype.newbyteorder("="), a["array"].tolist())
print("bool", bool(a["bool"]))
print("empty text", repr(a["empty text"]))
print("fixed", repr(bytes(a["fixed"])))
print("null", "empty" if isinstance(a["null"], h5py.Empty) else a["null"])
print("scalar", int(a["scalar"]))
print("text", repr(a["text"]))
print("texts", a["texts"].tolist())
print("Δt", round(float(a["Δt"][0]), 6))
`, path))
}

// TestH5py_latestFormat exchanges files with h5py in both directions in the newest format of each
// library.
func TestH5py_latestFormat(t *testing.T) {
	dir := t.TempDir()
	ours, theirs := filepath.Join(dir, "ours.h5"), filepath.Join(dir, "theirs.h5")
	values := make([]int32, 600)
	for i := range values {
		values[i] = int32(i*i - 1000)
	}
	level := 4
	chunks := []int64{7, 4}
	layouts := map[string]*h5.DatasetOptions{
		"contiguous": nil, "chunked": {ChunkShape: chunks}, "single": {ChunkShape: []int64{60, 10}, Deflate: &level},
		"filtered": {ChunkShape: chunks, Deflate: &level, Shuffle: true, Fletcher32: true},
		"growing":  {ChunkShape: chunks, Deflate: &level}, "both": {ChunkShape: chunks},
	}
	f, err := h5.Create(ours, &h5.CreateOptions{Low: h5.LatestFormat, High: h5.LatestFormat})
	require.NoError(t, err)
	for name, o := range layouts {
		space := h5.SimpleSpace(60, 10)
		switch name {
		case "growing":
			space.MaxDims = []int64{h5.Unlimited, 10}
		case "both":
			space.MaxDims = []int64{h5.Unlimited, h5.Unlimited}
		}
		d, err := f.Root().CreateDataset("g/"+name, h5.Int(4, h5.BigEndian), space, o)
		require.NoError(t, err)
		require.NoError(t, h5value.Write(d, values, h5.SimpleSpace(60, 10).All()))
		require.NoError(t, d.Close())
	}
	require.NoError(t, f.Root().WriteAttribute(someAttributes(t)[0]))
	require.NoError(t, f.Close())
	require.Equal(t, "read 6", python(t, `
import h5py, numpy as np, sys
want = (np.arange(600, dtype="i4") ** 2 - 1000).reshape(60, 10)
with h5py.File(sys.argv[1]) as f:
    for d in f["g"].values():
        assert d.dtype == ">i4" and np.array_equal(d[()], want), d
    assert len(f.attrs) == 1
    print("read", len(f["g"]))
with h5py.File(sys.argv[2], "w", libver="latest") as f:
    f["g/contiguous"] = want
    for name, more in {"chunked": {}, "filtered": dict(compression="gzip", shuffle=True, fletcher32=True), "growing": dict(maxshape=(None, 10)),
                       "both": dict(maxshape=(None, None), compression="gzip")}.items():
        f.create_dataset("g/" + name, data=want, chunks=(7, 4), **more)
    f.create_dataset("g/single", data=want, chunks=want.shape, compression="gzip")
`, ours, theirs))
	f, err = h5.Open(theirs, h5.ReadOnly)
	require.NoError(t, err)
	for name := range layouts {
		d, err := f.Root().OpenDataset("g/" + name)
		require.NoError(t, err)
		got, err := h5value.ReadAll[int32](d)
		require.NoError(t, err, name)
		require.Equal(t, values, got, name)
		require.NoError(t, d.Close())
	}
	require.NoError(t, f.Close())
}

func TestInterop_h5pyWrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.h5")
	python(t, `
import h5py, numpy as np, sys
f = h5py.File(sys.argv[1], "w")
f["be"] = np.array([1, 2, 3], ">i4")
f["half"] = np.array([0.5, np.nan], "<f2")
f["bools"] = np.array([True, False, True])
f["bytes"] = np.array([b"ab", b"hello"], "S5")
f["words"] = ["ab", "Grüße", ""]
f.create_dataset("chunked", data=np.arange(1000, dtype="u8").reshape(10, 100), chunks=(3, 40), compression="gzip", shuffle=True, fletcher32=True, maxshape=(None, 100), fillvalue=7)
f.create_dataset("lzf", data=np.arange(1000, dtype="i4"), compression="lzf")
f["z"] = np.array([1+2j])
f["rec"] = np.array([(1, 2.5)], np.dtype([("a", ">i2"), ("b", "<f8")]))
f["empty"] = h5py.Empty("f4")
f.attrs["text"] = "Grüße"
f.attrs["texts"] = ["a", "b"]
f.attrs["bytes"] = np.bytes_(b"raw")
f.attrs["yes"] = True
f.attrs["n"] = np.int16(-5)
f.attrs["ref"] = f["be"].ref
f.attrs["none"] = h5py.Empty("S3")
f["soft"] = h5py.SoftLink("/be")
f.close()
`, path)
	f, err := h5.Open(path, h5.ReadOnly)
	require.NoError(t, err)
	defer f.Close()
	r := f.Root()
	open := func(name string) *h5.Dataset {
		d, err := r.OpenDataset(name)
		require.NoError(t, err)
		return d
	}
	ints, err := h5value.ReadAll[int32](open("soft"))
	require.NoError(t, err)
	require.Equal(t, []int32{1, 2, 3}, ints)
	half, err := h5value.ReadAll[float32](open("half"))
	require.NoError(t, err)
	require.Equal(t, float32(0.5), half[0])
	require.True(t, half[1] != half[1])
	bools, err := h5value.ReadAll[bool](open("bools"))
	require.NoError(t, err)
	require.Equal(t, []bool{true, false, true}, bools)
	words, err := readStrings(open("bytes"), region([]int64{0}, []int64{2}))
	require.NoError(t, err)
	require.Equal(t, []string{"ab", "hello"}, words)
	words, err = readStrings(open("words"), region([]int64{0}, []int64{3}))
	require.NoError(t, err)
	require.Equal(t, []string{"ab", "Grüße", ""}, words)
	all, err := h5value.ReadAll[uint64](open("chunked"))
	require.NoError(t, err)
	for i, v := range all {
		require.Equal(t, uint64(i), v)
	}
	info, err := open("chunked").Info()
	require.NoError(t, err)
	require.Equal(t, []int64{3, 40}, info.ChunkShape)
	require.Equal(t, []int64{h5.Unlimited, 100}, info.Space.MaxDims)
	require.Equal(t, natives(t, uint64(7)), info.Fill)
	_, err = h5value.ReadAll[int32](open("lzf"))
	require.ErrorIs(t, err, h5.ErrNoFilter)
	require.Equal(t, "h5: read /lzf: filter not available: filter 32000 (lzf): import h5/filter, which has it", err.Error())
	rec, err := open("rec").Info()
	require.NoError(t, err)
	require.Equal(t, `H5T_COMPOUND { H5T_STD_I16BE "a"; H5T_IEEE_F64LE "b"; }`, rec.Datatype.String())
	empty, err := open("empty").Info()
	require.NoError(t, err)
	require.Equal(t, h5.Null, empty.Space.Kind)
	for name, want := range map[string]any{
		"text": []string{"Grüße"}, "texts": []string{"a", "b"}, "bytes": []byte("raw"), "yes": []byte{1}, "n": natives(t, int16(-5)), "none": []byte{},
	} {
		a, err := r.ReadAttribute(name)
		require.NoError(t, err, name)
		if words, ok := want.([]string); ok {
			require.Equal(t, words, a.Strings, name)
		} else {
			require.Equal(t, want, a.Data, name)
		}
	}
	refs, err := h5value.ReadAttr[h5.Ref](r, "ref")
	require.NoError(t, err)
	to, err := f.Dereference(refs[0])
	require.NoError(t, err)
	ints, err = h5value.ReadAll[int32](to.(*h5.Dataset))
	require.NoError(t, err)
	require.Equal(t, []int32{1, 2, 3}, ints)
}
