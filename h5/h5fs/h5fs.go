//go:build cgo

// Implementation of io/fs over the methods of package h5.

package h5fs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/hyperslab/hyperslab/h5"
)

// New returns the file as an io/fs file system that is also a ReadDirFS, StatFS and ReadLinkFS. It
// reads through f and must not be used after f is closed.
//
// A group is a directory. A dataset is a file that contains its elements as stored, decoded, in
// row-major order and in the byte order of their datatype. It is read in pieces. Datasets whose
// elements are not plain bytes (strings of variable length, sequences, references) and committed
// datatypes are irregular files without content: reading one returns ErrType.
//
// A soft link is a symbolic link. A hard link to one of its own parent groups is a symbolic link
// too, so that walks terminate. External and user-defined links are left out, and so are names that
// are not valid path elements in io/fs: invalid UTF-8 and "..". A backslash is allowed.
func New(f *h5.File) fs.FS { return fileSystem{f.Root()} }

type fileSystem struct{ root *h5.Group }

// An entry is the target of a name in a directory. It implements FileInfo and DirEntry.
type entry struct {
	name    string
	mode    fs.FileMode
	size    int64
	modTime time.Time
	kind    h5.ObjectKind // kind of the object; 0 for a symbolic link
	target  string        // target of a symbolic link
	info    h5.DatasetInfo
}

func (e *entry) Name() string               { return e.name }
func (e *entry) Size() int64                { return e.size }
func (e *entry) Mode() fs.FileMode          { return e.mode }
func (e *entry) Type() fs.FileMode          { return e.mode.Type() }
func (e *entry) ModTime() time.Time         { return e.modTime }
func (e *entry) IsDir() bool                { return e.mode.IsDir() }
func (e *entry) Sys() any                   { return e.kind }
func (e *entry) Info() (fs.FileInfo, error) { return e, nil }
func (e *entry) String() string             { return fs.FormatFileInfo(e) }

// maxSymlinks is the maximum number of symbolic links followed to resolve one path.
const maxSymlinks = 40

// resolve follows the symbolic links of a valid path, except the last element if last is false. It
// returns the path without symbolic links and its entry.
func (s fileSystem) resolve(name string, last bool) (string, *entry, error) {
	rest := strings.Split(name, "/")
	if name == "." {
		rest = nil
	}
	at, up := ".", []uint64{}
	e, err := s.entry(".", ".", nil)
	if err != nil {
		return "", nil, err
	}
	for hops := 0; len(rest) > 0; {
		if !e.IsDir() {
			return "", nil, fs.ErrNotExist
		}
		info, err := s.root.ObjectInfo(at)
		if err != nil {
			return "", nil, err
		}
		up = append(up, info.Address)
		next := path.Join(at, rest[0])
		found, err := s.entry(next, rest[0], up)
		if err != nil {
			return "", nil, err
		}
		rest = rest[1:]
		if found.mode&fs.ModeSymlink == 0 || (len(rest) == 0 && !last) {
			at, e = next, found
			continue
		}
		if hops++; hops > maxSymlinks {
			return "", nil, errors.New("too many symbolic links")
		}
		target := path.Join(path.Dir(next), found.target) // relative to the directory of the link
		if strings.HasPrefix(found.target, "/") {
			target = strings.TrimPrefix(path.Clean(found.target), "/")
		}
		if target == "" {
			target = "."
		}
		if !fs.ValidPath(target) {
			return "", nil, fs.ErrNotExist
		}
		rest = append(strings.Split(target, "/"), rest...)
		if rest[0] == "." {
			rest = rest[1:]
		}
		at, up = ".", up[:0]
		if e, err = s.entry(".", ".", nil); err != nil {
			return "", nil, err
		}
	}
	return at, e, nil
}

// entry describes the last link of a path whose other links are hard links. up are the addresses of
// its parent groups, from the root.
func (s fileSystem) entry(at, name string, up []uint64) (*entry, error) {
	if at == "." {
		return s.object(at, name)
	}
	l, err := s.root.Link(at)
	if err != nil {
		return nil, err
	}
	return s.link(at, l, up)
}

func (s fileSystem) link(at string, l h5.Link, up []uint64) (*entry, error) {
	switch l.Kind {
	case h5.SoftLink:
		return &entry{name: l.Name, mode: fs.ModeSymlink | 0o777, target: l.Target, size: int64(len(l.Target))}, nil
	case h5.HardLink:
		if i := slices.Index(up, l.Address); i >= 0 {
			target := path.Join(slices.Repeat([]string{".."}, len(up)-1-i)...)
			if target == "" {
				target = "."
			}
			return &entry{name: l.Name, mode: fs.ModeSymlink | 0o777, target: target, size: int64(len(target))}, nil
		}
		return s.object(at, l.Name)
	}
	return nil, fs.ErrNotExist
}

func (s fileSystem) object(at, name string) (*entry, error) {
	info, err := s.root.ObjectInfo(at)
	if err != nil {
		return nil, err
	}
	e := &entry{name: name, kind: info.Kind, modTime: info.Modified}
	switch info.Kind {
	case h5.GroupObject:
		e.mode = fs.ModeDir | 0o555
	case h5.DatasetObject:
		d, err := s.root.OpenDataset(at)
		if err != nil {
			return nil, err
		}
		defer d.Close()
		if e.info, err = d.Info(); err != nil {
			return nil, err
		}
		e.mode = 0o444
		n, size := e.info.Space.NumElems(), int64(e.info.Datatype.Size)
		if !e.info.Datatype.Plain() || n < 0 || size > 0 && n > math.MaxInt64/size {
			e.mode = fs.ModeIrregular | 0o444
		} else {
			e.size = n * size
		}
	default:
		e.mode = fs.ModeIrregular | 0o444
	}
	return e, nil
}

// Open opens a group or dataset.
func (s fileSystem) Open(name string) (fs.File, error) {
	at, e, err := s.find("open", name, true)
	if err != nil {
		return nil, err
	}
	switch {
	case e.IsDir():
		entries, err := s.entries(at)
		if err != nil {
			return nil, &fs.PathError{Op: "open", Path: name, Err: err}
		}
		return &openDir{openEntry: openEntry{e, name}, entries: entries}, nil
	case e.kind == h5.DatasetObject:
		d, err := s.root.OpenDataset(at)
		if err != nil {
			return nil, &fs.PathError{Op: "open", Path: name, Err: err}
		}
		return &openDataset{openEntry: openEntry{e, name}, d: d}, nil
	}
	return &openDataset{openEntry: openEntry{e, name}}, nil
}

// Stat describes the object that a name refers to.
func (s fileSystem) Stat(name string) (fs.FileInfo, error) {
	_, e, err := s.find("stat", name, true)
	if err != nil {
		return nil, err
	}
	return named(e, name), nil
}

// Lstat describes a name without following a symbolic link.
func (s fileSystem) Lstat(name string) (fs.FileInfo, error) {
	_, e, err := s.find("lstat", name, false)
	if err != nil {
		return nil, err
	}
	return named(e, name), nil
}

// named sets the name of e to the name it was looked up by.
func named(e *entry, name string) *entry {
	e.name = path.Base(name)
	return e
}

// ReadLink returns the target of a symbolic link.
func (s fileSystem) ReadLink(name string) (string, error) {
	_, e, err := s.find("readlink", name, false)
	if err != nil {
		return "", err
	}
	if e.mode&fs.ModeSymlink == 0 {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: fs.ErrInvalid}
	}
	return e.target, nil
}

// ReadDir lists a group.
func (s fileSystem) ReadDir(name string) ([]fs.DirEntry, error) {
	at, e, err := s.find("readdir", name, true)
	if err == nil && !e.IsDir() {
		err = &fs.PathError{Op: "readdir", Path: name, Err: errors.New("not a directory")}
	}
	if err != nil {
		return nil, err
	}
	entries, err := s.entries(at)
	if err != nil {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: err}
	}
	return entries, nil
}

func (s fileSystem) find(op, name string, last bool) (string, *entry, error) {
	err := error(fs.ErrInvalid)
	if fs.ValidPath(name) {
		var at string
		var e *entry
		if at, e, err = s.resolve(name, last); err == nil {
			return at, e, nil
		}
	}
	return "", nil, &fs.PathError{Op: op, Path: name, Err: err}
}

// entries lists the group at a path without symbolic links.
func (s fileSystem) entries(at string) ([]fs.DirEntry, error) {
	g, err := s.root.OpenGroup(at)
	if err != nil {
		return nil, err
	}
	defer g.Close()
	up, err := s.above(at)
	if err != nil {
		return nil, err
	}
	var found []fs.DirEntry
	for l, err := range g.Links() {
		if err != nil {
			return nil, err
		}
		if l.Name == "." || !fs.ValidPath(l.Name) || l.Kind == h5.ExternalLink || l.Kind == h5.UserLink {
			continue
		}
		e, err := s.link(path.Join(at, l.Name), l, up)
		if err != nil {
			return nil, err
		}
		found = append(found, e)
	}
	return found, nil
}

// above returns the addresses of the groups from the root to the group at a path.
func (s fileSystem) above(at string) ([]uint64, error) {
	var up []uint64
	for {
		info, err := s.root.ObjectInfo(at)
		if err != nil {
			return nil, err
		}
		up = append(up, info.Address)
		if at == "." {
			slices.Reverse(up)
			return up, nil
		}
		at = path.Dir(at)
	}
}

type openEntry struct {
	e    *entry
	name string // name passed to Open
}

func (o *openEntry) Stat() (fs.FileInfo, error) { return named(o.e, o.name), nil }
func (o *openEntry) Close() error               { return nil }

func (o *openEntry) fail(op string, err error) error {
	return &fs.PathError{Op: op, Path: o.name, Err: err}
}

type openDir struct {
	openEntry
	entries []fs.DirEntry
}

func (o *openDir) Read([]byte) (int, error) { return 0, o.fail("read", errors.New("is a directory")) }

func (o *openDir) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 || n >= len(o.entries) {
		if n > 0 && len(o.entries) == 0 {
			return nil, io.EOF
		}
		n = len(o.entries)
	}
	found := o.entries[:n:n]
	o.entries = o.entries[n:]
	return found, nil
}

// An openDataset reads a dataset as a file.
type openDataset struct {
	openEntry
	d  *h5.Dataset // nil for an object without content
	at int64
}

func (o *openDataset) Close() error {
	if o.d == nil {
		return nil
	}
	return o.d.Close()
}

func (o *openDataset) Read(p []byte) (int, error) {
	n, err := o.ReadAt(p, o.at)
	o.at += int64(n)
	if n > 0 {
		err = nil
	}
	return n, err
}

func (o *openDataset) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += o.at
	case io.SeekEnd:
		offset += o.e.size
	}
	if offset < 0 || whence < io.SeekStart || whence > io.SeekEnd {
		return 0, o.fail("seek", fs.ErrInvalid)
	}
	o.at = offset
	return offset, nil
}

// ReadAt reads whole elements and returns the requested bytes of them.
func (o *openDataset) ReadAt(p []byte, at int64) (int, error) {
	if o.e.mode&fs.ModeIrregular != 0 {
		return 0, o.fail("read", fmt.Errorf("%w: the object is more than bytes", h5.ErrType))
	}
	if at < 0 {
		return 0, o.fail("read", fs.ErrInvalid)
	}
	done := 0
	for done < len(p) {
		if at >= o.e.size {
			return done, io.EOF
		}
		n, err := o.readRun(p[done:], at)
		if err != nil {
			return done, o.fail("read", err)
		}
		done += n
		at += int64(n)
	}
	return done, nil
}

// maxRun is the maximum number of bytes read in one call into libhdf5.
const maxRun = 4 << 20

// readRun reads from byte `at` to the end of a contiguous region: some whole rows, or a part of
// one.
func (o *openDataset) readRun(p []byte, at int64) (int, error) {
	t := o.e.info.Datatype
	first, last := at/int64(t.Size), (at+min(int64(min(len(p), maxRun)), o.e.size-at)-1)/int64(t.Size)
	r := runOf(o.e.info.Space.Dims, first, last+1-first)
	buf := make([]byte, r.NumElems()*int64(t.Size))
	if err := o.d.ReadRegion(buf, t, r); err != nil {
		return 0, err
	}
	return copy(p, buf[at-first*int64(t.Size):]), nil
}

// runOf returns the largest region that begins with element number first and covers at most n
// consecutive elements in row-major order.
func runOf(dims []int64, first, n int64) h5.Region {
	r := h5.Region{Start: make([]int64, len(dims)), Count: make([]int64, len(dims))}
	whole := int64(1) // elements of one step along the axis
	for i := len(dims) - 1; i >= 0; i-- {
		r.Start[i] = first % dims[i]
		first /= dims[i]
		r.Count[i] = 1
	}
	for i := len(dims) - 1; i >= 0; i-- {
		r.Count[i] = min(n/whole, dims[i]-r.Start[i])
		if r.Count[i] < dims[i] {
			return r
		}
		whole *= dims[i]
		if n < whole || (i > 0 && n/whole == 0) {
			return r
		}
	}
	return r
}
