// Targets of a Writer: a file, a directory with one file per chunk, or an io.WriterAt.

package frameio

import (
	"errors"
	"io"
	"os"

	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
)

// target stores the parts of a frame. put must be safe for concurrent use.
type target interface {
	// put stores a chunk, or several in a contiguous frame, at the offset o of the index.
	put(b []byte, o cframe.Offset) error
	// finish writes the header and the bytes that follow the chunks.
	finish(header, rest []byte, cbytes int64) error
	// commit publishes the frame; discard removes everything that was written.
	commit() error
	discard() error
}

// writerAt is a contiguous frame on an io.WriterAt of the caller.
type writerAt struct {
	w    io.WriterAt
	base int64 // size of the header in bytes
}

func (t *writerAt) put(b []byte, o cframe.Offset) error {
	_, err := t.w.WriteAt(b, t.base+int64(o))
	return err
}

func (t *writerAt) finish(header, rest []byte, cbytes int64) error {
	if err := t.put(rest, cframe.Offset(cbytes)); err != nil {
		return err
	}
	_, err := t.w.WriteAt(header, 0)
	return err
}

func (t *writerAt) commit() error  { return nil }
func (t *writerAt) discard() error { return nil }

// file is a contiguous frame in a new file.
type file struct {
	writerAt
	f   *os.File
	out *atomicfile.Output
}

func createFile(out *atomicfile.Output, headerSize int) (*file, error) {
	f, err := os.OpenFile(out.Path(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, err
	}
	return &file{writerAt{f, int64(headerSize)}, f, out}, nil
}

func (t *file) commit() error {
	if err := t.f.Close(); err != nil {
		return err
	}
	return t.out.Commit()
}

func (t *file) discard() error {
	err := t.f.Close()
	if errors.Is(err, os.ErrClosed) {
		err = nil // commit failed earlier
	}
	return errors.Join(err, t.out.Abort())
}

// directory is a sparse frame.
type directory struct {
	root *os.Root
	out  *atomicfile.Output
}

func createDirectory(out *atomicfile.Output) (*directory, error) {
	if err := os.Mkdir(out.Path(), 0o777); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(out.Path())
	if err != nil {
		return nil, err
	}
	return &directory{root, out}, nil
}

func (t *directory) put(b []byte, o cframe.Offset) error {
	return t.write(cframe.ChunkFile(o), b)
}

func (t *directory) finish(header, rest []byte, _ int64) error {
	return t.write(cframe.IndexFile, append(header, rest...))
}

func (t *directory) write(name string, b []byte) error {
	f, err := t.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Close())
}

func (t *directory) commit() error {
	if err := t.root.Close(); err != nil {
		return err
	}
	return t.out.Commit()
}

func (t *directory) discard() error { return errors.Join(t.root.Close(), t.out.Abort()) }
