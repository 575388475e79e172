// Datasets that were just created: their properties are known without a call of libhdf5, which
// takes longer than the creation of a small dataset.

package hdf5

import (
	"slices"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/ndarray"
)

// The filters whose parameters libhdf5 does not need to describe an array.
const (
	deflateID = 1
	shuffleID = 2
)

// known reports whether a dataset that was created with these parameters need not be described by
// libhdf5.
func known(t h5.Datatype, o *h5.DatasetOptions, co *CreateOptions) bool {
	others := slices.ContainsFunc(o.Filters, func(f h5.Filter) bool { return f.ID != deflateID })
	return t.Plain() && !others && o.Deflate == nil && !o.Fletcher32 &&
		co.Committed == nil && co.Like == nil && co.Stripes == nil && co.Mappings == nil && co.External == nil
}

// createdBackend returns the backend of a dataset that was just created with known parameters.
func createdBackend(d *h5.Dataset, t h5.Datatype, spec ndarray.Spec, o *h5.DatasetOptions, location string) (*backend, error) {
	info := h5.DatasetInfo{Datatype: t, Space: space(spec), Address: h5.NoAddress, FillTime: h5.FillIfSet}
	info.Space.Dims, info.Space.MaxDims = slices.Clone(info.Space.Dims), slices.Clone(info.Space.MaxDims)
	if info.Layout = h5.Contiguous; o.ChunkShape != nil {
		info.Layout, info.ChunkShape = h5.Chunked, o.ChunkShape
	}
	if o.Shuffle {
		info.Filters = append(info.Filters, h5.Filter{ID: shuffleID, Values: []uint32{uint32(t.Size)}})
	}
	info.Filters = append(info.Filters, o.Filters...)
	if o.Fill != nil {
		info.FillKind, info.Fill = h5.FillValue, o.Fill
	}
	b, err := backendOf(d, &info, location)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(spec.AxisNames, func(name string) bool { return name != "" }) {
		b.meta.AxisNames = slices.Clone(spec.AxisNames)
	}
	b.meta.Comment = spec.Comment
	b.fresh.Store(true)
	return b, nil
}

// smallWrite is the size in bytes up to which libhdf5 alone does the first write of a whole new
// array. Workers would first describe the dataset and its chunks.
const smallWrite = 64 << 10

// atOnce reports whether libhdf5 writes a region: the first one, if it is small and the whole
// array.
func (b *backend) atOnce(r ndarray.Region, n int) bool {
	return b.fresh.Swap(false) && n <= smallWrite && slices.Equal(r.Shape, b.meta.Shape)
}
