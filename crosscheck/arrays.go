// Vectors of n-dimensional arrays in Blosc2 frames: b2nd and Caterva.

package crosscheck

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/blosc/caterva"
	"github.com/hyperslab/hyperslab/internal/format/b2ndmeta"
	"github.com/hyperslab/hyperslab/internal/grid"
)

const arrayDocument = "README_B2ND_METALAYER.rst"

var arrayParameters = []parameter{
	{Name: "rank", Values: []string{"0", "1", "2", "3", "4", "5", "6", "7", "8"}},
	{Name: "storage", Values: []string{"contiguous", "sparse"}},
	{Name: "shape", Values: []string{"whole", "ragged", "prime", "zero", "one chunk"}},
	{Name: "block", Values: []string{"whole", "ragged", "chunk"}},
	{Name: "dtype", Values: []string{"|b1", "<i2", ">i4", "<f4", "<f8", "<c16", "|S5", "<U3", "<M8[ns]", "[('a', '<i4'), ('b', '<f8')]"}},
	{Name: "filter", Values: []string{"none", "shuffle", "bitshuffle", "delta"}},
	{Name: "codec", Values: []string{"blosclz", "lz4", "zstd"}},
	{Name: "data", Values: []string{"ramp", "random", "runs", "constant"}},
}

var itemSizes = map[string]int{
	"|b1": 1, "|u1": 1, "<i2": 2, "<i4": 4, ">i4": 4, "<f4": 4, "<f8": 8, "<c16": 16, "|S5": 5, "<U3": 12, "<M8[ns]": 8, "[('a', '<i4'), ('b', '<f8')]": 12,
}

// arrayShapes derives shape, chunk shape and block shape from the parameters.
func arrayShapes(v map[string]string) (shape []int64, chunks, blocks []int32) {
	rank := number(v, "rank")
	for i := range rank {
		chunk := int32([]int{6, 4, 5, 3, 3, 2, 2, 2}[min(i, 7)])
		if rank > 8 {
			chunk = int32(1 + i%2)
		}
		if rank == 1 {
			chunk = 60
		}
		var n int64
		switch v["shape"] {
		case "whole":
			n = int64(chunk) * 2
			if rank > 4 && i > 1 || i > 0 && rank > 8 {
				n = int64(chunk)
			}
		case "ragged":
			n = int64(chunk) + 1 + int64(i%2)
			if rank > 4 && i > 2 {
				n = int64(chunk) - 1
			}
		case "prime":
			n = []int64{13, 7, 11, 5, 3, 2, 3, 2}[min(i, 7)]
			if rank > 8 {
				n = []int64{3, 2, 1, 1}[i%4]
			}
		case "zero":
			n = 5
			if rank > 8 {
				n = 2
			}
			if i == rank/2 {
				n = 0
			}
		case "one chunk":
			n = int64(chunk)
		}
		block := chunk
		switch v["block"] {
		case "whole":
			block = max(chunk/2, 1)
		case "ragged": // does not divide the chunk, so chunks are padded to whole blocks
			block = max(chunk*2/3, 1)
		}
		shape, chunks, blocks = append(shape, n), append(chunks, chunk), append(blocks, block)
	}
	return shape, chunks, blocks
}

func arrayAllowed(v map[string]string) bool {
	if v["rank"] == "0" {
		return v["shape"] == "whole" && v["block"] == "chunk"
	}
	return true
}

func emitArrays(ctx context.Context, e *emitter) error {
	rows, pairs, impossible := choose(arrayParameters, func(row []int) bool { return arrayAllowed(values(arrayParameters, row)) }, e.full)
	for i, row := range rows {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := e.array("b2nd", values(arrayParameters, row), i); err != nil {
			return err
		}
	}
	e.coverage("b2nd", arrayParameters, rows, pairs, impossible)
	if err := e.arrayCodecs(); err != nil {
		return err
	}
	if err := e.arraysCurrent(); err != nil {
		return err
	}
	return e.brokenArrays("b2nd")
}

// emitCaterva adds arrays that Caterva could write: at most 8 dimensions, elements without a dtype.
func emitCaterva(_ context.Context, e *emitter) error {
	for i, rank := range arrayParameters[0].Values {
		for k, shape := range []string{"whole", "ragged", "prime", "zero"} {
			v := map[string]string{
				"rank": rank, "shape": shape, "storage": []string{"contiguous", "sparse"}[(i+k)%2], "block": []string{"whole", "ragged", "chunk"}[(i+k)%3],
				"dtype": []string{"<i2", "<f8", "|S5"}[k%3], "filter": []string{"shuffle", "bitshuffle", "none"}[i%3], "codec": []string{"lz4", "blosclz", "zstd"}[k%3], "data": "ramp",
			}
			if rank == "0" {
				v["block"] = "chunk"
			}
			if !arrayAllowed(v) {
				continue
			}
			if err := e.array("caterva", v, 10*i+k); err != nil {
				return err
			}
		}
	}
	return e.brokenArrays("caterva")
}

// dtypeName converts a dtype to a part of a file name.
func dtypeName(dtype string) string {
	var b []byte
	for _, c := range []byte(dtype) {
		switch {
		case c >= '0' && c <= '9', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
			b = append(b, c)
		case c == '>':
			b = append(b, "big_"...)
		}
	}
	return string(b)
}

// array writes an array with the reference library, reads it back and adds it. For Caterva the
// dtype only determines the element size.
func (e *emitter) array(area string, v map[string]string, i int) error {
	shape, chunks, blocks := arrayShapes(v)
	size := itemSizes[v["dtype"]]
	id := fmt.Sprintf("%s/rank%s/%s-%s-block_%s-%s-%s-%s-%s", area, v["rank"], dtypeName(v["dtype"]), dashed(v["shape"]), v["block"], v["storage"], v["filter"], v["codec"], v["data"])
	dtype := v["dtype"]
	if area == "caterva" {
		dtype = ""
	}
	codec, err := cblosc.ParseCodec(v["codec"])
	if err != nil {
		return err
	}
	p := cblosc.DefaultCParams()
	p.Codec, p.TypeSize = codec, size
	p.Filters = [cblosc.MaxFilters]cblosc.Filter{}
	copy(p.Filters[:], pipelineOf(v["filter"]).filters)
	path, err := e.place(id + "." + area)
	if err != nil {
		return err
	}
	n := int64(size)
	for _, s := range shape {
		n *= s
	}
	data := ofType(series(v["data"], uint64(i), int(n), size), v["dtype"])
	if err := writeArray(area, &cblosc.ArrayParams{
		Shape: shape, ChunkShape: chunks, Blocks: blocks, DType: dtype,
		Storage: cblosc.Storage{Path: path, Contiguous: v["storage"] == "contiguous", CParams: p},
	}, data); err != nil {
		return fmt.Errorf("%s: %w", id, err)
	}
	got, err := decodeArray(path)
	if err != nil {
		return fmt.Errorf("%s: %w", id, err)
	}
	if !bytes.Equal(got, data) {
		return fmt.Errorf("%s: the reference does not decode the original bytes", id)
	}
	return e.add(Case{
		ID: id, Area: area, Path: id + "." + area, Must: Accept, Section: arrayDocument + "; README_CFRAME_FORMAT.rst", Params: v,
		Metadata: map[string]any{"shape": shape, "chunks": chunks, "blocks": blocks, "dtype": dtype, "itemsize": size},
		Decoded:  &Decoded{Bytes: n, SHA256: hexSum(data), DType: dtype, Shape: append([]int64{}, shape...), Item: size},
	})
}

func dashed(s string) string { return string(bytes.ReplaceAll([]byte(s), []byte(" "), []byte("_"))) }

// writeArray writes an array of the format b2nd or caterva.
func writeArray(format string, p *cblosc.ArrayParams, data []byte) error {
	create := cblosc.CreateArray
	if format == b2ndmeta.CatervaName {
		create = caterva.Create
	}
	a, err := create(p)
	if err != nil {
		return err
	}
	defer a.Close()
	if len(data) == 0 {
		return nil
	}
	return a.WriteRegion(data, make([]int64, len(p.Shape)), p.Shape)
}

// decodeArray reads a whole array with the reference library.
func decodeArray(path string) ([]byte, error) {
	a, err := cblosc.OpenArrayWith(path, cblosc.OpenOptions{Allow: trusted})
	if err != nil {
		return nil, err
	}
	defer a.Close()
	shape := a.Shape()
	n := int64(a.ItemSize())
	for _, s := range shape {
		n *= s
	}
	out := make([]byte, n)
	if n == 0 {
		return out, nil
	}
	return out, a.ReadRegion(out, make([]int64, len(shape)), shape)
}

// tiling returns the position of an element in a stored chunk, in elements. chunk is the index of
// the chunk, in the index of the element in the chunk.
type tiling func(g geometry, chunk, in []int64) int64

// geometry is the content of a b2nd metalayer, in elements.
type geometry struct{ shape, chunks, blocks []int64 }

// padded returns the shape of a stored chunk, which consists of whole blocks.
func (g geometry) padded() []int64 {
	p := make([]int64, len(g.chunks))
	for i := range p {
		p[i] = grid.DivUp(g.chunks[i], g.blocks[i]) * g.blocks[i]
	}
	return p
}

// position returns the position in the stored chunk of the element with index in, counted from the
// chunk's first element. Blocks are stored in row-major order, and so are the elements of each
// block.
func (g geometry) position(in []int64) int64 {
	padded := g.padded()
	var block, inner, items int64
	items = 1
	for i := range in {
		block = block*(padded[i]/g.blocks[i]) + in[i]/g.blocks[i]
		inner = inner*g.blocks[i] + in[i]%g.blocks[i]
		items *= g.blocks[i]
	}
	return block*items + inner
}

func rowMajor(at, shape []int64) int64 {
	var n int64
	for i := range at {
		n = n*shape[i] + at[i]
	}
	return n
}

// Possible mistakes of a reader in the tiling of an array by chunks and blocks.
var arrayRules = []rule[tiling]{
	{"the blocks of a chunk are read as one row-major chunk", "blocks", "Blocks: a chunk is stored block by block, each block in row-major order", func(g geometry, _, in []int64) int64 {
		return rowMajor(in, g.padded())
	}},
	{"edge chunks are read as if they were cut to the shape of the array", "edge chunk", "Chunks: every chunk is stored whole, padded with zeros beyond the edge of the array", func(g geometry, chunk, in []int64) int64 {
		e := geometry{shape: g.shape, chunks: slices.Clone(g.chunks), blocks: slices.Clone(g.blocks)}
		for i := range e.chunks {
			e.chunks[i] = min(g.chunks[i], g.shape[i]-chunk[i]*g.chunks[i])
			e.blocks[i] = min(g.blocks[i], e.chunks[i])
		}
		return e.position(in)
	}},
	{"edge blocks are read as if they were cut to the shape of the chunk", "edge block", "Blocks: every block is stored whole; a chunk is padded to whole blocks", func(g geometry, _, in []int64) int64 {
		// The order of a reader that stores only those elements of the last block that are in the
		// chunk.
		var before int64
		count := func(block []int64) int64 {
			n := int64(1)
			for i := range block {
				n *= min(g.blocks[i], g.chunks[i]-block[i]*g.blocks[i])
			}
			return n
		}
		mine := make([]int64, len(in))
		for i := range in {
			mine[i] = in[i] / g.blocks[i]
		}
		padded := g.padded()
		counts := make([]int64, len(in))
		for i := range counts {
			counts[i] = padded[i] / g.blocks[i]
		}
		at := make([]int64, len(in))
		for !slices.Equal(at, mine) {
			before += count(at)
			for i := len(at) - 1; i >= 0; i-- {
				if at[i]++; at[i] < counts[i] {
					break
				}
				at[i] = 0
			}
		}
		var inner int64
		for i := range in {
			inner = inner*min(g.blocks[i], g.chunks[i]-mine[i]*g.blocks[i]) + in[i]%g.blocks[i]
		}
		return before + inner
	}},
	{"the dimensions are read in reverse order", "axis order", "Shape: the last dimension varies fastest", func(g geometry, _, in []int64) int64 {
		r := geometry{}
		back := slices.Clone(in)
		slices.Reverse(back)
		r.chunks, r.blocks = slices.Clone(g.chunks), slices.Clone(g.blocks)
		slices.Reverse(r.chunks)
		slices.Reverse(r.blocks)
		return r.position(back)
	}},
}

// tile builds an array from its decoded chunks. It takes each element from the position that at
// returns. Positions outside the chunk give zeros.
func (g geometry) tile(chunks [][]byte, item int, at tiling) []byte {
	n := int64(1)
	counts := make([]int64, len(g.shape))
	for i := range g.shape {
		n *= g.shape[i]
		counts[i] = grid.DivUp(g.shape[i], g.chunks[i])
	}
	out := make([]byte, n*int64(item))
	index := make([]int64, len(g.shape))
	chunk, in := make([]int64, len(g.shape)), make([]int64, len(g.shape))
	for k := range n {
		rest := k
		for i := len(index) - 1; i >= 0; i-- {
			index[i] = rest % g.shape[i]
			rest /= g.shape[i]
			chunk[i], in[i] = index[i]/g.chunks[i], index[i]%g.chunks[i]
		}
		data := chunks[rowMajor(chunk, counts)]
		from := at(g, chunk, in) * int64(item)
		if from >= 0 && from+int64(item) <= int64(len(data)) {
			copy(out[k*int64(item):], data[from:from+int64(item)])
		}
	}
	return out
}

// explainArray tries the tiling rules, then explains the chunk that contains the first difference.
func explainArray(path string, c Case, got []byte) (*Explanation, error) {
	a, err := cblosc.OpenArrayWith(path, cblosc.OpenOptions{Allow: trusted})
	if err != nil {
		return nil, err
	}
	defer a.Close()
	want, err := decodeArray(path)
	if err != nil {
		return nil, err
	}
	item := a.ItemSize()
	x := difference(got, want, item)
	if x.Offset < 0 || len(want) == 0 {
		return x, nil
	}
	g := geometry{shape: a.Shape()}
	for i := range g.shape {
		g.chunks = append(g.chunks, int64(a.ChunkShape()[i]))
		g.blocks = append(g.blocks, int64(a.Blocks()[i]))
	}
	s := a.SChunk()
	chunks := make([][]byte, s.NumChunks())
	for i := range chunks {
		chunks[i] = make([]byte, s.ChunkSize())
		if _, err := s.DecompressChunk(chunks[i], int64(i)); err != nil {
			return nil, err
		}
	}
	element := min(x.Element, int64(len(want)/item)-1)
	x.Index = make([]int64, len(g.shape))
	chunk, in, counts := make([]int64, len(g.shape)), make([]int64, len(g.shape)), make([]int64, len(g.shape))
	rest := element
	for i := len(g.shape) - 1; i >= 0; i-- {
		x.Index[i] = rest % g.shape[i]
		rest /= g.shape[i]
		chunk[i], in[i] = x.Index[i]/g.chunks[i], x.Index[i]%g.chunks[i]
		counts[i] = grid.DivUp(g.shape[i], g.chunks[i])
	}
	x.Chunk = rowMajor(chunk, counts)
	x.Header = []string{fmt.Sprintf("b2nd shape %v, chunks %v, blocks %v, %s", g.shape, g.chunks, g.blocks, a.DType())}
	if explainedBy(x, arrayRules, got, func(at tiling) ([]byte, error) { return g.tile(chunks, item, at), nil }) {
		return x, nil
	}
	if len(got) != len(want) {
		x.Stage = "shape"
		return x, nil
	}
	// The chunk as the reader must have decoded it: its own values inside the array, the
	// reference's in the padding.
	theirs := bytes.Clone(chunks[x.Chunk])
	for k := range int64(len(want) / item) {
		rest := k
		same := true
		for i := len(g.shape) - 1; i >= 0; i-- {
			at := rest % g.shape[i]
			rest /= g.shape[i]
			same = same && at/g.chunks[i] == chunk[i]
			in[i] = at % g.chunks[i]
		}
		if same {
			copy(theirs[g.position(in)*int64(item):], got[k*int64(item):(k+1)*int64(item)])
		}
	}
	head := x.Header
	if x, err = explainPart(x, s, x.Chunk, theirs, x.Chunk*int64(s.ChunkSize())); err != nil {
		return nil, err
	}
	x.Header = append(head, x.Header[1:]...)
	return x, nil
}

// emitMetalayers adds vectors of metalayers without a frame. Their bytes decode to one line of JSON
// with the keys version, shape, chunks, blocks, dtype_format, dtype. They cover ranks that the
// library does not support, because the format allows more dimensions.

func emitMetalayers(_ context.Context, e *emitter) error {
	for _, name := range []string{b2ndmeta.Name, b2ndmeta.CatervaName} {
		top := b2ndmeta.MaxDims
		if name == b2ndmeta.CatervaName {
			top = b2ndmeta.MaxCatervaDims
		}
		for rank := range top + 1 {
			m := b2ndmeta.Meta{Caterva: name == b2ndmeta.CatervaName, Shape: []int64{}, Chunks: []int32{}, Blocks: []int32{}}
			if !m.Caterva {
				m.DType = []string{"<f8", "|S7", "[('x', '<i2'), ('y', '>f4', (2, 3))]"}[rank%3]
			}
			for i := range rank {
				// Integers of every width, in arrays that fit in a frame.
				shape, chunk, block := []int64{7, 300, 70_000, 5_000_000_000, 0, 1}[i%6], []int32{7, 200, 65_537, 127, 128, 1}[i%6], []int32{3, 130, 40_000, 100, 2, 1}[i%6]
				if rank > 3 && i != rank/2 {
					shape, chunk, block = int64(2+i%2), int32(1+i%2), 1
				}
				m.Shape, m.Chunks, m.Blocks = append(m.Shape, shape), append(m.Chunks, chunk), append(m.Blocks, block)
			}
			b := m.Append(nil)
			back, err := b2ndmeta.Parse(name, b)
			if err == nil {
				err = back.Check()
			}
			if err != nil {
				return fmt.Errorf("%s of rank %d: %w", name, rank, err)
			}
			text, err := metalayerText(back)
			if err != nil {
				return err
			}
			c := Case{
				ID: fmt.Sprintf("metalayer/%s-rank%02d", name, rank), Area: "metalayer", Must: Accept, Section: arrayDocument + ": Metalayer format",
				Params:  map[string]string{"name": name, "rank": fmt.Sprint(rank)},
				Decoded: &Decoded{Bytes: int64(len(text)), SHA256: hexSum(text), Shape: []int64{int64(len(text))}, Item: 1},
			}
			if err := e.file(c, ".msgpack", b); err != nil {
				return err
			}
			if rank == 2 {
				for n := range b {
					c := Case{ID: fmt.Sprintf("metalayer/refuse/%s-cut-%02d", name, n), Area: "metalayer", Must: Refuse, Rule: "truncated metalayer", Section: arrayDocument + ": Metalayer format", Params: map[string]string{"name": name}}
					if _, err := b2ndmeta.Parse(name, b[:n]); err == nil {
						return fmt.Errorf("%s: the reader accepts it", c.ID)
					}
					if n%5 == 0 || n == len(b)-1 {
						if err := e.file(c, ".msgpack", b[:n]); err != nil {
							return err
						}
					}
				}
			}
		}
		if err := e.brokenMetalayers(name); err != nil {
			return err
		}
	}
	return nil
}

type metalayerJSON struct {
	Version     int8    `json:"version"`
	Shape       []int64 `json:"shape"`
	Chunks      []int32 `json:"chunks"`
	Blocks      []int32 `json:"blocks"`
	DTypeFormat int8    `json:"dtype_format"`
	DType       string  `json:"dtype"`
}

func explainMetalayer(path string, c Case, got []byte) (*Explanation, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	m, err := b2ndmeta.Parse(c.Params["name"], b)
	if err != nil {
		return nil, err
	}
	want, err := metalayerText(m)
	if err != nil {
		return nil, err
	}
	x := difference(got, want, 1)
	x.Stage = "metalayer"
	x.Header = []string{"want " + string(want)}
	return x, nil
}
