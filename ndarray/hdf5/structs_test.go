package hdf5_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
)

// event has the fields of the table of h5py, with numbers of other types.
type event struct {
	ID     int64     `nd:"id"`
	Name   string    `nd:"name"`
	Values []float64 `nd:"values"`
	Pair   [2]string `nd:"pair"`
}

// TestTakeAs_structs reads compounds with strings and sequences of h5py into Go structs, and writes
// Go structs that h5py reads.
func TestTakeAs_structs(t *testing.T) {
	python, file := testenv.Python(t, "h5py"), filepath.Join(t.TempDir(), "x.h5")
	run := func(code string) string {
		out, err := exec.Command(python, "-c", "import h5py, sys, numpy as np\n"+code, file).CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	run(`
s = h5py.string_dtype()
t = np.dtype([("id", ">i2"), ("name", s), ("values", h5py.vlen_dtype(np.float32)), ("pair", s, (2,)), ("spare", "<u8")])
a = np.zeros((3, 4), t)
for i in range(12):
    a.flat[i] = (i, "n%d" % i, np.arange(i % 3, dtype="f4"), ("p", "é" * i), 1 << 60)
with h5py.File(sys.argv[1], "w") as f:
    f.create_dataset("table", data=a, chunks=(2, 2))`)
	want := func(i int64) event {
		e := event{ID: i, Name: "n" + string(rune('0'+i)), Pair: [2]string{"p", ""}}
		for k := range i % 3 {
			e.Values = append(e.Values, float64(k))
		}
		for range i {
			e.Pair[1] += "é"
		}
		return e
	}
	b, err := hdf5.Open(file, "/table", nil)
	require.NoError(t, err)
	a, err := ndarray.New(b)
	require.NoError(t, err)
	for text, numbers := range map[string][]int64{
		"[::2, 1]": {1, 9}, "[1, ::-2]": {7, 5}, "[[2, 0], [0, 1]]": {8, 9, 0, 1}, "[0]": {0, 1, 2, 3},
	} {
		s, err := ndarray.ParseSelection(text)
		require.NoError(t, err)
		got, err := ndarray.TakeAs[event](bg, a, s)
		require.NoError(t, err)
		var all []event
		for _, i := range numbers {
			all = append(all, want(i))
		}
		require.Equal(t, all, got, text)
	}
	type spare struct {
		Spare int32 `nd:"spare"`
	}
	_, err = ndarray.TakeAs[spare](bg, a, ndarray.Select(ndarray.At(0)))
	require.ErrorIs(t, err, ndarray.ErrValue)
	require.ErrorContains(t, err, `element [0]: field "spare": value does not fit: 1152921504606846976 is not a value of <i4`)
	require.NoError(t, a.Close())

	type record struct {
		ID     int32     `nd:"id"`
		Name   string    `nd:"name,string"`
		Values []float64 `nd:"values"`
	}
	d, err := ndarray.DTypeFor[record]()
	require.NoError(t, err)
	file = filepath.Join(t.TempDir(), "y.h5")
	b, err = hdf5.Create(file, "/records", ndarray.Spec{Shape: []int64{2}, MaxShape: []int64{ndarray.Unlimited}, ChunkShape: []int64{2}, DType: d}, nil)
	require.NoError(t, err)
	a, err = ndarray.New(b)
	require.NoError(t, err)
	type wide struct {
		ID     float64 `nd:"id"`
		Name   string  `nd:"name"`
		Values []int8  `nd:"values"`
	}
	require.NoError(t, ndarray.WriteAs(bg, a, []wide{{1, "a", []int8{1, -2}}, {-7, "", nil}}, ndarray.Whole(a.Shape())))
	require.NoError(t, ndarray.Append(bg, a, 0, []record{{9, "ü", []float64{0.5}}}))
	require.NoError(t, a.Close())
	require.Equal(t, "[(1, b'a', [1.0, -2.0]), (-7, b'', []), (9, b'\\xc3\\xbc', [0.5])]\n", run(`
with h5py.File(sys.argv[1]) as f:
    print([(int(r["id"]), r["name"], r["values"].tolist()) for r in f["records"]])`))
}
