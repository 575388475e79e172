// Conversion of chunks, fill value and shape between ndarray and HDF5. codec.go converts the
// filters.

package hdf5

import (
	"errors"
	"fmt"
	"slices"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/internal/hdf5/dimscale"
	"github.com/hyperslab/hyperslab/ndarray"
)

// DefaultCompression returns the compression that Create uses if the Spec contains no Compression.
func DefaultCompression() *ndarray.Compression {
	return &ndarray.Compression{Codec: "deflate", Level: 4, Filters: []string{"shuffle"}}
}

// textSize is the size in bytes of a string or sequence in a chunk: its length and its location in
// the global heap.
const textSize = 16

// growing is the length assumed for an empty dimension that may grow when chunks are chosen.
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
	s.MaxDims = spec.MaxShape // -1 means unlimited in both packages
	return s
}

// chunks returns the chunk shape of spec, clipped to the maximum shape. It returns nil if the
// dataset cannot be chunked or need not be.
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
		if spec.DType.Size == 0 {
			size = textSize
		}
		c = grid.AutoChunk(shape, size)
	}
	for i := range c {
		if most[i] != ndarray.Unlimited {
			c[i] = min(c[i], most[i])
		}
	}
	return c
}

// options returns all properties except datatype and dataspace.
func options(spec ndarray.Spec) (*h5.DatasetOptions, error) {
	o := &h5.DatasetOptions{ChunkShape: chunks(spec)}
	c := spec.Compression
	if c == nil {
		c = DefaultCompression()
	}
	if err := setFilters(o, c, spec.DType); err != nil {
		return nil, err
	}
	if o.ChunkShape == nil {
		o.Shuffle, o.Deflate, o.Fletcher32, o.Filters = false, nil, false, nil
	}
	if spec.Fill != nil {
		t, err := datatypeOf(spec.DType)
		if err != nil {
			return nil, err
		}
		v, err := new(values).storeAll(spec.DType, t, spec.Fill, nil)
		if err != nil {
			return nil, fmt.Errorf("fill value: %w", err)
		}
		o.Fill = v.Block[:t.Size]
	}
	return o, nil
}

// Description is the result of Describe.
type Description struct {
	Meta    ndarray.Meta    // DType is the zero value if ndarray has no such element type
	Storage ndarray.Storage // stored size of the elements; StoredBytes is -1 with DescribeOptions.NoSize
	Type    string          // element type in DDL
}

// DescribeOptions are the options of Describe. Nil means the zero value.
type DescribeOptions struct {
	NoNames bool // leave out Meta.AxisNames, which a dataset without attributes does not have
	NoSize  bool // do not measure the stored size, for which libhdf5 reads the whole chunk index
}

// Describe returns the properties of a dataset. path becomes Meta.Path.
//
// If ndarray does not have the element type, the description is complete except for DType and Fill,
// and the error is both errors.ErrUnsupported and ndarray.ErrType.
func Describe(d *h5.Dataset, path string, o *DescribeOptions) (Description, error) {
	if o == nil {
		o = &DescribeOptions{}
	}
	info, err := d.Info()
	if err != nil {
		return Description{}, ndarray.Wrap("describe", path, err)
	}
	m, s, err := describe(&info, path)
	if s.StoredBytes = -1; !o.NoSize {
		bytes, _, serr := d.Stored()
		s.StoredBytes, err = bytes, errors.Join(err, serr)
	}
	if err == nil && !o.NoNames {
		m.AxisNames, err = dimscale.Names(d, len(m.Shape))
	}
	comment, cerr := d.Comment()
	m.Comment, err = comment, errors.Join(err, cerr)
	return Description{Meta: m, Storage: s, Type: info.Datatype.String()}, ndarray.Wrap("describe", path, err)
}

// describe returns the properties in info. The stored size is not set.
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
	var s ndarray.Storage
	if info.Layout == h5.Chunked {
		m.ChunkShape = info.ChunkShape
		g, err := grid.New(m.Shape, m.ChunkShape)
		if err != nil {
			return m, s, err
		}
		s.NumChunks = g.NumChunks()
	}
	var err error
	if m.DType, err = toDType(info.Datatype); err != nil {
		return m, s, err
	}
	if info.FillKind == h5.FillValue && m.DType.Size > 0 && len(info.Fill) == info.Datatype.Size {
		if m.Fill, _, err = new(values).loadAll(m.DType, h5.Values{Datatype: info.Datatype, N: 1, Block: info.Unwritten()}); err != nil {
			return m, s, fmt.Errorf("fill value: %w", err)
		}
	}
	return m, s, nil
}
