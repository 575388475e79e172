// Where the bytes are: one file, or a directory with one file a chunk.

package frameio

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/format"
	"github.com/hyperslab/hyperslab/format/cframe"
	"github.com/hyperslab/hyperslab/format/chunk"
	"github.com/hyperslab/hyperslab/internal/regular"
)

// source reads stored chunks. One read gets a chunk; a second one is only needed
// if the chunk is longer than its values and a header.
type source interface {
	// read fills p with bytes of the chunk at o, beginning at byte from, and returns
	// how many there are. Fewer than len(p) are no error.
	read(p []byte, o cframe.Offset, from int64) (int, error)
	io.Closer
}

// fileSource is a contiguous frame. Reads of one open file at given offsets need
// no lock.
type fileSource struct {
	r    io.ReaderAt
	base int64     // where offset 0 is: the end of the header
	own  io.Closer // nil if r is the caller's
}

func (s *fileSource) read(p []byte, o cframe.Offset, from int64) (int, error) {
	return tail(s.r.ReadAt(p, s.base+int64(o)+from))
}

func (s *fileSource) Close() error {
	if s.own == nil {
		return nil
	}
	return s.own.Close()
}

// again opens the file once more, for one worker alone: readers that share an open file
// take turns at counting its users, in Go and in the kernel. It returns s where the file
// is the caller's or cannot be opened so, which is not on every system.
func (s *fileSource) again() *fileSource {
	f, ok := s.own.(*os.File)
	if !ok {
		return s
	}
	c, err := f.SyscallConn()
	if err != nil {
		return s
	}
	twin := s
	// What the descriptor refers to, and not the path, where another file may be by now.
	_ = c.Control(func(fd uintptr) { // fails if the file was closed
		n, err := syscall.Open("/proc/self/fd/"+strconv.Itoa(int(fd)), syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if err == nil {
			own := os.NewFile(uintptr(n), f.Name())
			twin = &fileSource{own, s.base, own}
		}
	})
	return twin
}

// mapSource is a contiguous frame whose file is mapped into memory.
type mapSource struct {
	m    atomic.Pointer[mapping] // nil: closed
	base int64
}

// mapping is a file in memory. It goes when nobody holds it any more: readers may still
// decode from it when the frame is closed.
type mapping struct{ b []byte }

func newMapping(f *os.File, size int64) (*mapping, error) {
	if size > math.MaxInt {
		return nil, fmt.Errorf("%w: a file of %d bytes in memory", cblosc.ErrLimit, size)
	}
	b, err := syscall.Mmap(int(f.Fd()), 0, int(size), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, &fs.PathError{Op: "mmap", Path: f.Name(), Err: err}
	}
	m := &mapping{b}
	runtime.AddCleanup(m, func(b []byte) { _ = syscall.Munmap(b) }, b)
	return m, nil
}

// view returns up to n bytes of the chunk at o, where they are. They stay there until w is
// put back.
func (s *mapSource) view(w *worker, o cframe.Offset, n int) ([]byte, error) {
	m := s.m.Load()
	if m == nil {
		return nil, cblosc.ErrClosed
	}
	w.held = m
	at := min(s.base+int64(o), int64(len(m.b)))
	return m.b[at:min(at+int64(n), int64(len(m.b)))], nil
}

func (s *mapSource) read(p []byte, o cframe.Offset, from int64) (int, error) {
	return tail(s.ReadAt(p, s.base+int64(o)+from))
}

// ReadAt reads the file, of which the header is a part.
func (s *mapSource) ReadAt(p []byte, off int64) (int, error) {
	m := s.m.Load()
	if m == nil {
		return 0, cblosc.ErrClosed
	}
	n := copy(p, m.b[min(off, int64(len(m.b))):])
	runtime.KeepAlive(m)
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (s *mapSource) Close() error {
	s.m.Store(nil)
	return nil
}

// openMapped opens a contiguous frame and maps its file.
func openMapped(path string, l cframe.Limits) (*cframe.Frame, source, error) {
	checked, file, err := openFile(path, l)
	if err != nil {
		return nil, nil, err
	}
	s := &mapSource{base: int64(checked.HeaderSize)}
	f := file.(*fileSource).own.(*os.File)
	info, err := f.Stat()
	var m *mapping
	if err == nil {
		m, err = newMapping(f, info.Size())
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, nil, err
	}
	s.m.Store(m)
	// Once more, from what stays open.
	head, err := cframe.ReadLimits(s, info.Size(), l)
	return head, s, err
}

// dirSource is a sparse frame. Files are opened for each read, inside the
// directory only: a link in it that leads out is refused.
//
// A writer that replaces the index may give the number of a deleted file to another chunk, because
// the numbers of small frames are few. Every read therefore compares the index afterwards: a writer
// does not change a file that the index in use refers to.
type dirSource struct {
	root    *os.Root
	limits  cframe.Limits
	offsets []cframe.Offset // the index that the Frame has; nil until it is decoded
	now     atomic.Pointer[generation]
}

// generation is one index of a sparse frame.
type generation struct {
	info  fs.FileInfo            // of the file of the index
	moved map[cframe.Offset]bool // numbers that no longer belong to the chunk that they had in offsets
}

// maxGenerations is how often a read is repeated while a writer replaces the index.
const maxGenerations = 16

func (s *dirSource) read(p []byte, o cframe.Offset, from int64) (int, error) {
	for range maxGenerations {
		g := s.now.Load()
		if g.moved[o] {
			break
		}
		n, err := s.readFile(p, o, from)
		if err != nil {
			return 0, err
		}
		info, err := s.root.Stat(cframe.IndexFile)
		if err != nil {
			return 0, err
		}
		if regular.Same(g.info, info) {
			return n, nil
		}
		if err := s.renew(); err != nil {
			return 0, err
		}
	}
	return 0, &fs.PathError{Op: "read", Path: cframe.ChunkFile(o), Err: regular.ErrReplaced}
}

// renew reads the index that is in use now.
func (s *dirSource) renew() error {
	info, err := s.root.Stat(cframe.IndexFile) // before the index, so that a later change is found
	if err != nil {
		return err
	}
	fsys := s.root.FS()
	head, err := cframe.ReadDirLimits(fsys, s.limits)
	if err != nil {
		return invalid(err)
	}
	f, err := newFrame("", head, fsSource{fsys}, Limits{s.limits, chunk.MaxNBytes})
	if err != nil {
		return err
	}
	if err := f.stock.close(); err != nil {
		return err
	}
	g := &generation{info, map[cframe.Offset]bool{}}
	for i, o := range s.offsets {
		if !o.IsSpecial() && (i >= len(f.offsets) || f.offsets[i] != o) {
			g.moved[o] = true
		}
	}
	s.now.Store(g)
	return nil
}

func (s *dirSource) readFile(p []byte, o cframe.Offset, from int64) (n int, err error) {
	// Without O_NONBLOCK a named pipe in the place of a chunk would block for ever.
	f, err := s.root.OpenFile(cframe.ChunkFile(o), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return 0, err
	}
	n, err = tail(f.ReadAt(p, from))
	return n, errors.Join(err, f.Close())
}

func (s *dirSource) Close() error { return s.root.Close() }

// fsSource is a sparse frame in any file system.
type fsSource struct{ fsys fs.FS }

func (s fsSource) read(p []byte, o cframe.Offset, from int64) (n int, err error) {
	name := cframe.ChunkFile(o)
	// Before it is opened: a pipe would wait for somebody to write to it.
	info, err := fs.Stat(s.fsys, name)
	if err != nil {
		return 0, err
	}
	if !info.Mode().IsRegular() {
		return 0, fmt.Errorf("%w: %s is not a regular file", cblosc.ErrFormat, name)
	}
	f, err := s.fsys.Open(name)
	if err != nil {
		return 0, err
	}
	if r, ok := f.(io.ReaderAt); ok {
		n, err = tail(r.ReadAt(p, from))
	} else if _, err = io.CopyN(io.Discard, f, from); err == nil || err == io.EOF {
		n, err = tail(io.ReadFull(f, p))
	}
	return n, errors.Join(err, f.Close())
}

func (s fsSource) Close() error { return nil }

// tail makes the end of the file no error.
func tail(n int, err error) (int, error) {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	}
	return n, err
}

// openFile opens a contiguous frame.
func openFile(path string, l cframe.Limits) (f *cframe.Frame, s source, err error) {
	file, info, err := regular.Open(path)
	if errors.Is(err, regular.ErrNot) {
		err = fmt.Errorf("%w: %w", cblosc.ErrFormat, err)
	}
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, file.Close())
		}
	}()
	for {
		size := info.Size()
		if f, err = cframe.ReadLimits(file, size, l); err == nil {
			break
		}
		// A durable append may have ended after the length was asked for and before the
		// header was read, which then tells of more than there was.
		if !errors.Is(err, format.ErrTruncated) {
			return nil, nil, err
		}
		grown, serr := file.Stat()
		if serr != nil || grown.Size() <= size {
			return nil, nil, errors.Join(err, serr)
		}
		info = grown
	}
	return f, &fileSource{file, int64(f.HeaderSize), file}, nil
}

// openDir opens a sparse frame.
func openDir(path string, l cframe.Limits) (f *cframe.Frame, _ source, err error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, nil, err
	}
	dir := &dirSource{root: root, limits: l}
	info, err := root.Stat(cframe.IndexFile) // before the index, so that a later change is found
	if err == nil {
		dir.now.Store(&generation{info: info})
		f, err = cframe.ReadDirLimits(root.FS(), l)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: a directory without %s", cblosc.ErrFormat, cframe.IndexFile)
	}
	if err != nil {
		return nil, nil, errors.Join(err, root.Close())
	}
	return f, dir, nil
}

// truncated says that a chunk ends before it should.
func truncated(got, want int) error {
	return invalid(&format.Error{Format: "blosc chunk", What: "length", Got: strconv.Itoa(got) + " bytes", Want: strconv.Itoa(want), Err: format.ErrTruncated})
}
