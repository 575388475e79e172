// Vectors of bcolz: carray and ctable directories as bcolz 1.x writes them.

package crosscheck

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/format/bcolztree"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
	"github.com/hyperslab/hyperslab/ndarray"
	ndbcolz "github.com/hyperslab/hyperslab/ndarray/bcolz"
)

const bcolzDocument = "DISK_FORMAT_v1.rst of bcolz"

// bcolzRows is the length of the full chunks of these vectors.
const bcolzRows = 16

var bcolzParameters = []parameter{
	{Name: "codec", Values: []string{"blosclz", "lz4", "lz4hc", "zlib", "zstd"}},
	{Name: "level", Values: []string{"0", "1", "5", "9"}},
	{Name: "filters", Values: []string{"none", "shuffle", "bitshuffle"}},
	{Name: "dtype", Values: []string{"|b1", "|i1", "<i2", ">i4", "<u8", "<f2", ">f4", "<f8", "|S5", "<U3", "<M8[ns]", "<m8[s]", "|V3"}},
	{Name: "row", Values: []string{"scalar", "3", "2x3"}},
	{Name: "rows", Values: []string{"none", "one", "few", "whole", "ragged", "many"}},
	{Name: "kind", Values: []string{"carray", "ctable"}},
	{Name: "data", Values: []string{"ramp", "random", "runs", "constant"}},
}

// bcolzLengths are numbers of rows: without chunks, with the leftover only, with full chunks only,
// with both, and with more than ten files, whose lexical order differs from their numeric order.
var bcolzLengths = map[string]int64{"none": 0, "one": 1, "few": 7, "whole": 3 * bcolzRows, "ragged": 2*bcolzRows + 5, "many": 12*bcolzRows + 3}

var bcolzSuffixes = map[string][]int64{"scalar": nil, "3": {3}, "2x3": {2, 3}}

func emitBcolz(ctx context.Context, e *emitter) error {
	rows, pairs, impossible := choose(bcolzParameters, func([]int) bool { return true }, e.full)
	for i, row := range rows {
		if err := e.bcolz(ctx, values(bcolzParameters, row), uint64(i)); err != nil {
			return err
		}
	}
	e.coverage("bcolz", bcolzParameters, rows, pairs, impossible)
	if err := e.bcolzLeftovers(ctx); err != nil {
		return err
	}
	return e.brokenBcolz(ctx)
}

func bcolzSpec(v map[string]string) (ndarray.Spec, error) {
	d, err := ndarray.ParseDType(v["dtype"])
	if err != nil {
		return ndarray.Spec{}, err
	}
	level := number(v, "level")
	s := ndarray.Spec{
		Shape: append([]int64{bcolzLengths[v["rows"]]}, bcolzSuffixes[v["row"]]...), DType: d,
		Compression: &ndarray.Compression{Codec: v["codec"], Level: level},
		Attrs:       []ndarray.Attr{},
	}
	s.ChunkShape = append([]int64{bcolzRows}, bcolzSuffixes[v["row"]]...)
	if v["filters"] != "none" {
		s.Compression.Filters = []string{v["filters"]}
	}
	return s, nil
}

// bcolz writes one array, or a table of two columns that contains this array, reads it back with
// the reference's decoder and adds it.
func (e *emitter) bcolz(ctx context.Context, v map[string]string, seed uint64) error {
	id := fmt.Sprintf("bcolz/%s/%s-%s-rows_%s-row_%s-%s-%s-%s", v["kind"], v["codec"], v["level"], v["rows"], v["row"], v["filters"], dtypeName(v["dtype"]), v["data"])
	c := Case{ID: id, Area: "bcolz", Must: Accept, Path: id + ".bcolz", Section: bcolzDocument + ": meta, data; the superchunk layout", Params: v}
	path, err := e.place(c.Path)
	if err != nil {
		return err
	}
	data, err := writeBcolz(ctx, path, v, seed, nil)
	if err != nil {
		return fmt.Errorf("%s: %w", id, err)
	}
	if v["kind"] == "ctable" {
		c.Object = "x"
		c.Section += "; ctable"
	}
	return e.bcolzCase(c, data)
}

// writeBcolz creates a carray at path, or a ctable with the carray as column x, and returns its
// elements in stored order.
func writeBcolz(ctx context.Context, path string, v map[string]string, seed uint64, attrs []ndarray.Attr) (data []byte, err error) {
	spec, err := bcolzSpec(v)
	if err != nil {
		return nil, err
	}
	spec.Attrs = attrs
	array := path
	if v["kind"] == "ctable" {
		if err := os.Mkdir(path, 0o755); err != nil {
			return nil, err
		}
		array = filepath.Join(path, "x")
		other := ndarray.Spec{Shape: spec.Shape[:1], DType: ndarray.DTypeOf[int32](), ChunkShape: []int64{bcolzRows}}
		if _, err := fillBcolz(ctx, filepath.Join(path, "beside"), other, "ramp", seed); err != nil {
			return nil, err
		}
	}
	if data, err = fillBcolz(ctx, array, spec, v["data"], seed); err != nil {
		return nil, err
	}
	if v["kind"] == "ctable" {
		return data, ndbcolz.GatherTable(path, []string{"beside", "x"}, nil)
	}
	return data, nil
}

func fillBcolz(ctx context.Context, path string, spec ndarray.Spec, kind string, seed uint64) (data []byte, err error) {
	b, err := ndbcolz.Create(path, spec, nil)
	if err != nil {
		return nil, err
	}
	a, err := ndarray.New(b)
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	n := int64(1)
	for _, k := range spec.Shape {
		n *= k
	}
	size := spec.DType.Size
	data = series(kind, seed, int(n)*size, size)
	switch spec.DType.Kind {
	case ndarray.Bool:
		data = ofType(data, "|b1")
	case ndarray.Unicode: // code points that Python accepts
		for i := 0; i < len(data); i += 4 {
			data[i], data[i+1], data[i+2], data[i+3] = data[i]|1, 0, 0, 0
		}
	}
	if n == 0 {
		return data, nil
	}
	native := bytes.Clone(data)
	if spec.DType.Order == ndarray.Big {
		for i := 0; i < len(native); i += size {
			reverse(native[i : i+size])
		}
	}
	return data, a.Write(ctx, native, ndarray.Region{Start: make([]int64, len(spec.Shape)), Shape: spec.Shape})
}

// bcolzCase reads an array or a column back and adds it. The result must equal want.
func (e *emitter) bcolzCase(c Case, want []byte) error {
	path := filepath.Join(e.dir, filepath.FromSlash(c.Path))
	s, err := loadBcolz(path, c.Object)
	if err != nil {
		return fmt.Errorf("%s: %w", c.ID, err)
	}
	if got := s.read(bcolzMisread{}); !bytes.Equal(got, want) {
		return fmt.Errorf("%s: the reference does not decode the original bytes", c.ID)
	}
	t := s.array.Storage
	item := int(t.DType.Size)
	c.Decoded = &Decoded{Bytes: int64(len(want)), SHA256: hexSum(want), DType: c.Params["dtype"], Shape: s.array.Sizes.Shape, Item: item}
	c.Metadata = map[string]any{
		"shape": s.array.Sizes.Shape, "dtype": t.DType.Text, "chunklen": t.ChunkLen, "expectedlen": t.ExpectedLen,
		"cname": t.CParams.Codec, "clevel": t.CParams.Level, "shuffle": int(t.CParams.Shuffle), "files": s.array.NumFiles(),
	}
	if s.names != nil {
		c.Metadata["names"] = s.names
	}
	if len(s.array.Attrs) > 0 {
		attrs := make(map[string]string, len(s.array.Attrs))
		for _, a := range s.array.Attrs {
			attrs[a.Name] = string(a.Value.Append(nil))
		}
		c.Metadata["attrs"] = attrs
	}
	return e.add(c)
}

// bcolzLeftovers adds vectors that are not combinations of parameters: attributes, leftover files
// of a longer array, metadata forms of older versions.
func (e *emitter) bcolzLeftovers(ctx context.Context) error {
	base := map[string]string{"codec": "lz4", "level": "5", "filters": "shuffle", "dtype": "<i4", "row": "scalar", "rows": "many", "kind": "carray", "data": "ramp"}
	text := ndarray.Text("größe, \"m\"")
	for _, x := range []struct {
		name    string
		attrs   []ndarray.Attr
		rows    int64 // after shrinking; 0: unchanged
		replace [3]string
	}{
		{name: "attributes", attrs: []ndarray.Attr{{Name: "unit", Value: text}}},
		{name: "shrunk", rows: 2*bcolzRows + 3},
		{name: "shrunk-whole", rows: 2 * bcolzRows},
		{name: "shuffle-true", replace: [3]string{"meta/storage", `"shuffle": 1`, `"shuffle": true`}},
		{name: "attribute-number", attrs: []ndarray.Attr{{Name: "temp", Value: ndarray.Scalar(22.5)}}},
		{name: "default-7", replace: [3]string{"meta/storage", `"dflt": 0`, `"dflt": 7`}},
		{name: "no-quantize", replace: [3]string{"meta/storage", `, "quantize": 0`, ``}},
	} {
		c := Case{ID: "bcolz/single/" + x.name, Area: "bcolz", Must: Accept, Section: bcolzDocument, Params: map[string]string{"dtype": base["dtype"], "single": x.name}}
		c.Path = c.ID + ".bcolz"
		path, err := e.place(c.Path)
		if err != nil {
			return err
		}
		data, err := writeBcolz(ctx, path, base, 77, x.attrs)
		if err != nil {
			return fmt.Errorf("%s: %w", c.ID, err)
		}
		if x.rows > 0 {
			// bcolz shrinks an array by changing the sizes, and keeps the files.
			s, err := loadBcolz(path, "")
			if err != nil {
				return err
			}
			sizes := s.array.Sizes
			if err := shrinkBcolz(path, s, x.rows); err != nil {
				return fmt.Errorf("%s: %w", c.ID, err)
			}
			data = data[:x.rows*sizes.NBytes/sizes.Shape[0]]
		}
		if x.replace[0] != "" {
			if err := replaceIn(filepath.Join(path, filepath.FromSlash(x.replace[0])), x.replace[1], x.replace[2]); err != nil {
				return fmt.Errorf("%s: %w", c.ID, err)
			}
		}
		if err := e.bcolzCase(c, data); err != nil {
			return err
		}
	}
	return nil
}

// shrinkBcolz writes the sizes of fewer rows. The last chunk file that is still used stays
// complete, and later files stay, too.
func shrinkBcolz(path string, s *bcolzStored, rows int64) error {
	sizes := s.array.Sizes
	sizes.NBytes = sizes.NBytes / sizes.Shape[0] * rows
	sizes.Shape = append([]int64{rows}, sizes.Shape[1:]...)
	return os.WriteFile(filepath.Join(path, filepath.FromSlash(bcolztree.SizesFile)), sizes.Append(nil), 0o644)
}

func replaceIn(name, old, other string) error {
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if strings.Count(string(b), old) != 1 {
		return fmt.Errorf("%s: %q must occur once: %s", filepath.Base(name), old, b)
	}
	return os.WriteFile(name, []byte(strings.Replace(string(b), old, other, 1)), 0o644)
}

// bcolzStored is a carray with its decompressed chunks.
type bcolzStored struct {
	array *bcolztree.Array
	names []string // columns of its table; nil if the array is not in a table
	files []bcolzFile
	stale [][]byte // decoded files beyond the shape
}

type bcolzFile struct {
	name   string
	rows   []byte // only rows inside the shape
	chunks [][]byte
}

// loadBcolz reads a carray, or a column of a ctable.
func loadBcolz(path, column string) (*bcolzStored, error) {
	s := &bcolzStored{}
	fsys := os.DirFS(path)
	var err error
	if column == "" {
		s.array, err = bcolztree.ReadArray(fsys, ".", nil)
	} else {
		var t *bcolztree.Table
		if t, err = bcolztree.ReadTable(fsys, ".", nil); err != nil {
			return nil, err
		}
		s.names = t.Names
		s.array, err = t.Column(column)
	}
	if err != nil {
		return nil, err
	}
	d, err := cblosc.NewDecompressor(nil)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	for i := range s.array.NumFiles() {
		f := bcolzFile{name: s.array.FileName(i)}
		chunks, err := s.array.ReadChunks(i)
		if err != nil {
			return nil, err
		}
		for _, c := range chunks {
			b := make([]byte, c.Header.NBytes)
			if _, err := d.Decompress(b, c.Data); err != nil {
				return nil, fmt.Errorf("%s: %w", f.name, err)
			}
			f.rows, f.chunks = append(f.rows, b...), append(f.chunks, c.Data)
		}
		f.rows = f.rows[:s.array.FileBytes(i)]
		s.files = append(s.files, f)
	}
	longer := s.array.WithRows(s.array.Rows() + 1<<20)
	for i := s.array.NumFiles(); ; i++ {
		chunks, err := longer.ReadChunks(i)
		if err != nil || len(chunks) == 0 {
			return s, nil // there are no more files
		}
		b := make([]byte, chunks[0].Header.NBytes)
		if _, err := d.Decompress(b, chunks[0].Data); err != nil {
			return s, nil
		}
		s.stale = append(s.stale, b)
	}
}

// bcolzMisread selects a mistake of a bcolz reader. The zero value selects no mistake.
type bcolzMisread struct {
	lexical  bool // chunk files are read in the order of their names
	leftover bool // the last chunk, which is not full, is omitted
	stale    bool // files beyond the shape are read
	swapped  bool // the bytes of each element are reversed
	columns  bool // the first dimension of a row changes fastest
}

var bcolzRules = []rule[bcolzMisread]{
	{"chunk files are read in the lexical order of their names", "chunk files", "data: the chunk files are __0.blp, __1.blp and so on, in the order of their numbers", bcolzMisread{lexical: true}},
	{"the rows after the last full chunk are omitted", "leftover", "data: the rows that do not fill a chunk are in the last file", bcolzMisread{leftover: true}},
	{"chunk files beyond the shape are read", "chunk files", "meta/sizes: shape contains the number of rows; files after these rows remain from a longer array", bcolzMisread{stale: true}},
	{"the bytes of each element are reversed", "byte order", "meta/storage: dtype is in NumPy's notation, with < for little-endian and > for big-endian", bcolzMisread{swapped: true}},
	{"the first dimension of a row is read as the one that varies fastest", "axis order", "meta/sizes: shape contains the number of rows and the shape of a row; the last dimension varies fastest", bcolzMisread{columns: true}},
}

// read concatenates the rows.
func (s *bcolzStored) read(m bcolzMisread) []byte {
	files := slices.Clone(s.files)
	if m.lexical {
		slices.SortFunc(files, func(a, b bcolzFile) int { return strings.Compare(a.name, b.name) })
	}
	var out []byte
	full := s.array.Storage.ChunkLen * s.array.RowBytes()
	for _, f := range files {
		if m.leftover && int64(len(f.rows)) < full {
			continue
		}
		out = append(out, f.rows...)
	}
	if m.stale {
		for _, b := range s.stale {
			out = append(out, b...)
		}
	}
	item := int(s.array.Storage.DType.Size)
	if m.swapped && item > 1 {
		unit := item
		switch s.array.Storage.DType.Kind {
		case 'U':
			unit = 4
		case 'S', 'V':
			unit = 1
		}
		for i := 0; i < len(out); i += unit {
			reverse(out[i : i+unit])
		}
	}
	if shape := s.array.Sizes.Shape[1:]; m.columns && len(shape) > 1 {
		row := int(s.array.RowBytes())
		n := row / item
		for at := 0; at < len(out); at += row {
			old := bytes.Clone(out[at : at+row])
			index := make([]int64, len(shape))
			for k := range n {
				for i, rest := len(shape)-1, int64(k); i >= 0; i-- {
					index[i], rest = rest%shape[i], rest/shape[i]
				}
				from := int64(0)
				for i := len(shape) - 1; i >= 0; i-- {
					from = from*shape[i] + index[i]
				}
				copy(out[at+k*item:at+(k+1)*item], old[int(from)*item:])
			}
		}
	}
	return out
}

// explainBcolz tries the bcolz rules, then explains the chunk that contains the first difference.
func explainBcolz(path string, c Case, got []byte) (*Explanation, error) {
	s, err := loadBcolz(path, c.Object)
	if err != nil {
		return nil, err
	}
	want := s.read(bcolzMisread{})
	x := difference(got, want, c.Decoded.Item)
	if x.Offset < 0 {
		return x, nil
	}
	t := s.array.Storage
	x.Header = []string{fmt.Sprintf("shape %v, dtype %s, chunklen %d, %s level %d, shuffle %d", s.array.Sizes.Shape, t.DType.Text, t.ChunkLen, t.CParams.Codec, t.CParams.Level, t.CParams.Shuffle)}
	x.Stage = "shape"
	if explainedBy(x, bcolzRules, got, func(m bcolzMisread) ([]byte, error) { return s.read(m), nil }) {
		return x, nil
	}
	at := int64(0)
	for i, f := range s.files {
		n := int64(len(f.rows))
		if x.Offset >= at+n {
			at += n
			continue
		}
		x.Chunk, x.Stage = int64(i), "chunk file"
		x.Header = append(x.Header, fmt.Sprintf("%s: rows from byte %d to %d of the answer", f.name, at, at+n))
		h, err := chunk.ParseHeader(f.chunks[0])
		if err != nil || len(f.chunks) > 1 || int64(h.NBytes) != n || int64(len(got)) < at+n {
			return x, err
		}
		part, err := ExplainChunk(f.chunks[0], got[at:at+n])
		if err != nil {
			return nil, err
		}
		x.Block, x.Stream, x.Stage, x.Rule, x.Sentence = part.Block, part.Stream, part.Stage, part.Rule, part.Sentence
		x.Header = append(x.Header, part.Header...)
		return x, nil
	}
	return x, nil
}
