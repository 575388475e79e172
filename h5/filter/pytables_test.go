package filter_test

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/filter"
	"github.com/hyperslab/hyperslab/h5/h5value"
)

// TestPyTables_write checks that files written by PyTables have the same values, for type × layout
// × filter × shape. It compares a checksum of the elements of each leaf in the byte order of the
// machine.
func TestPyTables_write(t *testing.T) {
	f, path := newFile(t)
	require.NoError(t, f.Close())
	want := map[string]uint32{}
	require.NoError(t, json.Unmarshal([]byte(pythonWith(t, []string{"tables"}, `
import sys, json, zlib, warnings, itertools, numpy as np, tables
warnings.simplefilter("ignore")
rng = np.random.default_rng(1)
sums = {}
with tables.open_file(sys.argv[1], "w") as f:
    def values(atom, shape):
        v = rng.integers(0, 100, shape)
        if atom.kind == "string":
            return np.array([b"%d" % x for x in v.flat], "S7").reshape(shape)
        return v.astype(atom.dtype.base)
    def native(atom, v):
        if atom.type == "time64": # whole seconds, then microseconds
            v = np.floor(v).astype("i8") << 32 | np.round(v % 1 * 1e6).astype("i8")
        v = np.ascontiguousarray(v)
        return zlib.crc32(v.astype(v.dtype.newbyteorder("=")).tobytes())
    def keep(node, atom, v):
        sums[node._v_pathname] = native(atom, np.asarray(v))
    atoms = [tables.Atom.from_kind(k, s) for k in ["int", "uint"] for s in [1, 2, 4, 8]]
    atoms += [tables.BoolAtom(), tables.StringAtom(7), tables.Time32Atom(), tables.Time64Atom()]
    atoms += [tables.FloatAtom(n) for n in [2, 4, 8, 16]] + [tables.ComplexAtom(n) for n in [8, 16]]
    pipelines = [dict(), dict(complevel=5, complib="zlib"), dict(complevel=1, complib="zlib", shuffle=True, fletcher32=True), dict(fletcher32=True), dict(complevel=3, complib="bzip2", shuffle=False)]
    pipelines += [dict(complevel=5, complib=lib + c, **s) for lib in ["blosc", "blosc2"] for c in ["", ":lz4", ":zstd", ":zlib"] for s in [dict(shuffle=True), dict(bitshuffle=True)]]
    shapes = [(11,), (5, 7), (3, 4, 6)]
    large = 0
    for atom in atoms:
        g = f.create_group("/", atom.type + str(atom.itemsize))
        for i, shape in enumerate([()] + shapes):
            v = values(atom, shape)
            if atom.type != "time32" and atom.type != "time64":
                keep(f.create_array(g, "array%d" % i, v), atom, v)
        for (i, shape), (k, o), order in itertools.product(enumerate(shapes), enumerate(pipelines), ["little", "big"]):
            if (i + k) % 3 and atom.itemsize > 2:
                continue # each pipeline with a shape, and all of them with the short types
            if (i + k + (order == "big")) % int(sys.argv[2]):
                continue
            v = values(atom, shape)
            name = "%d_%d_%s" % (i, k, order)
            c = f.create_carray(g, "c" + name, atom, shape, filters=tables.Filters(**o), chunkshape=tuple(max(1, n // 2) for n in shape), byteorder=order)
            c[...] = v
            keep(c, atom, v)
            chunk = tuple(max(1, n // 2) for n in shape)
            # PyTables chooses chunks of many MB for Blosc2, which take seconds. So it chooses them for one type only, and in a sample twice.
            blosc2 = o.get("complib", "").startswith("blosc2")
            if atom.type == "complex128" and (sys.argv[2] == "1" or large < 2 or not blosc2):
                large += blosc2
                chunk = None
            e = f.create_earray(g, "e" + name, atom, (0,) + shape[1:], filters=tables.Filters(**o), chunkshape=chunk, byteorder=order)
            e.append(v[:1])
            e.append(v[1:])
            keep(e, atom, v)
    e = f.create_carray("/", "enum", tables.EnumAtom(["red", "green", "blue"], "green", base="uint16"), (4,))
    e[:] = [0, 1, 2, 1]
    keep(e, e.atom, np.array([0, 1, 2, 1], "u2"))
    e = f.create_earray("/", "empty", tables.Int32Atom(), (0, 3))
    keep(e, e.atom, np.zeros((0, 3), "i4"))
print(json.dumps(sums))
`, path, sampled("3"))), &want))
	require.Greater(t, len(want), 400)
	f, err := h5.Open(path, h5.ReadOnly)
	require.NoError(t, err)
	defer f.Close()
	used := map[int]bool{}
	for name, sum := range want {
		d, err := f.Root().OpenDataset(name)
		require.NoError(t, err)
		info, err := d.Info()
		require.NoError(t, err)
		mem := info.Datatype.Native()
		b := make([]byte, info.Space.NumElems()*int64(mem.Size))
		require.NoError(t, d.ReadSelection(b, mem, h5.All), name)
		require.Equal(t, sum, crc32.ChecksumIEEE(b), "%s: %v", name, info.Datatype)
		if info.Layout == h5.Chunked && len(b) > 0 {
			require.Positive(t, chunksOf(t, d, filter.Options{}), name)
		}
		for _, f := range info.Filters {
			used[f.ID] = true
		}
	}
	require.Len(t, used, 6, "shuffle, deflate, fletcher32, bzip2, blosc, blosc2: %v", used)
}

// TestPyTables_tables checks that tables, also nested ones, are read as compounds, and rows of
// variable length as sequences.
func TestPyTables_tables(t *testing.T) {
	f, path := newFile(t)
	require.NoError(t, f.Close())
	pythonWith(t, []string{"tables"}, `
import sys, numpy as np, tables
class Inner(tables.IsDescription):
    x = tables.Float32Col(pos=0)
    y = tables.Int8Col(shape=(2,), pos=1)
class Row(tables.IsDescription):
    a = tables.Int32Col(pos=0); s = tables.StringCol(5, pos=1); yes = tables.BoolCol(pos=2); z = tables.ComplexCol(16, pos=3)
    when = tables.Time32Col(pos=4); inner = Inner(); color = tables.EnumCol(["red", "green"], "red", base="int8", pos=6)
with tables.open_file(sys.argv[1], "w") as f:
    for name, o in {"plain": None, "blosc2": tables.Filters(5, "blosc2:zstd"), "zlib": tables.Filters(5, fletcher32=True)}.items():
        for order in ["little", "big"]:
            t = f.create_table("/" + name, order, Row, filters=o, byteorder=order, createparents=True)
            for i in range(20):
                r = t.row
                r["a"], r["s"], r["yes"], r["z"], r["when"], r["inner/x"], r["inner/y"], r["color"] = i, b"n%d" % i, i % 2, complex(i, -1), i, i / 2, [i, -i], i % 2
                r.append()
            t.flush()
    v = f.create_vlarray("/", "rows", tables.Int16Atom(), filters=tables.Filters(1))
    v.append([1, 2]); v.append([]); v.append([3])
    v = f.create_vlarray("/", "words", tables.VLUnicodeAtom())
    v.append("aé"); v.append("")
    f.root.rows.attrs.number, f.root.rows.attrs.text, f.root.rows.attrs.list = np.int16(-4), "Grüße", np.arange(3)
`, path)
	type inner struct {
		X float32 `h5:"x"`
		Y [2]int8 `h5:"y"`
	}
	type row struct {
		A     int32      `h5:"a"`
		S     string     `h5:"s"`
		Yes   uint8      `h5:"yes"` // a bit field of eight bits
		Z     complex128 `h5:"z"`
		Color string     `h5:"color"`
		Inner inner      `h5:"inner"`
	}
	f, err := h5.Open(path, h5.ReadOnly)
	require.NoError(t, err)
	defer f.Close()
	for _, name := range []string{"plain", "blosc2", "zlib"} {
		for _, order := range []string{"little", "big"} {
			d, err := f.Root().OpenDataset(name + "/" + order)
			require.NoError(t, err)
			rows, err := h5value.ReadAll[row](d)
			require.NoError(t, err)
			require.Len(t, rows, 20)
			for i, r := range rows {
				require.Equal(t, row{int32(i), fmt.Sprint("n", i), uint8(i % 2), complex(float64(i), -1), []string{"red", "green"}[i%2],
					inner{float32(i) / 2, [2]int8{int8(i), int8(-i)}}}, r)
			}
		}
	}
	d, err := f.Root().OpenDataset("rows")
	require.NoError(t, err)
	rows, err := h5value.ReadAll[[]int16](d)
	require.NoError(t, err)
	require.Equal(t, [][]int16{{1, 2}, {}, {3}}, rows)
	number, err := h5value.ReadAttr[int16](d, "number")
	require.NoError(t, err)
	require.Equal(t, []int16{-4}, number)
	text, err := h5value.ReadAttr[string](d, "text")
	require.NoError(t, err)
	require.Equal(t, []string{"Grüße"}, text)
	list, err := h5value.ReadAttr[int64](d, "list")
	require.NoError(t, err)
	require.Equal(t, []int64{0, 1, 2}, list)
	d, err = f.Root().OpenDataset("words")
	require.NoError(t, err)
	words, err := h5value.ReadAll[[]uint32](d) // PyTables stores strings as code points
	require.NoError(t, err)
	require.Equal(t, [][]uint32{{'a', 'é'}, {}}, words)
}

// TestPyTables_read checks that PyTables reads what this package writes: arrays, and compounds as
// tables.
func TestPyTables_read(t *testing.T) {
	f, path := newFile(t)
	defer f.Close()
	ints := []h5.Datatype{h5.Int(1, 0), h5.Uint(1, 0)}
	for _, order := range []h5.Order{h5.LittleEndian, h5.BigEndian} {
		for _, size := range []int{2, 4, 8} {
			ints = append(ints, h5.Int(size, order), h5.Uint(size, order), h5.IEEEFloat(size, order))
		}
		ints = append(ints, h5value.ComplexCompound(h5.IEEEFloat(4, order)), h5value.ComplexCompound(h5.IEEEFloat(8, order)))
	}
	ints = append(ints, h5.FixedString(7, h5.NullTerm, h5.ASCII))
	sums := map[string]uint32{}
	pipelines := [][]h5.Filter{nil, {}, {h5.Deflate(6)}, {{ID: h5.FilterShuffle}, h5.Deflate(1), {ID: h5.FilterFletcher32}}, {{ID: filter.IDBZip2, Values: []uint32{3}}}}
	for codec := range uint32(6) {
		if codec != 3 {
			pipelines = append(pipelines, []h5.Filter{{ID: filter.IDBlosc, Values: []uint32{0, 0, 0, 0, 5, codec % 3, codec}}},
				[]h5.Filter{{ID: filter.IDBlosc2, Values: []uint32{0, 0, 0, 0, 5, codec % 3, codec}}})
		}
	}
	for i, dt := range ints {
		for j, shape := range [][]int64{{11}, {5, 7}, {3, 4, 6}} {
			for k, p := range pipelines {
				o := &h5.DatasetOptions{Filters: p}
				if p != nil {
					o.ChunkShape = [][]int64{{4}, {2, 7}, {3, 2, 5}}[j]
				}
				name := fmt.Sprintf("t%d_%d_%d", i, j, k)
				d, err := f.Root().CreateDataset(name, dt, h5.SimpleSpace(shape...), o)
				require.NoError(t, err)
				b := data(int(region(shape...).NumElems())*dt.Size, uint64(i))
				if dt.Class == h5.String {
					for at := range b {
						b[at] = "words\x00\x00"[at%7]
					}
				}
				require.NoError(t, d.WriteRegion(b, dt, region(shape...)))
				native := dt.Native()
				require.NoError(t, d.ReadRegion(b, native, region(shape...)))
				sums[name] = crc32.ChecksumIEEE(b)
			}
		}
	}
	type row struct {
		ID   int32      `h5:"id"`
		X    float64    `h5:"x"`
		Grid [2]int16   `h5:"grid"`
		Z    complex128 `h5:"z"`
	}
	rows := []row{{1, 0.5, [2]int16{1, 2}, 1 + 2i}, {2, -1, [2]int16{3, 4}, -1i}}
	dt, err := h5value.DatatypeFor[row]()
	require.NoError(t, err)
	d, err := f.Root().CreateDataset("table", dt, h5.SimpleSpace(2), &h5.DatasetOptions{ChunkShape: []int64{2}, Deflate: new(int)})
	require.NoError(t, err)
	require.NoError(t, h5value.Write(d, rows, h5.All))
	require.NoError(t, f.Close())
	out := pythonWith(t, []string{"tables"}, `
import sys, json, zlib, warnings, numpy as np, tables
warnings.simplefilter("error")
with tables.open_file(sys.argv[1]) as f:
    sums = {}
    for leaf in f.root:
        assert not isinstance(leaf, tables.UnImplemented), leaf
        v = leaf.read()
        if leaf.name == "table":
            assert isinstance(leaf, tables.Table), leaf
            assert v["id"].tolist() == [1, 2] and v["x"].tolist() == [0.5, -1] and v["grid"].tolist() == [[1, 2], [3, 4]] and v["z"].tolist() == [1 + 2j, -1j], v
            continue
        v = np.ascontiguousarray(v)
        sums[leaf.name] = zlib.crc32(v.astype(v.dtype.newbyteorder("=")).tobytes())
print(json.dumps(sums))
`, path)
	got := map[string]uint32{}
	require.NoError(t, json.Unmarshal([]byte(strings.TrimSpace(out)), &got))
	require.Equal(t, sums, got)
}
