// Targets for appended chunks: an existing file or directory.

package frameio

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
)

// fixedHeader is the length of a header before its metalayers. Only this part changes when chunks
// are appended.
const fixedHeader = 87

// disk is the part of *os.File that a grownFile uses.
type disk interface {
	io.ReaderAt
	io.WriterAt
	Truncate(size int64) error
	Sync() error
	Close() error
}

// grownFile is a contiguous frame to which chunks are appended.
type grownFile struct {
	writerAt
	f       disk
	durable bool
	lax     bool        // nothing is synced
	touched atomic.Bool // something was written
	header  []byte      // original bytes of the part that changes: the fixed part
	end     []byte      // original index and trailer, which are overwritten; nil if they stay
	endAt   int64
}

func openGrownFile(path string, head *cframe.Frame, durable bool) (*grownFile, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	g, err := newGrownFile(f, head, durable)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return g, nil
}

// newGrownFile reads the bytes that will be overwritten, so that discard can restore them.
func newGrownFile(f disk, head *cframe.Frame, durable bool) (*grownFile, error) {
	t := &grownFile{writerAt: writerAt{f, int64(head.HeaderSize)}, f: f, durable: durable, header: make([]byte, fixedHeader)}
	if _, err := f.ReadAt(t.header, 0); err != nil {
		return nil, err
	}
	if durable {
		t.endAt = head.FrameSize
		return t, nil
	}
	t.endAt = int64(head.HeaderSize) + head.CBytes
	t.end = make([]byte, head.FrameSize-t.endAt)
	_, err := f.ReadAt(t.end, t.endAt)
	return t, err
}

func (t *grownFile) put(b []byte, o cframe.Offset) error {
	t.touched.Store(true)
	return t.writerAt.put(b, o)
}

// finish writes the index and trailer, and then the header. With durable it syncs the file before
// it writes the header.
func (t *grownFile) finish(header, rest []byte, cbytes int64) error {
	if err := t.put(rest, cframe.Offset(cbytes)); err != nil {
		return err
	}
	if t.durable {
		if err := t.f.Sync(); err != nil {
			return err
		}
	}
	if _, err := t.f.WriteAt(header[:len(t.header)], 0); err != nil {
		return err
	}
	return t.f.Truncate(t.base + cbytes + int64(len(rest)))
}

func (t *grownFile) commit() error {
	if t.lax {
		return t.f.Close()
	}
	return errors.Join(atomicfile.SyncFile(t.f), t.f.Close())
}

func (t *grownFile) discard() error {
	if !t.touched.Load() {
		return t.f.Close()
	}
	_, err := t.f.WriteAt(t.header, 0)
	if err == nil {
		_, err = t.f.WriteAt(t.end, t.endAt)
	}
	if err == nil {
		err = t.f.Truncate(t.endAt + int64(len(t.end)))
	}
	if !t.lax {
		err = errors.Join(err, atomicfile.SyncFile(t.f))
	}
	err = errors.Join(err, t.f.Close())
	if errors.Is(err, os.ErrClosed) {
		err = nil // commit failed earlier
	}
	return err
}

// grownDirectory is a sparse frame to which files are added.
type grownDirectory struct {
	root    *os.Root
	durable bool
	lax     bool // nothing is synced

	mu    sync.Mutex
	files []string // files written so far
}

// nextIndex is the temporary name of the new index, which replaces the old one in one step.
const nextIndex = cframe.IndexFile + ".tmp"

func openGrownDirectory(path string, durable bool) (*grownDirectory, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return &grownDirectory{root: root, durable: durable}, nil
}

func (t *grownDirectory) put(b []byte, o cframe.Offset) error {
	return t.write(cframe.ChunkFile(o), b, 0o666, t.durable)
}

func (t *grownDirectory) finish(header, rest []byte, _ int64) error {
	info, err := t.root.Stat(cframe.IndexFile)
	if err != nil {
		return err
	}
	if t.durable {
		// Sync the names of the new files before the index refers to them.
		if err := atomicfile.SyncDir(t.root, "."); err != nil {
			return err
		}
	}
	return t.write(nextIndex, append(header, rest...), info.Mode().Perm(), !t.lax)
}

// write writes one file. It may already exist if an earlier program was stopped.
func (t *grownDirectory) write(name string, b []byte, mode os.FileMode, durable bool) error {
	t.mu.Lock()
	t.files = append(t.files, name)
	t.mu.Unlock()
	f, err := t.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|syscall.O_NONBLOCK, mode) // do not wait on a named pipe
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil && durable {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func (t *grownDirectory) commit() error {
	if err := t.root.Rename(nextIndex, cframe.IndexFile); err != nil {
		return err
	}
	t.files = nil // the files belong to the frame now
	if t.lax {
		return t.root.Close()
	}
	return errors.Join(atomicfile.SyncDir(t.root, "."), t.root.Close())
}

func (t *grownDirectory) discard() error {
	var errs []error
	for _, name := range t.files {
		if err := t.root.Remove(name); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(append(errs, t.root.Close())...)
}
