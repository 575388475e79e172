package bcolztree_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/bcolztree"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
)

var golden = os.DirFS("testdata")

func readGolden(t testing.TB, name string) []byte {
	t.Helper()
	b, err := fs.ReadFile(golden, name)
	require.NoError(t, err)
	return b
}

// arrays returns the golden trees that are carrays, including the columns of the table.
func arrays(t testing.TB) []string {
	t.Helper()
	found, err := filepath.Glob("testdata/*/meta")
	require.NoError(t, err)
	columns, err := filepath.Glob("testdata/*/*/meta")
	require.NoError(t, err)
	found = append(found, columns...)
	require.Greater(t, len(found), 25)
	for i, f := range found {
		found[i] = strings.TrimPrefix(filepath.Dir(f), "testdata/")
	}
	return found
}

func TestTree_goldenFiles(t *testing.T) {
	lines := bufio.NewScanner(bytes.NewReader(readGolden(t, "SHA256SUMS")))
	n := 0
	for lines.Scan() {
		digest, name, ok := strings.Cut(lines.Text(), "  ")
		require.True(t, ok)
		sum := sha256.Sum256(readGolden(t, name))
		require.Equal(t, digest, hex.EncodeToString(sum[:]), name)
		n++
	}
	require.NoError(t, lines.Err())
	require.Greater(t, n, 100)
}

// TestMetadataBytes checks that metadata are written again with the same bytes that bcolz wrote.
func TestMetadataBytes(t *testing.T) {
	for _, name := range arrays(t) {
		b := readGolden(t, name+"/"+bcolztree.SizesFile)
		sizes, err := bcolztree.ParseSizes(b)
		require.NoError(t, err, name)
		require.Equal(t, string(b), string(sizes.Append(nil)), name)

		b = readGolden(t, name+"/"+bcolztree.StorageFile)
		storage, err := bcolztree.ParseStorage(b)
		require.NoError(t, err, name)
		require.Equal(t, string(b), string(storage.Append(nil)), name)

		b = readGolden(t, name+"/"+bcolztree.AttrsFile)
		attrs, err := bcolztree.ParseAttrs(b)
		require.NoError(t, err, name)
		require.Equal(t, string(b), string(attrs.Append(nil)), name)
	}
	b := readGolden(t, "table/"+bcolztree.RootDirsFile)
	dirs, err := bcolztree.ParseRootDirs(b)
	require.NoError(t, err)
	require.Equal(t, []string{"id", "value", "tag"}, dirs.Names)
	require.Equal(t, string(b), string(dirs.Append(nil)))

	head := readGolden(t, "exact/data/__1.blp")[:bcolztree.HeaderSize]
	require.Equal(t, head, bcolztree.FileHeader{Version: bcolztree.FileVersion, NumChunks: 1}.Append(nil))
}

// TestGoldenChunks checks that every chunk file of every golden tree is accepted and contains its
// rows.
func TestGoldenChunks(t *testing.T) {
	for _, name := range arrays(t) {
		a, err := bcolztree.ReadArray(golden, name, nil)
		require.NoError(t, err, name)
		for i := range a.NumFiles() {
			chunks, err := a.ReadChunks(i)
			require.NoError(t, err, "%s %d", name, i)
			require.Len(t, chunks, 1)
			require.EqualValues(t, 2, chunks[0].Header.Version)
			if want := a.FileBytes(i); want >= 0 {
				require.EqualValues(t, want, chunks[0].Header.NBytes, "%s %d", name, i)
				require.EqualValues(t, a.Storage.DType.TypeSize(), chunks[0].Header.TypeSize, name)
			}
			require.NoError(t, chunk.Check(chunks[0].Data))
		}
		for path, f := range bcolztree.Describe(golden, name).Complaints() {
			require.Equal(t, "stale", name, "%s: %s", path, f.Complaint)
			require.Equal(t, "stale/data/__2.blp", path)
		}
	}
}

func TestReadArray(t *testing.T) {
	a, err := bcolztree.ReadArray(golden, "rows", nil)
	require.NoError(t, err)
	require.Equal(t, bcolztree.Sizes{Shape: []int64{5, 2, 3}, NBytes: 240, CBytes: 320}, a.Sizes)
	require.Equal(t, bcolztree.DType{Text: "float64", Kind: 'f', Order: '<', Size: 8}, a.Storage.DType)
	require.Equal(t, bcolztree.CParams{Level: 5, Shuffle: bcolztree.ByteShuffle, Codec: "lz4"}, a.Storage.CParams)
	require.EqualValues(t, 2, a.Storage.ChunkLen)
	fill, ok := a.Storage.Default.Float64()
	require.True(t, ok)
	require.Equal(t, 2.5, fill)
	require.EqualValues(t, 48, a.RowBytes())
	require.EqualValues(t, 3, a.NumFiles())
	require.EqualValues(t, 96, a.FileBytes(1))
	require.EqualValues(t, 48, a.FileBytes(2))
	require.Panics(t, func() { _, _ = a.ReadChunks(3) })
	require.Panics(t, func() { _, _ = a.ReadChunks(-1) })

	a, err = bcolztree.ReadArray(golden, "object", nil)
	require.NoError(t, err)
	require.EqualValues(t, 2, a.NumFiles(), "a file for each object")
	require.EqualValues(t, -1, a.RowBytes())
	require.EqualValues(t, -1, a.FileBytes(0))

	a, err = bcolztree.ReadArray(golden, "structured", nil)
	require.NoError(t, err)
	require.True(t, a.Storage.DType.Structured)
}

func TestReadTable(t *testing.T) {
	kind, err := bcolztree.Detect(golden, "table")
	require.NoError(t, err)
	require.Equal(t, bcolztree.TableTree, kind)
	kind, err = bcolztree.Detect(golden, "rows")
	require.NoError(t, err)
	require.Equal(t, bcolztree.ArrayTree, kind)
	for _, none := range []string{"table/id/meta", "not there"} {
		kind, err = bcolztree.Detect(golden, none)
		require.NoError(t, err)
		require.Equal(t, bcolztree.NotATree, kind)
		require.Equal(t, "no tree of bcolz", kind.String())
	}
	table, err := bcolztree.ReadTable(golden, "table", nil)
	require.NoError(t, err)
	require.Equal(t, []string{"id", "value", "tag"}, table.Names)
	require.Equal(t, "title", table.Attrs[0].Name)
	require.Equal(t, "three columns", table.Attrs[0].Value.Text)
	a, err := table.Column("tag")
	require.NoError(t, err)
	require.Equal(t, "|S3", a.Storage.DType.Text)
	_, err = table.Column("other")
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = bcolztree.ReadTable(golden, "rows", nil)
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestAttrs(t *testing.T) {
	a, err := bcolztree.ReadArray(golden, "attrs", nil)
	require.NoError(t, err)
	v := bcolztree.Value{Kind: bcolztree.Object, Members: a.Attrs}
	get := func(name string) bcolztree.Value {
		x, ok := v.Get(name)
		require.True(t, ok, name)
		return x
	}
	n, ok := get("count").Int64()
	require.True(t, ok)
	require.EqualValues(t, -3, n)
	require.Equal(t, "Grüße 😀 \"x\"\n", get("name").Text)
	require.True(t, get("flag").Bool)
	require.Equal(t, bcolztree.Null, get("none").Kind)
	require.Len(t, get("list").List, 3)
	for i, want := range []float64{1e16, 1e15, 1e-4, 1e-5, math.Inf(1), math.NaN(), 0.1} {
		x := get("limits").List[i]
		got, ok := x.Float64()
		require.True(t, ok)
		if math.IsNaN(want) {
			require.True(t, math.IsNaN(got))
		} else {
			require.Equal(t, want, got)
		}
		require.Equal(t, x.Text, bcolztree.Float(want).Text, "as Python writes it")
	}
	_, ok = v.Get("missing")
	require.False(t, ok)
	_, ok = get("temp").Int64()
	require.False(t, ok, "22.5 is no integer")
	_, ok = get("flag").Float64()
	require.False(t, ok)
}

// TestOldFiles checks files of older bcolz versions, with the defaults of those versions.
func TestOldFiles(t *testing.T) {
	s, err := bcolztree.ParseStorage([]byte(`{"dtype": "int32", "cparams": {"shuffle": true, "clevel": 5}, "chunklen": 65536, "dflt": 0, "expectedlen": 100000}`))
	require.NoError(t, err)
	require.Equal(t, bcolztree.CParams{Level: 5, Shuffle: bcolztree.ByteShuffle, Codec: "blosclz"}, s.CParams)
	s, err = bcolztree.ParseStorage([]byte(`{"dtype": "int32", "cparams": {"shuffle": false, "clevel": 0, "quantize": null}, "chunklen": 1, "dflt": 0, "expectedlen": 1}`))
	require.NoError(t, err)
	require.Equal(t, bcolztree.CParams{Codec: "blosclz"}, s.CParams)
	sizes, err := bcolztree.ParseSizes([]byte(`{"shape": 12, "nbytes": 48, "cbytes": 64}`))
	require.NoError(t, err)
	require.Equal(t, []int64{12}, sizes.Shape)
	d, err := bcolztree.ParseRootDirs([]byte(`{"names": ["f0", "f1"], "dirs": {"f0": "/tmp/x/f0", "f1": "/tmp/x/f1"}}`))
	require.NoError(t, err)
	require.Equal(t, []string{"f0", "f1"}, d.Names)
	attrs, err := bcolztree.ParseAttrs([]byte("\n"))
	require.NoError(t, err)
	require.Empty(t, attrs)
}

func TestParseDType(t *testing.T) {
	for text, want := range map[string]bcolztree.DType{
		"bool": {Kind: 'b', Order: '|', Size: 1}, "int8": {Kind: 'i', Order: '|', Size: 1}, "uint64": {Kind: 'u', Order: '<', Size: 8},
		"|b1": {Kind: 'b', Order: '|', Size: 1}, ">i4": {Kind: 'i', Order: '>', Size: 4}, "<f2": {Kind: 'f', Order: '<', Size: 2},
		"complex128": {Kind: 'c', Order: '<', Size: 16}, ">c8": {Kind: 'c', Order: '>', Size: 8}, "float128": {Kind: 'f', Order: '<', Size: 16},
		"|S5": {Kind: 'S', Order: '|', Size: 5}, "<U5": {Kind: 'U', Order: '<', Size: 20}, ">U1": {Kind: 'U', Order: '>', Size: 4},
		"|V300": {Kind: 'V', Order: '|', Size: 300}, "object": {Kind: 'O', Order: '|'}, "|O8": {Kind: 'O', Order: '|'}, "|O": {Kind: 'O', Order: '|'},
		"datetime64[ns]": {Kind: 'M', Order: '<', Size: 8, Unit: "ns"}, ">M8[25s]": {Kind: 'M', Order: '>', Size: 8, Unit: "25s"},
		"timedelta64[D]": {Kind: 'm', Order: '<', Size: 8, Unit: "D"}, "datetime64": {Kind: 'M', Order: '<', Size: 8},
		"[('a', '<i4')]": {Kind: 'V', Order: '|', Structured: true},
	} {
		want.Text = text
		got, err := bcolztree.ParseDType(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "<", "i", "i3", "float", "<S0", "|S", "S-1", "x8", "M8[ns", "<datetime64[ns]", "U999999999", "V9999999999", "V99999999999999999999", "b2"} {
		_, err := bcolztree.ParseDType(text)
		require.ErrorIs(t, err, format.ErrUnsupported, text)
		require.ErrorContains(t, err, strconv.Quote(text))
	}
	for text, want := range map[string]int64{"|S5": 1, "<U5": 4, "|V255": 255, "|V256": 1, ">f8": 8, "object": 1, "complex128": 16, "bool": 1} {
		d, err := bcolztree.ParseDType(text)
		require.NoError(t, err)
		require.Equal(t, want, d.TypeSize(), text)
	}
}

func TestBadMetadata(t *testing.T) {
	storage := func(b []byte) error { _, err := bcolztree.ParseStorage(b); return err }
	sizes := func(b []byte) error { _, err := bcolztree.ParseSizes(b); return err }
	dirs := func(b []byte) error { _, err := bcolztree.ParseRootDirs(b); return err }
	attrs := func(b []byte) error { _, err := bcolztree.ParseAttrs(b); return err }
	const good = `{"dtype": "int32", "cparams": {"clevel": 5, "shuffle": 1}, "chunklen": 4, "expectedlen": 3, "dflt": 0}`
	edit := func(old, new string) string {
		require.Contains(t, good, old)
		return strings.Replace(good, old, new, 1)
	}
	require.NoError(t, storage([]byte(good)))
	for _, c := range []struct {
		parse func([]byte) error
		text  string
		want  error
		says  string
	}{
		{storage, edit(`"int32"`, `5`), format.ErrCorrupt, "meta/storage: dtype at byte 10: got a number, want a string"},
		{storage, edit(`"int32"`, `"int33"`), format.ErrUnsupported, `"int33"`},
		{storage, edit(`"clevel": 5`, `"clevel": 10`), format.ErrCorrupt, "got 10, want 0 to 9"},
		{storage, edit(`"shuffle": 1`, `"shuffle": 3`), format.ErrCorrupt, "got 3, want 0 to 2"},
		{storage, edit(`"chunklen": 4`, `"chunklen": 0`), format.ErrCorrupt, "chunklen"},
		{storage, edit(`"chunklen": 4`, `"chunklen": 4.5`), format.ErrCorrupt, "4.5"},
		{storage, edit(`"chunklen": 4`, `"chunklen": 9223372036854775808`), format.ErrCorrupt, "9223372036854775808"},
		{storage, edit(`, "dflt": 0`, ``), format.ErrCorrupt, "dflt"},
		{storage, edit(`"expectedlen": 3`, `"expectedlen": -3`), format.ErrCorrupt, "expectedlen"},
		{storage, edit(`"shuffle": 1`, `"shuffle": 1, "quantize": "x"`), format.ErrCorrupt, "quantize"},
		{storage, edit(`"shuffle": 1`, `"shuffle": 1, "cname": 1`), format.ErrCorrupt, "cname"},
		{storage, edit(`"dflt": 0`, `"dflt": 0, "dflt": 1`), format.ErrCorrupt, `"dflt" twice`},
		{storage, good + "x", format.ErrCorrupt, "nothing after the value"},
		{storage, good[:40], format.ErrTruncated, "byte 40"},
		{storage, "", format.ErrTruncated, "a value"},
		{storage, "[]", format.ErrCorrupt, "got a list, want an object"},
		{sizes, `{"shape": [], "nbytes": 0, "cbytes": 0}`, format.ErrLimit, "0 dimensions"},
		{sizes, `{"shape": [-1], "nbytes": 0, "cbytes": 0}`, format.ErrCorrupt, "shape 0 at byte 11: got -1"},
		{sizes, `{"shape": ["a"], "nbytes": 0, "cbytes": 0}`, format.ErrCorrupt, "got a string, want a number"},
		{sizes, `{"shape": [4611686018427387904, 4], "nbytes": 0, "cbytes": 0}`, format.ErrLimit, "2^63"},
		{sizes, `{"shape": [0, 4611686018427387904, 4], "nbytes": 0, "cbytes": 0}`, format.ErrLimit, "2^63"},
		{sizes, `{"shape": [1` + strings.Repeat(", 1", 64) + `], "nbytes": 0, "cbytes": 0}`, format.ErrLimit, "65 dimensions"},
		{sizes, `{"shape": [1], "cbytes": 0}`, format.ErrCorrupt, "nbytes"},
		{dirs, `{"names": ["../x"]}`, format.ErrCorrupt, `"../x"`},
		{dirs, `{"names": [".."]}`, format.ErrCorrupt, `".."`},
		{dirs, `{"names": ["."]}`, format.ErrCorrupt, `"."`},
		{dirs, `{"names": ["/etc"]}`, format.ErrCorrupt, `"/etc"`},
		{dirs, `{"names": [""]}`, format.ErrCorrupt, `""`},
		{dirs, `{"names": ["a\\b"]}`, format.ErrCorrupt, `a\\b`},
		{dirs, `{"names": ["a\u0000"]}`, format.ErrCorrupt, `a\x00`},
		{dirs, `{"names": ["a", "a"]}`, format.ErrCorrupt, "name 1"},
		{dirs, `{"names": [1]}`, format.ErrCorrupt, "name 0"},
		{dirs, `{}`, format.ErrCorrupt, "names"},
		{attrs, `[]`, format.ErrCorrupt, "got a list, want an object"},
		{attrs, `{"a": "\ud800"}`, format.ErrUnsupported, "surrogate"},
		{attrs, `{"a": "\udc00\ud800"}`, format.ErrUnsupported, "surrogate"},
		{attrs, `{"a": "\u12"}`, format.ErrCorrupt, "hexadecimal"},
		{attrs, `{"a": "\u12`, format.ErrTruncated, "hexadecimal"},
		{attrs, `{"a": "\x"}`, format.ErrCorrupt, "'x'"},
		{attrs, `{"a": "ü"}`, format.ErrCorrupt, "byte 0xc3"},
		{attrs, "{\"a\": \"\n\"}", format.ErrCorrupt, `'\n'`},
		{attrs, `{"a": "b`, format.ErrTruncated, "end of a string"},
		{attrs, `{"a" 1}`, format.ErrCorrupt, "want ':'"},
		{attrs, `{"a": 01}`, format.ErrCorrupt, "value"},
		{attrs, `{"a": 1.}`, format.ErrCorrupt, "value"},
		{attrs, `{"a": 1e}`, format.ErrCorrupt, "value"},
		{attrs, `{"a": -}`, format.ErrCorrupt, "value"},
		{attrs, `{"a": [1,]}`, format.ErrCorrupt, "value"},
		{attrs, `{"a": [1}`, format.ErrCorrupt, "want ']'"},
		{attrs, `{"a": nul}`, format.ErrCorrupt, "value"},
		{attrs, `{"a": ` + strings.Repeat("[", 1000), format.ErrLimit, "64 levels"},
	} {
		err := c.parse([]byte(c.text))
		require.ErrorIs(t, err, c.want, c.text)
		require.ErrorContains(t, err, c.says, c.text)
		var e *format.Error
		require.ErrorAs(t, err, &e, c.text)
	}
}

func TestFileHeader(t *testing.T) {
	good := bcolztree.FileHeader{Version: 1, NumChunks: -1}.Append(nil)
	h, err := bcolztree.ParseFileHeader(append(good, 1, 2, 3))
	require.NoError(t, err)
	require.EqualValues(t, -1, h.NumChunks)
	for _, c := range []struct {
		at   int
		to   byte
		want error
	}{{0, 'B', format.ErrMagic}, {4, 2, format.ErrVersion}, {8, 0xfe, format.ErrCorrupt}} {
		b := bytes.Clone(good)
		b[c.at] = c.to
		_, err := bcolztree.ParseFileHeader(b)
		require.ErrorIs(t, err, c.want)
	}
	_, err = bcolztree.ParseFileHeader(good[:15])
	require.ErrorIs(t, err, format.ErrTruncated)
	require.ErrorContains(t, err, "15 bytes, want at least 16")
}

// stored returns an uncompressed Blosc1 chunk of data.
func stored(data []byte) []byte {
	b := []byte{2, 1, chunk.FlagStored, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	binary.LittleEndian.PutUint32(b[4:], uint32(len(data)))
	binary.LittleEndian.PutUint32(b[8:], uint32(max(len(data), 1)))
	binary.LittleEndian.PutUint32(b[12:], uint32(len(data)+16))
	return append(b, data...)
}

// oneFile returns a carray of int32 rows in chunks of four. The header of its one chunk file
// contains n as the number of chunks.
func oneFile(rows int, n int64, chunks ...[]byte) fstest.MapFS {
	file := bcolztree.FileHeader{Version: 1, NumChunks: n}.Append(nil)
	for _, c := range chunks {
		file = append(file, c...)
	}
	return fstest.MapFS{
		"data/__0.blp": {Data: file},
		"meta/sizes":   {Data: bcolztree.Sizes{Shape: []int64{int64(rows)}, NBytes: int64(4 * rows)}.Append(nil)},
		"meta/storage": {Data: []byte(`{"dtype": "int32", "cparams": {"clevel": 5, "shuffle": 1}, "chunklen": 4, "expectedlen": 3, "dflt": 0}`)},
	}
}

// TestSuperchunkFiles checks that files of several chunks are read in sequence, with and without a
// number of chunks in their header.
func TestSuperchunkFiles(t *testing.T) {
	parts := [][]byte{stored([]byte("abcd")), stored([]byte("efghijkl")), stored([]byte("mnop"))}
	for _, c := range []struct {
		name string
		fsys fstest.MapFS
		want int
	}{
		{"counted", oneFile(4, 3, parts...), 3},
		{"not counted", oneFile(4, -1, parts...), 3},
		{"bytes behind", oneFile(4, 3, append(parts, []byte("rest"))...), 3},
		{"more rows than the shape reaches", oneFile(2, 3, parts...), 3},
	} {
		a, err := bcolztree.ReadArray(c.fsys, ".", nil)
		require.NoError(t, err, c.name)
		require.Nil(t, a.Attrs)
		chunks, err := a.ReadChunks(0)
		require.NoError(t, err, c.name)
		require.Len(t, chunks, c.want, c.name)
		var data []byte
		for _, x := range chunks {
			data = append(data, x.Data[16:]...)
		}
		require.Equal(t, "abcdefghijklmnop", string(data), c.name)
	}
}

func TestBadChunkFiles(t *testing.T) {
	full := stored([]byte("0123456789abcdef"))
	with := func(at int, to byte) []byte {
		b := bytes.Clone(full)
		b[at] = to
		return b
	}
	for _, c := range []struct {
		name string
		fsys fstest.MapFS
		want error
		says string
	}{
		{"short file", oneFile(4, 1, full[:31]), format.ErrTruncated, "bcolz data/__0.blp: chunk at byte 32: got 15 bytes, want 16"},
		{"short header", oneFile(4, 1, full[:7]), format.ErrTruncated, "chunk header at byte 16: got 7 bytes, want 16"},
		{"no chunk", oneFile(4, 1), format.ErrTruncated, "got 0 bytes"},
		{"none announced", oneFile(4, 0, full), format.ErrCorrupt, "got 0 bytes of rows, want 16"},
		{"too few rows", oneFile(4, 1, stored(full[:12])), format.ErrCorrupt, "got 12 bytes of rows, want 16"},
		{"too many rows", oneFile(4, 1, stored(bytes.Repeat(full, 2))), format.ErrCorrupt, "got 64 bytes of rows, want at most 16"},
		{"too many chunks", oneFile(4, -1, full, full), format.ErrCorrupt, "got 32 bytes of rows"},
		{"Blosc2", oneFile(4, 1, with(0, 5)), format.ErrVersion, "byte 16: got 5, want 1 or 2"},
		{"both shuffles", oneFile(4, 1, with(2, 5)), format.ErrCorrupt, "byte 18"},
		{"reserved flag", oneFile(4, 1, with(2, full[2]|8)), format.ErrCorrupt, "byte 18"},
		{"block size", oneFile(4, 1, with(8, 17)), format.ErrCorrupt, "byte 24: got 17, want at most nbytes 16"},
		{"version of the codec", oneFile(4, 1, []byte{2, 9, 0, 1, 16, 0, 0, 0, 16, 0, 0, 0, 16, 0, 0, 0}), format.ErrVersion, "byte 17: got 9, want 1"},
		{"type size", oneFile(4, 1, with(3, 0)), format.ErrCorrupt, "byte 19"},
		{"unknown codec", oneFile(4, 1, with(2, 5<<5)), format.ErrUnsupported, "byte 18"},
		{"snappy", oneFile(4, 1, with(2, 2<<5)), format.ErrUnsupported, "snappy"},
		{"cbytes", oneFile(4, 1, with(12, 33)), format.ErrCorrupt, "byte 28"},
	} {
		a, err := bcolztree.ReadArray(c.fsys, ".", nil)
		require.NoError(t, err, c.name)
		_, err = a.ReadChunks(0)
		require.ErrorIs(t, err, c.want, c.name)
		require.ErrorContains(t, err, c.says, c.name)
		require.ErrorContains(t, err, "data/__0.blp", c.name)
		require.True(t, complains(bcolztree.Describe(c.fsys, ".")), c.name)
	}
	fsys := oneFile(4, 1, full)
	a, err := bcolztree.ReadArray(fsys, ".", nil)
	require.NoError(t, err)
	delete(fsys, "data/__0.blp")
	_, err = a.ReadChunks(0)
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func complains(f format.Field) bool {
	for range f.Complaints() {
		return true
	}
	return false
}

func TestLimits(t *testing.T) {
	_, err := bcolztree.ReadArray(golden, "exact", &bcolztree.Limits{Metadata: 1 << 20, Chunk: 15})
	require.ErrorIs(t, err, format.ErrLimit)
	require.ErrorContains(t, err, "4 rows of 4 bytes, want at most 15 bytes")
	_, err = bcolztree.ReadArray(golden, "exact", &bcolztree.Limits{Metadata: 20, Chunk: 16})
	require.ErrorIs(t, err, format.ErrLimit)
	require.ErrorContains(t, err, "exact/meta/storage")

	fsys := oneFile(1, 1, stored([]byte("abcd")))
	fsys["meta/sizes"] = &fstest.MapFile{Data: []byte(`{"shape": [4611686018427387904], "nbytes": 0, "cbytes": 0}`)}
	_, err = bcolztree.ReadArray(fsys, ".", nil)
	require.ErrorIs(t, err, format.ErrLimit, "2^64 bytes")
	fsys["meta/sizes"] = &fstest.MapFile{Data: []byte(`{"shape": [1, 4611686018427387904], "nbytes": 0, "cbytes": 0}`)}
	_, err = bcolztree.ReadArray(fsys, ".", nil)
	require.ErrorIs(t, err, format.ErrLimit, "a row of 2^64 bytes")
}

func TestMissingFiles(t *testing.T) {
	for _, gone := range []string{"meta/sizes", "meta/storage"} {
		fsys := oneFile(1, 1, stored([]byte("abcd")))
		delete(fsys, gone)
		_, err := bcolztree.ReadArray(fsys, ".", nil)
		require.ErrorIs(t, err, fs.ErrNotExist, gone)
		require.ErrorContains(t, err, gone)
		require.True(t, complains(bcolztree.Describe(fsys, ".")))
	}
}

// TestSpecialFiles checks that a directory or a pipe instead of a file is rejected before it is
// opened.
func TestSpecialFiles(t *testing.T) {
	for _, name := range []string{"meta/sizes", "meta/storage", "__attrs__", "data/__0.blp"} {
		for _, mode := range []fs.FileMode{fs.ModeDir, fs.ModeNamedPipe} {
			fsys := oneFile(1, 1, stored([]byte("abcd")))
			fsys[name] = &fstest.MapFile{Mode: mode}
			a, err := bcolztree.ReadArray(fsys, ".", nil)
			if err == nil {
				_, err = a.ReadChunks(0)
			}
			require.ErrorIs(t, err, format.ErrCorrupt, name)
			require.ErrorContains(t, err, "want a regular file")
			require.ErrorContains(t, err, name)
			require.True(t, complains(bcolztree.Describe(fsys, ".")), name)
		}
	}
}

// replacing is a file system that replaces a file after Stat, as a concurrent writer can.
type replacing struct {
	fstest.MapFS
	name string
	by   *fstest.MapFile
}

func (r replacing) Stat(name string) (fs.FileInfo, error) {
	info, err := r.MapFS.Stat(name)
	if name == r.name {
		r.MapFS[name] = r.by
	}
	return info, err
}

// TestTree_replacedFile checks that a file that is replaced between Stat and Open is handled with
// the length of the opened file.
func TestTree_replacedFile(t *testing.T) {
	const name = "data/__0.blp"
	half, quarter := stored([]byte("abcdefgh")), stored([]byte("abcd"))
	for _, parts := range [][][]byte{{stored([]byte("abcdefghijklmnop"))}, {quarter, quarter, quarter, quarter}} {
		by := oneFile(4, -1, parts...)[name]
		a, err := bcolztree.ReadArray(replacing{oneFile(4, -1, half, half), name, by}, ".", nil)
		require.NoError(t, err)
		chunks, err := a.ReadChunks(0)
		require.NoError(t, err)
		require.Len(t, chunks, len(parts))
	}
	a, err := bcolztree.ReadArray(replacing{oneFile(4, -1, half, half), name, &fstest.MapFile{Mode: fs.ModeDir}}, ".", nil)
	require.NoError(t, err)
	_, err = a.ReadChunks(0)
	require.ErrorIs(t, err, format.ErrCorrupt)
	require.ErrorContains(t, err, "want a regular file")
}

func TestDescribe(t *testing.T) {
	f := bcolztree.Describe(golden, "rows")
	require.Equal(t, "carray", f.Value)
	require.Contains(t, f.Meaning, "[5 2 3] of float64")
	d, ok := f.Find("rows/meta/storage/cparams/cname")
	require.True(t, ok)
	require.Equal(t, `"lz4"`, d.Value)
	b := readGolden(t, "rows/meta/storage")
	require.Equal(t, `"lz4"`, string(b[d.Offset:d.Offset+d.Length]))
	_, ok = f.Find("rows/data/__2.blp/chunk/header")
	require.True(t, ok)

	f = bcolztree.Describe(golden, "table")
	require.Equal(t, "3 columns", f.Meaning)
	require.False(t, complains(f))
	require.True(t, complains(bcolztree.Describe(golden, "nothing")))

	// Columns of different lengths, and a wrong nbytes.
	fsys := fstest.MapFS{"__rootdirs__": {Data: []byte(`{"names": ["a", "b"]}`)}}
	for name, rows := range map[string]int{"a": 4, "b": 3} {
		for file, content := range oneFile(rows, 1, stored([]byte("0123456789abcdef"))) {
			fsys[name+"/"+file] = content
		}
	}
	f, ok = bcolztree.Describe(fsys, ".").Find("./b")
	require.True(t, ok)
	require.Equal(t, "3 rows, the first column has 4", f.Complaint)
	fsys["a/meta/sizes"] = &fstest.MapFile{Data: []byte(`{"shape": [4], "nbytes": 17, "cbytes": 0}`)}
	f, ok = bcolztree.Describe(fsys, ".").Find("./a/meta/sizes")
	require.True(t, ok)
	require.Equal(t, "nbytes is 17, the shape makes it 16", f.Complaint)
}

func TestDescribeFile(t *testing.T) {
	b := readGolden(t, "codec_zstd/data/__0.blp")
	f := bcolztree.DescribeFile(b)
	require.False(t, complains(f))
	c, ok := f.Find("chunk file/chunk")
	require.True(t, ok)
	require.EqualValues(t, 16, c.Offset)
	require.EqualValues(t, len(b)-16, c.Length)
	for n := range b {
		require.True(t, complains(bcolztree.DescribeFile(b[:n])), "%d bytes", n)
	}
	two := bcolztree.FileHeader{Version: 1, NumChunks: -1}.Append(nil)
	two = append(append(two, stored([]byte("abcd"))...), stored([]byte("efgh"))...)
	f = bcolztree.DescribeFile(two)
	require.False(t, complains(f))
	require.Len(t, f.Fields, 3)
	f = bcolztree.DescribeFile(append(readGolden(t, "exact/data/__0.blp"), 1, 2))
	require.False(t, complains(f))
	rest, ok := f.Find("chunk file/rest")
	require.True(t, ok)
	require.EqualValues(t, 2, rest.Length)
}

// TestDescribeDamage checks that Describe reports the parts that it cannot read, and continues with
// the others.
func TestDescribeDamage(t *testing.T) {
	blosc2 := bcolztree.FileHeader{Version: 1, NumChunks: 2}.Append(nil)
	blosc2 = append(append(blosc2, stored([]byte("abcd"))...), stored([]byte("efgh"))...)
	blosc2[16] = 5
	f, ok := bcolztree.DescribeFile(blosc2).Find("chunk file/chunk")
	require.True(t, ok)
	require.Equal(t, "got 5, want 1 or 2, Blosc1: unknown format version", f.Complaint)

	file := bcolztree.FileHeader{Version: 1, NumChunks: -1}.Append(nil)
	for range bcolztree.MaxDescribed + 2 {
		file = append(file, stored([]byte("abcd"))...)
	}
	f = bcolztree.DescribeFile(file)
	last := f.Fields[len(f.Fields)-1]
	require.Equal(t, "more chunks", last.Name)
	require.EqualValues(t, 2*20, last.Length)

	many := oneFile(4, 1, stored([]byte("0123456789abcdef")))
	many["meta/sizes"] = &fstest.MapFile{Data: bcolztree.Sizes{Shape: []int64{4 * (bcolztree.MaxDescribed + 3)}}.Append(nil)}
	f, ok = bcolztree.Describe(many, ".").Find("./more chunk files")
	require.True(t, ok)
	require.Equal(t, "3", f.Value)

	for name, content := range map[string]string{"__rootdirs__": `{"names": 1}`, "__attrs__": `[]`} {
		fsys := fstest.MapFS{"__rootdirs__": {Data: []byte(`{"names": []}`)}}
		fsys[name] = &fstest.MapFile{Data: []byte(content)}
		f, ok := bcolztree.Describe(fsys, ".").Find("./" + name)
		require.True(t, ok)
		require.True(t, complains(f), name)
		_, err := bcolztree.ReadTable(fsys, ".", nil)
		require.ErrorIs(t, err, format.ErrCorrupt)
	}

	// Each file is valid, but together they are inconsistent.
	wide := oneFile(4, 1, stored([]byte("0123456789abcdef")))
	wide["meta/sizes"] = &fstest.MapFile{Data: bcolztree.Sizes{Shape: []int64{4, 1 << 40}}.Append(nil)}
	require.Contains(t, bcolztree.Describe(wide, ".").Complaint, "4 rows of 4398046511104 bytes")
}

// TestJSON_roundTrip checks that parsing the encoding of any value returns the value, and that
// floats are formatted as in Python.
func TestJSON_roundTrip(t *testing.T) {
	leaf := rapid.OneOf(
		rapid.Just(bcolztree.Value{}),
		rapid.Map(rapid.Bool(), func(b bool) bcolztree.Value { return bcolztree.Value{Kind: bcolztree.Bool, Bool: b} }),
		rapid.Map(rapid.Int64(), bcolztree.Int),
		rapid.Map(rapid.Float64(), bcolztree.Float),
		rapid.Map(rapid.String(), bcolztree.Text),
	)
	value := rapid.OneOf(leaf, rapid.Map(rapid.SliceOfN(leaf, 1, 4), func(l []bcolztree.Value) bcolztree.Value {
		return bcolztree.Value{Kind: bcolztree.List, List: l}
	}))
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.String(), 1, 4, rapid.ID[string]).Draw(t, "names")
		var attrs bcolztree.Attrs
		for _, n := range names {
			attrs = append(attrs, bcolztree.Member{Name: n, Value: value.Draw(t, "value")})
		}
		b := attrs.Append(nil)
		for _, c := range b {
			require.Less(t, c, byte(0x80))
		}
		got, err := bcolztree.ParseAttrs(b)
		require.NoError(t, err, "%s", b)
		require.Equal(t, attrs, strip(got))
		require.Equal(t, string(b), string(got.Append(nil)))
	})
}

// strip removes the offsets and lengths of values.
func strip(members []bcolztree.Member) bcolztree.Attrs {
	var bare func(v bcolztree.Value) bcolztree.Value
	bare = func(v bcolztree.Value) bcolztree.Value {
		v.Offset, v.Length = 0, 0
		for i := range v.List {
			v.List[i] = bare(v.List[i])
		}
		return v
	}
	for i := range members {
		members[i].Value = bare(members[i].Value)
	}
	return members
}
