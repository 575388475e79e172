package cli_test

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/ndarray"
)

// field creates a directory with the files that the tests use and returns its name:
//
//	etopo.h5      real measurements, written by netCDF: attributes contain references
//	waves.b2nd    20x30 <f4, not compressed, because sizes must not depend on codecs
//	waves.h5      the same array as /waves
//	changed.b2nd  waves with three other values, one other unit and one byte-swapped attribute
//	scalar.b2nd   one integer beyond 2^53
//	records.b2nd  structures with a field of most kinds
//	gaps.b2nd     floats: one chunk was never written, some elements equal _FillValue
//	tree.h5       groups, links, and a dataset whose dtype is not supported
//	broken.h5     the same, with the corrupt header of one dataset
//	rich.b2nd     attributes of every kind, two of which HDF5 does not support
//	notes.txt, empty.b2nd, cut.b2nd, cut.h5   invalid or truncated files
func field(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }

	etopo, err := os.ReadFile("../../../../testdata/etopo120.h5")
	require.NoError(t, err)
	put(t, at("etopo.h5"), etopo)
	put(t, at("cut.h5"), etopo[:len(etopo)/2])

	values := make([]float32, 20*30)
	for i := range values {
		values[i] = float32(math.Sin(float64(i) / 7))
	}
	spec := ndarray.Spec{
		Shape: []int64{20, 30}, ChunkShape: []int64{10, 30}, BlockShape: []int64{5, 30},
		Compression: &ndarray.Compression{Codec: "none"},
		Attrs: []ndarray.Attr{
			{Name: "units", Value: ndarray.Text("m")},
			{Name: "scale", Value: ndarray.Scalar(0.5)},
			{Name: "range", Value: ndarray.Vector[int32](-1, 1)},
			{Name: "not a number", Value: ndarray.Scalar(math.NaN())},
		},
	}
	create(t, at("waves.b2nd"), spec, values)
	h5spec := spec
	h5spec.BlockShape, h5spec.Compression = nil, nil
	create(t, at("waves.h5")+":/waves", h5spec, values)

	values[31], values[32], values[599] = float32(math.NaN()), values[32]+1e-7, float32(math.Inf(1))
	spec.Attrs = append([]ndarray.Attr{{Name: "units", Value: ndarray.Text("cm")}}, spec.Attrs[1:3]...)
	create(t, at("changed.b2nd"), spec, values)

	create(t, at("scalar.b2nd"), ndarray.Spec{}, []int64{1<<53 + 1})
	makeRecords(t, at("records.b2nd"))
	makeGaps(t, at("gaps.b2nd"))

	waves, err := os.ReadFile(at("waves.b2nd"))
	require.NoError(t, err)
	put(t, at("cut.b2nd"), waves[:len(waves)/2])
	put(t, at("empty.b2nd"), nil)
	put(t, at("notes.txt"), []byte("These are notes, not an array.\n"))

	create(t, at("rich.b2nd"), ndarray.Spec{Attrs: []ndarray.Attr{
		{Name: "kept", Value: ndarray.Text("short")},
		{Name: "four bytes each", Value: ndarray.Value{DType: dtype(t, "<U2"), Data: []byte("a\x00\x00\x00b\x00\x00\x00")}},
		{Name: "large", Value: ndarray.Vector(make([]float64, 10000)...)},
		{Name: "raw", Value: ndarray.Value{DType: dtype(t, "|V3"), Data: []byte{1, 2, 255}}},
		{Name: "place", Value: ndarray.Scalar(complex(1.5, math.Inf(-1)))},
		{Name: "yes", Value: ndarray.Vector(true, false)},
		{Name: "count", Value: ndarray.Scalar[uint64](math.MaxUint64)},
		{Name: "nothing", Value: ndarray.Value{DType: dtype(t, "<f8"), Null: true}},
	}}, []int8{7})

	makeTree(t, at("tree.h5"))
	breakTree(t, at("tree.h5"), at("broken.h5"))
	return dir
}

// record is a structure with a field of most kinds.
type record struct {
	ID   int32            `nd:"id"`
	Name string           `nd:"name,S8"`
	When int64            `nd:"when,<M8[s]"`
	At   [2]float64       `nd:"at"`
	Z    complex64        `nd:"z"`
	In   struct{ B bool } `nd:"in"`
}

func makeRecords(t testing.TB, location string) {
	t.Helper()
	ctx := context.Background()
	d, err := ndarray.ParseDType("[('id', '<i4'), ('name', 'S8'), ('when', '<M8[s]'), ('at', '<f8', (2,)), ('z', '<c8'), ('in', [('B', '?')])]")
	require.NoError(t, err)
	draft, err := hyperslab.Create(ctx, location, ndarray.Spec{Shape: []int64{3}, DType: d}, nil)
	require.NoError(t, err)
	values := []record{
		{ID: 1, Name: "one", When: 0, At: [2]float64{0.5, -1}, Z: 1 + 2i},
		{ID: -2, Name: `with ", and`, When: 1e9, At: [2]float64{math.NaN(), math.Inf(-1)}},
		{ID: 3, When: ndarray.NaT, In: struct{ B bool }{true}},
	}
	values[1].Name = values[1].Name[:8]
	require.NoError(t, ndarray.Write(ctx, draft.Array, values, ndarray.Whole([]int64{3})))
	require.NoError(t, draft.Commit(ctx))
	require.NoError(t, draft.Close())
}

func makeGaps(t testing.TB, location string) {
	t.Helper()
	ctx := context.Background()
	draft, err := hyperslab.Create(ctx, location, ndarray.Spec{
		Shape: []int64{4, 4}, ChunkShape: []int64{2, 4}, DType: ndarray.DTypeOf[float64](), Compression: &ndarray.Compression{Codec: "none"},
		Attrs: []ndarray.Attr{{Name: "_FillValue", Value: ndarray.Scalar(-999.0)}, {Name: "units", Value: ndarray.Text("K")}},
	}, nil)
	require.NoError(t, err)
	require.NoError(t, ndarray.Write(ctx, draft.Array, []float64{1, 2, 3, -999, 5, 6, -999, 8}, ndarray.Region{Start: []int64{0, 0}, Shape: []int64{2, 4}}))
	require.NoError(t, draft.Commit(ctx))
	require.NoError(t, draft.Close())
}

func dtype(t testing.TB, text string) ndarray.DType {
	t.Helper()
	d, err := ndarray.ParseDType(text)
	require.NoError(t, err)
	return d
}

func put(t testing.TB, name string, b []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(name, b, 0o644))
}

// create writes an array. Its dtype is that of values.
func create[T ndarray.Element](t testing.TB, location string, spec ndarray.Spec, values []T) {
	t.Helper()
	ctx := context.Background()
	spec.DType = ndarray.DTypeOf[T]()
	d, err := hyperslab.Create(ctx, location, spec, nil)
	require.NoError(t, err)
	require.NoError(t, ndarray.Write(ctx, d.Array, values, ndarray.Whole(spec.Shape)))
	require.NoError(t, d.Commit(ctx))
	require.NoError(t, d.Close())
}

// makeTree creates a file with every kind of member that ls lists.
func makeTree(t testing.TB, name string) {
	t.Helper()
	f, err := h5.Create(name, nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	for _, group := range []string{"run1", "run1/raw", "run2"} {
		_, err := f.Root().CreateGroup(group)
		require.NoError(t, err)
	}
	level := 6
	for _, x := range []struct {
		path string
		o    *h5.DatasetOptions
	}{
		{"time", nil},
		{"run1/temperature", &h5.DatasetOptions{ChunkShape: []int64{4, 5}, Shuffle: true, Deflate: &level}},
		{"run1/raw/counts", &h5.DatasetOptions{ChunkShape: []int64{8, 10}}},
		{"run1/odd\x1b[31mred", nil},
	} {
		d, err := f.Root().CreateDataset(x.path, h5.Int(4, h5.BigEndian), h5.SimpleSpace(8, 10), x.o)
		require.NoError(t, err)
		counts := make([]int32, 80)
		for i := range counts {
			counts[i] = int32(i)
		}
		require.NoError(t, h5value.Write(d, counts, h5.SimpleSpace(8, 10).All()))
	}
	names, err := f.Root().CreateDataset("names", h5.VariableString(h5.UTF8), h5.SimpleSpace(2), nil)
	require.NoError(t, err)
	require.NoError(t, h5value.Write(names, []string{"one", "two"}, h5.SimpleSpace(2).All()))
	require.NoError(t, f.Root().LinkSoft("latest", "/run1/temperature"))
	require.NoError(t, f.Root().LinkSoft("dangling", "/nowhere"))
	require.NoError(t, f.Root().LinkExternal("elsewhere", "waves.h5", "/waves"))
}

// breakTree copies the tree file and overwrites the header of /run1/raw/counts. The first byte of
// the header is the version of the object header (HDF5 File Format, IV.A.1.a).
func breakTree(t testing.TB, from, to string) {
	t.Helper()
	f, err := h5.Open(from, h5.ReadOnly)
	require.NoError(t, err)
	info, err := f.Root().ObjectInfo("run1/raw/counts")
	require.NoError(t, err)
	require.NoError(t, f.Close())
	b, err := os.ReadFile(from)
	require.NoError(t, err)
	require.Equal(t, byte(1), b[info.Address])
	b[info.Address] = 0xee
	put(t, to, b)
}

// unclosed writes unclosed.h5, whose superblock has a wrong end and the flags of a writer,
// guessed.h5 with a wrong checksum, and repair.json, the plan for unclosed.h5.
func unclosed(t testing.TB) {
	t.Helper()
	f, err := h5.Create("unclosed.h5", &h5.CreateOptions{Low: h5.V110, High: h5.V110})
	require.NoError(t, err)
	require.NoError(t, f.Close())
	b, err := os.ReadFile("unclosed.h5")
	require.NoError(t, err)
	guessed := slices.Clone(b)
	copy(guessed[44:], "\x01\x02\x03\x04") // the checksum
	put(t, "guessed.h5", guessed)
	b[11] = 5 // open for writing
	b[29] = 7 // in the end of the file
	put(t, "unclosed.h5", b)
	stdout, stderr, code := run("recover", "--repair", "unclosed.h5", "--json")
	require.Zero(t, code, stderr)
	put(t, "repair.json", []byte(stdout))
}

// noise creates an array of random numbers. It takes seconds to compress with zstd at level 9.
func noise(t testing.TB, location string, rows int64) {
	t.Helper()
	values := make([]float32, rows*1024)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range values {
		values[i] = random.Float32()
	}
	create(t, location, ndarray.Spec{
		Shape: []int64{rows, 1024}, ChunkShape: []int64{16, 1024}, Compression: &ndarray.Compression{Codec: "none"},
	}, values)
}
