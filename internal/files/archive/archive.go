// Write, and FS, which reads what it has written.

package archive

import (
	"encoding/binary"
	"encoding/gob"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/hyperslab/hyperslab/internal/errs"
)

// entry is a file, a directory or a link.
type entry struct {
	Path       string
	FileMode   fs.FileMode
	Start, Len int64
	Target     string // of a link

	members []fs.DirEntry // of a directory, sorted by name
}

func (e *entry) Name() string               { return path.Base(e.Path) }
func (e *entry) Size() int64                { return e.Len }
func (e *entry) Mode() fs.FileMode          { return e.FileMode }
func (e *entry) Type() fs.FileMode          { return e.FileMode.Type() }
func (e *entry) ModTime() time.Time         { return time.Time{} }
func (e *entry) IsDir() bool                { return e.FileMode.IsDir() }
func (e *entry) Sys() any                   { return nil }
func (e *entry) Info() (fs.FileInfo, error) { return e, nil }

// entryBytes is the number of bytes that count for an entry in addition to its content and name.
const entryBytes = 128

// Write writes the files of fsys. Links are stored, not followed, and of other special files only
// the type.
//
// It returns errs.ErrLimit if the files have more than most bytes, where each file and directory
// counts some bytes too, and the errors of fsys and w.
func Write(w io.Writer, fsys fs.FS, most int64) error {
	var index []*entry
	at, left := int64(0), most
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		e := &entry{Path: name, FileMode: d.Type(), Start: at}
		if left -= entryBytes + int64(len(name)); left >= 0 {
			err = e.content(w, fsys, left)
		}
		if left -= e.Len; left < 0 {
			err = fmt.Errorf("%w: files to copy: got more bytes, want at most %d", errs.ErrLimit, most)
		}
		at += e.Len
		index = append(index, e)
		return err
	})
	if err != nil {
		return err
	}
	if err := gob.NewEncoder(w).Encode(index); err != nil {
		return err
	}
	return binary.Write(w, binary.LittleEndian, at)
}

// content writes the content of a file of at most most bytes.
func (e *entry) content(w io.Writer, fsys fs.FS, most int64) (err error) {
	switch {
	case e.FileMode&fs.ModeSymlink != 0:
		e.Target, err = fs.ReadLink(fsys, e.Path)
		return err
	case !e.FileMode.IsRegular():
		return nil
	}
	f, err := fsys.Open(e.Path)
	if err != nil {
		return err
	}
	e.Len, err = io.Copy(w, io.LimitReader(f, most+1))
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// FS is the file system of an archive. It does not follow links.
type FS struct {
	r       io.ReaderAt
	entries map[string]*entry
}

var (
	_ fs.StatFS     = (*FS)(nil)
	_ fs.ReadDirFS  = (*FS)(nil)
	_ fs.ReadLinkFS = (*FS)(nil)
)

// Open opens the archive in r, which has size bytes. It returns errs.ErrCorrupt for other content.
func Open(r io.ReaderAt, size int64) (*FS, error) {
	corrupt := func(err error) error { return fmt.Errorf("%w: index of an archive: %w", errs.ErrCorrupt, err) }
	var end [8]byte
	if _, err := r.ReadAt(end[:], size-int64(len(end))); err != nil {
		return nil, corrupt(err)
	}
	start := int64(binary.LittleEndian.Uint64(end[:]))
	if start < 0 || start > size-int64(len(end)) {
		return nil, corrupt(fmt.Errorf("offset: got %d, want at most %d", start, size))
	}
	var index []*entry
	if err := gob.NewDecoder(io.NewSectionReader(r, start, size-int64(len(end))-start)).Decode(&index); err != nil {
		return nil, corrupt(err)
	}
	f := &FS{r, make(map[string]*entry, len(index))}
	for _, e := range index {
		if !fs.ValidPath(e.Path) || e.Start < 0 || e.Len < 0 || e.Start > start-e.Len {
			return nil, corrupt(fmt.Errorf("file %q: got %d bytes at %d, want a file before %d", e.Path, e.Len, e.Start, start))
		}
		if f.entries[e.Path] = e; e.Path == "." {
			continue
		}
		parent := f.entries[path.Dir(e.Path)]
		if parent == nil {
			return nil, corrupt(fmt.Errorf("file %q: got no directory, want one before it", e.Path))
		}
		parent.members = append(parent.members, e)
	}
	for _, e := range index {
		slices.SortFunc(e.members, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	}
	return f, nil
}

func (f *FS) find(op, name string) (*entry, error) {
	e := f.entries[name]
	if e == nil {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
	}
	return e, nil
}

// Stat returns the state of a file.
func (f *FS) Stat(name string) (fs.FileInfo, error) { return f.Lstat(name) }

// Lstat returns the state of a file.
func (f *FS) Lstat(name string) (fs.FileInfo, error) {
	e, err := f.find("stat", name)
	if err != nil {
		return nil, err
	}
	return e, nil
}

// ReadLink returns the target of a link.
func (f *FS) ReadLink(name string) (string, error) {
	e, err := f.find("readlink", name)
	if err == nil && e.FileMode&fs.ModeSymlink == 0 {
		err = &fs.PathError{Op: "readlink", Path: name, Err: fs.ErrInvalid}
	}
	if err != nil {
		return "", err
	}
	return e.Target, nil
}

// ReadDir lists a directory.
func (f *FS) ReadDir(name string) ([]fs.DirEntry, error) {
	e, err := f.find("readdir", name)
	if err == nil && !e.IsDir() {
		err = &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrInvalid}
	}
	if err != nil {
		return nil, err
	}
	return slices.Clone(e.members), nil
}

// Open opens a file or a directory. A file is an io.ReaderAt.
func (f *FS) Open(name string) (fs.File, error) {
	e, err := f.find("open", name)
	if err == nil && !e.IsDir() && !e.FileMode.IsRegular() {
		err = &fs.PathError{Op: "open", Path: name, Err: fmt.Errorf("%w: %v is not a regular file", errs.ErrFormat, e.Type())}
	}
	if err != nil {
		return nil, err
	}
	if e.IsDir() {
		return &directory{e, e.members}, nil
	}
	return &file{io.NewSectionReader(f.r, e.Start, e.Len), e}, nil
}

type file struct {
	*io.SectionReader
	e *entry
}

func (f *file) Stat() (fs.FileInfo, error) { return f.e, nil }
func (f *file) Close() error               { return nil }

type directory struct {
	*entry
	left []fs.DirEntry
}

func (d *directory) Stat() (fs.FileInfo, error) { return d.entry, nil }
func (d *directory) Close() error               { return nil }

func (d *directory) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.Path, Err: fs.ErrInvalid}
}

// ReadDir implements fs.ReadDirFile.
func (d *directory) ReadDir(n int) (list []fs.DirEntry, err error) {
	if n <= 0 {
		n = len(d.left)
	} else if len(d.left) == 0 {
		err = io.EOF
	}
	n = min(n, len(d.left))
	list, d.left = d.left[:n:n], d.left[n:]
	return list, err
}
