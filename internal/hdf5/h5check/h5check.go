// Check, the policy for the metadata of an HDF5 file.

package h5check

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/hyperslab/hyperslab/h5/filter"
	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5types"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Options are the limits and the features that a file may use.
type Options struct {
	Metadata, Array, Chunk int64 // bytes: one metadata structure, all elements of an array, a decoded chunk

	Filters   []int // filters in addition to those of package h5/filter
	AnyFilter bool  // all filters, for a file whose chunks libhdf5 does not decode

	// The file may refer to other files by links, virtual datasets and external storage.
	ExternalLinks, VirtualSources, ExternalFiles bool
	UserLinks                                    bool // the file may contain user-defined links

	// Direct is set if libhdf5 runs in the program's own process. N-bit and scale-offset are then
	// refused unless Filters contains them, because libhdf5's decoders of these filters read out of
	// bounds if a chunk is corrupt.
	Direct bool
}

// Check checks all metadata of the file of size bytes in r. It returns the errors of package
// h5file, and ndarray.ErrParam for an invalid filter number.
func Check(r io.ReaderAt, size int64, o Options) error {
	limits := h5file.DefaultLimits()
	limits.Structure = o.Metadata
	f, err := h5file.Open(r, size, &limits)
	if err != nil {
		return err
	}
	p, err := Policy(context.Background(), f, o)
	if err != nil {
		return err
	}
	return f.Check(p)
}

// Policy returns the policy of a file. The caller may extend it. It returns ndarray.ErrParam for an
// invalid filter number, and the context's error.
func Policy(ctx context.Context, f *h5file.File, o Options) (h5file.Policy, error) {
	p := h5file.Policy{
		ExternalLinks: o.ExternalLinks, UserLinks: o.UserLinks, ExternalFiles: o.ExternalFiles, VirtualSources: o.VirtualSources,
		MaxBytes: uint64(o.Array), MaxChunk: uint64(o.Chunk), Decode: decodeChunk,
	}
	if o.Direct {
		p.Refused = []h5file.FilterID{h5file.NBit, h5file.ScaleOffset}
	}
	if o.AnyFilter {
		var err error
		p.Filters, err = filtersIn(ctx, f)
		return p, err
	}
	for _, ids := range [][]int{filter.Numbers(), o.Filters} {
		for _, id := range ids {
			if id < 0 || id > math.MaxUint16 {
				return p, fmt.Errorf("%w: HDF5 filter %d", ndarray.ErrParam, id)
			}
			p.Filters = append(p.Filters, h5file.FilterID(id))
		}
	}
	return p, nil
}

// filtersIn returns the filters of all datasets that can be reached.
func filtersIn(ctx context.Context, f *h5file.File) (list []h5file.FilterID, err error) {
	for e := range f.Walk() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if e.Object == nil || e.Object.Pipeline() == nil {
			continue
		}
		for _, x := range e.Object.Pipeline().Filters {
			list = append(list, x.ID)
		}
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

// decodeChunk reverses the filters of a chunk of size bytes whose elements refer to heaps that the
// check reads.
func decodeChunk(l *h5file.Pipeline, mask uint32, b []byte, size uint64) ([]byte, error) {
	p, err := filter.New(h5types.Filters(l), filter.Options{})
	if err != nil {
		return nil, err
	}
	dst := make([]byte, size)
	if err := p.Decode(dst, b, mask); err != nil {
		return nil, errs.Mark(err, ndarray.ErrCorrupt)
	}
	return dst, nil
}
