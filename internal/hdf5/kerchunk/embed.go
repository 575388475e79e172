// Elements in the references.

package kerchunk

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
)

// embed writes the elements of an array.
func (w *writer) embed(ctx context.Context, a *array) error {
	number := make([]uint64, len(a.shape))
	for box := range grid.Of(a.shape, a.chunks).All() {
		for i, start := range box.Start {
			number[i] = uint64(start / a.chunks[i])
		}
		box.Start, box.Shape = box.Start[:len(a.members[0].shape)], box.Shape[:len(a.members[0].shape)]
		p := piece{array: a, box: box}
		first := int64(0) // of the member along the joined dimension
		for _, m := range a.members {
			part := box.Clone() // in the member
			if a.axis >= 0 {
				from := max(box.Start[a.axis], first)
				to := min(box.Start[a.axis]+box.Shape[a.axis], first+m.shape[a.axis])
				part.Start[a.axis], part.Shape[a.axis] = from-first, to-from
			}
			if a.axis < 0 || part.Shape[a.axis] > 0 {
				if err := p.read(ctx, w, m, part, first); err != nil {
					return &Error{m.name, m.path, err}
				}
			}
			if a.axis >= 0 {
				first += m.shape[a.axis]
			}
		}
		b, err := p.encode()
		if err != nil {
			return &Error{a.members[0].name, a.path, err}
		}
		w.stats.Embedded += int64(len(b))
		if err := w.out.content(number, b); err != nil {
			return err
		}
	}
	return nil
}

// piece is a chunk of embedded elements.
type piece struct {
	*array
	box     grid.Box
	strings []string
	data    []byte // the elements of box
}

// read reads the elements of part, a region of one member that begins at first of the array.
func (p *piece) read(ctx context.Context, w *writer, m *member, part grid.Box, first int64) (err error) {
	arr, err := w.open(ctx, m)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, arr.Close()) }()
	stored, ok := part.Intersect(grid.Whole(m.stored))
	if p.members[0].text() && !slices.Equal(stored.Shape, part.Shape) {
		return fmt.Errorf("%w: strings of an array that is shorter than its dimension", ErrNotZarr)
	}
	r := ndarray.Region(stored)
	if p.members[0].text() {
		values := make([]string, r.NumElems())
		err := arr.ReadStrings(ctx, values, r)
		p.strings = append(p.strings, values...) // the members follow each other in the first dimension
		return err
	}
	size := arr.DType().Size
	if p.data == nil {
		fill := make([]byte, size)
		copy(fill, m.fill)
		p.data = bytes.Repeat(fill, int(ndarray.Region(p.box).NumElems()))
	}
	if !ok {
		return nil
	}
	b := make([]byte, r.NumElems()*int64(size))
	if err := arr.Read(ctx, b, r); err != nil {
		return err
	}
	at := stored.Clone() // in the array
	if p.axis >= 0 {
		at.Start[p.axis] += first
	}
	grid.Copy(p.data, p.box, b, at, at, size)
	return nil
}

// encode returns the bytes of a complete chunk.
func (p *piece) encode() ([]byte, error) {
	rank := len(p.members[0].shape)
	chunk := grid.Box{Start: p.box.Start, Shape: p.chunks[:rank]}
	n, _ := grid.Product(chunk.Shape) // maxEmbed limits it
	if p.members[0].text() {
		out := binary.LittleEndian.AppendUint32(nil, uint32(n))
		for i := range n {
			s := ""
			if i < int64(len(p.strings)) {
				s = p.strings[i]
			}
			if !utf8.ValidString(s) {
				return nil, fmt.Errorf("%w: the string %q is not UTF-8", ErrNotZarr, s)
			}
			out = append(binary.LittleEndian.AppendUint32(out, uint32(len(s))), s...)
		}
		return out, nil
	}
	d := p.members[0].dtype
	whole := make([]byte, n*int64(d.Size))
	grid.Copy(whole, chunk, p.data, p.box, p.box, d.Size)
	if d.Kind != ndarray.Struct || packed(d) {
		return whole, nil
	}
	var out []byte
	for i := range n {
		out = appendPacked(out, &d, whole[i*int64(d.Size):])
	}
	return out, nil
}

// appendPacked appends the fields of a structure without gaps.
func appendPacked(out []byte, d *ndarray.DType, b []byte) []byte {
	for _, f := range d.Fields {
		out = append(out, b[f.Offset:f.Offset+f.Type.Size]...)
	}
	return out
}
