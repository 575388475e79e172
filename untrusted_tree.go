// Listing of an untrusted file. A worker lists it and opens one object after the other, and the
// program validates every response.

package hyperslab

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"

	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/internal/sandbox/worker"
	"github.com/hyperslab/hyperslab/ndarray"
)

// treeBatch is the size in bytes of the entries of one response. The last entry may exceed it.
const treeBatch = 256 << 10

// walkUntrusted is Walk for an untrusted file.
func walkUntrusted(ctx context.Context, location string, opts WalkOptions) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		left := false
		o, err := newOutside(ctx, location, OpenOptions{Untrusted: opts.Untrusted})
		if err == nil {
			err = o.walk(ctx, opts.Prune, func(e Entry, err error) bool {
				if opts.NoSizes {
					e.unmeasure()
				}
				left = !yield(e, err)
				return !left
			})
			err = errors.Join(err, o.close())
		}
		if err != nil && !left {
			yield(Entry{}, ndarray.Wrap("list untrusted", location, err))
		}
	}
}

// outside is an untrusted file on the program's side. One worker checks the file once and serves
// all its objects.
type outside struct {
	s    *suspect
	file string // name of the file

	client *worker.Client[request] // nil: no worker, home answers the requests
	home   *treeHandler

	mu    sync.Mutex // held while home answers
	walks int        // number of walks that have begun
}

func newOutside(ctx context.Context, location string, opts OpenOptions) (_ *outside, err error) {
	if opts.DType != nil {
		return nil, fmt.Errorf("%w: OpenOptions.DType is for Open", ndarray.ErrParam)
	}
	s, err := newSuspect(ctx, opts)
	if err != nil {
		return nil, err
	}
	l, err := locate.Parse(location)
	if err != nil {
		return nil, err
	}
	s.Name, s.Object = shown(l.String()), l.Object
	if s.file, err = openOrCopy(ctx, l.File, s.Limits.Copy); err != nil {
		return nil, err
	}
	x := &outside{s: s, file: l.File}
	if err = s.sniff(); err == nil {
		err = x.begin(ctx, opts.Untrusted.InProcess)
	}
	if err != nil {
		return nil, errors.Join(err, x.close())
	}
	return x, nil
}

// begin checks the file, in a worker or in this process.
func (o *outside) begin(ctx context.Context, inProcess bool) error {
	if !inProcess {
		o.s.Whole = true
		client, err := o.s.client()
		if err != nil {
			return err
		}
		o.client = client
		return o.ask(ctx, request{Verb: "check"}, new(struct{}))
	}
	o.s.Direct = true
	o.home = &treeHandler{s: o.s, names: strings.NewReplacer(worker.FilePath(o.s.file), o.s.fileName())}
	return o.home.check()
}

func (o *outside) close() error {
	var err error
	if o.client != nil {
		err = o.client.Close()
	}
	if o.home != nil {
		o.home.close()
	}
	return errors.Join(err, o.s.close())
}

// ask sends one request and decodes the answer into v.
func (o *outside) ask(ctx context.Context, q request, v any) error {
	if o.client != nil {
		return o.client.Ask(ctx, &q, o.s.Limits.Metadata, v)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	answer, err := o.home.Call(&q)
	if err != nil {
		return worker.Renamed(err, o.home.names)
	}
	return worker.Decode(worker.Encode(answer, o.home.names), v)
}

// walk yields the entries as they are received.
func (o *outside) walk(ctx context.Context, skip func(Entry) bool, yield func(Entry, error) bool) error {
	o.mu.Lock()
	o.walks++
	mine := o.walks
	o.mu.Unlock()
	started := 0
	for q := (request{Verb: "list", Path: o.s.Object, Prune: skip != nil}); ; q.Verb = "more" {
		var batch wireEntries
		if err := o.ask(ctx, q, &batch); err != nil {
			return err
		}
		if err := o.going(mine, &started); err != nil {
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
			if !yield(e, nil) {
				return nil
			}
			q.Skip = skip != nil && i == len(batch.Entries)-1 && e.Kind == Group && skip(e)
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
func (o *outside) going(walk int, started *int) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.walks != walk {
		return fmt.Errorf("%w: another walk of the same file has begun", ndarray.ErrParam)
	}
	if o.client == nil {
		return nil
	}
	if *started == 0 {
		*started = o.client.Starts()
	}
	if *started != o.client.Starts() {
		return fmt.Errorf("%w while it listed the file", worker.ErrCrashed)
	}
	return nil
}

// attrs reads the attributes of the group at a path.
func (o *outside) attrs(ctx context.Context, path string) (ndarray.Attrs, error) {
	var a ndarray.Attrs
	if err := o.ask(ctx, request{Verb: "group", Path: path}, &a); err != nil {
		return ndarray.Attrs{}, err
	}
	return a, checkAttrs(a)
}

// open opens the array at a path. The same worker reads its elements.
func (o *outside) open(ctx context.Context, path string) (*ndarray.Array, error) {
	name := locate.Location{File: o.file, Object: path}.String()
	if o.client == nil {
		s, err := o.s.at(path)
		if err != nil {
			return nil, err
		}
		b, err := s.bounded()
		if err != nil {
			return nil, errors.Join(bare(err), s.close())
		}
		return array(&guard{Backend: b, name: name, s: s}, nil)
	}
	r := &remote{client: o.client, path: path, limits: o.s.Limits, close: func() error { return nil }} // the worker continues to serve other arrays
	if err := r.load(ctx, name); err != nil {
		return nil, err
	}
	r.level = o.client.Level()
	return array(r, nil)
}

// wireEntries is a response to "list" or "more".
type wireEntries struct {
	Entries [][]byte // of Entry, encoded one by one to bound the size of a response
	Done    bool
	Failed  error // the error that ended the walk, or nil
}

// decodeEntry decodes and validates an entry.
func decodeEntry(b []byte) (Entry, error) {
	var e Entry
	if err := worker.Decode(b, &e); err != nil {
		return Entry{}, err
	}
	known := e.Kind == Group || e.Kind == Array || e.Kind == Link || e.Kind == Type || e.Kind == Other
	if !known || !strings.HasPrefix(e.Path, "/") {
		return e, fmt.Errorf("%w: an entry %q of kind %q", worker.ErrProtocol, e.Path, e.Kind)
	}
	if e.Kind != Array {
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
