// Listing of an untrusted file. A worker lists it and opens one object after the other, and the
// program validates every response.

package hyperslab

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"

	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/worker"
	"github.com/hyperslab/hyperslab/ndarray"
)

// treeService is the name of the worker service that lists a file.
const treeService = "hyperslab.tree"

// treeBatch is the size in bytes of the entries of one response. The last entry may exceed it.
const treeBatch = 256 << 10

func init() { worker.Register(treeService, serveTree) }

// walkUntrusted is Walk for an untrusted file.
func walkUntrusted(ctx context.Context, location string, opts WalkOptions) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		left := false
		o, err := newOutside(ctx, location, OpenOptions{Untrusted: opts.Untrusted})
		if err == nil {
			err = o.walk(ctx, opts.Prune, func(e Entry, err error) bool {
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

func groupAttrsUntrusted(ctx context.Context, location string, opts OpenOptions) (attrs ndarray.Attrs, err error) {
	o, err := newOutside(ctx, location, opts)
	if err == nil {
		attrs, err = o.attrs(ctx, o.s.Object)
		err = errors.Join(err, o.close())
	}
	return attrs, ndarray.Wrap("read attributes of untrusted", location, err)
}

// outside is an untrusted file on the program's side. One worker checks the file once and serves
// all its objects.
type outside struct {
	s    *suspect
	file string // name of the file

	client *worker.Client // nil: no worker, home answers the requests
	home   *treeHandler

	mu    sync.Mutex // held from the first to the last piece of a response
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
	l, err := ParseLocation(location)
	if err != nil {
		return nil, err
	}
	s.Name, s.Object = shown(l.String()), l.Object
	if s.file, err = openOrCopy(ctx, l.File, s.Limits.Copy); err != nil {
		return nil, translate(err)
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
		client, err := worker.NewClient(o.s.config(treeService))
		if err != nil {
			return err
		}
		o.client = client
		_, err = o.ask(ctx, treeRequest{Verb: "check"})
		return err
	}
	o.s.Direct = true
	o.home = &treeHandler{s: o.s, window: make([]byte, 1<<20)}
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

// call sends one request.
func (o *outside) call(ctx context.Context, request []byte, use func(answer, window []byte) error) error {
	if o.client != nil {
		return o.client.Call(ctx, request, use)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	answer, err := o.home.Call(request)
	if err != nil {
		return err
	}
	return use(answer, o.home.window)
}

// walk yields the entries as they are received.
func (o *outside) walk(ctx context.Context, skip func(Entry) bool, yield func(Entry, error) bool) error {
	o.mu.Lock()
	o.walks++
	mine := o.walks
	o.mu.Unlock()
	started := 0
	for q := (treeRequest{Verb: "list", Path: o.s.Object, Prune: skip != nil}); ; q.Verb = "more" {
		b, err := o.ask(ctx, q)
		if err != nil {
			return err
		}
		if err := o.going(mine, &started); err != nil {
			return err
		}
		var batch wireEntries
		if err := decode(b, &batch); err != nil {
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
			return worker.DecodeError(batch.Failed)
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
	b, err := o.ask(ctx, treeRequest{Verb: "attrs", Path: path})
	if err != nil {
		return ndarray.Attrs{}, err
	}
	return decodeAttrs(b)
}

// open opens the array at a path. The same worker reads its elements.
func (o *outside) open(ctx context.Context, path string) (*ndarray.Array, error) {
	name := Location{File: o.file, Object: path}.String()
	if o.client == nil {
		s, err := o.s.at(path)
		if err != nil {
			return nil, translate(err)
		}
		b, err := s.bounded()
		if err != nil {
			return nil, errors.Join(bare(err), s.close())
		}
		return array(&guard{Backend: b, name: name, s: s}, nil)
	}
	r := &remote{client: &arrayCaller{o, path}, limits: o.s.Limits}
	if err := r.load(ctx, name); err != nil {
		return nil, err
	}
	r.level = o.client.Level()
	return array(r, nil)
}

// arrayCaller sends the requests for one array to the worker of its file.
type arrayCaller struct {
	o    *outside
	path string
}

func (c *arrayCaller) wrap(request []byte) []byte {
	return encode(treeRequest{Verb: "array", Path: c.path, Array: request})
}

// Call implements caller.
func (c *arrayCaller) Call(ctx context.Context, request []byte, use func(answer, window []byte) error) error {
	return c.o.client.Call(ctx, c.wrap(request), use)
}

// Stream implements caller.
func (c *arrayCaller) Stream(ctx context.Context, ahead int, requests iter.Seq[[]byte], use func(answer, window []byte) error) error {
	return c.o.client.Stream(ctx, ahead, func(yield func([]byte) bool) {
		for q := range requests {
			if !yield(c.wrap(q)) {
				return
			}
		}
	}, use)
}

// Close implements caller. The worker continues to serve other arrays.
func (c *arrayCaller) Close() error { return nil }

// A treeRequest requests the bytes from From on, as many as fit the window, of the result of Verb:
//
//   - "check": no bytes, after the check of the file
//   - "list": the first entries from Path on
//   - "more": the next entries
//   - "attrs": the attributes of the group at Path
//   - "metadata": the metadata of the object at Path
//   - "array": the response of the array at Path to the request Array
type treeRequest struct {
	Verb, Path  string
	Array       []byte
	From        int64
	Prune, Skip bool // "list", "more": end after each group; skip members of the last group
}

// wireEntries is a response to "list" or "more".
type wireEntries struct {
	Entries [][]byte // of wireEntry
	Done    bool
	Failed  []byte // the error that ended the walk, or nil
}

// wireEntry is the encoded form of an Entry for a worker.
type wireEntry struct {
	Path                     string
	Kind                     EntryKind
	Meta                     ndarray.Meta
	Storage                  ndarray.Storage
	Attrs                    int
	Type, Comment            string
	LinkKind, TargetFile, To string
	Failed                   []byte // Entry.Err
}

// ask returns a complete response.
func (o *outside) ask(ctx context.Context, q treeRequest) (b []byte, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	total := int64(-1)
	for total < 0 || int64(len(b)) < total {
		q.From = int64(len(b))
		err := o.call(ctx, encode(q), func(answer, window []byte) error {
			if len(answer) != 8 || binary.LittleEndian.Uint64(answer) > 1<<62 {
				return fmt.Errorf("%w: an answer of %d bytes", worker.ErrProtocol, len(answer))
			}
			n := int64(binary.LittleEndian.Uint64(answer))
			switch {
			case n > o.s.Limits.Metadata:
				return &format.Error{Format: "worker", What: q.Verb, Got: fmt.Sprintf("%d bytes", n), Want: fmt.Sprintf("at most %d", o.s.Limits.Metadata), Err: format.ErrLimit}
			case total >= 0 && n != total:
				return fmt.Errorf("%w: answer of %s: got %d bytes, want %d as before", worker.ErrProtocol, q.Verb, n, total)
			}
			total = n
			b = append(b, window[:min(int64(len(window)), total-int64(len(b)))]...)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return b, nil
}

// decodeEntry decodes and validates an entry.
func decodeEntry(b []byte) (Entry, error) {
	var x wireEntry
	if err := decode(b, &x); err != nil {
		return Entry{}, err
	}
	e := Entry{
		Path: x.Path, Kind: x.Kind, Meta: x.Meta, Storage: x.Storage, Attrs: x.Attrs, Type: x.Type, Comment: x.Comment,
		LinkKind: x.LinkKind, TargetFile: x.TargetFile, Target: x.To,
	}
	if x.Failed != nil {
		e.Err = worker.DecodeError(x.Failed)
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
