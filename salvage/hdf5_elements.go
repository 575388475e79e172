// Elements of a dataset: chunks as they are stored, where the new dataset takes them.

package salvage

import (
	"context"
	"errors"
	"slices"

	"github.com/hyperslab/hyperslab/format/hdf5"
	"github.com/hyperslab/hyperslab/h5"
)

// slab is how many bytes of contiguous elements are copied at a time.
const slab = 8 << 20

// put writes n elements as stored, those of part, to the new dataset.
type put func(b []byte, n int64, part h5.Region) error

// elements copies the elements of a dataset.
func (s *source) elements(ctx context.Context, at string, d *h5.Dataset, o *hdf5.Object) error {
	l, space := o.Layout(), dataspace(o.Dataspace())
	if space.NumElems() == 0 || l.Class == hdf5.Virtual || o.ExternalFiles() != nil {
		return nil
	}
	t, err := datatype(o.Datatype())
	if err != nil {
		return err
	}
	to := put(func(b []byte, _ int64, part h5.Region) error {
		if err := d.WriteRegion(b, t, part); err != nil {
			return err
		}
		s.count()
		return nil
	})
	if !t.Plain() {
		to = s.pointing(at, d, t, o.Datatype())
	}
	if l.Class == hdf5.Chunked {
		return s.chunks(ctx, at, d, o, to, t.Plain())
	}
	if l.Class == hdf5.Contiguous && !l.Addr.Defined() {
		return nil // never written
	}
	return s.contiguous(ctx, at, o, space, to)
}

// contiguous copies elements in one piece, as far as the file has them.
func (s *source) contiguous(ctx context.Context, at string, o *hdf5.Object, space h5.Dataspace, to put) error {
	l := o.Layout()
	whole := space.All()
	rows, inRow := int64(1), int64(1)
	if len(space.Dims) > 0 {
		rows = space.Dims[0]
		for _, n := range space.Dims[1:] {
			inRow *= n
		}
	}
	row := inRow * int64(o.Datatype().Size)
	step := max(slab/max(row, 1), 1)
	for i := int64(0); i < rows; i += step {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(step, rows-i)
		var b []byte
		var err error
		if l.Class == hdf5.Compact {
			b = l.Data[min(i*row, int64(len(l.Data))):min((i+n)*row, int64(len(l.Data)))]
		} else {
			first := int64(l.Addr) + i*row
			b, err = s.file.Read(hdf5.Addr(first), min(n*row, max(s.size-first-s.file.UserBlock(), 0)))
		}
		s.seen.more(int64(len(b)))
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
		if err := to(b[:n*row], n*inRow, part); err != nil {
			return err
		}
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

// chunks copies the chunks that decode: as they are, where the new dataset takes them
// so.
func (s *source) chunks(ctx context.Context, at string, d *h5.Dataset, o *hdf5.Object, to put, plain bool) error {
	info, err := d.Info()
	if err != nil {
		return err
	}
	dims := o.Dataspace().Dims
	same := plain && len(dims) < h5.MaxRank && slices.EqualFunc(info.Filters, filters(o.Pipeline()), func(a, b h5.Filter) bool {
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
			if err = d.WriteChunk(raw, c.Mask, offset...); err == nil {
				s.count()
			}
		default:
			err = putChunk(info, offset, values, int64(o.Datatype().Size), to)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// putChunk writes a decoded chunk, of which only what is inside the dataset counts.
func putChunk(info h5.DatasetInfo, offset []int64, values []byte, item int64, to put) error {
	part, n := h5.Region{Start: offset}, int64(1)
	for k, c := range info.Chunks {
		part.Count = append(part.Count, min(c, info.Space.Dims[k]-offset[k]))
		n *= part.Count[k]
	}
	if !slices.Equal(part.Count, info.Chunks) {
		values = inside(values, info.Chunks, part.Count, item)
	}
	return to(values, n, part)
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
