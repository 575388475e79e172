//go:build cgo

// Storage written in Go: frames on anything that is read, and written, at an offset.

package cblosc

import (
	"errors"
	"fmt"
	"io"
	"sync"
)

// Medium is what a contiguous frame is kept on instead of a file: an [os.File], a
// buffer, a service. It is called for one frame at a time, on any goroutine, must not
// keep the slices, nor use the super-chunk or array that is on it. An error or a panic
// in it is the error of the call that led there, and one of a write breaks the owner
// (ErrBroken).
//
// If it has a method Truncate(int64) error, that is called when the frame becomes
// shorter. Without it the bytes behind the frame stay; [SChunk.FrameLen] says where it
// ends.
type Medium interface {
	io.ReaderAt
	io.WriterAt
}

// OpenSChunkOn opens the super-chunk that r holds as a contiguous frame, in size bytes
// (blosc2_schunk_open_udio with functions of its own). If r is no [io.WriterAt] it is
// read-only. What Medium says of its functions is true for r. For many readers of
// chunks see package frameio, which needs no lock.
//
// It returns ErrParam for a Map or a negative size, the errors of r, and those of
// OpenSChunkWith.
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

// medium is a Medium, or something for reading only, and how long it is.
type medium struct {
	r   io.ReaderAt
	w   io.WriterAt // nil for reading only
	cut interface{ Truncate(int64) error }

	mu   sync.Mutex
	size int64 // bytes; the handle's mutex is not held where the garbage collector closes
}

func newMedium(r io.ReaderAt, size int64) *medium {
	m := &medium{r: r, size: size}
	m.w, _ = r.(io.WriterAt)
	m.cut, _ = r.(interface{ Truncate(int64) error })
	return m
}

// check reports what cannot be opened.
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

// ReadAt is what the checks in Go read through.
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

// mediumError keeps what storage had to say apart from what is wrong with the bytes.
type mediumError struct{ err error }

func (e *mediumError) Error() string { return e.err.Error() }
func (e *mediumError) Unwrap() error { return e.err }

// readAt reads what there is of p at off, and returns the bytes.
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
