// What is in an untrusted file: Walk and GroupAttrs in a worker, of which every answer
// is checked.

package formats

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/hyperslab/hyperslab/format"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/worker"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/bcolz"
)

// treeService is the name under which a worker starts that lists a file.
const treeService = "ndarray/formats.tree"

// Bytes of the window through which answers come, and of the entries of one answer, of
// which the last may go beyond.
const (
	treeWindow = 1 << 20
	treeBatch  = 256 << 10
)

func init() { worker.Register(treeService, serveTree) }

// WalkUntrusted is Walk for a file from outside, which is looked through as by
// OpenUntrusted before a library sees it: an HDF5 file as a whole, in a directory each
// array when its turn comes. Of the options WithPrune means something.
//
// Links are listed and not followed. In a worker, which can reach no other file, they
// and datasets with elements elsewhere are listed whatever the Policy says; without one
// the Policy decides.
//
// It yields what Walk and OpenUntrusted return. A damaged HDF5 file, frame or ctable is
// one error; a damaged array of a directory is an entry with an error.
func WalkUntrusted(ctx context.Context, location string, u Untrusted, opts ...Option) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		o := collect(opts)
		skip := o.prune
		o.prune = nil
		err := withTree(ctx, location, u, o, func(t *tree) error { return t.walk(ctx, skip, yield) })
		if err != nil && !errors.Is(err, errStop) {
			yield(Entry{}, ndarray.Wrap("list untrusted", location, err))
		}
	}
}

// GroupAttrsUntrusted is GroupAttrs for a file from outside; see WalkUntrusted. It
// returns the errors of GroupAttrs and OpenUntrusted.
func GroupAttrsUntrusted(ctx context.Context, location string, u Untrusted) (attrs ndarray.Attrs, err error) {
	err = withTree(ctx, location, u, options{}, func(t *tree) error {
		b, err := t.ask(ctx, treeRequest{Verb: "attrs"})
		if err == nil {
			attrs, err = decodeAttrs(b)
		}
		return err
	})
	return attrs, ndarray.Wrap("read attributes of untrusted", location, err)
}

// tree is an untrusted file that is listed, on the program's side.
type tree struct {
	name   string // of the file
	limits Limits
	call   func(ctx context.Context, request []byte, use func(answer, window []byte) error) error
}

// withTree calls f with the file at a location, in a worker or without one.
func withTree(ctx context.Context, location string, u Untrusted, o options, f func(*tree) error) (err error) {
	if o.dtype != nil {
		return fmt.Errorf("%w: WithDType means nothing where files are listed", ndarray.ErrParam)
	}
	s, err := newSuspect(ctx, &u, o)
	if err != nil {
		return err
	}
	l, err := ParseLocation(location)
	if err != nil {
		return err
	}
	s.Name, s.Object = l.String(), l.Object
	if s.file, err = openToRead(l.File); err != nil {
		return translate(err)
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.sniff(); err != nil {
		return err
	}
	t := &tree{name: l.File, limits: s.Limits}
	if u.Isolation != Off {
		err := s.withTreeWorker(u.Isolation, t, f)
		if u.Isolation == Required || !errors.Is(err, worker.ErrUnavailable) {
			return err
		}
	}
	s.Direct = true
	h := &treeAttendant{s: s, window: make([]byte, treeWindow)}
	defer h.close()
	if err := h.check(); err != nil {
		return err
	}
	t.call = func(ctx context.Context, request []byte, use func(answer, window []byte) error) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		answer, err := h.Call(request)
		if err != nil {
			return err
		}
		return use(answer, h.window)
	}
	return f(t)
}

func (s *suspect) withTreeWorker(how Isolation, t *tree, f func(*tree) error) (err error) {
	cfg := worker.Config{
		Service: treeService, Open: encode(*s), Files: []*os.File{s.file},
		Limits: worker.Limits{Memory: s.Limits.Memory, CPU: s.Limits.CPU, Wall: s.Limits.Wall, Window: treeWindow},
	}
	if how == Required {
		cfg.Require = worker.Level{Landlock: 1, Seccomp: true, Rlimits: true}
	}
	client, err := worker.NewClient(cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	t.call = client.Call
	return f(t)
}

// A treeRequest asks for bytes From and what follows, as far as the window reaches, of
// what Verb yields: "more" entries, the "attrs" of the group.
type treeRequest struct {
	Verb        string
	From        int64
	Prune, Skip bool // "more": an answer ends with each group; the members of the last one are passed over
}

// wireEntries is an answer to "more".
type wireEntries struct {
	Entries [][]byte // of wireEntry
	Done    bool
	Failed  []byte // what ended the walk, nil if nothing did
}

// wireEntry is an Entry that can cross.
type wireEntry struct {
	Path                     string
	Kind                     EntryKind
	Meta                     ndarray.Meta
	Storage                  ndarray.Storage
	Attrs                    int
	Type                     string
	LinkKind, TargetFile, To string
	Failed                   []byte // Entry.Err
}

// ask returns the whole of an answer.
func (t *tree) ask(ctx context.Context, q treeRequest) (b []byte, err error) {
	total := int64(-1)
	for total < 0 || int64(len(b)) < total {
		q.From = int64(len(b))
		err := t.call(ctx, encode(q), func(answer, window []byte) error {
			if len(answer) != 8 || binary.LittleEndian.Uint64(answer) > 1<<62 {
				return fmt.Errorf("%w: an answer of %d bytes", worker.ErrProtocol, len(answer))
			}
			n := int64(binary.LittleEndian.Uint64(answer))
			switch {
			case n > t.limits.Metadata:
				return &format.Error{Format: "worker", What: q.Verb, Got: fmt.Sprintf("%d bytes", n), Want: fmt.Sprintf("at most %d", t.limits.Metadata), Err: format.ErrLimit}
			case total >= 0 && n != total:
				return fmt.Errorf("%w: %d bytes of %s, first there were %d", worker.ErrProtocol, n, q.Verb, total)
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

// walk yields the entries as they come.
func (t *tree) walk(ctx context.Context, skip func(Entry) bool, yield func(Entry, error) bool) error {
	q := treeRequest{Verb: "more", Prune: skip != nil}
	for {
		b, err := t.ask(ctx, q)
		if err != nil {
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
			e, err := t.entry(b)
			if err != nil {
				return err
			}
			if !yield(e, nil) {
				return errStop
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

// entry decodes an entry and looks whether there can be such a one.
func (t *tree) entry(b []byte) (Entry, error) {
	var x wireEntry
	if err := decode(b, &x); err != nil {
		return Entry{}, err
	}
	e := Entry{
		Path: x.Path, Kind: x.Kind, Meta: x.Meta, Storage: x.Storage, Attrs: x.Attrs, Type: x.Type,
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

// treeAttendant answers for one file.
type treeAttendant struct {
	s      *suspect
	window []byte

	next func() (Entry, error, bool) // of the walk; nil before it begins
	stop func()
	skip bool

	whole []byte // the last answer
}

// serveTree is the service of the worker package.
func serveTree(s *worker.Session) (worker.Handler, error) {
	x := &suspect{}
	if err := decode(s.Open, x); err != nil {
		return nil, err
	}
	if len(s.Files) != 1 {
		return nil, fmt.Errorf("%w: %d files", worker.ErrProtocol, len(s.Files))
	}
	x.file = s.Files[0]
	x.Policy.ExternalLinks, x.Policy.VirtualSources, x.Policy.ExternalFiles = true, true, true // listed; there is nowhere to go
	h := &treeAttendant{s: x, window: s.Window}
	return h, h.check()
}

func (h *treeAttendant) close() {
	if h.stop != nil {
		h.stop()
	}
}

// check looks at the whole file; at the arrays of a directory one by one, later.
func (h *treeAttendant) check() error {
	s := *h.s
	s.Object = "" // all columns of a ctable
	if s.Format == Directory {
		return nil
	}
	return damage(s.check(context.Background()))
}

// Call puts a piece of what is asked for into the window and answers with the bytes of
// the whole.
func (h *treeAttendant) Call(b []byte) ([]byte, error) {
	var q treeRequest
	if err := decode(b, &q); err != nil {
		return nil, err
	}
	if q.From == 0 {
		var err error
		switch q.Verb {
		case "more":
			h.whole = h.more(q)
		case "attrs":
			h.whole, err = h.attrs()
		default:
			err = fmt.Errorf("%w: verb %q", worker.ErrProtocol, q.Verb)
		}
		if err != nil {
			return nil, err
		}
	}
	if q.From < 0 || q.From > int64(len(h.whole)) {
		return nil, fmt.Errorf("%w: byte %d of %d", worker.ErrProtocol, q.From, len(h.whole))
	}
	copy(h.window, h.whole[q.From:])
	return binary.LittleEndian.AppendUint64(nil, uint64(len(h.whole))), nil
}

// location is where the file is for whoever has it open.
func (h *treeAttendant) location() Location {
	return Location{File: worker.FilePath(h.s.file), Object: h.s.Object}
}

// named is a text with the file's name in place of its descriptor's.
func (h *treeAttendant) named(text string) string {
	name := h.s.Name
	if h.s.Object != "" {
		name = strings.TrimSuffix(name, ":"+h.s.Object)
	}
	return strings.ReplaceAll(text, worker.FilePath(h.s.file), name)
}

// failed is an error ready to cross.
func (h *treeAttendant) failed(err error) []byte {
	if err == nil {
		return nil
	}
	return worker.EncodeError(&renamed{h.named(err.Error()), err})
}

// renamed is an error with another text.
type renamed struct {
	text string
	err  error
}

func (r *renamed) Error() string { return r.text }
func (r *renamed) Unwrap() error { return r.err }

func (h *treeAttendant) attrs() ([]byte, error) {
	w := &walker{ctx: context.Background(), suspect: h.s}
	l := h.location()
	if err := w.mayBeGroup(l, h.s.Format); err != nil {
		return nil, err
	}
	attrs, err := w.groupAttrs(l, h.s.Format)
	if err = cause(translate(err)); err != nil {
		return nil, &renamed{h.named(err.Error()), err}
	}
	return encode(attrs), nil
}

// more is the next entries of the walk.
func (h *treeAttendant) more(q treeRequest) []byte {
	if h.next == nil {
		h.next, h.stop = iter.Pull2(func(yield func(Entry, error) bool) {
			w := walker{
				ctx: context.Background(), yield: yield, seen: make(map[objectID]string), suspect: h.s,
				skip: func(Entry) bool { return h.skip },
			}
			if err := w.from(h.location(), h.s.Format); err != nil && !errors.Is(err, errStop) {
				yield(Entry{}, cause(translate(err)))
			}
		})
	}
	h.skip = q.Skip
	var batch wireEntries
	for size := 0; size < treeBatch; {
		e, err, ok := h.next()
		if !ok || err != nil {
			batch.Done, batch.Failed = true, h.failed(err)
			break
		}
		e.Meta.Path = h.named(e.Meta.Path)
		b := encode(wireEntry{e.Path, e.Kind, e.Meta, e.Storage, e.Attrs, e.Type, e.LinkKind, e.TargetFile, e.Target, h.failed(e.Err)})
		batch.Entries = append(batch.Entries, b)
		size += len(b)
		if h.skip = false; q.Prune && e.Kind == Group {
			break
		}
	}
	return encode(batch)
}

// reach makes a frame in a directory of arrays fit for the library: of an untrusted one
// it is checked, and the path is that of the file that was.
func (w *walker) reach(name string) (path string, done func() error, err error) {
	nothing := func() error { return nil }
	if w.suspect == nil || w.suspect.Format != Directory {
		return name, nothing, nil
	}
	s := *w.suspect
	dir := worker.FilePath(s.file)
	inside, err := filepath.Rel(dir, name)
	if err != nil {
		return "", nil, err
	}
	// No link in the directory leads out of it.
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", nil, err
	}
	s.file, err = root.OpenFile(inside, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err := errors.Join(err, root.Close()); err != nil {
		if s.file != nil {
			err = errors.Join(err, s.close())
		}
		return "", nil, err
	}
	if err = s.sniff(); err == nil && s.Format != B2ND {
		err = fmt.Errorf("%w: it is %s, want b2nd", ndarray.ErrFormat, s.Format)
	}
	if err == nil {
		err = damage(s.check(w.ctx))
	}
	if err != nil {
		return "", nil, errors.Join(err, s.close())
	}
	return worker.FilePath(s.file), s.close, nil
}

func (w *walker) bcolzOptions() *bcolz.OpenOptions {
	if w.suspect == nil {
		return nil
	}
	l := w.suspect.bcolzLimits()
	return &bcolz.OpenOptions{Limits: &l}
}

// openHDF5 opens a file to list it: an untrusted one through its descriptor, beside which
// there is no other file.
func (w *walker) openHDF5(file string) (*h5.File, error) {
	if w.suspect == nil {
		return h5.Open(file, h5.ReadOnly)
	}
	info, err := w.suspect.file.Stat()
	if err != nil {
		return nil, err
	}
	return h5.OpenReaderAt(w.suspect.file, info.Size(), nil)
}
