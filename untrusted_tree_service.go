// The worker's side of an untrusted file whose objects are listed and opened one by one.

package hyperslab

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/internal/sandbox/worker"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/bcolz"
)

// treeHandler answers requests for one file.
type treeHandler struct {
	s     *suspect
	names *strings.Replacer // of the file's descriptor

	next func() (Entry, error, bool) // of the walk; nil before it begins
	stop func()
	skip bool

	array     *arrayHandler // of the array of the last request
	arrayPath string
}

// serveTree returns the handler for all objects of a file.
func serveTree(s *worker.Session, x *suspect) (worker.Handler[request], error) {
	x.Policy.ExternalLinks, x.Policy.VirtualSources, x.Policy.ExternalFiles = true, true, true // listed only
	h := &treeHandler{s: x, names: s.Names}
	return h, h.check()
}

func (h *treeHandler) close() {
	if h.stop != nil {
		h.stop()
	}
	h.next, h.stop = nil, nil
}

// check checks the whole file. In a directory the arrays are checked one by one, later.
func (h *treeHandler) check() error {
	if isStore(h.s.Format) {
		return h.s.checkStore(context.Background()) // the store stays open
	}
	s := *h.s
	s.Object = "" // all columns of a ctable
	if s.Format == Directory {
		return nil
	}
	return errors.Join(s.check(context.Background()), s.thaw())
}

// Call returns the result of a request, for the file or for the array at a path.
func (h *treeHandler) Call(q *request) (any, error) {
	switch q.Verb {
	case "check":
		return struct{}{}, nil // the check was done before the first call
	case "list":
		h.begin(q.Path)
		return h.more(q), nil
	case "more":
		return h.more(q), nil
	case "group":
		return h.attrs(q.Path)
	case "metadata":
		return h.metadata(q.Path)
	}
	a, err := h.arrayAt(q.Path)
	if err != nil {
		return nil, cause(err)
	}
	return a.Call(q)
}

// Fill reads elements of the array at a path.
func (h *treeHandler) Fill(q *request, dst []byte) (int, error) {
	a, err := h.arrayAt(q.Path)
	if err != nil {
		return 0, cause(err)
	}
	return a.Fill(q, dst)
}

// location returns the location of an object through the descriptor of the open file.
func (h *treeHandler) location(path string) locate.Location {
	return locate.Location{File: worker.FilePath(h.s.file), Object: path}
}

// Beside reports whether the request is for the open array and can run concurrently.
func (h *treeHandler) Beside(q *request) bool {
	return h.array != nil && h.arrayPath == q.Path && h.array.Beside(q)
}

// arrayAt opens the array at a path. At most one array is open at a time.
func (h *treeHandler) arrayAt(path string) (*arrayHandler, error) {
	if h.array != nil && h.arrayPath == path {
		return h.array, nil
	}
	if h.array != nil {
		err := h.array.array.Close()
		if h.array = nil; err != nil {
			return nil, err
		}
	}
	s, err := h.s.at(path)
	if err != nil {
		return nil, err
	}
	b, err := s.bounded()
	if err != nil {
		return nil, errors.Join(bare(err), s.close())
	}
	if d, ok := ndarray.As[ndarray.ExternalElements](b); ok && !s.Direct {
		if files := d.Elsewhere(); len(files) > 0 { // without access to them libhdf5 would return fill values
			err := fmt.Errorf("%w: elements in other files, for example %q, which a worker cannot open", errors.ErrUnsupported, files[0])
			return nil, errors.Join(err, b.Close(), s.close())
		}
	}
	a, err := ndarray.New(&guard{Backend: b, name: s.Name, s: s})
	if err != nil {
		return nil, errors.Join(err, b.Close(), s.close())
	}
	h.array, h.arrayPath = &arrayHandler{array: a, backend: b}, path
	return h.array, nil
}

func (h *treeHandler) attrs(path string) (any, error) {
	w := &walker{ctx: context.Background(), suspect: h.s, store: h.s.store}
	l := h.location(path)
	if err := w.mayBeGroup(l, h.s.Format); err != nil {
		return nil, err
	}
	attrs, err := w.groupAttrs(l, h.s.Format)
	return attrs, cause(err)
}

// begin begins a walk at a path, and ends the previous walk.
func (h *treeHandler) begin(path string) {
	h.close()
	h.next, h.stop = iter.Pull2(func(yield func(Entry, error) bool) {
		w := walker{
			ctx: context.Background(), yield: yield, suspect: h.s, store: h.s.store,
			skip: func(Entry) bool { return h.skip },
		}
		if err := w.from(h.location(path), h.s.Format); err != nil && !errors.Is(err, errStop) {
			yield(Entry{}, cause(err))
		}
	})
}

// more returns the next entries of the walk.
func (h *treeHandler) more(q *request) wireEntries {
	if h.next == nil {
		return wireEntries{Done: true, Failed: fmt.Errorf("%w: the walk has not begun", worker.ErrProtocol)}
	}
	h.skip = q.Skip
	var batch wireEntries
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
		if h.skip = false; q.Prune && e.Kind == Group {
			break
		}
	}
	return batch
}

// reach prepares a frame in a directory of arrays for the library. For an untrusted directory it
// checks the frame and returns the path of the checked file's descriptor.
func (w *walker) reach(name string) (path string, done func() error, err error) {
	nothing := func() error { return nil }
	if w.suspect == nil || w.suspect.Format != Directory {
		return name, nothing, nil
	}
	s, err := w.suspect.inside(name)
	if err != nil {
		return "", nil, err
	}
	if err := s.check(w.ctx); err != nil {
		return "", nil, errors.Join(err, s.close())
	}
	return worker.FilePath(s.file), s.close, nil
}

// inside opens a frame or a bcolz tree of a directory of arrays. name is a path below
// worker.FilePath of the directory.
func (s *suspect) inside(name string) (_ *suspect, err error) {
	dir := worker.FilePath(s.file)
	inside, err := filepath.Rel(dir, name)
	if err != nil {
		return nil, err
	}
	// os.Root follows no link out of the directory.
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	x := *s
	x.Object, x.frozen, x.store = "", nil, nil
	x.file, err = root.OpenFile(inside, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err = errors.Join(err, root.Close()); err == nil {
		err = x.sniff()
	}
	if err == nil && x.Format != B2ND && x.Format != Bcolz {
		err = fmt.Errorf("%w: %s is %s, want b2nd or bcolz", ndarray.ErrFormat, filepath.Base(name), x.Format)
	}
	if err != nil {
		return nil, errors.Join(err, x.close())
	}
	return &x, nil
}

// at returns the array at a path of a checked file, with its own descriptor.
func (s *suspect) at(path string) (*suspect, error) {
	l := locate.Location{File: worker.FilePath(s.file), Object: path}
	if err := checkObject(s.Format, l); err != nil {
		return nil, err
	}
	if s.Format == Directory {
		in, isBcolz := bcolzIn(l)
		name := in.File
		if !isBcolz {
			var err error
			if name, err = arrayFile(l); err != nil {
				return nil, err
			}
		}
		x, err := s.inside(name)
		if err != nil {
			return nil, err
		}
		if isBcolz {
			x.Object = in.Object
		}
		if err := x.check(context.Background()); err != nil {
			return nil, errors.Join(err, x.close())
		}
		return x, nil
	}
	x := *s
	x.Object, x.frozen, x.shares = path, nil, true
	var err error
	x.file, err = openToRead(l.File)
	return &x, err
}

func (w *walker) bcolzOptions() *bcolz.OpenOptions {
	if w.suspect == nil {
		return nil
	}
	l := w.suspect.bcolzLimits()
	return &bcolz.OpenOptions{MaxMetadata: l.Metadata, MaxChunk: l.Chunk}
}

// openHDF5 opens a file to list it. It opens an untrusted file through its descriptor, so that
// libhdf5 cannot open other files. The caller calls done after the last use.
func (w *walker) openHDF5(file string) (f *h5.File, done func() error, err error) {
	switch {
	case w.held != nil:
		return w.held, func() error { return nil }, nil
	case w.suspect == nil:
		f, err = w.opened.hdf5(w.ctx, file, w.unlocked)
	default:
		info, statErr := w.suspect.file.Stat()
		if statErr != nil {
			return nil, nil, statErr
		}
		f, err = h5.OpenReaderAt(w.suspect.file, info.Size(), nil)
	}
	if err != nil {
		return nil, nil, err
	}
	return f, f.Close, nil
}
