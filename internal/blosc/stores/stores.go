// Store, its objects and their frames.

package stores

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/hyperslab/hyperslab/cblosc/frameio"
	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/b2store"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Options are the options of Open. The zero value means the defaults.
type Options struct {
	b2store.Limits
	Metadata int64 // maximum bytes of a metadata structure of a frame; default 64 MiB
	Embedded int64 // maximum bytes of an embedded frame; default 1 GiB

	// Check is called with each frame before it is opened. nil: frames are opened at once.
	Check func(r io.ReaderAt, size int64) error

	// Reopen opens a file of a directory for each read, so that frames keep no descriptors.
	Reopen bool
}

// Object is an object of a store.
type Object struct {
	Key      string
	Member   b2store.Member // its file; Name is "" for an embedded object
	Embedded b2store.Embedded
	Kind     string // in the registry, for example "remote_store"; "" for a frame

	Table  *Table // of a column, whose frames are parts of the table; else nil
	Column b2store.Column
}

// Store is an open store.
type Store struct {
	options Options
	file    source                             // a ZIP file or a frame; nil for a directory
	dir     func(name string) (fs.File, error) // opens a file of a directory; nil for a file

	members []b2store.Member // sorted by name
	tree    *b2store.Tree[*Object]
	attrs   map[string]*Object // with the attributes of a group, by its key
	others  []string           // files that are no objects
	objects []*Object          // frames, sorted by key
	tables  map[string]*Table

	embed   *frameio.Frame // with the embedded objects
	closers []io.Closer
}

// Open opens the store at path. kind is its format in package detect.
//
// It returns ndarray.ErrFormat for a store without the file embed.b2e, the errors of package
// b2store, of frameio.OpenReaderAt and of Options.Check.
func Open(path, kind string, o Options) (*Store, error) {
	if kind == detect.B2D {
		root, err := regularfile.OpenRoot(path)
		if err != nil {
			return nil, err
		}
		return openDir(root.FS(), o, root, func(name string) (fs.File, error) {
			return root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		})
	}
	f, info, err := regularfile.Open(path)
	if err != nil {
		return nil, err
	}
	return OpenReaderAt(f, info.Size(), kind, o)
}

// OpenFS opens the store in the root directory of fsys, whose files must be io.ReaderAt. The errors
// are those of Open.
func OpenFS(fsys fs.FS, o Options) (*Store, error) { return openDir(fsys, o, nil, fsys.Open) }

// openDir opens a store in a directory. The Store closes root unless it is nil.
func openDir(fsys fs.FS, o Options, root io.Closer, open func(name string) (fs.File, error)) (_ *Store, err error) {
	s := newStore(o)
	s.dir = open
	if root != nil {
		s.closers = append(s.closers, root)
	}
	if s.members, err = b2store.ReadDir(fsys, o.Limits); err == nil {
		err = s.load()
	}
	return s.opened(err)
}

// newStore returns a Store without objects.
func newStore(o Options) *Store {
	if o.Embedded == 0 {
		o.Embedded = 1 << 30
	}
	return &Store{options: o}
}

// opened returns the Store, or closes it after an error.
func (s *Store) opened(err error) (*Store, error) {
	if err != nil {
		return nil, errors.Join(format.Part(err), s.Close())
	}
	return s, nil
}

// source is a file of a store.
type source interface {
	io.ReaderAt
	io.Closer
}

// OpenReaderAt opens the store in r, which has size bytes. It takes ownership of r. The errors are
// those of Open.
func OpenReaderAt(r source, size int64, kind string, o Options) (*Store, error) {
	s := newStore(o)
	s.file = r
	return s.opened(s.openFile(size, kind))
}

// openFile reads the members of a file.
func (s *Store) openFile(size int64, kind string) (err error) {
	if kind == detect.B2E {
		s.members = []b2store.Member{{Name: b2store.EmbedFile, Size: size}}
	} else if s.members, err = b2store.ReadZip(s.file, size, s.options.Limits); err != nil {
		return err
	}
	return s.load()
}

// load finds all objects.
func (s *Store) load() error {
	objects := make(map[string]*Object)
	registry, err := s.loadEmbedded(objects)
	if err != nil {
		return err
	}
	files := make(map[string]bool)
	for _, m := range s.members {
		if m.Name == b2store.EmbedFile {
			continue
		}
		key, known := b2store.KeyOf(m.Name)
		if unfinished(m.Name) {
			s.others = append(s.others, m.Name)
			continue
		}
		if !known {
			is, err := s.isFrame(m)
			if err != nil {
				return err
			}
			if !is {
				if !strings.HasSuffix(m.Name, ".b2lock") { // locks of C-Blosc2
					s.others = append(s.others, m.Name)
				}
				continue
			}
		}
		if files[key] {
			return &format.Error{Format: "blosc2 store", What: fmt.Sprintf("member %.60q", m.Name), Offset: m.Offset, Got: "a second file of the key " + key, Want: "one", Err: format.ErrCorrupt}
		}
		files[key] = true
		objects[key] = &Object{Key: key, Member: m} // in python-blosc2 too, a file precedes an embedded object
	}
	for key, kind := range registry {
		if _, known := objects[key]; !known && kind == "remote_store" {
			objects[key] = &Object{Key: key, Kind: kind}
		}
	}
	return s.arrange(objects)
}

// unfinished reports whether a file is an object that is being added, or in a group that is.
func unfinished(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if strings.HasPrefix(part, ".") && strings.Contains(part, ".tmp-") {
			return true
		}
	}
	return false
}

// arrange makes the tree. The objects with the attributes of groups are not in it.
func (s *Store) arrange(objects map[string]*Object) (err error) {
	s.objects = slices.SortedFunc(maps.Values(objects), func(a, b *Object) int { return strings.Compare(a.Key, b.Key) })
	s.tables = make(map[string]*Table)
	groups, err := s.findTables(objects)
	if err != nil {
		return err
	}
	attrs := make(map[string]*Object)
	for _, key := range groups {
		if x := s.tables[key].Part(b2store.TableAttrs); x != nil {
			attrs[key] = x
		}
	}
	for key, x := range objects {
		if path.Base(key) == b2store.GroupAttrs {
			delete(objects, key)
			attrs[path.Dir(key)] = x
			groups = append(groups, path.Dir(key))
		}
	}
	slices.Sort(groups)
	s.attrs = attrs
	if s.tree, err = b2store.NewTree(objects, groups, s.options.Limits); err != nil {
		return err
	}
	for key, t := range s.tables {
		s.tree.Order(key, t.order())
	}
	return nil
}

// loadEmbedded opens the frame with embedded objects, and returns the registry in it.
func (s *Store) loadEmbedded(objects map[string]*Object) (map[string]string, error) {
	i, found := slices.BinarySearchFunc(s.members, b2store.EmbedFile, func(m b2store.Member, name string) int { return strings.Compare(m.Name, name) })
	if !found {
		return nil, fmt.Errorf("%w: no file %s", ndarray.ErrFormat, b2store.EmbedFile)
	}
	r, size, err := s.member(s.members[i])
	if err != nil {
		return nil, err
	}
	if s.embed, err = s.frame(r, size); err != nil {
		return nil, fmt.Errorf("%s: %w", b2store.EmbedFile, err)
	}
	var registry map[string]string
	for _, name := range s.embed.VLMetalayers() {
		if name != b2store.MapLayer && name != b2store.Registry {
			continue
		}
		content, stored, err := s.embed.VLMetalayerSize(name)
		if err == nil && content > s.metadata() {
			err = &format.Error{Format: "blosc2 frame", What: "metalayer " + name, Got: fmt.Sprintf("%d bytes, stored in %d", content, stored), Want: fmt.Sprintf("at most %d", s.metadata()), Err: format.ErrLimit}
		}
		if err != nil {
			return nil, err
		}
		b, err := s.embed.VLMetalayer(name)
		if err != nil {
			return nil, err
		}
		if name == b2store.Registry {
			if registry, err = b2store.ParseRegistry(b); err != nil {
				return nil, err
			}
			continue
		}
		all, err := b2store.ParseMap(b, s.embed.NBytes(), s.options.Limits)
		if err != nil {
			return nil, err
		}
		for _, e := range all {
			objects[e.Key] = &Object{Key: e.Key, Embedded: e}
		}
	}
	return registry, nil
}

func (s *Store) metadata() int64 {
	if s.options.Metadata > 0 {
		return s.options.Metadata
	}
	return 64 << 20
}

// frame opens a frame after its check.
func (s *Store) frame(r io.ReaderAt, size int64) (*frameio.Frame, error) {
	if s.options.Check != nil {
		if err := s.options.Check(r, size); err != nil {
			return nil, err
		}
	}
	var l frameio.Limits
	if m := s.options.Metadata; m > 0 {
		l.Header, l.Trailer, l.Index = m, m, m
	}
	f, err := frameio.OpenReaderAt(r, size, &l)
	if errors.Is(err, format.ErrMagic) {
		err = errs.Mark(err, ndarray.ErrCorrupt) // because its name or the map marks it as a frame
	}
	return f, err
}

// member returns a reader of a file of the store. Close closes it.
func (s *Store) member(m b2store.Member) (io.ReaderAt, int64, error) {
	if s.dir == nil {
		return io.NewSectionReader(s.file, m.Offset, m.Size), m.Size, nil
	}
	f, size, err := s.open(m)
	if err == nil {
		s.closers = append(s.closers, f)
	}
	return f, size, err
}

// open opens a file of a directory.
func (s *Store) open(m b2store.Member) (dirFile, int64, error) {
	f, err := s.dir(m.Name)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &format.Error{Format: "b2d directory", What: fmt.Sprintf("file %.60q", m.Name), Got: info.Mode().Type().String(), Want: "a regular file", Err: format.ErrCorrupt}
	}
	if r, ok := f.(dirFile); ok && err == nil {
		return r, info.Size(), nil
	}
	if err == nil {
		err = fmt.Errorf("%w: the file %s cannot be read at an offset", errors.ErrUnsupported, m.Name)
	}
	return nil, 0, errors.Join(err, f.Close())
}

// dirFile is an open file of a directory.
type dirFile interface {
	fs.File
	io.ReaderAt
}

// isFrame reports whether a file begins like a frame.
func (s *Store) isFrame(m b2store.Member) (is bool, err error) {
	if m.Size < int64(detect.HeadSize) {
		return false, nil
	}
	r := io.ReaderAt(s.file)
	if s.dir != nil {
		f, _, err := s.open(m)
		if err != nil {
			return false, err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		r = f
	}
	head := make([]byte, detect.HeadSize)
	if _, err := r.ReadAt(head, m.Offset); err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	return detect.IsFrame(head), nil
}

// Object returns the object of a key, ndarray.ErrNotFound, or the error of the schema of the table
// that would contain it.
func (s *Store) Object(key string) (*Object, error) {
	if x, ok := s.tree.Object(key); ok {
		return x, nil
	}
	if _, ok := s.tree.Members(key); ok {
		return nil, fmt.Errorf("%w: %s is a group, not an array", ndarray.ErrParam, key)
	}
	for t := range s.Invalid() {
		if strings.HasPrefix(key, strings.TrimSuffix(t.Key, "/")+"/") {
			return nil, t.Err
		}
	}
	return nil, fmt.Errorf("%w: no object %s", ndarray.ErrNotFound, key)
}

// Members returns the names of the members of a group, and whether the key is a group. The columns
// of a table are in its order, and other members are sorted.
func (s *Store) Members(key string) ([]string, bool) { return s.tree.Members(key) }

// Attrs returns the object with the attributes of a group, or nil if the group has none.
func (s *Store) Attrs(key string) *Object { return s.attrs[key] }

// Others returns the names of files that are no objects.
func (s *Store) Others() []string { return s.others }

// Files returns all files of the store, sorted by name.
func (s *Store) Files() []b2store.Member { return s.members }

// Frame is the frame of an object.
type Frame struct {
	io.ReaderAt
	Size int64
	file fs.File
}

// OpenFrame opens a frame in a file of its own.
func OpenFrame(path string) (*Frame, error) {
	file, _, err := regularfile.Open(path)
	if err != nil {
		return nil, err
	}
	return NewFrame(file)
}

// NewFrame returns the frame in an open file, which must be an io.ReaderAt, and takes ownership of
// the file.
func NewFrame(file fs.File) (*Frame, error) {
	info, err := file.Stat()
	r, ok := file.(io.ReaderAt)
	if err == nil && !ok {
		err = fmt.Errorf("%w: the file %s cannot be read at an offset", errors.ErrUnsupported, info.Name())
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &Frame{ReaderAt: r, Size: info.Size(), file: file}, nil
}

// Close closes the file of the frame if it has its own.
func (f *Frame) Close() error {
	if f.file == nil {
		return nil
	}
	return f.file.Close()
}

// Frame opens the frame of an object, and checks it with Options.Check. The caller must close it
// before the Store.
//
// It returns errors.ErrUnsupported for a reference to a server, format.ErrLimit for a large
// embedded frame, or the errors of the check and of a read.
func (s *Store) Frame(x *Object) (*Frame, error) {
	f, err := s.frameOf(x)
	return f, format.Part(err)
}

// frameOf is Frame with the errors of the check and of the files.
func (s *Store) frameOf(x *Object) (_ *Frame, err error) {
	f := &Frame{}
	switch {
	case x.Table != nil:
		return nil, fmt.Errorf("%w: %s is a column, which has several frames", ndarray.ErrParam, x.Key)
	case x.Kind != "" || x.Embedded.Remote != "":
		return nil, fmt.Errorf("%w: %s is a reference to a server, whose values are not in the file", errors.ErrUnsupported, x.Key)
	case x.Member.Name == "":
		if f.ReaderAt, f.Size, err = s.embedded(x); err != nil {
			return nil, err
		}
	default:
		if f, err = s.FrameOf(x.Member); err != nil {
			return nil, err
		}
	}
	if s.options.Check != nil {
		if err := s.options.Check(f.ReaderAt, f.Size); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	return f, nil
}

// embedded decodes an embedded frame.
func (s *Store) embedded(x *Object) (io.ReaderAt, int64, error) {
	n := x.Embedded.Length
	if n > s.options.Embedded {
		return nil, 0, &format.Error{Format: "b2e map", What: fmt.Sprintf("key %.60q", x.Key), Got: fmt.Sprintf("%d bytes", n), Want: fmt.Sprintf("at most %d", s.options.Embedded), Err: format.ErrLimit}
	}
	b := make([]byte, n)
	if k, err := s.embed.ReadAt(b, x.Embedded.Offset); int64(k) < n {
		return nil, 0, err
	}
	return bytes.NewReader(b), n, nil
}

// FrameOf opens a file of the store without a check. The caller must close it before the Store.
func (s *Store) FrameOf(m b2store.Member) (*Frame, error) {
	f := &Frame{Size: m.Size}
	if s.dir == nil {
		f.ReaderAt = io.NewSectionReader(s.file, m.Offset, m.Size)
		return f, nil
	}
	file, size, err := s.open(m)
	if err != nil {
		return nil, err
	}
	f.ReaderAt, f.file, f.Size = file, file, size
	if s.options.Reopen {
		info, err := file.Stat()
		if err = errors.Join(err, file.Close()); err != nil {
			return nil, err
		}
		f.ReaderAt, f.file = &reopened{s, m, info}, nil
	}
	return f, nil
}

// reopened is a file of a directory that is opened for each read.
type reopened struct {
	s    *Store
	m    b2store.Member
	info fs.FileInfo
}

// ReadAt is as in io.ReaderAt. A file that another program has replaced is an error.
func (r *reopened) ReadAt(b []byte, at int64) (n int, err error) {
	f, _, err := r.s.open(r.m)
	if err != nil {
		return 0, err
	}
	defer f.Close() // it was only read
	if info, err := f.Stat(); err != nil || !os.SameFile(info, r.info) {
		return 0, cmp.Or(err, fmt.Errorf("%w: %s was replaced", ndarray.ErrCorrupt, r.m.Name))
	}
	return f.ReadAt(b, at)
}

// All yields all objects in the order of keys, also those with the attributes of groups.
func (s *Store) All() iter.Seq[*Object] {
	return func(yield func(*Object) bool) {
		for _, x := range s.objects {
			if !yield(x) {
				return
			}
		}
	}
}

// Close closes the files of the store.
func (s *Store) Close() (err error) {
	if s.embed != nil {
		err = s.embed.Close()
	}
	for _, c := range s.closers {
		err = errors.Join(err, c.Close())
	}
	if s.file != nil {
		err = errors.Join(err, s.file.Close())
	}
	return err
}
