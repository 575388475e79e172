// Vectors of Blosc1 chunks, as in C-Blosc 1.x, bcolz, zarr and the HDF5 filter 32001: a header of
// 16 bytes, one filter.

package crosscheck

import (
	"context"
	"fmt"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/blosc/blosc1"
)

var blosc1Parameters = []parameter{
	{Name: "codec", Values: []string{"blosclz", "lz4", "lz4hc", "zlib", "zstd"}},
	{Name: "level", Values: []string{"0", "1", "5", "9"}},
	{Name: "filters", Values: []string{"none", "shuffle", "bitshuffle"}},
	{Name: "typesize", Values: []string{"1", "2", "3", "4", "8", "12", "16", "17", "255"}},
	{Name: "block", Values: []string{"auto", "small", "4096"}},
	{Name: "length", Values: []string{"one", "ragged", "block", "tail", "large"}},
	{Name: "data", Values: seriesNames},
}

func emitBlosc1(ctx context.Context, e *emitter) error {
	d, err := cblosc.NewDecompressor(nil)
	if err != nil {
		return err
	}
	defer d.Close()
	rows, pairs, impossible := choose(blosc1Parameters, func([]int) bool { return true }, e.full)
	for i, row := range rows {
		if err := ctx.Err(); err != nil {
			return err
		}
		v := values(blosc1Parameters, row)
		p, err := chunkParams(v)
		if err != nil {
			return err
		}
		p.Filters[cblosc.MaxFilters-1], p.Filters[0] = p.Filters[0], cblosc.Filter{}
		p.Split = cblosc.SplitForwardCompat
		c := Case{
			ID:   fmt.Sprintf("blosc1/%s-%s/%s-t%s-b%s-%s-%s", v["codec"], v["level"], v["filters"], v["typesize"], v["block"], v["length"], v["data"]),
			Area: "blosc1", Section: chunkDocument + ": Header of 16 bytes; README_HEADER.rst of C-Blosc 1", Params: v,
		}
		data := series(v["data"], uint64(i), lengthBytes(v), p.TypeSize)
		b := make([]byte, cblosc.MaxCompressedSize(len(data)))
		n, err := blosc1.Exact(p, b, data)
		if err != nil {
			return fmt.Errorf("%s: %w", c.ID, err)
		}
		if err := e.goodChunk(d, c, b[:n], data, false); err != nil {
			return err
		}
	}
	e.coverage("blosc1", blosc1Parameters, rows, pairs, impossible)
	b := make([]byte, cblosc.MaxCompressedSize(0))
	n, err := blosc1.Exact(nil, b, nil)
	if err != nil {
		return err
	}
	if err := e.goodChunk(d, Case{ID: "blosc1/empty", Area: "blosc1", Section: chunkDocument + ": Header, nbytes"}, b[:n], nil, false); err != nil {
		return err
	}
	return e.brokenBlosc1(d)
}
