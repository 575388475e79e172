// Chunks that are not combinations of parameters: dictionaries, older header versions, every type
// size and, in the full corpus, every short length.

package crosscheck

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
)

// dictionaryChunks adds chunks whose blocks share a dictionary of Zstd or, since C-Blosc2 3, LZ4.
// The chunks with LZ4 are golden files, because package cblosc writes dictionaries of Zstd only.
func (e *emitter) dictionaryChunks(d *cblosc.Decompressor) error {
	const section = chunkDocument + ": blosc2_flags, bit 0; Dictionary"
	for i, v := range []struct{ typesize, block, n int }{{1, 4096, 200_000}, {4, 4096, 200_000}, {8, 8192, 300_001}} {
		p := &cblosc.CParams{Codec: cblosc.Zstd, Level: 5, TypeSize: v.typesize, BlockSize: v.block, Threads: 1, Dict: true, Split: cblosc.SplitNever}
		if v.typesize > 1 {
			p.Filters[0] = cblosc.Filter{ID: cblosc.Shuffle}
		}
		c := Case{
			ID: fmt.Sprintf("chunk/dictionary/t%d-b%d-%d", v.typesize, v.block, v.n), Section: section,
			Params: map[string]string{"codec": "zstd", "dictionary": "yes", "typesize": strconv.Itoa(v.typesize)},
		}
		b, data, err := compress(p, series("text", uint64(i), v.n, v.typesize))
		if err != nil {
			return fmt.Errorf("%s: %w", c.ID, err)
		}
		if b[0x1F]&1 == 0 {
			return fmt.Errorf("%s: the chunk has no dictionary", c.ID)
		}
		if err := e.goodChunk(d, c, b, data, false); err != nil {
			return err
		}
	}
	for _, codec := range []string{"lz4", "lz4hc"} {
		b, err := golden.ReadFile("golden/dictionary-" + codec + ".chunk")
		if err != nil {
			return err
		}
		c := Case{ID: "chunk/dictionary/" + codec, Section: section, Since: sinceBlosc2, Params: map[string]string{"codec": codec, "dictionary": "yes", "typesize": "1"}}
		h, err := chunk.ParseHeader(b)
		if err != nil {
			return fmt.Errorf("%s: %w", c.ID, err)
		}
		data, err := decodeChunk(d, &h, b)
		if err != nil {
			return fmt.Errorf("%s: %w", c.ID, err)
		}
		if err := e.goodChunk(d, c, b, data, false); err != nil {
			return err
		}
	}
	return nil
}

// variableChunks adds chunks with blocks of variable length, which C-Blosc2 3 writes.
func (e *emitter) variableChunks(d *cblosc.Decompressor) error {
	for i, v := range []struct {
		codec  cblosc.Codec
		size   int
		blocks []int // elements of each block
	}{{cblosc.LZ4, 4, []int{100, 1, 2000, 7}}, {cblosc.Zstd, 1, []int{5000, 33}}, {cblosc.BloscLZ, 8, []int{64}}} {
		p := &cblosc.CParams{Codec: v.codec, Level: 5, TypeSize: v.size, Threads: 1}
		if v.size > 1 {
			p.Filters[0] = cblosc.Filter{ID: cblosc.Shuffle}
		}
		items := new(cblosc.Batch)
		var data []byte
		for k, n := range v.blocks {
			b := series("text", uint64(10*i+k), n*v.size, v.size)
			items.Append(b)
			data = append(data, b...)
		}
		c := Case{
			ID: fmt.Sprintf("chunk/variable/%s-t%d-%d-blocks", v.codec, v.size, len(v.blocks)), Section: chunkDocument + ": blosc2_flags2, bit 0; blocks of variable length", Since: sinceBlosc2,
			Params: map[string]string{"codec": v.codec.String(), "variable": "yes", "typesize": strconv.Itoa(v.size)},
		}
		packed, err := cblosc.NewCompressor(p)
		if err != nil {
			return fmt.Errorf("%s: %w", c.ID, err)
		}
		b, err := packed.CompressVL(items)
		if err := errors.Join(err, packed.Close()); err != nil {
			return fmt.Errorf("%s: %w", c.ID, err)
		}
		if err := e.goodChunk(d, c, b, data, false); err != nil {
			return err
		}
	}
	return nil
}

// decodeChunk decodes a chunk with the reference library.
func decodeChunk(d *cblosc.Decompressor, h *chunk.Header, b []byte) ([]byte, error) {
	if !h.VLBlocks() {
		out := make([]byte, h.NBytes)
		_, err := d.Decompress(out, b)
		return out, err
	}
	var blocks cblosc.Batch
	if err := d.DecompressVL(&blocks, b); err != nil {
		return nil, err
	}
	return blocks.Bytes(), nil
}

// olderChunks adds chunks with older header versions. As long as a chunk uses no newer feature,
// these headers differ only in the version number. As an exception, version 3 did not clear the
// last filter, which a reader must ignore.
func (e *emitter) olderChunks(d *cblosc.Decompressor) error {
	p := &cblosc.CParams{Codec: cblosc.LZ4, Level: 5, TypeSize: 4, BlockSize: 4096, Threads: 1, Split: cblosc.SplitForwardCompat}
	p.Filters[cblosc.MaxFilters-2] = cblosc.Filter{ID: cblosc.Shuffle}
	for _, version := range []byte{3, 4, 5} {
		b, data, err := compress(p, series("ramp", uint64(version), 20_000, 4))
		if err != nil {
			return err
		}
		b[0] = version
		if version == 3 {
			b[0x10+cblosc.MaxFilters-1] = byte(cblosc.Delta)
		}
		c := Case{ID: fmt.Sprintf("chunk/version-%d", version), Section: chunkDocument + ": Header, version", Params: map[string]string{"version": strconv.Itoa(int(version))}}
		if err := e.goodChunk(d, c, b, data, false); err != nil {
			return err
		}
	}
	return nil
}

// sweepChunks adds every type size with shuffle. The full corpus has every type size with every
// filter in three lengths, and every short length.
func (e *emitter) sweepChunks(ctx context.Context, d *cblosc.Decompressor) error {
	add := func(typesize, n int, p pipeline) error {
		if p.sizes != nil || p.whole && n%typesize != 0 || ctx.Err() != nil {
			return ctx.Err()
		}
		q := &cblosc.CParams{Codec: cblosc.LZ4, Level: 5, TypeSize: typesize, BlockSize: 64 * typesize, Threads: 1, Split: cblosc.SplitAlways}
		copy(q.Filters[:], p.filters)
		for i, f := range q.Filters {
			if f.ID == cblosc.ByteDelta {
				q.Filters[i] = cblosc.Filter{ID: cblosc.ByteDelta, Meta: uint8(typesize)}
			}
		}
		c := Case{
			ID: fmt.Sprintf("chunk/sweep/t%d-n%d-%s", typesize, n, dashed(p.name)), Section: chunkDocument + ": Blocks, Streams, Filter pipeline",
			Params: map[string]string{"typesize": strconv.Itoa(typesize), "nbytes": strconv.Itoa(n), "filters": p.name},
		}
		b, data, err := compress(q, series("ramp", 0, n, typesize))
		if err != nil {
			return fmt.Errorf("%s: %w", c.ID, err)
		}
		return e.goodChunk(d, c, b, data, p.lossy)
	}
	for _, w := range chunkSweep(e.full) {
		if err := add(w.typesize, w.n, w.p); err != nil {
			return err
		}
	}
	return nil
}

// swept is one chunk of the sweep: n bytes of elements of typesize bytes.
type swept struct {
	typesize, n int
	p           pipeline
}

func chunkSweep(full bool) []swept {
	var all []swept
	if !full {
		for size := 1; size <= 255; size++ {
			all = append(all, swept{size, 203 * size, pipelineOf("shuffle")})
		}
		return all
	}
	for _, p := range pipelines {
		for size := 1; size <= 255; size++ {
			lengths := []int{size, 200*size + 1, 203 * size}
			if slices.Contains([]int{1, 3, 4, 8}, size) {
				for n := 1; n <= 300; n++ {
					if !slices.Contains(lengths, n) {
						lengths = append(lengths, n)
					}
				}
			}
			for _, n := range lengths {
				all = append(all, swept{size, n, p})
			}
		}
	}
	return all
}

// compress compresses data and returns the chunk and data.
func compress(p *cblosc.CParams, data []byte) (b, same []byte, err error) {
	c, err := cblosc.NewCompressor(p)
	if err != nil {
		return nil, nil, err
	}
	defer c.Close()
	b = make([]byte, cblosc.MaxCompressedSize(len(data)))
	n, err := c.Compress(b, data)
	if err != nil {
		return nil, nil, err
	}
	return b[:n], data, nil
}
