// Chunks with filters that only libhdf5 has. libhdf5 decodes and encodes them in a dataset of one
// chunk, in a file in memory. It never opens the corrupt file.

package recovery

import (
	"errors"
	"fmt"
	"slices"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5check"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5copy"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5types"
)

// errOtherFilters is the error for filter parameters that libhdf5 does not create for such chunks.
// libhdf5 would decode the chunks with other parameters.
var errOtherFilters = fmt.Errorf("%w: parameters of a filter that the library does not make", errors.ErrUnsupported)

// sample is a dataset of one chunk in memory.
type sample struct {
	file *h5.File
	set  *h5.Dataset
	info h5.DatasetInfo
}

// newSample creates a dataset whose chunks have exactly these filters and parameters.
func newSample(t h5.Datatype, chunk []int64, filters []h5.Filter, fill []byte) (*sample, error) {
	p, err := createSample(t, chunk, filters, fill)
	if err == nil && !sameFilters(p.info.Filters, filters) {
		return nil, errors.Join(errOtherFilters, p.close())
	}
	return p, err
}

// createSample creates a dataset of one chunk with filters, whose parameters libhdf5 may change.
func createSample(t h5.Datatype, chunk []int64, filters []h5.Filter, fill []byte) (_ *sample, err error) {
	p := &sample{}
	if p.file, err = h5.CreateImage(&h5.CreateOptions{Low: h5.V18}); err != nil { // any type is valid in its headers
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close())
		}
	}()
	opts := &h5.DatasetOptions{ChunkShape: chunk, Filters: h5copy.Parameters(filters), Fill: fill, NoFill: fill == nil && withoutFill(filters)}
	if p.set, err = p.file.Root().CreateDataset("chunk", t, h5.SimpleSpace(chunk...), opts); err != nil {
		return nil, err
	}
	p.info, err = p.set.Info()
	return p, err
}

// sameFilters compares identifiers and the parameters that libhdf5 reads.
func sameFilters(a, b []h5.Filter) bool {
	return slices.EqualFunc(a, b, func(a, b h5.Filter) bool { return a.ID == b.ID && slices.Equal(readValues(a), readValues(b)) })
}

// readValues returns the parameters of a filter. Those that libhdf5 stores but does not read are 0:
// the sign of floats in scale-offset, and those after the fill value there.
func readValues(f h5.Filter) []uint32 {
	const class, size, sign = 3, 4, 5
	if f.ID != h5.FilterScaleOffset || len(f.Values) <= scaleOffsetFill {
		return f.Values
	}
	v := slices.Clone(f.Values)
	if v[class] == scaleOffsetFloat {
		v[sign] = 0
	}
	used := uint64(scaleOffsetFill + 1)
	if v[scaleOffsetFill] != 0 {
		used += (uint64(v[size]) + 3) / 4
	}
	clear(v[min(used, uint64(len(v))):])
	return v
}

// withoutFill reports whether the parameters of scale-offset contain no fill value, because the
// dataset has none.
func withoutFill(filters []h5.Filter) bool {
	return slices.ContainsFunc(filters, func(f h5.Filter) bool {
		return f.ID == h5.FilterScaleOffset && len(f.Values) > scaleOffsetFill && f.Values[scaleOffsetFill] == 0
	})
}

// Parameters of scale-offset: the class of floats, and the index of the flag of a fill value.
const (
	scaleOffsetFloat = 1
	scaleOffsetFill  = 7
)

// decode decodes a stored chunk into values. It first checks the length of the chunk for filters
// that libhdf5 runs without this check.
func (p *sample) decode(values, stored []byte, mask uint32) error {
	if err := h5check.LongEnough(p.info.Filters, mask, stored, p.info.Datatype.Size, len(values)); err != nil {
		return err
	}
	if err := p.set.WriteChunk(stored, mask, make([]int64, len(p.info.ChunkShape))...); err != nil {
		return err
	}
	return p.set.ReadRegion(values, p.info.Datatype, p.info.Space.All())
}

// encode returns the stored chunk of these values, and its filter mask.
func (p *sample) encode(values []byte) (stored []byte, mask uint32, err error) {
	if err := p.set.WriteRegion(values, p.info.Datatype, p.info.Space.All()); err != nil {
		return nil, 0, err
	}
	at := make([]int64, len(p.info.ChunkShape))
	size, err := p.set.ChunkBytes(at...)
	if err != nil {
		return nil, 0, err
	}
	stored = make([]byte, size)
	n, mask, err := p.set.ReadChunk(stored, at...)
	return stored[:n], mask, err
}

func (p *sample) close() (err error) {
	if p.set != nil {
		err = p.set.Close()
	}
	return errors.Join(err, p.file.Close())
}

// library caches the samples for the chunks of one object: one for each filter mask, because
// libhdf5 does not change the mask of a chunk that is written again with the same length.
type library struct {
	of      h5file.Addr
	samples map[uint32]*sample
}

// sample returns the sample for chunks of o with a filter mask. It fails if libhdf5 cannot create
// the dataset.
func (l *library) sample(o *h5file.Object, filters []h5.Filter, mask uint32) (*sample, error) {
	p := l.samples[mask]
	if p != nil && l.of == o.Addr && sameFilters(p.info.Filters, filters) {
		return p, nil
	}
	if p != nil || l.of != o.Addr {
		if err := l.close(); err != nil {
			return nil, err
		}
	}
	t, err := h5types.Datatype(o.Datatype())
	if err != nil {
		return nil, err
	}
	if p, err = newSample(t, chunkShape(o.Layout()), filters, fillOf(o, t)); err != nil {
		return nil, err
	}
	if l.samples == nil {
		l.samples = make(map[uint32]*sample)
	}
	l.of, l.samples[mask] = o.Addr, p
	return p, nil
}

func (l *library) close() error {
	var errs []error
	for _, p := range l.samples {
		errs = append(errs, p.close())
	}
	l.samples = nil
	return errors.Join(errs...)
}
