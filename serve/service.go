// The worker service: a process that reads one file and answers requests for its content.

package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	memory "github.com/hyperslab/hyperslab/internal/chunked/budget"
	"github.com/hyperslab/hyperslab/internal/sandbox/worker"
)

// service reads one file for requests.
const service worker.Service[sourceOptions, request] = "hyperslab.serve"

// windowBytes is the size of the memory that a worker shares with the program. A response larger
// than half of it is transferred in pieces.
const windowBytes = 4 << 20

func init() {
	service.Register(serveFile)
	worker.RegisterErrorTypes((*problem)(nil))
}

// fileWorker answers the requests of a worker.
type fileWorker struct {
	source source
	name   string
	file   *os.File
}

func serveFile(s *worker.Session, o *sourceOptions) (worker.Handler[request], error) {
	if len(s.Files) != 1 {
		return nil, fmt.Errorf("%w: %d files", worker.ErrProtocol, len(s.Files))
	}
	memory.SetLimit(o.Memory)
	h := &fileWorker{name: o.Name, file: s.Files[0]}
	var err error
	if h.source, err = openSource(context.Background(), h.file, o); err != nil {
		h.source = failed{problemOf(err)} // a worker that cannot start reports the error of each call
	}
	return h, nil
}

// failed is the source for a file that cannot be opened.
type failed struct{ why error }

func (f failed) answer(context.Context, *request) (response, error) { return response{}, f.why }
func (f failed) close() error                                       { return nil }

// Call implements worker.Handler.
func (h *fileWorker) Call(q *request) (any, error) {
	r, err := h.source.answer(context.Background(), q)
	if err != nil {
		p := problemOf(err)
		return nil, &problem{Status: p.Status, Message: renamed(p.Message, h.name, h.file)}
	}
	return r, nil
}

// isolated is a source in a worker.
type isolated struct{ client *worker.Client[request] }

// maxHead is the maximum size in bytes of an encoded response without its body.
const maxHead = 1 << 10

// grace is the time that a worker may continue with a request after the client has left. A worker
// that needs longer is stopped; the next request starts another one, which checks the file again.
const grace = 2 * time.Second

func newIsolated(file *os.File, o *sourceOptions) (*isolated, error) {
	cfg := worker.Config{
		Files:  []*os.File{file},
		Limits: worker.Limits{Memory: o.Limits.Memory, CPU: o.Limits.CPU, Wall: o.Limits.Wall, Window: windowBytes},
	}
	if o.Limits.FullIsolation {
		cfg.Require = worker.Full
	}
	client, err := service.Client(cfg, *o)
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
	err = s.client.Ask(patient, q, q.Limit+maxHead, &r)
	if p, ok := errors.AsType[*problem](err); ok {
		if p.Status < 400 || p.Status > 599 {
			p.Status = http.StatusInternalServerError
		}
		return response{}, p
	}
	switch {
	case ctx.Err() != nil && err != nil:
		err = ctx.Err()
	case err != nil:
	case int64(len(r.Body)) > q.Limit:
		err = fmt.Errorf("%w: a body of %d bytes, the limit is %d", worker.ErrProtocol, len(r.Body), q.Limit)
	case !contentTypes[r.Type] || !fileNames[r.File]:
		err = fmt.Errorf("%w: content type %q of file %q", worker.ErrProtocol, r.Type, r.File)
	}
	if err != nil {
		return response{}, err
	}
	return r, nil
}

// The content types and file names that a worker may return. A worker that executes code of an
// attacker must not be able to return a page.
var (
	contentTypes = map[string]bool{"application/json": true, "application/octet-stream": true, "text/csv; charset=utf-8": true, "image/tiff": true, "image/png": true}
	fileNames    = map[string]bool{"": true, "data.npy": true, "data.csv": true, "data.tiff": true}
)
