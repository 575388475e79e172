// How a dataset is stored: chunks, filters, fill value, shape, in ndarray's words
// and in HDF5's.

package hdf5

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/filter"
	"github.com/hyperslab/hyperslab/ndarray"
)

// DefaultCompression is what Create uses where the Spec names none.
func DefaultCompression() *ndarray.Compression {
	return &ndarray.Compression{Codec: "deflate", Level: 4, Filters: []string{"shuffle"}}
}

// textSize is what a text of variable length takes in a chunk, in bytes: length,
// and place in the global heap.
const textSize = 16

// growing is the length that an empty axis which may grow counts as when chunks
// are chosen.
const growing = 1024

// space returns the dataspace of spec.
func space(spec ndarray.Spec) h5.Dataspace {
	switch {
	case spec.Null:
		return h5.NullSpace()
	case len(spec.Shape) == 0:
		return h5.ScalarSpace()
	}
	s := h5.SimpleSpace(spec.Shape...)
	s.MaxDims = spec.MaxShape // Unlimited is -1 on both sides
	return s
}

// chunks returns the chunk shape of spec, clipped to what the axes may grow to;
// nil if the dataset cannot have chunks or needs none.
func chunks(spec ndarray.Spec) []int64 {
	if spec.Null || len(spec.Shape) == 0 {
		return nil
	}
	most := spec.MaxShape
	if most == nil {
		most = spec.Shape
	}
	if slices.Contains(most, 0) {
		return nil
	}
	c := slices.Clone(spec.ChunkShape)
	if c == nil {
		if spec.MaxShape == nil && spec.Compression != nil && spec.Compression.Codec == "none" && len(spec.Compression.Filters) == 0 {
			return nil
		}
		shape := slices.Clone(spec.Shape)
		for i := range shape {
			if shape[i] == 0 {
				shape[i] = growing
			}
		}
		size := spec.DType.Size
		if spec.DType.Kind == ndarray.String {
			size = textSize
		}
		c = ndarray.AutoChunks(shape, size)
	}
	for i := range c {
		if most[i] != ndarray.Unlimited {
			c[i] = min(c[i], most[i])
		}
	}
	return c
}

// options returns everything but type and space.
func options(spec ndarray.Spec) (*h5.DatasetOptions, error) {
	o := &h5.DatasetOptions{Chunks: chunks(spec)}
	c := spec.Compression
	if c == nil {
		c = DefaultCompression()
	}
	setFilters := filters
	if strings.HasPrefix(c.Codec, blosc2Prefix) {
		setFilters = func(o *h5.DatasetOptions, c *ndarray.Compression) error { return blosc2(o, c, spec.DType) }
	}
	if err := setFilters(o, c); err != nil {
		return nil, err
	}
	if o.Chunks == nil {
		o.Shuffle, o.Deflate, o.Fletcher32, o.Filters = false, nil, false, nil
	}
	if spec.Fill != nil {
		o.Fill = slices.Clone(spec.Fill)
		spec.DType.ToNative(o.Fill) // to the order of storage: swapping is its own inverse
	}
	return o, nil
}

// filters sets the pipeline: shuffle, deflate, fletcher32 always stand in this
// order.
func filters(o *h5.DatasetOptions, c *ndarray.Compression) error {
	for _, f := range c.Filters {
		switch f {
		case "shuffle":
			o.Shuffle = true
		case "fletcher32":
			o.Fletcher32 = true
		default:
			return fmt.Errorf("%w: filter %q in an HDF5 dataset", errors.ErrUnsupported, f)
		}
	}
	switch c.Codec {
	case "none":
		if c.Level != 0 {
			return fmt.Errorf("%w: codec none at level %d", ndarray.ErrParam, c.Level)
		}
	case "deflate":
		if c.Level < 0 || c.Level > 9 {
			return fmt.Errorf("%w: deflate level %d, 0 to 9 can be", ndarray.ErrParam, c.Level)
		}
		level := c.Level
		o.Deflate = &level
	default:
		return fmt.Errorf("%w: codec %q in an HDF5 dataset", errors.ErrUnsupported, c.Codec)
	}
	return nil
}

// blosc2Prefix stands before the name of a codec in the filter Blosc2: "blosc2/zstd".
const blosc2Prefix = "blosc2/"

// blosc2Codecs are the codecs of the filter Blosc2, by number.
var blosc2Codecs = map[uint32]string{0: "blosclz", 1: "lz4", 2: "lz4hc", 4: "zlib", 5: "zstd"}

// blosc2Filters are what the filter Blosc2 can have before the codec.
var blosc2Filters = map[uint32][]string{0: nil, 1: {"shuffle"}, 2: {"bitshuffle"}}

// Places in the parameters of the filter Blosc2 (hdf5-blosc2, blosc2_filter.c).
const (
	blosc2Level = 4 + iota
	blosc2Shuffle
	blosc2Codec
	blosc2Rank
)

// blosc2 sets the filter Blosc2, with the shape of a chunk so that its elements lie in
// blocks.
func blosc2(o *h5.DatasetOptions, c *ndarray.Compression, d ndarray.DType) error {
	values := []uint32{1, 0, uint32(d.Size), 0, uint32(c.Level), 0, 0, uint32(len(o.Chunks))}
	known := false
	for number, name := range blosc2Codecs {
		if blosc2Prefix+name == c.Codec {
			values[blosc2Codec], known = number, true
		}
	}
	if !known {
		return fmt.Errorf("%w: codec %q in an HDF5 dataset", errors.ErrUnsupported, c.Codec)
	}
	known = false
	for number, names := range blosc2Filters {
		if slices.Equal(names, c.Filters) {
			values[blosc2Shuffle], known = number, true
		}
	}
	switch {
	case !known:
		return fmt.Errorf("%w: filters %q before %s in an HDF5 dataset", errors.ErrUnsupported, c.Filters, c.Codec)
	case c.Level < 0 || c.Level > 9:
		return fmt.Errorf("%w: %s level %d, 0 to 9 can be", ndarray.ErrParam, c.Codec, c.Level)
	case d.Kind == ndarray.String:
		return fmt.Errorf("%w: texts of variable length behind %s", errors.ErrUnsupported, c.Codec)
	}
	bytes := int64(d.Size)
	for _, n := range o.Chunks {
		values = append(values, uint32(n))
		bytes *= n
	}
	if len(o.Chunks) > 16 {
		return fmt.Errorf("%w: %d axes behind %s, at most 16", errors.ErrUnsupported, len(o.Chunks), c.Codec)
	}
	if bytes > math.MaxInt32 {
		return fmt.Errorf("%w: chunks of %d bytes behind %s, at most 2 GiB", ndarray.ErrShape, bytes, c.Codec)
	}
	values[3] = uint32(bytes)
	o.Filters = []h5.Filter{{ID: filter.Blosc2, Values: values}}
	return nil
}

// blosc2Compression is what the parameters of the filter Blosc2 say; ok is false if
// they do not say it all.
func blosc2Compression(values []uint32) (c *ndarray.Compression, ok bool) {
	if len(values) <= blosc2Codec {
		return nil, false
	}
	codec, known := blosc2Codecs[values[blosc2Codec]]
	filters, knownFilter := blosc2Filters[values[blosc2Shuffle]]
	return &ndarray.Compression{Codec: blosc2Prefix + codec, Level: int(values[blosc2Level]), Filters: slices.Clone(filters)}, known && knownFilter && values[blosc2Level] <= 9
}

// codecs are registered filters that compress, by number; filters that only
// rearrange or check are in preparers.
var codecs = map[int]string{
	h5.FilterDeflate: "deflate", h5.FilterSzip: "szip",
	307: "bzip2", 32000: "lzf", 32001: "blosc", 32004: "lz4", 32013: "zfp", 32015: "zstd", 32026: "blosc2",
}

var preparers = map[int]string{
	h5.FilterShuffle: "shuffle", h5.FilterFletcher32: "fletcher32", h5.FilterNbit: "nbit",
	h5.FilterScaleOffset: "scaleoffset", 32008: "bitshuffle",
}

// compression names the filters of a dataset.
func compression(all []h5.Filter) *ndarray.Compression {
	if len(all) == 1 && all[0].ID == filter.Blosc2 {
		if c, ok := blosc2Compression(all[0].Values); ok {
			return c
		}
	}
	c := &ndarray.Compression{Codec: "none"}
	for _, f := range all {
		if name, ok := preparers[f.ID]; ok {
			c.Filters = append(c.Filters, name)
			continue
		}
		name, ok := codecs[f.ID]
		if !ok {
			name = fmt.Sprintf("filter %d", f.ID)
		}
		if c.Codec != "none" { // a second codec works on what the first one made
			c.Filters = append(c.Filters, c.Codec)
		}
		c.Codec, c.Level = name, 0
		if (name == "deflate" || name == "zstd") && len(f.Values) > 0 {
			c.Level = int(f.Values[0])
		}
	}
	return c
}

// Description is what is known of a dataset from outside.
type Description struct {
	Meta    ndarray.Meta    // DType is the zero value if ndarray has no such element type
	Storage ndarray.Storage // what the elements take
	Type    string          // element type in h5dump's words
}

// Describe says what a dataset is; path is what Meta.Path shall be.
//
// If the element type is one that ndarray does not have the description is
// complete but for DType and Fill, and the error is errors.ErrUnsupported and
// ndarray.ErrType.
func Describe(d *h5.Dataset, path string) (Description, error) {
	info, err := d.Info()
	if err != nil {
		return Description{}, ndarray.Wrap("describe", path, Translate(err))
	}
	m, s, err := describe(&info, path)
	if err == nil {
		m.AxisNames, err = axisNames(d, len(m.Shape))
		err = Translate(err)
	}
	return Description{Meta: m, Storage: s, Type: info.Datatype.String()}, ndarray.Wrap("describe", path, err)
}

func describe(info *h5.DatasetInfo, path string) (ndarray.Meta, ndarray.Storage, error) {
	m := ndarray.Meta{Format: "hdf5", Path: path, Compression: compression(info.Filters)}
	switch info.Space.Kind {
	case h5.Null:
		m.Null = true
	case h5.Simple:
		m.Shape = info.Space.Dims
		if info.Space.MaxDims != nil && !slices.Equal(info.Space.MaxDims, info.Space.Dims) {
			m.MaxShape = info.Space.MaxDims
		}
	}
	s := ndarray.Storage{StoredBytes: info.StorageBytes}
	if info.Layout == h5.Chunked {
		m.ChunkShape = info.Chunks
		g, err := ndarray.NewGrid(m.Shape, m.ChunkShape)
		if err != nil {
			return m, s, err
		}
		s.NumChunks = g.NumChunks()
	}
	var err error
	if m.DType, err = toDType(info.Datatype); err != nil {
		return m, s, err
	}
	if info.FillKind == h5.FillValue && m.DType.Size > 0 && len(info.Fill) == m.DType.Size {
		m.Fill = slices.Clone(info.Fill)
		m.DType.ToNative(m.Fill)
	}
	return m, s, nil
}

// Translate marks an error of the library with what it means to ndarray.
func Translate(err error) error {
	for _, t := range []struct{ is, mark error }{
		{h5.ErrNotHDF5, ndarray.ErrFormat},
		{h5.ErrTruncated, ndarray.ErrCorrupt},
		{h5.ErrCorrupt, ndarray.ErrCorrupt},
		{h5.ErrNoFilter, errors.ErrUnsupported},
		{h5.ErrExists, ndarray.ErrExists},
		{h5.ErrNotFound, ndarray.ErrNotFound},
		{fs.ErrNotExist, ndarray.ErrNotFound},
		{h5.ErrReadOnly, ndarray.ErrReadOnly},
		{h5.ErrType, ndarray.ErrType},
		{h5.ErrParam, ndarray.ErrParam},
		{h5.ErrClosed, ndarray.ErrClosed},
	} {
		if errors.Is(err, t.is) {
			return ndarray.Mark(err, t.mark)
		}
	}
	return err
}
