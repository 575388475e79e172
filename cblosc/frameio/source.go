// Sources of stored chunks: one file, a mapping, or a directory with one file per chunk.

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
	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
)

// source reads stored chunks. One read returns a chunk. A second read is only needed if the chunk
// is longer than its values and a header.
type source interface {
	// read fills p with bytes of the chunk at o from byte from on, and returns their number. Fewer
	// than len(p) bytes are not an error.
	read(p []byte, o cframe.Offset, from int64) (int, error)
	io.Closer
}

// fileSource is a contiguous frame. Concurrent reads of one open file at explicit offsets need no
// lock.
type fileSource struct {
	r    io.ReaderAt
	base int64     // position of offset 0 in the file: the end of the header
	own  io.Closer // nil if r belongs to the caller
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

// again opens the file another time, for a single worker, because readers of one open file contend
// for its reference counts in Go and in the kernel. It returns s if the reader is no file, or one
// that cannot be reopened, which depends on the system.
func (s *fileSource) again() *fileSource {
	f, ok := s.r.(*os.File)
	if !ok {
		return s
	}
	c, err := f.SyscallConn()
	if err != nil {
		return s
	}
	twin := s
	// Reopen the file of the descriptor, because the path may already refer to another file.
	_ = c.Control(func(fd uintptr) { // fails if the file was closed
		if own, err := reopen(fd, f.Name()); err == nil {
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

// mapping is a file mapped into memory. The garbage collector unmaps it when it has no references,
// because readers may still decode from it after the frame is closed.
type mapping struct{ b []byte }

func newMapping(f *os.File, size int64) (*mapping, error) {
	if size > math.MaxInt {
		return nil, fmt.Errorf("%w: a file of %d bytes in memory", cblosc.ErrLimit, size)
	}
	b, err := mmap(f, int(size))
	if err != nil {
		return nil, &fs.PathError{Op: "mmap", Path: f.Name(), Err: err}
	}
	m := &mapping{b}
	runtime.AddCleanup(m, munmap, b)
	return m, nil
}

// view returns up to n bytes of the chunk at o in the mapping. They are valid until w is put back.
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

// ReadAt reads from the whole file, including the header.
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
	// Read the frame again from the mapping, which stays open.
	head, err := cframe.ReadLimits(s, info.Size(), l)
	return head, s, err
}

// dirSource is a sparse frame. A file is opened for each read, only inside the directory: links to
// files outside are rejected.
//
// A writer that replaces the index may give the number of a deleted file to another chunk, because
// small frames have a limited range of numbers. Every read therefore compares the index afterwards.
// This works because a writer does not change a file that the index in use refers to.
type dirSource struct {
	root    *os.Root
	limits  cframe.Limits
	offsets []cframe.Offset // index of the Frame; nil until it is decoded
	now     atomic.Pointer[generation]
}

// generation is one index of a sparse frame.
type generation struct {
	info  fs.FileInfo            // of the index file
	moved map[cframe.Offset]bool // numbers that belong to another chunk than in offsets
}

// maxGenerations is the maximum number of attempts of a read while a writer replaces the index.
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
		if regularfile.Same(g.info, info) {
			return n, nil
		}
		if err := s.renew(); err != nil {
			return 0, err
		}
	}
	return 0, &fs.PathError{Op: "read", Path: cframe.ChunkFile(o), Err: regularfile.ErrReplaced}
}

// renew reads the current index.
func (s *dirSource) renew() error {
	info, err := s.root.Stat(cframe.IndexFile) // before the index is read, so that a later change is detected
	if err != nil {
		return err
	}
	fsys := s.root.FS()
	head, err := cframe.ReadDirLimits(fsys, s.limits)
	if err != nil {
		return invalid(err)
	}
	f, err := newFrame("", head, fsSource{fsys}, Limits{Chunk: chunk.MaxNBytes})
	if err != nil {
		return err
	}
	if err := f.workers.close(); err != nil {
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
	// Without O_NONBLOCK opening a named pipe in place of a chunk file would block forever.
	f, err := s.root.OpenFile(cframe.ChunkFile(o), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return 0, errs.Inside(err)
	}
	n, err = tail(f.ReadAt(p, from))
	return n, errors.Join(err, f.Close())
}

func (s *dirSource) Close() error { return s.root.Close() }

// fsSource is a sparse frame in any file system.
type fsSource struct{ fsys fs.FS }

func (s fsSource) read(p []byte, o cframe.Offset, from int64) (n int, err error) {
	name := cframe.ChunkFile(o)
	// Check before opening, because opening a named pipe would wait for a writer.
	info, err := fs.Stat(s.fsys, name)
	if err != nil {
		return 0, errs.Inside(err)
	}
	if !info.Mode().IsRegular() {
		return 0, fmt.Errorf("%w: %s is not a regular file", errs.ErrInvalidKind, name)
	}
	f, err := s.fsys.Open(name)
	if err != nil {
		return 0, errs.Inside(err)
	}
	if r, ok := f.(io.ReaderAt); ok {
		n, err = tail(r.ReadAt(p, from))
	} else if _, err = io.CopyN(io.Discard, f, from); err == nil || err == io.EOF {
		n, err = tail(io.ReadFull(f, p))
	}
	return n, errors.Join(err, f.Close())
}

func (s fsSource) Close() error { return nil }

// tail returns nil instead of an error for the end of the file.
func tail(n int, err error) (int, error) {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	}
	return n, err
}

// openFile opens a contiguous frame.
func openFile(path string, l cframe.Limits) (f *cframe.Frame, s source, err error) {
	file, info, err := regularfile.Open(path)
	if errors.Is(err, regularfile.ErrNot) {
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
		// A durable append may have finished between the Stat and the read of the header, which
		// then describes a longer file.
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
	info, err := root.Stat(cframe.IndexFile) // before the index is read, so that a later change is detected
	if err == nil {
		dir.now.Store(&generation{info: info})
		f, err = cframe.ReadDirLimits(root.FS(), l)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: a directory without %s", errs.ErrInvalidKind, cframe.IndexFile)
	}
	if err != nil {
		return nil, nil, errors.Join(err, root.Close())
	}
	return f, dir, nil
}

// truncated returns an error for a chunk that is too short.
func truncated(got, want int) error {
	return invalid(&format.Error{Format: "blosc chunk", What: "length", Got: strconv.Itoa(got) + " bytes", Want: strconv.Itoa(want), Err: format.ErrTruncated})
}
