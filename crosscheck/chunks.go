// Vectors of Blosc2 chunks: codecs, filters, sizes, and special values in headers.

package crosscheck

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
)

const chunkDocument = "README_CHUNK_FORMAT.rst"

// Parameters of a compressed chunk.
var chunkParameters = []parameter{
	{Name: "codec", Values: []string{"blosclz", "lz4", "lz4hc", "zlib", "zstd"}},
	{Name: "level", Values: []string{"0", "1", "5", "9"}},
	{Name: "filters", Values: pipelineNames()},
	{Name: "typesize", Values: []string{"1", "2", "3", "4", "7", "8", "12", "16", "17", "32", "255"}},
	{Name: "block", Values: []string{"auto", "small", "4096"}},
	{Name: "split", Values: []string{"auto", "always", "never", "forward"}},
	{Name: "length", Values: []string{"one", "ragged", "block", "tail", "large"}},
	{Name: "data", Values: seriesNames},
}

type pipeline struct {
	name    string
	filters []cblosc.Filter // ByteDelta takes the type size as its parameter
	lossy   bool            // does not decode to the original data
	whole   bool            // needs whole elements, because the library loses the rest
	sizes   []int           // allowed element sizes; nil for any size
}

var pipelines = []pipeline{
	{name: "none"},
	{name: "shuffle", filters: []cblosc.Filter{{ID: cblosc.Shuffle}}},
	{name: "bitshuffle", filters: []cblosc.Filter{{ID: cblosc.BitShuffle}}},
	{name: "delta", filters: []cblosc.Filter{{ID: cblosc.Delta}}, whole: true},
	{name: "delta+shuffle", filters: []cblosc.Filter{{ID: cblosc.Delta}, {ID: cblosc.Shuffle}}, whole: true},
	{name: "delta+bitshuffle", filters: []cblosc.Filter{{ID: cblosc.Delta}, {ID: cblosc.BitShuffle}}, whole: true},
	{name: "trunc_prec+shuffle", filters: []cblosc.Filter{{ID: cblosc.TruncPrec, Meta: 12}, {ID: cblosc.Shuffle}}, lossy: true, whole: true, sizes: []int{4, 8}},
	{name: "shuffle+bytedelta", filters: []cblosc.Filter{{ID: cblosc.Shuffle}, {ID: cblosc.ByteDelta}}, whole: true},
	{name: "int_trunc+bitshuffle", filters: []cblosc.Filter{{ID: cblosc.IntTrunc, Meta: 5}, {ID: cblosc.BitShuffle}}, lossy: true, whole: true, sizes: []int{1, 2, 4, 8}},
}

func pipelineNames() []string {
	var names []string
	for _, p := range pipelines {
		names = append(names, p.name)
	}
	return names
}

// values maps the names of the parameters to the values of a row.
func values(ps []parameter, row []int) map[string]string {
	m := make(map[string]string, len(ps))
	for i, p := range ps {
		m[p.Name] = p.Values[row[i]]
	}
	return m
}

func number(v map[string]string, name string) int {
	n, err := strconv.Atoi(v[name])
	if err != nil {
		panic("crosscheck: parameter " + name + " is not a number: " + v[name])
	}
	return n
}

// chunkAllowed reports whether the library can make a chunk with these parameters.
func chunkAllowed(v map[string]string) bool {
	p := pipelineOf(v["filters"])
	size := number(v, "typesize")
	if p.sizes != nil && !slices.Contains(p.sizes, size) {
		return false
	}
	return !(p.whole && v["length"] == "ragged" && size > 1)
}

func pipelineOf(name string) pipeline {
	for _, p := range pipelines {
		if p.name == name {
			return p
		}
	}
	panic("crosscheck: no pipeline " + name)
}

// blockBytes returns the requested block size, 0 for the library's choice.
func blockBytes(v map[string]string) int {
	size := number(v, "typesize")
	switch v["block"] {
	case "small":
		return 64 * size
	case "4096":
		return max(4096/size, 1) * size
	}
	return 0
}

// lengthBytes returns the length of the data.
func lengthBytes(v map[string]string) int {
	size := number(v, "typesize")
	block := blockBytes(v)
	if block == 0 {
		block = 256 * size
	}
	switch v["length"] {
	case "one":
		return size
	case "ragged": // not a multiple of the element size
		return 700*size + size/2 + 1
	case "block":
		return block
	case "tail": // whole blocks, and a shorter one that is not a multiple of 8 elements
		return 3*block + 5*size
	case "large":
		return 40_000/size*size + 3*size
	}
	panic("crosscheck: no length " + v["length"])
}

func chunkParams(v map[string]string) (*cblosc.CParams, error) {
	codec, err := cblosc.ParseCodec(v["codec"])
	if err != nil {
		return nil, err
	}
	p := &cblosc.CParams{Codec: codec, Level: number(v, "level"), TypeSize: number(v, "typesize"), BlockSize: blockBytes(v), Threads: 1}
	copy(p.Filters[:], pipelineOf(v["filters"]).filters)
	for i, f := range p.Filters {
		if f.ID == cblosc.ByteDelta {
			p.Filters[i] = cblosc.Filter{ID: cblosc.ByteDelta, Meta: uint8(p.TypeSize)}
		}
	}
	p.Split = map[string]cblosc.SplitMode{
		"auto": cblosc.SplitAuto, "always": cblosc.SplitAlways, "never": cblosc.SplitNever, "forward": cblosc.SplitForwardCompat,
	}[v["split"]]
	return p, nil
}

func emitChunks(ctx context.Context, e *emitter) error {
	d, err := cblosc.NewDecompressor(nil)
	if err != nil {
		return err
	}
	defer d.Close()
	rows, pairs, impossible := choose(chunkParameters, func(row []int) bool { return chunkAllowed(values(chunkParameters, row)) }, e.full)
	for i, row := range rows {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := e.chunk(d, values(chunkParameters, row), uint64(i)); err != nil {
			return err
		}
	}
	// A row of the pairs may not exercise a combination: for example a ragged end after a filter
	// matters only if the data are compressed. These rows cover the combinations explicitly.
	for _, p := range pipelines {
		for _, size := range []string{"3", "4", "16"} {
			for _, length := range []string{"ragged", "tail"} {
				v := map[string]string{"codec": "lz4", "level": "5", "filters": p.name, "typesize": size, "block": "small", "split": "always", "length": length, "data": "ramp"}
				if !chunkAllowed(v) || slices.ContainsFunc(rows, func(row []int) bool { return maps.Equal(v, values(chunkParameters, row)) }) {
					continue
				}
				if err := e.chunk(d, v, uint64(len(e.m.Cases))); err != nil {
					return err
				}
			}
		}
	}
	e.coverage("chunk", chunkParameters, rows, pairs, impossible)
	if err := e.sweepChunks(ctx, d); err != nil {
		return err
	}
	for _, more := range []func(*cblosc.Decompressor) error{e.dictionaryChunks, e.variableChunks, e.olderChunks, e.specialChunks, e.brokenChunks} {
		if err := more(d); err != nil {
			return err
		}
	}
	return nil
}

func (e *emitter) chunk(d *cblosc.Decompressor, v map[string]string, seed uint64) error {
	p, err := chunkParams(v)
	if err != nil {
		return err
	}
	id := fmt.Sprintf("chunk/%s-%s/%s-t%s-b%s-split_%s-%s-%s", v["codec"], v["level"], strings.ReplaceAll(v["filters"], "+", "_"), v["typesize"], v["block"], v["split"], v["length"], v["data"])
	data := series(v["data"], seed, lengthBytes(v), p.TypeSize)
	c, err := cblosc.NewCompressor(p)
	if err != nil {
		return fmt.Errorf("%s: %w", id, err)
	}
	defer c.Close()
	b := make([]byte, cblosc.MaxCompressedSize(len(data)))
	n, err := c.Compress(b, data)
	if err != nil {
		return fmt.Errorf("%s: %w", id, err)
	}
	return e.goodChunk(d, Case{ID: id, Section: chunkDocument + ": Blocks, Streams, Filter pipeline", Params: v}, b[:n], data, pipelineOf(v["filters"]).lossy)
}

// goodChunk decodes a chunk with the reference and adds it. The result must equal data unless a
// filter is lossy.
func (e *emitter) goodChunk(d *cblosc.Decompressor, c Case, b, data []byte, lossy bool) error {
	h, err := chunk.ParseHeader(b)
	if err != nil {
		return fmt.Errorf("%s: %w", c.ID, err)
	}
	got, err := decodeChunk(d, &h, b)
	if err != nil {
		return fmt.Errorf("%s: %w", c.ID, err)
	}
	if !lossy && h.Special != chunk.Uninitialized && !bytes.Equal(got, data) {
		return fmt.Errorf("%s: the reference does not decode the original bytes", c.ID)
	}
	if c.Area == "" {
		c.Area = "chunk"
	}
	c.Must, c.Decoded = Accept, decodedBytes(got, max(h.ItemSize(), 1))
	c.Decoded.Lossy = lossy
	if h.Special == chunk.Uninitialized {
		c.Decoded.SHA256 = "" // the content of the reader's buffer is not defined
	}
	var filters []any
	for i, f := range h.Filters {
		if f != chunk.NoFilter {
			filters = append(filters, map[string]any{"slot": i, "id": int(f), "meta": int(h.FiltersMeta[i])})
		}
	}
	c.Metadata = map[string]any{
		"version": int(h.Version), "flags": int(h.Flags), "typesize": int(h.TypeSize), "nbytes": int(h.NBytes), "blocksize": int(h.BlockSize),
		"cbytes": int(h.CBytes), "codec": h.Codec.String(), "filters": filters, "special": h.Special.String(),
	}
	if h.VLBlocks() { // the field contains the number of blocks
		c.Metadata["blocks"] = int(h.BlockSize)
		delete(c.Metadata, "blocksize")
	}
	return e.file(c, ".chunk", b)
}

func (e *emitter) specialChunks(d *cblosc.Decompressor) error {
	for _, s := range []struct {
		name     string
		kind     cblosc.Special
		typesize int
		n        int
		value    []byte
	}{
		{"zeros", cblosc.Zeros, 4, 4000, nil},
		{"zeros-ragged-blocks", cblosc.Zeros, 7, 7 * 9001, nil},
		{"nan-f4", cblosc.NaNs, 4, 4000, nil},
		{"nan-f8", cblosc.NaNs, 8, 8000, nil},
		{"uninit", cblosc.Uninit, 4, 4000, nil},
		{"uninit-blocks", cblosc.Uninit, 3, 3 * 30_001, nil},
		{"value-1", cblosc.Repeated, 1, 999, []byte{0xA5}},
		{"value-4", cblosc.Repeated, 4, 4000, []byte{1, 2, 3, 4}},
		{"value-16", cblosc.Repeated, 16, 16 * 77, []byte("sixteen bytes ok")},
		{"value-255", cblosc.Repeated, 255, 255 * 9, bytes.Repeat([]byte("abcde"), 51)},
	} {
		p := cblosc.DefaultCParams()
		p.TypeSize = s.typesize
		b, err := cblosc.SpecialChunk(p, s.kind, s.n, s.value)
		if err != nil {
			return fmt.Errorf("special %s: %w", s.name, err)
		}
		data := make([]byte, s.n)
		switch {
		case s.value != nil:
			data = bytes.Repeat(s.value, s.n/len(s.value))
		case s.kind == cblosc.NaNs && s.typesize == 4:
			data = bytes.Repeat([]byte{0, 0, 0xC0, 0x7F}, s.n/4)
		case s.kind == cblosc.NaNs:
			data = bytes.Repeat([]byte{0, 0, 0, 0, 0, 0, 0xF8, 0x7F}, s.n/8)
		}
		c := Case{ID: "chunk/special/" + s.name, Section: chunkDocument + ": blosc2_flags, special values", Params: map[string]string{"special": s.kind.String(), "typesize": strconv.Itoa(s.typesize)}}
		if err := e.goodChunk(d, c, b, data, false); err != nil {
			return err
		}
	}
	c, err := cblosc.NewCompressor(nil)
	if err != nil {
		return err
	}
	defer c.Close()
	b := make([]byte, cblosc.MaxCompressedSize(0))
	n, err := c.Compress(b, nil)
	if err != nil {
		return err
	}
	return e.goodChunk(d, Case{ID: "chunk/special/empty", Section: chunkDocument + ": Header, nbytes"}, b[:n], nil, false)
}
