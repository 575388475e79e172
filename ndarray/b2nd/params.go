// Conversion of compression, element types and errors between ndarray and C-Blosc2.

package b2nd

import (
	"errors"
	"fmt"
	"math"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
	"github.com/hyperslab/hyperslab/ndarray"
)

// DefaultCompression returns the compression that Create uses if the Spec contains no Compression.
func DefaultCompression() *ndarray.Compression {
	return &ndarray.Compression{Codec: "zstd", Level: 5, Filters: []string{"shuffle"}}
}

// filters are the filters without parameters, which a Spec can contain.
var filters = map[string]cblosc.FilterID{
	cblosc.Shuffle.String():    cblosc.Shuffle,
	cblosc.BitShuffle.String(): cblosc.BitShuffle,
	cblosc.Delta.String():      cblosc.Delta,
}

// cparams returns C-Blosc2's parameters. They use one thread, because chunks are compressed in
// parallel and the output must be the same on every run.
func cparams(c *ndarray.Compression, size int) (*cblosc.CParams, error) {
	if c == nil {
		c = DefaultCompression()
	}
	p := cblosc.DefaultCParams()
	p.TypeSize, p.Level, p.Filters = size, c.Level, [cblosc.MaxFilters]cblosc.Filter{}
	if c.Codec == "none" {
		if c.Level != 0 {
			return nil, fmt.Errorf("%w: codec none at level %d", ndarray.ErrParam, c.Level)
		}
	} else {
		codec, err := cblosc.ParseCodec(c.Codec)
		if err != nil {
			return nil, fmt.Errorf("%w: codec %q in a b2nd array", errors.ErrUnsupported, c.Codec)
		}
		p.Codec = codec
	}
	c = withoutChecksum(c)
	if len(c.Filters) > cblosc.MaxFilters {
		return nil, fmt.Errorf("%w: %d filters, at most %d", ndarray.ErrParam, len(c.Filters), cblosc.MaxFilters)
	}
	for i, name := range c.Filters {
		id, ok := filters[name]
		if !ok {
			return nil, fmt.Errorf("%w: filter %q in a b2nd array", errors.ErrUnsupported, name)
		}
		p.Filters[cblosc.MaxFilters-len(c.Filters)+i].ID = id // the last slot runs last
	}
	if err := p.Validate(); err != nil {
		return nil, errs.Mark(err, ndarray.ErrParam)
	}
	return p, nil
}

// compression is the inverse of cparams.
func compression(p *cblosc.CParams) *ndarray.Compression {
	c := &ndarray.Compression{Codec: p.Codec.String(), Level: p.Level}
	if p.Level == 0 {
		c.Codec = "none"
	}
	for _, f := range p.Filters {
		if f.ID != cblosc.NoFilter {
			c.Filters = append(c.Filters, f.ID.String())
		}
	}
	return c
}

// checkPipeline returns errors.ErrUnsupported for the first codec or filter that is not available.
func checkPipeline(p *cblosc.CParams) error {
	missing := func(what string, id fmt.Stringer, number uint8) error {
		return fmt.Errorf("%w: %s of the chunks: got %s (%d), want one that is available without plug-in and checks its input", errors.ErrUnsupported, what, id, number)
	}
	if c := chunk.Codec(p.Codec); !c.Safe() {
		return missing("codec", c, uint8(c))
	}
	for _, f := range p.Filters {
		if id := chunk.Filter(f.ID); !id.Safe() {
			return missing("filter", id, uint8(id))
		}
	}
	return nil
}

// stored is the description of the elements of an open array.
type stored interface {
	DType() string // "" for Caterva
	ItemSize() int // bytes
	Shape() []int64
	ChunkShape() []int32
	Blocks() []int32
}

// dtypeOf returns the element type of an open array: that of the options, the recorded one, or the
// stored string. Without any of them, in a Caterva array, elements are opaque.
func dtypeOf(a stored, o *OpenOptions, r *record) (ndarray.DType, error) {
	opaque := ndarray.DType{Kind: ndarray.Void, Size: a.ItemSize(), Order: ndarray.NoOrder}
	var d ndarray.DType
	switch {
	case o.DType != nil:
		d = *o.DType
		if err := d.Validate(); err != nil {
			return d, err
		}
	case a.DType() == "":
		return opaque, nil
	default:
		var err error
		d, err = ndarray.ParseDType(a.DType())
		if err == nil && (d.Size == 0 || !d.NumPy().Equal(d)) { // ndarray's own notation
			err = fmt.Errorf("%w: %q is not a NumPy type string", ndarray.ErrType, a.DType())
		}
		if err != nil {
			if o.AnyType {
				return opaque, nil
			}
			return d, err
		}
		if r.dtype != nil && r.dtype.NumPy().Equal(d) {
			d = *r.dtype
		}
	}
	if d.Size != a.ItemSize() {
		sentinel := ndarray.ErrCorrupt
		if o.DType != nil {
			sentinel = ndarray.ErrType
		}
		return d, fmt.Errorf("%w: element type %v of %d bytes, elements of %d", sentinel, d, d.Size, a.ItemSize())
	}
	return d, nil
}

// int32s converts a chunk or block shape for the library.
func int32s(what string, shape []int64) ([]int32, error) {
	out := make([]int32, len(shape))
	for i, n := range shape {
		if n > math.MaxInt32 {
			return nil, fmt.Errorf("%w: %s %v: axis %d is longer than %d", ndarray.ErrShape, what, shape, i, math.MaxInt32)
		}
		out[i] = int32(n)
	}
	return out, nil
}

func int64s(shape []int32) []int64 {
	if len(shape) == 0 {
		return nil
	}
	out := make([]int64, len(shape))
	for i, n := range shape {
		out[i] = int64(n)
	}
	return out
}

// notFrame marks the error of a file that is not a Blosc2 frame with ErrFormat.
func notFrame(err error) error {
	if errors.Is(err, format.ErrMagic) {
		return errs.Mark(err, ndarray.ErrFormat)
	}
	return err
}

// openArray opens an array with C-Blosc2.
func openArray(path string, o cblosc.OpenOptions) (*cblosc.Array, error) {
	a, err := cblosc.OpenArrayWith(path, o)
	return a, notFrame(err)
}
