// The worker's side: checks the file, opens the array, and puts what is asked for
// into the window.

package formats

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/hyperslab/hyperslab/internal/worker"
	"github.com/hyperslab/hyperslab/ndarray"
)

// serve is the service of the worker package: one array in each worker.
func serve(s *worker.Session) (worker.Handler, error) {
	x, err := suspectOf(s)
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	b, err := x.backend(ctx)
	if err != nil {
		return nil, bare(err)
	}
	a, err := ndarray.New(b)
	if err != nil {
		return nil, cause(err)
	}
	return &attendant{array: a, backend: b, window: s.Window}, nil
}

// suspectOf is what the program says of the one file that it gives.
func suspectOf(s *worker.Session) (*suspect, error) {
	x := &suspect{}
	if err := decode(s.Open, x); err != nil {
		return nil, err
	}
	if len(s.Files) != 1 {
		return nil, fmt.Errorf("%w: %d files", worker.ErrProtocol, len(s.Files))
	}
	x.file = s.Files[0]
	return x, nil
}

// An attendant answers for one array.
type attendant struct {
	array   *ndarray.Array
	backend ndarray.Backend // of the array
	window  []byte

	uniform func(ndarray.Region) bool // nil if the backend knows no equal elements, or was not asked

	// What the last request was about, if it was more than its piece.
	about request
	whole []byte
}

// Call puts a piece of what is asked for into the window and answers with the bytes of
// the whole, or of the piece if that is "read".
func (h *attendant) Call(b []byte) ([]byte, error) {
	var q request
	if err := decode(b, &q); err != nil {
		return nil, err
	}
	room := int64(len(h.window))
	if q.At < 0 || q.At > room || q.Skip < 0 || q.Size < 0 || q.Size > room-q.At {
		return nil, fmt.Errorf("%w: request %+v", worker.ErrProtocol, q)
	}
	to := h.window[q.At:][:q.Size]
	if q.Verb == "read" {
		n, err := h.read(to, q)
		return binary.LittleEndian.AppendUint64(nil, uint64(n)), cause(err)
	}
	if q.Skip == 0 || !h.same(q) {
		b, err := h.yield(q)
		if err != nil {
			return nil, cause(err)
		}
		h.about, h.whole = q, b
	}
	if q.Skip < int64(len(h.whole)) {
		copy(to, h.whole[q.Skip:])
	}
	return binary.LittleEndian.AppendUint64(nil, uint64(len(h.whole))), nil
}

var _ worker.Beside = (*attendant)(nil)

// Beside: elements of whole boxes can be read at the same time, as nothing is kept of
// them, unless the program allows one goroutine in all. If something is kept, one call
// must throw it away first.
func (h *attendant) Beside(b []byte) bool {
	var q request
	return h.whole == nil && decode(b, &q) == nil && q.Verb == "read" && q.all() && !q.Alone
}

// all reports whether the part that is wanted is the whole box.
func (q *request) all() bool {
	return slices.Equal(q.Start, q.Part.Start) && slices.Equal(q.Shape, q.Part.Shape)
}

// same reports whether what is kept is what is asked for.
func (h *attendant) same(q request) bool {
	return h.about.Verb == q.Verb && slices.Equal(h.about.Start, q.Start) && slices.Equal(h.about.Shape, q.Shape)
}

func (h *attendant) yield(q request) ([]byte, error) {
	ctx := context.Background()
	switch q.Verb {
	case "meta":
		return encode(h.array.Meta()), nil
	case "attrs":
		a, err := h.array.Attrs(ctx)
		return encode(a), err
	case "storage":
		s, err := h.array.Storage(ctx)
		return encode(s), err
	case "chunk":
		n, err := chunkBytes(ctx, h.backend, q.Start)
		return encode(n), err
	case "uniform":
		var err error
		h.uniform, err = h.array.Uniform(ctx)
		return encode(h.uniform != nil), err
	case "equal":
		g := ndarray.Region{Start: q.Start, Shape: q.Shape}
		if err := g.Check(h.array.Shape()); err != nil {
			return nil, err
		}
		if h.uniform == nil { // the worker before this one was asked
			var err error
			if h.uniform, err = h.array.Uniform(ctx); err != nil {
				return nil, err
			}
		}
		return encode(h.uniform != nil && g.NumElems() > 0 && h.uniform(g)), nil
	case "strings":
		g := ndarray.Region{Start: q.Start, Shape: q.Shape}
		if err := g.Check(h.array.Shape()); err != nil {
			return nil, err
		}
		texts := make([]string, g.NumElems())
		err := h.array.ReadStrings(ctx, texts, g)
		return encode(texts), err
	}
	return nil, fmt.Errorf("%w: verb %q", worker.ErrProtocol, q.Verb)
}

// chunkBytes measures the chunk whose number is the one element of at.
func chunkBytes(ctx context.Context, b ndarray.Backend, at []int64) (int64, error) {
	m, ok := b.(ndarray.ChunkMeasurer)
	if !ok {
		return 0, fmt.Errorf("%w: what single chunks take", errors.ErrUnsupported)
	}
	if len(at) != 1 {
		return 0, fmt.Errorf("%w: chunk %v", worker.ErrProtocol, at)
	}
	return m.ChunkBytes(ctx, at[0])
}

// read puts the elements of a part of a region into to. A region that is more than
// the part is read once and kept.
func (h *attendant) read(to []byte, q request) (int64, error) {
	ctx := ndarray.WithWorkers(context.Background(), q.Workers)
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
		if h.whole != nil { // not beside others
			h.about, h.whole = request{}, nil
		}
		return n, h.array.Read(ctx, to[:n], whole)
	}
	if q.Part.Rank() != whole.Rank() || !inside(q.Part, whole) {
		return 0, fmt.Errorf("%w: part %v of %v", worker.ErrProtocol, q.Part, whole)
	}
	if !h.same(q) {
		h.about = request{}
		if size := whole.NumElems() * item; int64(cap(h.whole)) < size {
			h.whole = nil // before the new one is made
			h.whole = make([]byte, size)
		} else {
			h.whole = h.whole[:size]
		}
		if err := h.array.Read(ctx, h.whole, whole); err != nil {
			return 0, err
		}
		h.about = q
	}
	copyBox(to[:n], q.Part, h.whole, whole, q.Part, int(item))
	return n, nil
}

// inside reports whether part lies in whole.
func inside(part, whole ndarray.Region) bool {
	for i := range part.Shape {
		if part.Start[i] < whole.Start[i] || part.Shape[i] > whole.Shape[i]-(part.Start[i]-whole.Start[i]) {
			return false
		}
	}
	return true
}

// cause is err without what the program puts around it again: operation and name.
func cause(err error) error {
	if e, ok := errors.AsType[*ndarray.Error](err); ok {
		return e.Err
	}
	return err
}
