// The program's side of a tree: it sends requests to the worker and validates the responses.

package isolated

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/hyperslab/hyperslab/internal/sandbox/worker"
	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Options are the options of Open.
type Options struct {
	CPU, Wall time.Duration // of one call of the worker
	Full      bool          // the worker must have every kind of isolation

	// Alone promises that the tree is used for one call of Open, with the path Path, and closed.
	// The dtype of that array is DType unless it is nil.
	Alone bool
	Path  string
	DType *ndarray.DType
}

// worked is an untrusted file on the program's side. One worker checks the file once and serves all
// its objects.
type worked struct {
	s      *tree.Source
	alone  bool
	client *worker.Client[request]

	mu    sync.Mutex
	walks int // number of walks that have begun
}

// Open opens an untrusted source in a worker. It takes ownership of the source. A tree supports one
// walk at a time: a walk ends with ndarray.ErrParam if another one begins. The worker holds only
// one array open at a time.
//
// It returns worker.ErrUnavailable without the requested isolation, and the errors of the driver.
func Open(ctx context.Context, f *tree.Format, s *tree.Source, o *Options) (tree.Tree, error) {
	t := &worked{s: s, alone: o.Alone}
	err := t.begin(ctx, f, o)
	if err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// begin starts the worker, which checks the file. The check of a file with one array is done with
// the first request for it.
func (t *worked) begin(ctx context.Context, f *tree.Format, o *Options) (err error) {
	most := t.s.Trust.Limits
	cfg := worker.Config{
		Files: []*os.File{t.s.OS}, Names: []string{t.s.Name},
		Limits: worker.Limits{Memory: most.Memory, CPU: o.CPU, Wall: o.Wall, Window: windowBytes},
	}
	if o.Full {
		cfg.Require = worker.Full
	}
	m := message{Name: t.s.Name, Format: f.Name, Limits: most, Policy: t.s.Trust.Policy, Archive: t.s.IsArchive(), Alone: o.Alone, Path: o.Path, DType: o.DType}
	if t.client, err = service.Client(cfg, m); err != nil || o.Alone {
		return err
	}
	return t.ask(ctx, request{Verb: "check"}, new(struct{}))
}

// Close ends the worker.
func (t *worked) Close() (err error) {
	if t.client != nil {
		err = t.client.Close()
	}
	return errors.Join(err, t.s.Close())
}

// ask sends one request and decodes the answer into v.
func (t *worked) ask(ctx context.Context, q request, v any) error {
	if err := t.s.Ready(ctx); err != nil {
		return err
	}
	return t.client.Ask(ctx, &q, t.s.Trust.Limits.Metadata, v)
}

// Walk visits the entries as they are received.
func (t *worked) Walk(ctx context.Context, path string, o *tree.WalkOptions, visit tree.Visit) error {
	t.mu.Lock()
	t.walks++
	mine := t.walks
	t.mu.Unlock()
	visit = tree.Visitor(ctx, o, visit)
	started := 0
	for q := (request{Verb: "list", Path: path, Prune: o == nil || !o.All}); ; q.Verb = "more" {
		var batch entries
		if err := t.ask(ctx, q, &batch); err != nil {
			return err
		}
		if err := t.going(mine, &started); err != nil {
			return err
		}
		if len(batch.Entries) == 0 && !batch.Done {
			return fmt.Errorf("%w: neither entries nor an end", worker.ErrProtocol)
		}
		for i, b := range batch.Entries {
			e, err := decodeEntry(b)
			if err != nil {
				return err
			}
			descend, err := visit(e)
			if err != nil {
				return err
			}
			q.Skip = q.Prune && i == len(batch.Entries)-1 && e.Kind == tree.Group && !descend
		}
		if batch.Failed != nil {
			return batch.Failed
		}
		if batch.Done {
			return ctx.Err()
		}
	}
}

// going returns an error if a walk cannot continue, because another walk has begun or the worker
// with the state of the walk has died.
func (t *worked) going(walk int, started *int) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.walks != walk {
		return fmt.Errorf("%w: another walk of the same file has begun", ndarray.ErrParam)
	}
	if *started == 0 {
		*started = t.client.Starts()
	}
	if *started != t.client.Starts() {
		return fmt.Errorf("%w while it listed the file", worker.ErrCrashed)
	}
	return nil
}

// GroupAttrs reads the attributes of the group at a path.
func (t *worked) GroupAttrs(ctx context.Context, path string) (ndarray.Attrs, error) {
	var a ndarray.Attrs
	if err := t.ask(ctx, request{Verb: "group", Path: path}, &a); err != nil {
		return ndarray.Attrs{}, err
	}
	return a, checkAttrs(a)
}

// Metadata reads the metadata of the object at a path.
func (t *worked) Metadata(ctx context.Context, path string) (m tree.Metadata, err error) {
	err = t.ask(ctx, request{Verb: "metadata", Path: path}, &m)
	return m, err
}

// Open opens the array at a path. The same worker reads its elements.
func (t *worked) Open(ctx context.Context, path string, o *tree.ArrayOptions) (ndarray.Backend, error) {
	if err := t.s.Ready(ctx); err != nil {
		return nil, err
	}
	if o != nil && o.DType != nil && !t.alone {
		return nil, fmt.Errorf("%w: the dtype of one array of a tree in a worker", errors.ErrUnsupported)
	}
	r := &remote{client: t.client, path: path, limits: t.s.Trust.Limits}
	if err := r.load(ctx, t.s.At(path)); err != nil {
		return nil, err
	}
	r.level = t.client.Level()
	return r, nil
}

// entries is a response to "list" or "more".
type entries struct {
	Entries [][]byte // of tree.Entry, encoded one by one to bound the size of a response
	Done    bool
	Failed  error // the error that ended the walk, or nil
}

// decodeEntry decodes and validates an entry.
func decodeEntry(b []byte) (tree.Entry, error) {
	var e tree.Entry
	if err := worker.Decode(b, &e); err != nil {
		return tree.Entry{}, err
	}
	known := e.Kind == tree.Group || e.Kind == tree.Array || e.Kind == tree.Link || e.Kind == tree.Type || e.Kind == tree.Other
	if !known || !strings.HasPrefix(e.Path, "/") {
		return e, fmt.Errorf("%w: an entry %q of kind %q", worker.ErrProtocol, e.Path, e.Kind)
	}
	if e.Kind != tree.Array {
		return e, nil
	}
	e.Meta.ReadOnly = true
	if e.Err == nil {
		spec := e.Meta.Spec()
		if err := spec.Validate(); err != nil {
			return e, fmt.Errorf("%w: %s: %w", worker.ErrProtocol, e.Path, err)
		}
	}
	return e, nil
}
