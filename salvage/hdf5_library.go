// Chunks with filters that only the library has: it decodes and makes them in a file in
// memory, in a dataset of one chunk, and leaves the damaged file alone.

package salvage

import (
	"errors"
	"fmt"
	"slices"

	"github.com/hyperslab/hyperslab/format/hdf5"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/filter"
)

// errOtherFilters is of parameters that the library does not make for such chunks, so that
// it would decode them by others.
var errOtherFilters = fmt.Errorf("%w: parameters of a filter that the library does not make", errors.ErrUnsupported)

// sample is a dataset of one chunk in memory.
type sample struct {
	file *h5.File
	set  *h5.Dataset
	info h5.DatasetInfo
}

// newSample makes a dataset whose chunks have these filters, with the parameters they have.
func newSample(t h5.Datatype, chunk []int64, filters []h5.Filter, fill []byte) (_ *sample, err error) {
	p := &sample{}
	if p.file, err = h5.CreateImage(nil); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close())
		}
	}()
	opts := &h5.DatasetOptions{Chunks: chunk, Filters: asked(filters), Fill: fill}
	if p.set, err = p.file.Root().CreateDataset("chunk", t, h5.SimpleSpace(chunk...), opts); err != nil {
		return nil, err
	}
	if p.info, err = p.set.Info(); err != nil {
		return nil, err
	}
	if !sameFilters(p.info.Filters, filters) {
		return nil, errOtherFilters
	}
	return p, nil
}

// sameFilters compares their numbers and parameters.
func sameFilters(a, b []h5.Filter) bool {
	return slices.EqualFunc(a, b, func(a, b h5.Filter) bool { return a.ID == b.ID && slices.Equal(a.Values, b.Values) })
}

// decode fills values with what a stored chunk is made from. What the library reads
// without a look at its length is looked at before.
func (p *sample) decode(values, stored []byte, mask uint32) error {
	if err := filter.LongEnough(p.info.Filters, mask, stored, p.info.Datatype.Size, len(values)); err != nil {
		return err
	}
	if err := p.set.WriteChunk(stored, mask, make([]int64, len(p.info.Chunks))...); err != nil {
		return err
	}
	return p.set.ReadRegion(values, p.info.Datatype, p.info.Space.All())
}

// encode is a chunk of these values, and its mask.
func (p *sample) encode(values []byte) (stored []byte, mask uint32, err error) {
	if err := p.set.WriteRegion(values, p.info.Datatype, p.info.Space.All()); err != nil {
		return nil, 0, err
	}
	at := make([]int64, len(p.info.Chunks))
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

// library is a sample for the chunks of an object.
type library struct {
	of hdf5.Addr
	p  *sample
}

// sample is the one for chunks of o. One that the library does not make is an error.
func (l *library) sample(o *hdf5.Object, filters []h5.Filter) (*sample, error) {
	if l.p != nil && l.of == o.Addr {
		return l.p, nil
	}
	if err := l.close(); err != nil {
		return nil, err
	}
	t, err := datatype(o.Datatype())
	if err != nil {
		return nil, err
	}
	chunk := make([]int64, len(o.Layout().Dims)-1)
	for i := range chunk {
		chunk[i] = int64(o.Layout().Dims[i])
	}
	if l.p, err = newSample(t, chunk, filters, fillOf(o, t)); err != nil {
		l.p = nil
		return nil, err
	}
	l.of = o.Addr
	return l.p, nil
}

func (l *library) close() error {
	p := l.p
	if l.p = nil; p == nil {
		return nil
	}
	return p.close()
}
