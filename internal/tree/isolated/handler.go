// The worker's side of an array.

package isolated

import (
	"context"
	"fmt"
	"slices"

	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/internal/sandbox/worker"
	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/ndarray"
)

// An arrayHandler answers requests for one array.
type arrayHandler struct {
	array   *ndarray.Array
	backend ndarray.Backend // of the array

	uniform func(ndarray.Region) bool // nil if the backend has no such information, or before the first request

	// The box of the last "read", if only a part of it was requested.
	about request
	whole []byte
}

// beside reports whether the request can run concurrently with others. Reads of whole boxes can,
// because they keep no data, unless the program allows only one goroutine. If data is kept, a call
// must discard it first.
func (h *arrayHandler) beside(q *request) bool { return h.whole == nil && q.all() && !q.Alone }

// all reports whether the requested part is the whole box.
func (q *request) all() bool {
	return slices.Equal(q.Start, q.Part.Start) && slices.Equal(q.Shape, q.Part.Shape)
}

// same reports whether the kept data is that of the request.
func (h *arrayHandler) same(q *request) bool {
	return slices.Equal(h.about.Start, q.Start) && slices.Equal(h.about.Shape, q.Shape)
}

// answer returns the result of a request.
func (h *arrayHandler) answer(q *request) (any, error) {
	ctx := context.Background()
	switch q.Verb {
	case "meta":
		return h.array.Meta(), nil
	case "attrs":
		return h.array.Attrs(ctx)
	case "scales":
		return tree.ScalesOf(ctx, h.backend)
	case "storage":
		return h.array.Storage(ctx)
	case "chunk":
		if len(q.Start) != 1 {
			return nil, fmt.Errorf("%w: chunk %v", worker.ErrProtocol, q.Start)
		}
		return tree.ChunkBytes(ctx, h.backend, q.Start[0])
	case "uniform":
		var err error
		h.uniform, err = h.array.Uniform(ctx)
		return h.uniform != nil, err
	case "equal":
		g := ndarray.Region{Start: q.Start, Shape: q.Shape}
		if err := g.Check(h.array.Shape()); err != nil {
			return nil, err
		}
		if h.uniform == nil { // a previous worker received the "uniform" request
			var err error
			if h.uniform, err = h.array.Uniform(ctx); err != nil {
				return nil, err
			}
		}
		return h.uniform != nil && g.NumElems() > 0 && h.uniform(g), nil
	case "strings":
		g := ndarray.Region{Start: q.Start, Shape: q.Shape}
		if err := g.Check(h.array.Shape()); err != nil {
			return nil, err
		}
		strs := make([]string, g.NumElems())
		err := h.array.ReadStrings(ctx, strs, g)
		return strs, err
	case "nulls":
		g := ndarray.Region{Start: q.Start, Shape: q.Shape}
		if err := g.Check(h.array.Shape()); err != nil {
			return nil, err
		}
		marks := make([]bool, g.NumElems()*int64(h.array.DType().NumMarks()))
		err := h.array.ReadNulls(ctx, marks, g)
		return marks, err
	}
	return nil, fmt.Errorf("%w: verb %q", worker.ErrProtocol, q.Verb)
}

// read copies the elements of a part of a region to a slot. If the part is smaller than the region,
// the region is read once and kept.
func (h *arrayHandler) read(q *request, to []byte) (int64, error) {
	whole, item := ndarray.Region{Start: q.Start, Shape: q.Shape}, int64(h.array.DType().Size)
	for _, g := range []ndarray.Region{whole, q.Part} {
		if err := g.Check(h.array.Shape()); err != nil {
			return 0, err
		}
	}
	n := q.Part.NumElems() * item
	if n > int64(len(to)) {
		return 0, fmt.Errorf("%w: %d bytes, a slot has %d", worker.ErrProtocol, n, len(to))
	}
	if q.all() {
		if h.whole != nil { // not concurrently with other requests
			h.about, h.whole = request{}, nil
		}
		return n, h.array.ReadRegion(context.Background(), to[:n], whole, q.Workers)
	}
	if len(q.Part.Shape) != len(whole.Shape) || !inside(q.Part, whole) {
		return 0, fmt.Errorf("%w: part %v of %v", worker.ErrProtocol, q.Part, whole)
	}
	if !h.same(q) {
		h.about = request{}
		if size := whole.NumElems() * item; int64(cap(h.whole)) < size {
			h.whole = nil // free the old buffer before allocating
			h.whole = make([]byte, size)
		} else {
			h.whole = h.whole[:size]
		}
		if err := h.array.ReadRegion(context.Background(), h.whole, whole, q.Workers); err != nil {
			return 0, err
		}
		h.about = *q
	}
	grid.Copy(to[:n], grid.Box(q.Part), h.whole, grid.Box(whole), grid.Box(q.Part), int(item))
	return n, nil
}

// inside reports whether part is inside whole.
func inside(part, whole ndarray.Region) bool {
	for i := range part.Shape {
		if part.Start[i] < whole.Start[i] || part.Shape[i] > whole.Shape[i]-(part.Start[i]-whole.Start[i]) {
			return false
		}
	}
	return true
}
