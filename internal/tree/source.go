// Source: an open file, directory or object.

package tree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"syscall"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/bcolztree"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/internal/location/urlfile"
	"github.com/hyperslab/hyperslab/internal/sandbox/worker"
	"github.com/hyperslab/hyperslab/internal/tree/shards"
	"github.com/hyperslab/hyperslab/ndarray"
)

// File is the content of a file.
type File interface {
	io.ReaderAt
	io.Closer
}

// Trust are the rules for an untrusted Source.
type Trust struct {
	Limits format.Limits
	Policy Policy
	Direct bool // a library reads the file in the program's own process

	// Listed allows links and datasets with elements in other files in the checked file. An array
	// with such elements is not opened.
	Listed bool
}

// Policy are the features that an untrusted file may use: hyperslab.Untrusted documents them.
type Policy struct {
	Codecs                                       []cblosc.Codec
	Filters                                      []cblosc.FilterID
	HDF5Filters                                  []int
	ExternalLinks, VirtualSources, ExternalFiles bool
}

// Source is an open input.
type Source struct {
	Name string   // of the file in messages, without secrets: a path, or a URL
	Path string   // by which a library can open the file again; "" if it cannot: a URL, a reader, an fs.FS
	File File     // the content of a file; nil for a directory and a file that is opened by its Path
	Size int64    // bytes of File
	OS   *os.File // the file or directory itself, or the archive of a directory; it may be nil

	Array string // name in messages of the only array that is read, "" if there may be others

	Trust  *Trust // nil: the Source is trusted
	Remote bool   // at a URL

	dir   func(ctx context.Context) (fs.FS, error) // of a directory; nil: that at Path
	found string                                   // the format that package detect found
	err   error                                    // the reason why it found none

	mu     sync.Mutex
	frozen *regularfile.Frozen // the files of an untrusted directory since its check
	closed bool
}

// Is reports whether package detect found that format.
func (s *Source) Is(format string) bool { return s.found == format }

// Unknown returns the reason why package detect found no format, or nil.
func (s *Source) Unknown() error { return s.err }

// At returns the name of an object in messages.
func (s *Source) At(path string) string {
	if s.Array != "" {
		return s.Array
	}
	return locate.Location{File: s.Name, Object: path}.String()
}

// Local opens the file or directory at a path.
func Local(path string) (*Source, error) {
	f, is, err := detect.Open(path)
	s := &Source{Name: path, Path: path, found: is, err: err}
	if errors.Is(err, ndarray.ErrFormat) { // a driver may know more formats than package detect
		var info fs.FileInfo
		var again error
		if f, info, again = regularfile.Open(path); again == nil {
			s.hold(f, info.Size())
		}
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	if f == nil {
		return s, nil
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	s.hold(f, info.Size())
	return s, nil
}

// ByPath returns a Source of a file or directory of a known format, which its driver opens by the
// path.
func ByPath(path, format string) *Source { return &Source{Name: path, Path: path, found: format} }

// hold sets the open file.
func (s *Source) hold(f *os.File, size int64) { s.File, s.OS, s.Size = f, f, size }

// Shards returns the Source of the array in a directory of which other directories have some of the
// files.
func Shards(path, format string, others []string) (*Source, error) {
	roots := []fs.FS{os.DirFS(path)}
	for _, dir := range others {
		if _, err := os.Stat(dir); err != nil {
			return nil, err
		}
		roots = append(roots, os.DirFS(dir))
	}
	fsys := shards.FS(roots...)
	return &Source{Name: path, found: format, dir: func(context.Context) (fs.FS, error) { return fsys, nil }}, nil
}

// AtURL opens the object at a URL. The URL of a sparse frame, a carray or a ctable is that of its
// directory. whole is set for a file that is read as a whole if it is small.
func AtURL(ctx context.Context, url string, whole bool) (*Source, error) {
	s := &Source{Name: urlfile.Redact(url), Remote: true}
	c := urlfile.Get()
	open := c.Open
	if whole {
		open = c.OpenWhole
	}
	o, err := open(ctx, url)
	if err == nil {
		s.File, s.Size = o, o.Size()
		if s.found, err = detect.Reader(o, s.Size, url); err == nil {
			return s, nil
		}
	}
	// A server may answer the request for a directory with a page.
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, ndarray.ErrFormat) || strings.HasSuffix(url, "/") {
		if dir, derr := c.FS(ctx, url); derr == nil && s.directoryAt(dir) {
			s.dir = func(ctx context.Context) (fs.FS, error) {
				dir, err := c.FS(ctx, url)
				return dir, bareURL(err)
			}
			if f := s.Take(); f != nil {
				return s, f.Close()
			}
			return s, nil
		}
	}
	if s.File != nil && errors.Is(err, ndarray.ErrFormat) { // a driver may know more formats
		s.err = bareURL(err)
		return s, nil
	}
	return nil, errors.Join(bareURL(err), s.Close())
}

// directoryAt detects the format of a directory at a URL.
func (s *Source) directoryAt(dir fs.FS) bool {
	if _, err := fs.Stat(dir, cframe.IndexFile); err == nil {
		s.found = detect.B2ND
		return true
	}
	kind, err := bcolztree.Detect(dir, ".")
	if err != nil || kind == bcolztree.NotATree {
		return false
	}
	s.found = detect.Bcolz
	return true
}

// urlError is an error of package remote in an error that already contains the URL.
type urlError struct{ err, cause error }

func (e *urlError) Error() string { return e.cause.Error() }
func (e *urlError) Unwrap() error { return e.err }

// bareURL removes the URL from the message of an error, because the caller's contains it.
func bareURL(err error) error {
	if cause := urlfile.Get().Cause(err); cause != nil {
		return &urlError{err, cause}
	}
	return err
}

// Untrusted opens a file or a directory for a check. The content at a URL is first copied to a
// temporary file without a name, because a worker has no network and the checked bytes must be the
// ones that are read.
func Untrusted(ctx context.Context, file string, trust *Trust) (_ *Source, err error) {
	if !urlfile.IsURL(file) {
		f, err := openToRead(file)
		if err != nil {
			return nil, err
		}
		return Checked(f, file, trust)
	}
	o, err := urlfile.Get().Open(ctx, file)
	if err != nil {
		return nil, bareURL(err)
	}
	f, err := urlfile.Copy(ctx, o, trust.Limits.Copy)
	if err = errors.Join(err, o.Close()); err != nil {
		return nil, err
	}
	return Checked(f, urlfile.Redact(file), trust)
}

// Checked returns the Source of an open untrusted file or directory, and takes ownership of it. It
// detects the format without a C library.
func Checked(f *os.File, name string, trust *Trust) (*Source, error) {
	s, err := Given(f, name, "", trust)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if s.File == nil {
		s.found, s.err = detect.Dir(s.Path)
	} else {
		s.found, s.err = detect.Reader(f, s.Size, f.Name()) // the check reports all other problems
	}
	return s.known()
}

// Given returns the Source of an open untrusted file or directory of a known format. After an error
// the file belongs to the caller.
func Given(f *os.File, name, format string, trust *Trust) (*Source, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	s := &Source{Name: name, Path: worker.FilePath(f), OS: f, Trust: trust, found: format}
	switch {
	case info.IsDir():
		s.dir = func(context.Context) (fs.FS, error) { return s.freeze() }
	case info.Mode().IsRegular():
		s.hold(f, info.Size())
	default:
		return nil, fmt.Errorf("%w: %v is not a regular file", ndarray.ErrFormat, info.Mode().Type())
	}
	return s, nil
}

// Inside opens a file or directory below an untrusted directory. It follows no link out of the
// directory.
func (s *Source) Inside(name string) (*Source, error) {
	root, err := os.OpenRoot(s.Path)
	if err != nil {
		return nil, err
	}
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err = errors.Join(err, root.Close()); err != nil {
		return nil, err
	}
	return Checked(f, s.Name+string(os.PathSeparator)+name, s.Trust)
}

// openToRead opens a file or a directory. It does not block if the file is a pipe.
func openToRead(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// FS returns the files of a directory. Those of an untrusted one are fixed: they are the ones that
// exist at the first call, which checks them. ctx applies to the requests of a directory at a URL.
func (s *Source) FS(ctx context.Context) (fs.FS, error) {
	if s.dir == nil {
		return os.DirFS(s.Path), nil
	}
	return s.dir(ctx)
}

// IsDir reports whether the Source is a directory whose files are read through FS. A trusted local
// directory is opened by its path.
func (s *Source) IsDir() bool { return s.File == nil && s.dir != nil }

// freeze returns the directory with a fixed set of files.
func (s *Source) freeze() (_ *regularfile.Frozen, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ndarray.ErrClosed
	}
	if s.frozen == nil {
		s.frozen, err = regularfile.Freeze(s.Path)
	}
	return s.frozen, err
}

// Take returns the open file, which the caller closes from now on. It may be nil.
func (s *Source) Take() File {
	f := s.File
	s.File, s.OS = nil, nil
	return f
}

// TakeOS is Take for a file of the system.
func (s *Source) TakeOS() *os.File {
	f := s.OS
	s.File, s.OS = nil, nil
	return f
}

// Ready returns the context's error, or ndarray.ErrClosed after Close.
func (s *Source) Ready(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ndarray.ErrClosed
	}
	return nil
}

// Close closes the Source. Its fields stay, because other goroutines may read them: they receive
// the error of a closed file.
func (s *Source) Close() (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	if s.frozen != nil {
		err = s.frozen.Close()
		s.frozen = nil
	}
	switch {
	case s.File != nil:
		err = errors.Join(err, s.File.Close())
	case s.OS != nil:
		err = errors.Join(err, s.OS.Close())
	}
	return err
}

// Head returns the first bytes of a file, and none of a directory.
func (s *Source) Head() ([]byte, error) {
	if s.File == nil {
		return nil, nil
	}
	head := make([]byte, min(s.Size, 64))
	n, err := s.File.ReadAt(head, 0)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return head[:n], err
}
