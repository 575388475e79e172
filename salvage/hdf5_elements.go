// Elements of a dataset: chunks as they are stored, where the new dataset takes them.

package salvage

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hyperslab/hyperslab/format/hdf5"
	"github.com/hyperslab/hyperslab/h5"
)

// slab is how many bytes of contiguous elements are copied at a time.
const slab = 8 << 20

// elements copies the elements of a dataset.
func (s *source) elements(ctx context.Context, at string, d *h5.Dataset, o *hdf5.Object) error {
	l, space := o.Layout(), dataspace(o.Dataspace())
	if space.NumElems() == 0 {
		return nil
	}
	if o.Datatype().VariableString() {
		return s.strings(at, d, o, space)
	}
	if l.Class == hdf5.Chunked {
		return s.chunks(ctx, at, d, o)
	}
	if l.Class == hdf5.Contiguous && !l.Addr.Defined() {
		return nil // never written
	}
	return s.contiguous(ctx, at, d, o, space)
}

// contiguous copies elements in one piece, as far as the file has them.
func (s *source) contiguous(ctx context.Context, at string, d *h5.Dataset, o *hdf5.Object, space h5.Dataspace) error {
	l := o.Layout()
	info, err := d.Info()
	if err != nil {
		return err
	}
	whole := space.All()
	rows, row := int64(1), int64(info.Datatype.Size)
	if len(space.Dims) > 0 {
		rows = space.Dims[0]
		for _, n := range space.Dims[1:] {
			row *= n
		}
	}
	step := max(slab/max(row, 1), 1)
	for i := int64(0); i < rows; i += step {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(step, rows-i)
		var b []byte
		if l.Class == hdf5.Compact {
			b = l.Data[min(i*row, int64(len(l.Data))):min((i+n)*row, int64(len(l.Data)))]
		} else {
			first := int64(l.Addr) + i*row
			b, err = s.file.Read(hdf5.Addr(first), min(n*row, max(s.size-first-s.file.UserBlock(), 0)))
		}
		if there := int64(len(b)) / row; there < n {
			s.r.Lost++
			s.r.note(Lost, at, "elements", -1, "rows %d to %d of %d are not in the file: %v", i+there, rows, rows, err)
			s.damaged = true
			n, rows = there, 0 // the last slab
		}
		if n == 0 {
			break
		}
		part := h5.Region{Start: slices.Clone(whole.Start), Count: slices.Clone(whole.Count)}
		if len(space.Dims) > 0 {
			part.Start[0], part.Count[0] = i, n
		}
		if err := d.WriteRegion(b[:n*row], info.Datatype, part); err != nil {
			return err
		}
		s.count()
	}
	return nil
}

// count counts a chunk, or a piece of contiguous elements, that is in the new file.
func (s *source) count() {
	s.r.Chunks++
	if s.guessed {
		s.r.Guessed++
	} else {
		s.r.Certain++
	}
}

// chunks copies the chunks that decode.
func (s *source) chunks(ctx context.Context, at string, d *h5.Dataset, o *hdf5.Object) error {
	info, err := d.Info()
	if err != nil {
		return err
	}
	dims := o.Dataspace().Dims
	same := slices.EqualFunc(info.Filters, filters(o.Pipeline()), func(a, b h5.Filter) bool {
		return a.ID == b.ID && slices.Equal(a.Values, b.Values)
	})
	i := int64(-1)
	for c, err := range o.Chunks() {
		i++
		if err == nil && slices.ContainsFunc(c.Offset, func(x uint64) bool { return x > 1<<62 }) {
			err = errors.New("an offset beyond any dataset")
		}
		if err != nil {
			s.damaged = true
			s.r.Lost++
			s.r.note(Lost, at, "index of chunks", -1, "%v", err)
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		lost := func(err error) {
			s.r.Lost++
			s.r.add(Finding{Lost, at, "chunk", i, int64(c.Addr) + s.file.UserBlock(), err.Error()})
		}
		offset := make([]int64, len(c.Offset))
		outside := len(offset) != len(dims)
		for k, x := range c.Offset {
			offset[k] = int64(x)
			outside = outside || x >= dims[k]
		}
		if outside {
			continue // left over from a larger dataset
		}
		raw, values, err := s.chunk(o, c)
		switch {
		case errors.Is(err, h5.ErrNoFilter) && same:
			// Only the library could decode it: nothing proves that it is whole.
			if err := d.WriteChunk(raw, c.Mask, offset...); noRoom(err) {
				return err
			} else if err != nil {
				lost(err)
				continue
			}
			s.r.Chunks++
			s.r.Guessed++
			continue
		case err != nil:
			lost(err)
			continue
		case same:
			err = d.WriteChunk(raw, c.Mask, offset...)
		default:
			err = s.writeValues(d, info, offset, values)
		}
		if err != nil {
			return err
		}
		s.count()
	}
	return nil
}

// writeValues writes a decoded chunk, of which only what is inside the dataset counts.
func (s *source) writeValues(d *h5.Dataset, info h5.DatasetInfo, offset []int64, values []byte) error {
	part := h5.Region{Start: offset}
	for k, n := range info.Chunks {
		part.Count = append(part.Count, min(n, info.Space.Dims[k]-offset[k]))
	}
	if slices.Equal(part.Count, info.Chunks) {
		return d.WriteRegion(values, info.Datatype, part)
	}
	return d.WriteRegion(inside(values, info.Chunks, part.Count, int64(info.Datatype.Size)), info.Datatype, part)
}

// inside is the first count elements along each axis of a chunk.
func inside(values []byte, chunk, count []int64, item int64) []byte {
	if len(chunk) == 1 {
		return values[:count[0]*item]
	}
	row := item
	for _, n := range chunk[1:] {
		row *= n
	}
	var out []byte
	for i := range count[0] {
		out = append(out, inside(values[i*row:][:row], chunk[1:], count[1:], item)...)
	}
	return out
}

// strings copies texts of variable length, which stand in heaps.
func (s *source) strings(at string, d *h5.Dataset, o *hdf5.Object, space h5.Dataspace) error {
	l, t := o.Layout(), o.Datatype()
	write := func(b []byte, part h5.Region, chunk []int64) {
		n := int64(1)
		for _, c := range part.Count {
			n *= c
		}
		if chunk != nil && !slices.Equal(part.Count, chunk) {
			b = inside(b, chunk, part.Count, int64(t.Size))
		}
		list, err := s.texts(t, b, n)
		if err == nil {
			err = d.WriteStrings(list, part)
		}
		if noRoom(err) && s.full == nil {
			s.full = err
		}
		if err != nil {
			s.damaged = true
			s.r.Lost++
			s.r.note(Lost, at, fmt.Sprintf("texts from %v", part.Start), -1, "%v", err)
			return
		}
		s.count()
	}
	switch {
	case l.Class == hdf5.Compact:
		write(l.Data, space.All(), nil)
	case l.Class == hdf5.Contiguous && l.Addr.Defined():
		n := space.NumElems() * int64(t.Size)
		if n > s.most {
			return fmt.Errorf("%w: %d bytes of references to texts", errors.ErrUnsupported, n)
		}
		b, err := s.file.Read(l.Addr, n)
		if err != nil {
			s.lost(at, "texts", err)
			return nil
		}
		write(b, space.All(), nil)
	case l.Class == hdf5.Chunked:
		var shape []int64
		for _, n := range l.Dims[:len(l.Dims)-1] {
			shape = append(shape, int64(n))
		}
		for c, err := range o.Chunks() {
			var values []byte
			if err == nil {
				_, values, err = s.chunk(o, c)
			}
			if err != nil {
				s.damaged = true
				s.r.Lost++
				s.r.note(Lost, at, "chunk of texts", -1, "%v", err)
				continue
			}
			part := h5.Region{}
			for k, x := range c.Offset {
				part.Start = append(part.Start, int64(x))
				part.Count = append(part.Count, min(shape[k], space.Dims[k]-int64(x)))
			}
			if slices.ContainsFunc(part.Count, func(n int64) bool { return n < 1 }) {
				continue // left over from a larger dataset
			}
			write(values, part, shape)
		}
	}
	return nil
}
