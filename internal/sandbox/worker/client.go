// Services with typed requests, and their clients.
//
// A call is a header, which selects a part of the window, and the encoded request. Its answer is
// the length of the complete result in bytes. The result is in that part of the window: an encoded
// value, of which further calls transfer the rest, or elements that the service wrote there.

package worker

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"

	"github.com/hyperslab/hyperslab/internal/format"
)

// A Service is the name of a service. O is the type of the message that starts a worker of it, and
// Q the type of its requests. Encode must support both.
type Service[O, Q any] string

// A Handler answers the requests of one worker, one at a time unless it is a Filler.
type Handler[Q any] interface {
	// Call returns the answer to a request, a value that Encode supports.
	Call(q *Q) (any, error)
}

// A Filler is a Handler that writes the results of some requests directly to shared memory.
type Filler[Q any] interface {
	Handler[Q]
	// Fill writes the result of a request to dst and returns its length in bytes.
	Fill(q *Q, dst []byte) (int, error)
	// Beside reports whether Fill may run concurrently with other such calls. It is called before
	// the call, while other calls may be running.
	Beside(q *Q) bool
}

// Register sets the function that creates the Handler of a worker. It must be called in init
// functions, because a worker needs the services of its binary when Init runs. It panics if the
// name is taken. An error of the function ends the worker and is the error of the host's first
// call.
func (s Service[O, Q]) Register(begin func(*Session, *O) (Handler[Q], error)) {
	register(string(s), func(session *Session) (rawHandler, error) {
		var open O
		if err := Decode(session.open, &open); err != nil {
			return nil, err
		}
		h, err := begin(session, &open)
		if err != nil {
			return nil, err
		}
		return &typedHandler[Q]{handler: h, session: session}, nil
	})
}

// Client returns a client for one worker of the service. The process starts with the first call,
// and again with the next call after it died. The caller must keep cfg.Files open as long as it
// uses the client.
func (s Service[O, Q]) Client(cfg Config, open O) (*Client[Q], error) {
	t, err := newTransport(config{cfg, string(s), Encode(open, nil)})
	if err != nil {
		return nil, err
	}
	return &Client[Q]{t}, nil
}

// header selects a part of the window. It begins a request.
type header struct {
	Fill           bool // a Filler writes the result, instead of an encoded value
	At, Size, Skip int64
}

type message[Q any] struct {
	Header  header
	Request Q
}

// typedHandler is the worker's side.
type typedHandler[Q any] struct {
	handler Handler[Q]
	session *Session
	rest    []byte // of the last answer
}

func (h *typedHandler[Q]) Call(b []byte) ([]byte, error) {
	var m message[Q]
	if err := Decode(b, &m); err != nil {
		return nil, err
	}
	x, window := m.Header, int64(len(h.session.Window))
	if x.At < 0 || x.At > window || x.Size < 0 || x.Size > window-x.At || x.Skip < 0 {
		return nil, fmt.Errorf("%w: request for %+v", ErrProtocol, x)
	}
	dst := h.session.Window[x.At:][:x.Size:x.Size]
	if x.Fill {
		f, ok := h.handler.(Filler[Q])
		if !ok {
			return nil, fmt.Errorf("%w: a service without a Filler", ErrProtocol)
		}
		n, err := f.Fill(&m.Request, dst)
		return binary.AppendUvarint(nil, uint64(n)), err
	}
	if x.Skip == 0 {
		v, err := h.handler.Call(&m.Request)
		if err != nil {
			return nil, err
		}
		h.rest = Encode(v, h.session.Names)
	}
	n := copy(dst, h.rest)
	total := x.Skip + int64(len(h.rest))
	if h.rest = h.rest[n:]; len(h.rest) == 0 {
		h.rest = nil
	}
	return binary.AppendUvarint(nil, uint64(total)), nil
}

func (h *typedHandler[Q]) Beside(b []byte) bool {
	f, ok := h.handler.(Filler[Q])
	if !ok {
		return false
	}
	var m message[Q]
	return Decode(b, &m) == nil && m.Header.Fill && f.Beside(&m.Request)
}

// A Client sends requests to one worker. It is safe for concurrent use.
type Client[Q any] struct{ t *transport }

// length decodes an answer.
func length(answer []byte) (int64, error) {
	n, size := binary.Uvarint(answer)
	if size <= 0 || size != len(answer) || n > 1<<62 {
		return 0, fmt.Errorf("%w: an answer of %d bytes", ErrProtocol, len(answer))
	}
	return int64(n), nil
}

// Ask sends a request and decodes the answer, of at most most bytes, into v. The error is that of
// the service (a *RemoteError), that of ctx, an *Error that describes the failure of the worker,
// or matches format.ErrLimit for a longer answer.
func (c *Client[Q]) Ask(ctx context.Context, q *Q, most int64, v any) error {
	c.t.mu.Lock()
	defer c.t.mu.Unlock()
	half := c.t.cfg.Limits.Window / 2
	piece := func(i int64) []byte {
		m := message[Q]{Header: header{At: i % 2 * half, Size: half, Skip: i * half}}
		if i == 0 {
			m.Request = *q // the rest of an answer needs no request
		}
		return Encode(m, nil)
	}
	var b []byte
	total := int64(-1) // known after the first answer
	use := func(answer, window []byte) error {
		n, err := length(answer)
		switch {
		case err != nil:
			return err
		case total >= 0 && n != total:
			return fmt.Errorf("%w: answer: got %d bytes, want %d as before", ErrProtocol, n, total)
		case n > most:
			return &format.Error{Format: "worker", What: "answer", Got: fmt.Sprintf("%d bytes", n), Want: fmt.Sprintf("at most %d", most), Err: format.ErrLimit}
		}
		total = n // b grows with the received pieces, because the worker may state any length
		at := int64(len(b)) / half % 2 * half
		b = append(b, window[at:][:min(half, total-int64(len(b)))]...)
		return nil
	}
	if err := c.t.streamLocked(ctx, 1, single(piece(0)), use); err != nil {
		return err
	}
	rest := func(yield func([]byte) bool) {
		for i := int64(1); i*half < total; i++ {
			if !yield(piece(i)) {
				return
			}
		}
	}
	if err := c.t.streamLocked(ctx, 1, rest, use); err != nil {
		return err
	}
	return Decode(b, v)
}

// A Part is a request for a Filler and the part of the window for its result.
type Part[Q any] struct {
	Request  Q
	At, Size int64 // bytes
}

// Fill sends requests one after the other without gaps. use receives the result of each, in the
// order of the requests. Meanwhile the worker already handles up to ahead further requests (1 to
// MaxAhead), so their parts must not overlap with the part that use reads. Fill ends with the first
// error, which may be one of use; its errors are those of Ask.
func (c *Client[Q]) Fill(ctx context.Context, ahead int, requests iter.Seq[Part[Q]], use func(result []byte) error) error {
	var sent []header
	return c.t.Stream(ctx, ahead, func(yield func([]byte) bool) {
		for p := range requests {
			h := header{Fill: true, At: p.At, Size: p.Size}
			sent = append(sent, h)
			if !yield(Encode(message[Q]{h, p.Request}, nil)) {
				return
			}
		}
	}, func(answer, window []byte) error {
		h := sent[0]
		sent = sent[1:]
		n, err := length(answer)
		if err == nil && n > h.Size {
			err = fmt.Errorf("%w: %d bytes in a part of %d", ErrProtocol, n, h.Size)
		}
		if err != nil {
			return err
		}
		return use(window[h.At:][:n:n])
	})
}

// Level returns the isolation of the worker, or the zero Level before the first call.
func (c *Client[Q]) Level() Level { return c.t.Level() }

// Starts returns the number of processes that this client has started.
func (c *Client[Q]) Starts() int { return c.t.Starts() }

// Close ends the worker. A second Close does nothing.
func (c *Client[Q]) Close() error { return c.t.Close() }
