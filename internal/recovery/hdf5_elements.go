// Recovery of the elements of a dataset. Chunks are copied without recompression if the new dataset
// has the same filters.

package recovery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5types"
)

// slab is the number of bytes of contiguous elements that are copied at a time. sector is the
// smallest unit that is lost if the disk returns read errors.
const (
	slab   = 8 << 20
	sector = 512
)

// put writes n stored elements to the region part of the new dataset.
type put func(b []byte, n int64, part h5.Region) error

// elements copies the elements of a dataset.
func (s *source) elements(ctx context.Context, at string, d *h5.Dataset, o *h5file.Object) error {
	l, space := o.Layout(), h5types.Dataspace(o.Dataspace())
	if space.NumElems() == 0 || l.Class == h5file.Virtual || o.ExternalFiles() != nil {
		return nil
	}
	t, err := h5types.Datatype(o.Datatype())
	if err != nil {
		return err
	}
	if s.unsure[o.Addr] && !s.guessed {
		s.guessed = true
		defer func() { s.guessed = false }()
	}
	to := put(func(b []byte, _ int64, part h5.Region) error {
		if err := d.WriteRegion(b, t, part); err != nil {
			return err
		}
		s.count(s.guessed)
		return nil
	})
	if !t.Plain() {
		to = s.pointing(at, d, t, o.Datatype())
	}
	if l.Class == h5file.Chunked {
		return s.chunks(ctx, at, d, o, to, t.Plain())
	}
	if l.Class == h5file.Contiguous && !l.Addr.Defined() {
		return nil // never written
	}
	return s.contiguous(ctx, at, o, space, to)
}

// contiguous copies contiguous elements, as far as they are inside the file.
func (s *source) contiguous(ctx context.Context, at string, o *h5file.Object, space h5.Dataspace, to put) error {
	l, item := o.Layout(), int64(o.Datatype().Size)
	all := space.NumElems()
	available := int64(len(l.Data))
	if l.Class == h5file.Contiguous {
		available = max(s.size-s.file.UserBlock()-int64(min(l.Addr, math.MaxInt64)), 0)
	}
	lost := func(first, end int64, err error) {
		s.r.Lost++
		s.r.note(Lost, at, "elements", -1, "%d to %d of %d are not in the file: %v", first, end-1, all, err)
		s.corrupt = true
	}
	// A piece that cannot be read, or that ends after the file, is divided until the readable part
	// is found.
	there := min(all, available/item)
	var copyPiece func(box grid.Box, first int64) error
	divide := func(r grid.Box, first, most int64) error {
		for box := range grid.Cut(r, nil, most) {
			if first >= there {
				break
			}
			if err := copyPiece(box, first); err != nil {
				return err
			}
			first += elementsOf(box.Shape)
		}
		return nil
	}
	copyPiece = func(box grid.Box, first int64) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := elementsOf(box.Shape)
		if first+n > there {
			return divide(box, first, (n+1)/2)
		}
		b, err := s.rawBytes(l, first*item, n*item)
		switch {
		case err == nil:
			s.seen.more(int64(len(b)))
			return to(b, n, h5.Region{Start: box.Start, Count: box.Shape})
		case n > 1 && n*item > sector:
			return divide(box, first, (n+1)/2)
		}
		lost(first, first+n, err)
		return nil
	}
	if err := divide(grid.Whole(space.Dims), 0, max(slab/item, 1)); err != nil {
		return err
	}
	if there < all {
		lost(there, all, errors.New("it ends before them"))
	}
	return nil
}

// rawBytes returns bytes of compact or contiguous elements.
func (s *source) rawBytes(l *h5file.Layout, off, n int64) ([]byte, error) {
	if l.Class == h5file.Compact {
		return l.Data[off : off+n], nil
	}
	return s.file.Read(l.Addr+h5file.Addr(off), n)
}

// elementsOf returns the number of elements of a part of a dataset, which does not overflow.
func elementsOf(shape []int64) int64 {
	n, _ := grid.Product(shape)
	return n
}

// count counts a chunk, or a piece of contiguous elements, that was written to the new file.
func (s *source) count(guessed bool) {
	s.r.Chunks++
	switch {
	case guessed:
		s.r.Guessed++
	case s.checked:
		s.r.Certain++
	default:
		s.r.Unverified++
	}
}

// chunks copies the chunks that decode, without recompression if the new dataset has the same
// filters. Chunks from a corrupt part of the index come last, and only if no valid part of it
// contains a chunk at the same offset.
func (s *source) chunks(ctx context.Context, at string, d *h5.Dataset, o *h5file.Object, to put, plain bool) error {
	info, err := d.Info()
	if err != nil {
		return err
	}
	w := &chunkWriter{s: s, at: at, d: d, o: o, info: info, to: to}
	w.placed = indexConfirmed(o)
	defer func() { s.checked = false }()
	w.same = plain && len(info.ChunkShape) < h5.MaxRank && sameFilters(info.Filters, h5types.Filters(o.Pipeline()))
	unsure, i := 0, int64(-1)
	for c, err := range o.Chunks() {
		i++
		if err != nil {
			s.corrupt = true
			s.r.Lost++
			s.r.note(Lost, at, "index of chunks", -1, "%v", err)
			continue
		}
		if c.Unsure != nil {
			unsure++
			continue
		}
		if err := w.write(ctx, i, c); err != nil {
			return err
		}
	}
	if unsure == 0 {
		return nil
	}
	known, i := map[string]bool{}, int64(-1)
	key := func(c h5file.Chunk) string { return fmt.Sprint(c.Offset) }
	for c, err := range o.Chunks() {
		if err == nil && c.Unsure == nil {
			known[key(c)] = true
		}
	}
	for c, err := range o.Chunks() {
		i++
		if err != nil || c.Unsure == nil || known[key(c)] {
			continue
		}
		known[key(c)] = true
		if err := w.write(ctx, i, c); err != nil {
			return err
		}
	}
	return nil
}

// chunkWriter writes chunks to a dataset of the new file.
type chunkWriter struct {
	s    *source
	at   string
	d    *h5.Dataset
	o    *h5file.Object
	info h5.DatasetInfo
	to   put
	same bool // the dataset accepts stored chunks

	placed bool // the index is confirmed
}

// write writes chunk i of the old index. Errors of the old chunk become findings. The returned
// error is an error of the new file.
func (w *chunkWriter) write(ctx context.Context, i int64, c h5file.Chunk) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s := w.s
	note := func(as Certainty, err error) {
		s.r.add(finding(as, w.at, "chunk", i, format.Size(c.Addr)+s.file.UserBlock(), err.Error()))
	}
	lost := func(err error) {
		s.r.Lost++
		note(Lost, err)
	}
	dims, shape := w.o.Dataspace().Dims, w.o.Layout().Dims
	shape = shape[:len(shape)-1]
	offset := make([]int64, len(c.Offset))
	outside := len(offset) != len(dims)
	for k, x := range c.Offset {
		if outside || x >= dims[k] || x%shape[k] != 0 {
			lost(fmt.Errorf("%w: a chunk at %v of a dataset of %v in chunks of %v", format.ErrCorrupt, c.Offset, dims, shape))
			return nil
		}
		offset[k] = int64(x)
	}
	if n := len(w.info.Filters); c.Mask>>n != 0 {
		c.Unsure = cmp.Or(c.Unsure, fmt.Errorf("%w: filter mask %#x for %d filters", format.ErrCorrupt, c.Mask, n))
		c.Mask &= 1<<n - 1
	}
	raw, values, err := s.chunk(w.o, c)
	s.checked = err == nil && w.placed && s.hasValueChecksum(w.o, c, raw)
	switch {
	case errors.Is(err, h5.ErrNoFilter) && w.same:
		// No filter here can decode the chunk, so it is guessed.
		if err := w.d.WriteChunk(raw, c.Mask, offset...); noSpace(err) {
			return err
		} else if err != nil {
			lost(err)
			return nil
		}
		s.count(true)
		return nil
	case err != nil:
		lost(err)
		return nil
	case w.same && !s.reencode:
		err = w.d.WriteChunk(raw, c.Mask, offset...)
		if err == nil {
			s.count(s.guessed || c.Unsure != nil)
		}
	default:
		guessed := s.guessed
		s.guessed = guessed || c.Unsure != nil
		err = putChunk(w.info, offset, values, int64(w.o.Datatype().Size), w.to)
		s.guessed = guessed
	}
	if err == nil && c.Unsure != nil {
		note(Guessed, c.Unsure)
	}
	return err
}

// putChunk writes the part of a decoded chunk that is inside the dataset.
func putChunk(info h5.DatasetInfo, offset []int64, values []byte, item int64, to put) error {
	part, n := h5.Region{Start: offset}, int64(1)
	for k, c := range info.ChunkShape {
		part.Count = append(part.Count, min(c, info.Space.Dims[k]-offset[k]))
		n *= part.Count[k]
	}
	if !slices.Equal(part.Count, info.ChunkShape) {
		values = inside(values, info.ChunkShape, part.Count, item)
	}
	return to(values, n, part)
}

// inside returns the first count[d] elements along each dimension d of a chunk.
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
