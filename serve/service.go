// The worker service: a process that reads one file and answers requests for its content.

package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/hyperslab/hyperslab/internal/worker"
)

// service is the name of the worker service.
const service = "hyperslab.serve"

// windowBytes is the size of the memory that a worker shares with the program: a response larger
// than that is transferred in pieces.
const windowBytes = 4 << 20

func init() { worker.Register(service, serveFile) }

// call is a request to a worker for the bytes of a response from From on.
type call struct {
	Request request
	From    int64
}

// reply describes a response. The window contains a piece of the body.
type reply struct {
	Status     int    // 0: a response, otherwise a problem with this status
	Message    string // of the problem
	Type, File string // of the response
	Total      int64  // bytes of the body
	Piece      int64  // bytes in the window
}

// fileWorker answers the requests of a worker.
type fileWorker struct {
	source source
	name   string
	file   *os.File
	window []byte
	last   response
}

func serveFile(s *worker.Session) (worker.Handler, error) {
	var o sourceOptions
	if err := json.Unmarshal(s.Open, &o); err != nil {
		return nil, err
	}
	if len(s.Files) != 1 {
		return nil, fmt.Errorf("%w: %d files", worker.ErrProtocol, len(s.Files))
	}
	h := &fileWorker{name: o.Name, file: s.Files[0], window: s.Window}
	var err error
	if h.source, err = openSource(context.Background(), h.file, &o); err != nil {
		h.source = failed{problemOf(err)} // a worker that cannot start reports the error of each call
	}
	return h, nil
}

// failed is the source for a file that cannot be opened.
type failed struct{ why error }

func (f failed) answer(context.Context, *request) (response, error) { return response{}, f.why }
func (f failed) close() error                                       { return nil }

// Call implements worker.Handler.
func (h *fileWorker) Call(b []byte) ([]byte, error) {
	var c call
	if err := json.Unmarshal(b, &c); err != nil {
		return nil, err
	}
	if c.From == 0 {
		var err error
		h.last, err = h.source.answer(context.Background(), &c.Request)
		if err != nil {
			p := problemOf(err)
			return json.Marshal(reply{Status: p.Status, Message: renamed(p.Message, h.name, h.file)})
		}
	}
	total := int64(len(h.last.Body))
	if c.From < 0 || c.From > total {
		return nil, fmt.Errorf("%w: byte %d of %d", worker.ErrProtocol, c.From, total)
	}
	n := copy(h.window, h.last.Body[c.From:])
	if c.From+int64(n) == total {
		defer func() { h.last = response{} }()
	}
	return json.Marshal(reply{Type: h.last.Type, File: h.last.File, Total: total, Piece: int64(n)})
}

// isolated is a source in a worker.
type isolated struct{ client *worker.Client }

// grace is the time that a worker may continue with a request after the client has left. A worker
// that needs longer is stopped; the next request starts another one, which checks the file again.
const grace = 2 * time.Second

func newIsolated(file *os.File, o *sourceOptions) (*isolated, error) {
	open, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	cfg := worker.Config{
		Service: service, Open: open, Files: []*os.File{file},
		Limits: worker.Limits{Memory: o.Limits.Memory, CPU: o.Limits.CPU, Wall: o.Limits.Wall, Window: windowBytes},
	}
	if o.Limits.FullIsolation {
		cfg.Require = worker.Full
	}
	client, err := worker.NewClient(cfg)
	return &isolated{client}, err
}

func (s *isolated) close() error { return s.client.Close() }

// answer implements source.
func (s *isolated) answer(ctx context.Context, q *request) (r response, err error) {
	patient, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(grace):
		case <-patient.Done():
		}
		cancel(context.Cause(ctx))
	})
	defer stop()
	total := int64(-1)
	for total < 0 || int64(len(r.Body)) < total {
		if err := ctx.Err(); err != nil {
			return response{}, err
		}
		b, err := json.Marshal(call{*q, int64(len(r.Body))})
		if err != nil {
			return response{}, err
		}
		err = s.client.Call(patient, b, func(answer, window []byte) error {
			var x reply
			if err := json.Unmarshal(answer, &x); err != nil {
				return fmt.Errorf("%w: %w", worker.ErrProtocol, err)
			}
			switch {
			case x.Status != 0:
				if x.Status < 400 || x.Status > 599 {
					x.Status = http.StatusInternalServerError
				}
				return &problem{Status: x.Status, Message: x.Message}
			case x.Total < 0 || x.Total > q.Limit || total >= 0 && x.Total != total:
				return fmt.Errorf("%w: a body of %d bytes, the limit is %d", worker.ErrProtocol, x.Total, q.Limit)
			case x.Piece < 0 || x.Piece > int64(len(window)) || x.Piece > x.Total-int64(len(r.Body)) || x.Piece == 0 && x.Total > int64(len(r.Body)):
				return fmt.Errorf("%w: a piece of %d bytes", worker.ErrProtocol, x.Piece)
			case !contentTypes[x.Type] || !fileNames[x.File]:
				return fmt.Errorf("%w: content type %q of file %q", worker.ErrProtocol, x.Type, x.File)
			}
			if total < 0 {
				total = x.Total
				r = response{Type: x.Type, File: x.File, Body: make([]byte, 0, total)}
			}
			r.Body = append(r.Body, window[:x.Piece]...)
			return nil
		})
		if err != nil {
			if cause := ctx.Err(); cause != nil && !isProblem(err) {
				err = cause
			}
			return response{}, err
		}
	}
	return r, nil
}

func isProblem(err error) bool {
	_, ok := errors.AsType[*problem](err)
	return ok
}

// The content types and file names that a worker may return. A worker that executes code of an
// attacker must not be able to return a page.
var (
	contentTypes = map[string]bool{"application/json": true, "application/octet-stream": true, "text/csv; charset=utf-8": true, "image/tiff": true}
	fileNames    = map[string]bool{"": true, "data.npy": true, "data.csv": true, "data.tiff": true}
)
