//go:build cgo

// Storage written in Go: frames on any io.ReaderAt and io.WriterAt.

package cblosc

import (
	"errors"
	"fmt"
	"io"
	"sync"
)

// Medium stores a contiguous frame instead of a file. For example, it can be an [os.File], a buffer
// or a service. It is called for one frame at a time, on any goroutine. It must not keep the slices
// or use the super-chunk or array that is stored on it. The library call returns an error or a
// panic of the Medium as its error. After a failed write the owner is broken (ErrBroken).
//
// If the Medium has a method Truncate(int64) error, it is called when the frame becomes shorter.
// Otherwise the bytes after the frame stay; [SChunk.FrameLen] returns its length.
type Medium interface {
	io.ReaderAt
	io.WriterAt
}

// OpenSChunkOn opens the super-chunk that r holds as a contiguous frame in size bytes
// (blosc2_schunk_open_udio with its own functions). If r is not an [io.WriterAt], the super-chunk
// is read-only. The rules for a Medium apply to r. For concurrent reading of chunks use package
// frameio, which needs no lock.
//
// It returns ErrParam for a Map or a negative size, the errors of r, and those of OpenSChunkWith.
func OpenSChunkOn(r io.ReaderAt, size int64, o OpenOptions) (*SChunk, error) {
	o.medium = newMedium(r, size)
	return openSChunk("open", "", o, nil)
}

// OpenArrayOn is OpenSChunkOn for an array (b2nd_from_schunk). It returns the errors of
// OpenSChunkOn and OpenArray.
func OpenArrayOn(r io.ReaderAt, size int64, o OpenOptions) (*Array, error) {
	o.medium = newMedium(r, size)
	return openArray("", o)
}

// truncater is implemented by a Medium that can shrink, for example *os.File.
type truncater interface{ Truncate(size int64) error }

// medium is a Medium or a read-only reader, and its size.
type medium struct {
	r   io.ReaderAt
	w   io.WriterAt // nil if read-only
	cut truncater   // nil if it cannot shrink

	mu   sync.Mutex
	size int64 // bytes; has its own mutex, because the garbage collector closes without the handle's mutex
}

func newMedium(r io.ReaderAt, size int64) *medium {
	m := &medium{r: r, size: size}
	m.w, _ = r.(io.WriterAt)
	m.cut, _ = r.(truncater)
	return m
}

// check reports invalid options.
func (m *medium) check(o *OpenOptions) error {
	switch {
	case m.r == nil:
		return fmt.Errorf("%w: no reader", ErrParam)
	case m.size < 0:
		return fmt.Errorf("%w: size = %d, want ≥ 0", ErrParam, m.size)
	case o.Map != NotMapped:
		return fmt.Errorf("%w: Map = %d, want 0 for storage written in Go", ErrParam, o.Map)
	}
	return nil
}

func (m *medium) length() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.size
}

// ReadAt is used by the checks in Go.
func (m *medium) ReadAt(p []byte, off int64) (n int, err error) {
	err = caught(func() (err error) { n, err = m.readAt(p, off); return err })
	switch {
	case err != nil:
		err = &mediumError{err}
	case n < len(p):
		err = io.EOF
	}
	return n, err
}

// mediumError marks an error of the storage, to distinguish it from invalid bytes.
type mediumError struct{ err error }

func (e *mediumError) Error() string { return e.err.Error() }
func (e *mediumError) Unwrap() error { return e.err }

// readAt fills p from off, up to the end, and returns the number of bytes.
func (m *medium) readAt(p []byte, off int64) (int, error) {
	rest := m.length() - off
	if off < 0 || rest <= 0 {
		return 0, nil
	}
	p = p[:min(int64(len(p)), rest)]
	n, err := m.r.ReadAt(p, off)
	switch {
	case n == len(p):
		return n, nil
	case err == nil || errors.Is(err, io.EOF):
		err = fmt.Errorf("%d bytes at %d, want %d: %w", n, off, len(p), io.ErrUnexpectedEOF)
	}
	return n, err
}

func (m *medium) writeAt(p []byte, off int64) error {
	if m.w == nil {
		return ErrReadOnly
	}
	n, err := m.w.WriteAt(p, off)
	if err == nil && n != len(p) {
		err = fmt.Errorf("%d bytes at %d, want %d: %w", n, off, len(p), io.ErrShortWrite)
	}
	m.mu.Lock()
	m.size = max(m.size, off+int64(n))
	m.mu.Unlock()
	return err
}

func (m *medium) resize(size int64) error {
	if m.w == nil {
		return ErrReadOnly
	}
	m.mu.Lock()
	shorter := size < m.size
	m.size = size
	m.mu.Unlock()
	if shorter && m.cut != nil {
		return m.cut.Truncate(size)
	}
	return nil
}
