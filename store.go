// Containers of python-blosc2: stores of many frames, in a ZIP file, a directory or a frame.

package hyperslab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/hyperslab/hyperslab/internal/blosc/stores"
	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/format/b2store"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/internal/sandbox/worker"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/b2nd"
)

// ctable is the type of a group that is a table.
const ctable = "ctable"

// isStore reports whether a format is a container of python-blosc2.
func isStore(f Format) bool { return detect.IsStore(string(f)) }

// openStore opens a store. The suspect is nil for a trusted file.
func openStore(ctx context.Context, file string, f Format, s *suspect) (*stores.Store, error) {
	if isURL(file) {
		u, err := openURL(ctx, file)
		if err != nil {
			return nil, err
		}
		return u.store()
	}
	var o stores.Options
	if s != nil {
		o = stores.Options{Limits: b2store.Limits{Directory: s.Limits.Metadata}, Metadata: s.Limits.Metadata, Embedded: s.Limits.Chunk}
		o.Check = s.checkFrameIn
	}
	return stores.Open(file, string(f), o)
}

// storeOf returns the store of a file, and a function that closes it unless it is shared.
func (w *walker) storeOf(file string, f Format) (*stores.Store, func() error, error) {
	if w.store != nil {
		return w.store, func() error { return nil }, nil
	}
	s, err := openStore(w.ctx, file, f, w.suspect)
	if err != nil {
		return nil, nil, err
	}
	return s, s.Close, nil
}

// storedArray is an open array of a store.
type storedArray interface {
	ndarray.Backend
	// setClose sets a function that Close calls last.
	setClose(f func() error)
}

// openMember opens the array at a path of a store.
func openMember(s *stores.Store, key, name string, o *b2nd.OpenOptions) (storedArray, error) {
	tableDType := func() error {
		if o == nil || o.DType == nil {
			return nil
		}
		return fmt.Errorf("%w: got the dtype %s, want none, because a table stores the dtypes of its columns", ndarray.ErrParam, o.DType)
	}
	if t := s.Table(key); t != nil {
		if t.Err != nil {
			return nil, t.Err
		}
		if err := tableDType(); err != nil {
			return nil, err
		}
		r, err := openRecords(s, t, name)
		if err != nil {
			return nil, err
		}
		return r, nil
	}
	if key == "/" {
		return nil, fmt.Errorf("%w: a store holds many arrays, name one as FILE:/path", ndarray.ErrParam)
	}
	x, err := s.Object(key)
	if err != nil {
		return nil, err
	}
	if x.Table != nil {
		if err := tableDType(); err != nil {
			return nil, err
		}
		c, err := openColumn(s, x, name)
		if err != nil {
			return nil, err
		}
		return c, nil
	}
	f, err := s.Frame(x)
	if err != nil {
		return nil, err
	}
	r, err := b2nd.OpenReaderAt(f, f.Size, name, o)
	if errors.Is(err, ndarray.ErrFormat) {
		err = errs.Mark(err, ndarray.ErrCorrupt) // because its name or the map marks it as a frame
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &member{Backend: r, close: f.Close}, nil
}

// member is an array in a file that is closed with it.
type member struct {
	ndarray.Backend
	close func() error // closes the file of the array, and the store if it is the array's own
	file  *os.File     // the file of a frame that is read in Go; nil for other arrays
}

var _ cframe.FileHolder = (*member)(nil)

// File returns the file of a frame that is read in Go, or nil.
func (m *member) File() *os.File { return m.file }

// owned returns the newly opened backend b as a member whose file is closed by close. If err is not
// nil, it closes the file.
func owned(b ndarray.Backend, err error, close func() error) (ndarray.Backend, error) {
	if err != nil {
		return nil, errors.Join(err, close())
	}
	return &member{Backend: b, close: close}, nil
}

func (m *member) setClose(f func() error) {
	file := m.close
	m.close = func() error { return errors.Join(file(), f()) }
}

// Unwrap returns the array without the file.
func (m *member) Unwrap() ndarray.Backend { return m.Backend }

// Close closes the array.
func (m *member) Close() error { return errors.Join(m.Backend.Close(), m.close()) }

// stored opens the array at a location of a store.
func (f *openFile) stored(ctx context.Context, l locate.Location, format Format, o OpenOptions) (*ndarray.Array, error) {
	switch {
	case o.Write:
		return nil, fmt.Errorf("%w: changes in place of an array of format %s", errors.ErrUnsupported, format)
	case o.Library:
		return nil, fmt.Errorf("%w: C-Blosc2 does not read arrays of format %s", ndarray.ErrParam, format)
	}
	s, err := f.store(ctx, l.File, format)
	if err != nil {
		return nil, err
	}
	m, err := openMember(s, groupPath(l), l.String(), &b2nd.OpenOptions{DType: o.DType, Metadata: o.Metadata})
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	m.setClose(s.Close)
	return array(m, nil)
}

// store opens the store with a path.
func (f *openFile) store(ctx context.Context, path string, format Format) (*stores.Store, error) {
	if f.file == nil {
		return openStore(ctx, path, format, nil)
	}
	info, err := f.file.Stat()
	if err != nil {
		return nil, err
	}
	return stores.OpenReaderAt(f.release(), info.Size(), string(format), stores.Options{})
}

// addStored starts an array in an existing .b2d, or the first array of a new one.
func addStored(ctx context.Context, l locate.Location, spec ndarray.Spec, o CreateOptions, location string) (*Draft, error) {
	create := !regularfile.Exists(l.File)
	if create && o.Format != B2D {
		return nil, fmt.Errorf("%w: one array in a new %s; a new container other than a %s is written from a tree", errors.ErrUnsupported, o.Format, B2D)
	}
	if err := b2nd.Check(spec); err != nil {
		return nil, err
	}
	var out *atomicfile.Output
	var file string
	var err error
	if create {
		out, file, err = newStored(ctx, l)
	} else if out, err = stores.Add(ctx, o.Lock, l.File, string(o.Format), groupPath(l), b2store.ArrayExt, o.Overwrite); err == nil {
		file = out.Path()
	}
	if err != nil {
		return nil, err
	}
	a, err := array(b2nd.Create(file, spec, &b2nd.CreateOptions{Name: location, Library: o.Library}))
	if err != nil {
		return nil, errors.Join(err, out.Abort())
	}
	return &Draft{Array: a, location: location, out: out}, nil
}

// newStored starts a .b2d with one array, whose file it returns.
func newStored(ctx context.Context, l locate.Location) (_ *atomicfile.Output, file string, err error) {
	key := groupPath(l)
	if key == "/" {
		return nil, "", fmt.Errorf("%w: a path in the store: got /, want that of an array", ndarray.ErrParam)
	}
	if err := b2store.CheckKey(key); err != nil {
		return nil, "", err
	}
	out, err := atomicfile.Create(ctx, l.File, atomicfile.Options{})
	if err != nil {
		return nil, "", err
	}
	files := dirFiles{out.Path()}
	if err = writeEmbed(files); err == nil {
		file, err = files.begin(key, b2store.ArrayExt)
	}
	if err != nil {
		return nil, "", errors.Join(err, out.Abort())
	}
	return out, file, nil
}

// stored lists a store, from one of its keys on.
func (w *walker) stored(l locate.Location, f Format) (err error) {
	s, done, err := w.storeOf(l.File, f)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	key := groupPath(l)
	if _, ok := s.Members(key); ok {
		return w.storedGroup(s, l.File, key)
	}
	if _, err := s.Object(key); err != nil {
		return err
	}
	return w.storedArray(s, l.File, key)
}

// storedGroup lists a group of a store and its members.
func (w *walker) storedGroup(s *stores.Store, file, key string) error {
	e := Entry{Path: key, Kind: Group}
	attrs, err := w.storedAttrs(s, file, key)
	e.Attrs, e.Err = len(attrs.List)+len(attrs.Unsupported), err
	if t := s.Table(key); t != nil {
		e.Type = ctable
		if e.Err == nil && t.Err != nil {
			e.Err = ndarray.Wrap("open", locate.Location{File: file, Object: key}.String(), t.Err)
		}
	}
	if stop, err := w.prune(e); stop || err != nil {
		return err
	}
	names, _ := s.Members(key)
	for _, name := range names {
		at := path.Join(key, name)
		if _, group := s.Members(at); group {
			err = w.storedGroup(s, file, at)
		} else {
			err = w.storedArray(s, file, at)
		}
		if err != nil {
			return err
		}
	}
	if key != "/" {
		return nil
	}
	for _, name := range s.Others() {
		if err := w.emit(Entry{Path: "/" + name, Kind: Other, Type: "file"}); err != nil {
			return err
		}
	}
	return nil
}

// storedArray lists an array of a store. An array that cannot be opened is an entry with an error.
func (w *walker) storedArray(s *stores.Store, file, key string) error {
	name := locate.Location{File: file, Object: key}.String()
	m, err := openMember(s, key, name, listing)
	if err != nil {
		return w.emit(Entry{Path: key, Kind: Array, Err: ndarray.Wrap("open", name, bare(err))})
	}
	e, err := w.describeFrame(name, key, m)
	if err != nil {
		return w.emit(Entry{Path: key, Kind: Array, Err: err})
	}
	return w.emit(e)
}

// storedAttrs reads the attributes of a group of a store.
func (w *walker) storedAttrs(s *stores.Store, file, key string) (attrs ndarray.Attrs, err error) {
	x := s.Attrs(key)
	if x == nil {
		return attrs, nil
	}
	f, err := s.Frame(x)
	if err != nil {
		return attrs, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	r, err := b2nd.OpenReaderAt(f, f.Size, locate.Location{File: file, Object: x.Key}.String(), nil)
	if err != nil {
		return attrs, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return attrsOf(w.ctx, r)
}

// storedGroupAttrs reads the attributes of the group at a location.
func (w *walker) storedGroupAttrs(l locate.Location, f Format) (attrs ndarray.Attrs, err error) {
	s, done, err := w.storeOf(l.File, f)
	if err != nil {
		return attrs, err
	}
	defer func() { err = errors.Join(err, done()) }()
	key := groupPath(l)
	if _, ok := s.Members(key); !ok {
		if _, err := s.Object(key); err != nil {
			return attrs, err
		}
		return attrs, fmt.Errorf("%w: %s is an array, not a group", ndarray.ErrParam, key)
	}
	return w.storedAttrs(s, l.File, key)
}

// storedMetadata reads the metalayers of an array or a group of a store.
func (w *walker) storedMetadata(l locate.Location, f Format, m *Metadata) (err error) {
	s, done, err := w.storeOf(l.File, f)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	key := groupPath(l)
	x := s.Attrs(key)
	if _, group := s.Members(key); !group {
		if x, err = s.Object(key); err != nil {
			return err
		}
	}
	if x == nil || x.Table != nil {
		return nil
	}
	frame, err := s.Frame(x)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, frame.Close()) }()
	return m.frameAt(frame, frame.Size)
}

// checkFrameIn checks a frame of a store before it is opened.
func (s *suspect) checkFrameIn(r io.ReaderAt, size int64) error {
	f, err := cframe.ReadLimits(r, size, s.frameLimits())
	if err != nil {
		return err
	}
	return s.checkRead(f)
}

// storedBackend opens the array of a checked store for the backend of a suspect.
func (s *suspect) storedBackend() (ndarray.Backend, error) {
	st, done, err := (&walker{ctx: context.Background(), suspect: s, store: s.store}).storeOf(worker.FilePath(s.file), s.Format)
	if err != nil {
		return nil, err
	}
	m, err := openMember(st, "/"+strings.Trim(s.Object, "/"), s.Name, &b2nd.OpenOptions{DType: s.DType})
	if err != nil {
		return nil, errors.Join(err, done())
	}
	m.setClose(done)
	return m, nil
}
