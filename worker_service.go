// The worker's side: it checks the file, opens the array, and writes requested data to the window.

package hyperslab

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/hyperslab/hyperslab/internal/worker"
	"github.com/hyperslab/hyperslab/ndarray"
)

// serve is the service of package worker: one array per worker.
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
	return &arrayHandler{array: a, backend: b, window: s.Window}, nil
}

// suspectOf decodes the suspect of a session, with its one file.
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

// An arrayHandler answers requests for one array.
type arrayHandler struct {
	array   *ndarray.Array
	backend ndarray.Backend // of the array
	window  []byte

	uniform func(ndarray.Region) bool // nil if the backend has no such information, or before the first request

	// The last request, if its result was larger than one piece.
	about request
	whole []byte
}

// Call writes one piece of the requested result to the window. It returns the number of bytes of
// the complete result, or of the piece for "read".
func (h *arrayHandler) Call(b []byte) ([]byte, error) {
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

var _ worker.Beside = (*arrayHandler)(nil)

// Beside reports whether the request can run concurrently with others. Reads of whole boxes can,
// because they keep no data, unless the program allows only one goroutine. If data is kept, a call
// must discard it first.
func (h *arrayHandler) Beside(b []byte) bool {
	var q request
	return h.whole == nil && decode(b, &q) == nil && q.Verb == "read" && q.all() && !q.Alone
}

// all reports whether the requested part is the whole box.
func (q *request) all() bool {
	return slices.Equal(q.Start, q.Part.Start) && slices.Equal(q.Shape, q.Part.Shape)
}

// same reports whether the kept data is that of the request.
func (h *arrayHandler) same(q request) bool {
	return h.about.Verb == q.Verb && slices.Equal(h.about.Start, q.Start) && slices.Equal(h.about.Shape, q.Shape)
}

func (h *arrayHandler) yield(q request) ([]byte, error) {
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
		if h.uniform == nil { // a previous worker received the "uniform" request
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

// chunkBytes returns the stored bytes of the chunk whose number is the only element of at.
func chunkBytes(ctx context.Context, b ndarray.Backend, at []int64) (int64, error) {
	m, ok := ndarray.As[ndarray.ChunkMeasurer](b)
	if !ok {
		return 0, fmt.Errorf("%w: space of single chunks", errors.ErrUnsupported)
	}
	if len(at) != 1 {
		return 0, fmt.Errorf("%w: chunk %v", worker.ErrProtocol, at)
	}
	return m.ChunkBytes(ctx, at[0])
}

// read copies the elements of a part of a region to to. If the part is smaller than the region, the
// region is read once and kept.
func (h *arrayHandler) read(to []byte, q request) (int64, error) {
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
		if h.whole != nil { // not concurrently with other requests
			h.about, h.whole = request{}, nil
		}
		return n, h.array.Read(ctx, to[:n], whole)
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
		if err := h.array.Read(ctx, h.whole, whole); err != nil {
			return 0, err
		}
		h.about = q
	}
	copyBox(to[:n], q.Part, h.whole, whole, q.Part, int(item))
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

// cause returns err without its operation and name, because the program adds them again.
func cause(err error) error {
	if e, ok := errors.AsType[*ndarray.Error](err); ok {
		return e.Err
	}
	return err
}
