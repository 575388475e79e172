// Conversion between the filter pipeline of a dataset and a Compression.

package hdf5

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/filter"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Prefixes of codecs inside a filter that has several, for example "blosc2/zstd".
const (
	bloscPrefix  = "blosc/"
	blosc2Prefix = "blosc2/"
	bitsPrefix   = "bitshuffle/"
)

// Names of filters before a codec, or after it.
const (
	shuffleName    = "shuffle"
	bitshuffleName = "bitshuffle"
	fletcher32Name = "fletcher32"
)

// codec is a codec that Create can write.
type codec struct {
	name        string
	least, most int    // range of levels; both 0: the codec has no levels
	usual       int    // default level
	prepares    bool   // the filter rearranges the bytes itself
	limit       uint64 // maximum bytes of a chunk; 0: HDF5's limit
	filter      func(level int, c *ndarray.Compression, chunk chunkFacts) (h5.Filter, error)
}

// chunkFacts are the properties of a chunk that some filters need.
type chunkFacts struct {
	shape []int64
	dtype ndarray.DType
}

func (c chunkFacts) bytes() int64 {
	n := int64(c.dtype.Size)
	for _, length := range c.shape {
		n *= length // no overflow: h5 checks that a chunk has less than 4 GiB
	}
	return n
}

// written are all codecs that Create can write, in the order of Codecs.
var written = slices.Concat(
	[]codec{
		{name: "none"},
		{name: "deflate", most: 9, usual: 4, filter: func(level int, _ *ndarray.Compression, _ chunkFacts) (h5.Filter, error) {
			return h5.Deflate(level), nil
		}},
		{name: "zstd", least: 1, most: 22, usual: 3, filter: func(level int, _ *ndarray.Compression, _ chunkFacts) (h5.Filter, error) {
			return filter.Zstd(level), nil
		}},
		{name: "lz4", limit: math.MaxInt32, filter: func(int, *ndarray.Compression, chunkFacts) (h5.Filter, error) {
			return filter.LZ4(), nil
		}},
		{name: "lzf", filter: func(int, *ndarray.Compression, chunkFacts) (h5.Filter, error) {
			return filter.LZF(), nil
		}},
		{name: "bzip2", least: 1, most: 9, usual: 9, filter: func(level int, _ *ndarray.Compression, _ chunkFacts) (h5.Filter, error) {
			return filter.BZip2(level), nil
		}},
		{name: "szip", filter: szip},
		{name: bitsPrefix + "lz4", prepares: true, filter: func(int, *ndarray.Compression, chunkFacts) (h5.Filter, error) {
			return filter.BitShuffleLZ4(), nil
		}},
		{name: bitsPrefix + "zstd", least: 1, most: 22, usual: 3, prepares: true, filter: func(level int, _ *ndarray.Compression, _ chunkFacts) (h5.Filter, error) {
			return filter.BitShuffleZstd(level), nil
		}},
	},
	bloscs(bloscPrefix, blosc1),
	bloscs(blosc2Prefix, blosc2),
)

// bloscs returns the codecs of one of the filters with Blosc chunks.
func bloscs(prefix string, make func(number uint32, level int, c *ndarray.Compression, chunk chunkFacts) (h5.Filter, error)) (all []codec) {
	for _, number := range slices.Sorted(maps.Keys(bloscCodecs)) {
		all = append(all, codec{
			name: prefix + bloscCodecs[number], most: 9, usual: 5, prepares: true, limit: math.MaxInt32,
			filter: func(level int, c *ndarray.Compression, chunk chunkFacts) (h5.Filter, error) {
				return make(number, level, c, chunk)
			},
		})
	}
	return all
}

// Codecs returns the codec names that Create accepts in a Compression. A name with a slash is a
// filter and a codec in it.
func Codecs() []string {
	names := make([]string, len(written))
	for i, c := range written {
		names[i] = c.name
	}
	return names
}

// Levels returns the range of levels of a codec of Create and its default. ok is false if the codec
// has no levels or does not exist.
func Levels(name string) (least, most, usual int, ok bool) {
	for _, c := range written {
		if c.name == name {
			return c.least, c.most, c.usual, c.most > 0
		}
	}
	return 0, 0, 0, false
}

// setFilters sets the filter pipeline: shuffle or bitshuffle, the codec, fletcher32.
func setFilters(o *h5.DatasetOptions, c *ndarray.Compression, d ndarray.DType) error {
	i := slices.IndexFunc(written, func(w codec) bool { return w.name == c.Codec })
	if i < 0 {
		return fmt.Errorf("%w: codec %q in an HDF5 dataset", errors.ErrUnsupported, c.Codec)
	}
	w := written[i]
	chunk := chunkFacts{o.ChunkShape, d}
	switch {
	case w.most == 0 && c.Level != 0:
		return fmt.Errorf("%w: codec %s at level %d, it has no levels", ndarray.ErrParam, w.name, c.Level)
	case c.Level < w.least || c.Level > w.most:
		return fmt.Errorf("%w: %s level %d, want %d to %d", ndarray.ErrParam, w.name, c.Level, w.least, w.most)
	case d.Size == 0 && w.filter != nil && w.name != "deflate":
		return fmt.Errorf("%w: elements of variable size with %s", errors.ErrUnsupported, w.name)
	}
	if err := setPrepare(o, c, &w); err != nil || w.filter == nil || o.ChunkShape == nil {
		return err
	}
	if n := chunk.bytes(); w.limit > 0 && uint64(n) > w.limit {
		return fmt.Errorf("%w: chunks of %d bytes with %s, want at most %d", ndarray.ErrShape, n, w.name, w.limit)
	}
	f, err := w.filter(c.Level, c, chunk)
	if err != nil {
		return err
	}
	o.Filters = append(o.Filters, f)
	return nil
}

// setPrepare sets the filter before the codec, and the checksum after it.
func setPrepare(o *h5.DatasetOptions, c *ndarray.Compression, w *codec) error {
	prepare := ""
	for i, f := range c.Filters {
		switch f {
		case fletcher32Name:
			if i != len(c.Filters)-1 {
				return fmt.Errorf("%w: filters %q in an HDF5 dataset, %s must be the last", errors.ErrUnsupported, c.Filters, fletcher32Name)
			}
			o.Fletcher32 = true
		case shuffleName, bitshuffleName:
			if prepare != "" {
				return fmt.Errorf("%w: filters %q in an HDF5 dataset, want at most one shuffle", errors.ErrUnsupported, c.Filters)
			}
			prepare = f
		default:
			return fmt.Errorf("%w: filter %q in an HDF5 dataset", errors.ErrUnsupported, f)
		}
	}
	switch {
	case prepare == "" || w.prepares && !strings.HasPrefix(w.name, bitsPrefix): // Blosc shuffles itself
	case w.prepares:
		return fmt.Errorf("%w: filter %s before %s, which rearranges bits", errors.ErrUnsupported, prepare, w.name)
	case prepare == shuffleName:
		o.Shuffle = true
	default:
		o.Filters = append(o.Filters, h5.Filter{ID: filter.IDBitShuffle, Optional: true})
	}
	return nil
}

// szipPixels is the number of elements in a block of Szip, or fewer if a chunk is smaller.
const szipPixels = 16

// szip returns the filter Szip with nearest-neighbor coding. It returns an error for types and
// chunks that Szip cannot encode, because libhdf5 would skip the filter silently.
func szip(_ int, _ *ndarray.Compression, chunk chunkFacts) (h5.Filter, error) {
	d := chunk.dtype
	number := d.Kind == ndarray.Int || d.Kind == ndarray.Uint || d.Kind == ndarray.Float
	if !number || d.Size != 1 && d.Size != 2 && d.Size != 4 && d.Size != 8 {
		return h5.Filter{}, fmt.Errorf("%w: elements of type %v with szip, want numbers of 1, 2, 4 or 8 bytes", errors.ErrUnsupported, d)
	}
	n := min(chunk.bytes()/int64(d.Size), szipPixels)
	if n < 2 {
		return h5.Filter{}, fmt.Errorf("%w: chunks of one element with szip", errors.ErrUnsupported)
	}
	return h5.Szip(h5.SzipNearest, int(n-n%2)), nil
}

// Codecs of the filter bitshuffle (bshuf_h5filter.h, BSHUF_H5_COMPRESS_…), and the indexes of codec
// and level in its stored parameters.
const (
	bitsLZ4  = 2
	bitsZstd = 3

	bitsCodec = 4
	bitsLevel = 5
)

// bloscCodecs are the codecs of the filters Blosc and Blosc2, by number.
var bloscCodecs = map[uint32]string{0: "blosclz", 1: "lz4", 2: "lz4hc", 4: "zlib", 5: "zstd"}

// bloscShuffles are the shuffle filters that these filters can apply before the codec.
var bloscShuffles = map[uint32][]string{0: nil, 1: {shuffleName}, 2: {bitshuffleName}}

// Indexes in the parameters of both filters (blosc_filter.c and blosc2_filter.c of hdf5-blosc and
// hdf5-blosc2). Only Blosc2 has the chunk's rank and shape.
const (
	bloscLevel = 4 + iota
	bloscShuffle
	bloscCodec
	blosc2Rank
)

// bloscValues returns the parameters that both filters have. A checksum after them is a separate
// filter.
func bloscValues(number uint32, level int, c *ndarray.Compression, chunk chunkFacts) ([]uint32, error) {
	before := slices.DeleteFunc(slices.Clone(c.Filters), func(f string) bool { return f == fletcher32Name })
	for shuffle, names := range bloscShuffles {
		if slices.Equal(names, before) {
			return []uint32{0, 0, uint32(chunk.dtype.Size), uint32(chunk.bytes()), uint32(level), shuffle, number}, nil
		}
	}
	return nil, fmt.Errorf("%w: filters %q before %s in an HDF5 dataset", errors.ErrUnsupported, c.Filters, c.Codec)
}

// blosc1 returns the filter Blosc, which sets its parameters for element and chunk itself.
func blosc1(number uint32, level int, c *ndarray.Compression, chunk chunkFacts) (h5.Filter, error) {
	values, err := bloscValues(number, level, c, chunk)
	return h5.Filter{ID: filter.IDBlosc, Optional: true, Values: values}, err
}

// blosc2 returns the filter Blosc2, with the shape of a chunk so that its elements are stored in
// blocks.
func blosc2(number uint32, level int, c *ndarray.Compression, chunk chunkFacts) (h5.Filter, error) {
	if len(chunk.shape) > 16 {
		return h5.Filter{}, fmt.Errorf("%w: %d dimensions with %s, want at most 16", errors.ErrUnsupported, len(chunk.shape), c.Codec)
	}
	values, err := bloscValues(number, level, c, chunk)
	if err != nil {
		return h5.Filter{}, err
	}
	values[0] = 1
	values = append(values, uint32(len(chunk.shape)))
	for _, n := range chunk.shape {
		values = append(values, uint32(n))
	}
	return h5.Filter{ID: filter.IDBlosc2, Values: values}, nil
}

// bloscCompression converts the parameters of the filter Blosc or Blosc2. ok is false if they are
// incomplete or unknown.
func bloscCompression(prefix string, values []uint32) (c *ndarray.Compression, ok bool) {
	if len(values) <= bloscCodec {
		return nil, false
	}
	name, known := bloscCodecs[values[bloscCodec]]
	filters, knownFilter := bloscShuffles[values[bloscShuffle]]
	return &ndarray.Compression{Codec: prefix + name, Level: int(values[bloscLevel]), Filters: slices.Clone(filters)}, known && knownFilter && values[bloscLevel] <= 9
}

// blosc2Compression is bloscCompression for the filter Blosc2.
func blosc2Compression(values []uint32) (*ndarray.Compression, bool) {
	return bloscCompression(blosc2Prefix, values)
}

// codecs are the registered filters that compress, by number. Filters that only rearrange or check
// bytes are in preparers.
var codecs = map[int]string{
	h5.FilterDeflate: "deflate", h5.FilterSzip: "szip",
	filter.IDBZip2: "bzip2", filter.IDLZF: "lzf", filter.IDBlosc: "blosc", filter.IDLZ4: "lz4", 32013: "zfp", filter.IDZstd: "zstd", filter.IDBlosc2: "blosc2",
}

var preparers = map[int]string{
	h5.FilterShuffle: shuffleName, h5.FilterFletcher32: fletcher32Name, h5.FilterNbit: "nbit",
	h5.FilterScaleOffset: "scaleoffset", filter.IDBitShuffle: bitshuffleName,
}

// stepCodec returns the codec of one filter with its level, and the shuffle that the filter itself
// applies. ok is false if the filter does not compress.
func stepCodec(f h5.Filter) (c *ndarray.Compression, ok bool) {
	level := func(at int) int {
		if at < len(f.Values) {
			return int(int32(f.Values[at]))
		}
		return 0
	}
	switch f.ID {
	case filter.IDBitShuffle:
		switch level(bitsCodec) {
		case bitsLZ4:
			return &ndarray.Compression{Codec: bitsPrefix + "lz4"}, true
		case bitsZstd:
			return &ndarray.Compression{Codec: bitsPrefix + "zstd", Level: level(bitsLevel)}, true
		}
	case filter.IDBlosc:
		if c, ok := bloscCompression(bloscPrefix, f.Values); ok {
			return c, true
		}
	case filter.IDBlosc2:
		if c, ok := blosc2Compression(f.Values); ok {
			return c, true
		}
	}
	if _, ok := preparers[f.ID]; ok {
		return nil, false
	}
	c = &ndarray.Compression{Codec: codecs[f.ID]}
	if c.Codec == "" {
		c.Codec = fmt.Sprintf("filter %d", f.ID)
	}
	if f.ID == h5.FilterDeflate || f.ID == filter.IDZstd || f.ID == filter.IDBZip2 {
		c.Level = level(0)
	}
	return c, true
}

// compression converts the filters of a dataset.
func compression(all []h5.Filter) *ndarray.Compression {
	c := &ndarray.Compression{Codec: "none"}
	for _, f := range all {
		next, ok := stepCodec(f)
		if !ok {
			c.Filters = append(c.Filters, preparers[f.ID])
			continue
		}
		if c.Codec != "none" { // a second codec compresses the output of the first one
			c.Filters = append(c.Filters, c.Codec)
		}
		c.Codec, c.Level, c.Filters = next.Codec, next.Level, append(c.Filters, next.Filters...)
	}
	return c
}
