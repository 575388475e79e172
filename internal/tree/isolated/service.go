// The worker's side: it checks and opens the file, lists its objects, and opens one array after the
// other.

package isolated

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"strings"

	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/sandbox/worker"
	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/internal/tree/opener"
	"github.com/hyperslab/hyperslab/ndarray"
)

// service reads arrays and lists files.
const service worker.Service[message, request] = "hyperslab.file"

func init() { service.Register(serve) }

// message starts a worker. The file is the only one of its session.
type message struct {
	Name   string // of the file in messages
	Format string
	Limits format.Limits
	Policy tree.Policy

	Archive bool // the file is an archive of a directory

	Alone bool           // the worker serves only the array at Path
	Path  string         // of that array
	DType *ndarray.DType // of that array
}

// treeBatch is the size in bytes of the entries of one response. The last entry may exceed it.
const treeBatch = 256 << 10

// errStop ends a walk that the program has left.
var errStop = errors.New("the walk was stopped")

// handler answers requests for one file.
type handler struct {
	tree  tree.Tree
	dtype *ndarray.DType
	names *strings.Replacer // of the file's descriptor

	next func() (tree.Entry, error, bool) // of the walk; nil before it begins
	stop func()
	skip bool

	array     *arrayHandler // of the array of the last request
	arrayPath string
}

// serve begins a worker for the objects of a file.
func serve(s *worker.Session, m *message) (worker.Handler[request], error) {
	if len(s.Files) != 1 {
		return nil, fmt.Errorf("%w: %d files", worker.ErrProtocol, len(s.Files))
	}
	f, err := opener.All().Named(m.Format)
	if err != nil {
		return nil, err
	}
	src, err := source(s.Files[0], m)
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	t, err := opener.Open(ctx, f, src, &tree.OpenOptions{Alone: m.Alone, Path: m.Path})
	if err != nil {
		return nil, tree.WithoutPath(err)
	}
	h := &handler{tree: t, dtype: m.DType, names: s.Names}
	if m.Alone {
		_, err = h.arrayAt(m.Path)
	}
	return h, tree.WithoutPath(err)
}

// source returns the file of a worker as a source.
func source(f *os.File, m *message) (*tree.Source, error) {
	trust := &tree.Trust{Limits: m.Limits, Policy: m.Policy, Listed: !m.Alone}
	if m.Archive {
		return tree.Archived(f, m.Name, trust)
	}
	return tree.Given(f, m.Name, m.Format, trust)
}

// close ends the walk.
func (h *handler) close() {
	if h.stop != nil {
		h.stop()
	}
	h.next, h.stop = nil, nil
}

// Call returns the result of a request, for the file or for the array at a path.
func (h *handler) Call(q *request) (any, error) {
	v, err := h.call(q)
	return v, tree.WithoutPath(err)
}

func (h *handler) call(q *request) (any, error) {
	ctx := context.Background()
	switch q.Verb {
	case "check":
		return struct{}{}, nil // the check was done before the first call
	case "list":
		h.begin(q)
		return h.more(q), nil
	case "more":
		return h.more(q), nil
	case "group":
		return h.tree.GroupAttrs(ctx, q.Path)
	case "metadata":
		return h.tree.Metadata(ctx, q.Path)
	}
	a, err := h.arrayAt(q.Path)
	if err != nil {
		return nil, err
	}
	return a.answer(q)
}

var _ worker.Filler[request] = (*handler)(nil)

// Fill reads elements of the array at a path.
func (h *handler) Fill(q *request, dst []byte) (int, error) {
	a, err := h.arrayAt(q.Path)
	if err != nil {
		return 0, tree.WithoutPath(err)
	}
	n, err := a.read(q, dst)
	return int(n), tree.WithoutPath(err)
}

// Beside reports whether the request is for the open array and can run concurrently.
func (h *handler) Beside(q *request) bool {
	return h.array != nil && h.arrayPath == q.Path && h.array.beside(q)
}

// arrayAt opens the array at a path. At most one array is open at a time.
func (h *handler) arrayAt(path string) (*arrayHandler, error) {
	if h.array != nil && h.arrayPath == path {
		return h.array, nil
	}
	if h.array != nil {
		err := h.array.array.Close()
		if h.array = nil; err != nil {
			return nil, err
		}
	}
	b, err := h.tree.Open(context.Background(), path, &tree.ArrayOptions{DType: h.dtype})
	if err != nil {
		return nil, err
	}
	a, err := ndarray.New(b)
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	h.array, h.arrayPath = &arrayHandler{array: a, backend: b}, path
	return h.array, nil
}

// begin begins a walk at a path, and ends the previous walk.
func (h *handler) begin(q *request) {
	h.close()
	at := q.Path
	h.next, h.stop = iter.Pull2(func(yield func(tree.Entry, error) bool) {
		err := h.tree.Walk(context.Background(), at, nil, func(e tree.Entry) (bool, error) {
			if !yield(e, nil) {
				return false, errStop
			}
			return !h.skip, nil
		})
		if err != nil && !errors.Is(err, errStop) {
			yield(tree.Entry{}, tree.WithoutPath(err))
		}
	})
}

// more returns the next entries of the walk.
func (h *handler) more(q *request) entries {
	if h.next == nil {
		return entries{Done: true, Failed: fmt.Errorf("%w: the walk has not begun", worker.ErrProtocol)}
	}
	h.skip = q.Skip
	var batch entries
	for size := 0; size < treeBatch; {
		e, err, ok := h.next()
		if !ok || err != nil {
			batch.Done, batch.Failed = true, err
			break
		}
		e.Meta.Path = h.names.Replace(e.Meta.Path)
		b := worker.Encode(e, h.names)
		batch.Entries = append(batch.Entries, b)
		size += len(b)
		if h.skip = false; q.Prune && e.Kind == tree.Group {
			break
		}
	}
	return batch
}
