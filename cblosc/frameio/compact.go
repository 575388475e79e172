// Rewriting contiguous frames without dead bytes.

package frameio

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/bits"
	"os"
	"path/filepath"
	"slices"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
	"github.com/hyperslab/hyperslab/internal/files/filelock"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
)

// Fields of a header that change when a frame is compacted.
const (
	frameSizeField = 16 // 8 bytes
	cbytesField    = 39 // 8 bytes
)

// Compact removes the dead bytes from the contiguous frame at path, which may be an array: old
// indexes and trailers of durable appends, replaced and deleted chunks, and bytes after the frame.
// A frame without dead bytes is not changed.
//
// Compact writes a new file in the same directory, checks that it has the same number of chunks,
// syncs it, and renames it over path. If the program or the machine stops, path is the old or the
// new file. Stored chunks, the trailer, and the header except its two sizes are copied byte for
// byte, in the order of the index. The new file has the permissions of the old one. A symbolic link
// at path stays. An open Frame continues to read the old file; on Windows, which does not replace a
// file that is open, Compact then returns fs.ErrPermission. Other writers of this module wait
// meanwhile.
//
// It returns the errors of Open, cblosc.ErrFormat for a chunk with an invalid header, the errors of
// the file system, or errors.ErrUnsupported. errors.ErrUnsupported is returned for a sparse frame,
// whose chunks are separate files, and for a trailer with a fingerprint.
func Compact(path string) error {
	lock, err := hold("compact", nil, path)
	if err != nil {
		return err
	}
	return errors.Join(compactLocked(path, lock), lock.Release())
}

func compactLocked(path string, lock *Lock) error {
	f, err := Open(path, nil)
	if err != nil {
		return err
	}
	out, err := f.compact(lock)
	return f.wrap("compact", replace(out, errors.Join(err, f.Close())))
}

// replace moves a compacted frame over the old one, which is closed now, or after an error removes
// it. out may be nil.
func replace(out *atomicfile.Output, err error) error {
	if out == nil {
		return err
	}
	if err == nil {
		err = out.Commit()
	}
	return errors.Join(err, out.Abort())
}

// compact writes the compacted frame, or returns nil if there are no dead bytes.
func (f *Frame) compact(lock *filelock.Lock) (*atomicfile.Output, error) {
	switch {
	case f.head.Type() == cframe.Sparse:
		return nil, fmt.Errorf("%w: a sparse frame, whose chunks are separate files", errors.ErrUnsupported)
	case f.head.Trailer.FingerprintType != 0:
		return nil, fmt.Errorf("%w: a trailer with a fingerprint of type %d", errors.ErrUnsupported, f.head.Trailer.FingerprintType)
	}
	info, err := os.Stat(f.path)
	if err != nil {
		return nil, err
	}
	offsets, cbytes, err := f.packed()
	if err != nil || info.Size() == f.liveBytes(cbytes) {
		return nil, err
	}
	return f.rewrite(offsets, cbytes, info.Mode().Perm(), lock)
}

// packed returns the index of the frame without dead bytes between its chunks, and their size in
// bytes. Entries that share a chunk still share it.
func (f *Frame) packed() (offsets []cframe.Offset, cbytes int64, err error) {
	offsets = slices.Clone(f.offsets)
	moved := make(map[cframe.Offset]cframe.Offset)
	for i, o := range f.offsets {
		if o.IsSpecial() {
			continue
		}
		to, shared := moved[o]
		if !shared {
			n, err := f.StoredBytes(int64(i))
			if err != nil {
				return nil, 0, err
			}
			to = cframe.Offset(cbytes)
			moved[o] = to
			cbytes += n
		}
		offsets[i] = to
	}
	return offsets, cbytes, nil
}

// liveBytes returns the size of the frame if its chunks had cbytes bytes and no dead bytes.
func (f *Frame) liveBytes(cbytes int64) int64 {
	return int64(f.head.HeaderSize) + cbytes + int64(f.head.Index.Header.CBytes) + int64(f.head.Trailer.Size)
}

// rewrite writes a new file with the chunks at the given offsets, to replace that of the frame.
func (f *Frame) rewrite(offsets []cframe.Offset, cbytes int64, mode os.FileMode, lock *filelock.Lock) (*atomicfile.Output, error) {
	path, err := filepath.EvalSymlinks(f.path)
	if err != nil {
		return nil, err
	}
	out, err := atomicfile.Create(context.Background(), path, atomicfile.Options{Overwrite: true, Lock: lock})
	if err != nil {
		return nil, err
	}
	if err = f.writePacked(out.Path(), offsets, cbytes, mode); err == nil {
		err = f.sameSize(out.Path())
	}
	if err != nil {
		return nil, errors.Join(err, out.Abort())
	}
	return out, nil
}

// writePacked writes a new file with the chunks at the given offsets.
func (f *Frame) writePacked(path string, offsets []cframe.Offset, cbytes int64, mode os.FileMode) (err error) {
	header, trailer, err := f.head.Ends()
	if err != nil {
		return invalid(err)
	}
	index, err := indexChunk(offsets, f.HasChecksums())
	if err != nil {
		return err
	}
	size := int64(len(header)) + cbytes + int64(len(index)) + int64(len(trailer))
	binary.BigEndian.PutUint64(header[frameSizeField:], uint64(size))
	binary.BigEndian.PutUint64(header[cbytesField:], uint64(cbytes))

	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := file.Chmod(mode); err != nil { // OpenFile applies the umask
		return err
	}
	w := bufio.NewWriterSize(file, batchBytes)
	if _, err := w.Write(header); err != nil {
		return err
	}
	if err := f.copyChunks(w, offsets, cbytes); err != nil {
		return err
	}
	if _, err := w.Write(append(index, trailer...)); err != nil {
		return err
	}
	return w.Flush()
}

// copyChunks writes the stored chunks in the order of the index.
func (f *Frame) copyChunks(w io.Writer, offsets []cframe.Offset, cbytes int64) error {
	var b []byte
	at := int64(0)
	for i, o := range offsets {
		if o.IsSpecial() || int64(o) < at { // a shared chunk is already written
			continue
		}
		var err error
		if b, err = f.Chunk(b, int64(i)); err != nil {
			return err
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
		at += int64(len(b))
	}
	if at != cbytes {
		return fmt.Errorf("%w: chunks of %d bytes, they had %d when they were measured", errs.ErrInvalidBytes, at, cbytes)
	}
	return nil
}

// sameSize checks that the frame at path has as many chunks and bytes of values as f.
func (f *Frame) sameSize(path string) error {
	c, err := Open(path, nil)
	if err != nil {
		return err
	}
	if c.NumChunks() != f.NumChunks() || c.NBytes() != f.NBytes() {
		err = fmt.Errorf("%w: the new file has %d chunks of %d bytes of values, want %d of %d",
			errs.ErrInvalidBytes, c.NumChunks(), c.NBytes(), f.NumChunks(), f.NBytes())
	}
	return errors.Join(err, c.Close())
}

// sampled is the maximum number of chunk headers that a durable Append reads to estimate the dead
// bytes of a frame.
const sampled = 1024

// shrink writes the compacted frame if its dead bytes exceed its live bytes. It returns nil
// otherwise, and also for a frame with an invalid chunk or in a directory without write permission,
// because chunks can be appended to both.
func (f *Frame) shrink(lock *filelock.Lock) (*atomicfile.Output, error) {
	if f.head.Type() != cframe.Contiguous || f.head.Trailer.FingerprintType != 0 {
		return nil, nil
	}
	dead := func(cbytes int64) bool { return f.head.FrameSize > 2*f.liveBytes(cbytes) }
	var offsets []cframe.Offset
	cbytes, err := f.estimate()
	if err == nil && dead(cbytes) {
		offsets, cbytes, err = f.packed()
	}
	switch {
	case errors.Is(err, cblosc.ErrFormat), errors.Is(err, errors.ErrUnsupported):
		return nil, nil
	case err != nil || !dead(cbytes):
		return nil, err
	}
	info, err := os.Stat(f.path)
	if err != nil {
		return nil, err
	}
	out, err := f.rewrite(offsets, cbytes, info.Mode().Perm(), lock)
	if errors.Is(err, fs.ErrPermission) {
		return nil, nil
	}
	return out, err
}

// estimate returns the size of the stored chunks in bytes. It is exact up to sampled chunks. Above
// that it is extrapolated from chunks that are spread over the frame without a period.
func (f *Frame) estimate() (cbytes int64, err error) {
	n := uint64(len(f.offsets))
	for k := range min(n, sampled) {
		i := k
		if n > sampled {
			const golden = 0x9E3779B97F4A7C15 // 2^64 divided by the golden ratio
			i, _ = bits.Mul64(k*golden, n)
		}
		size, err := f.StoredBytes(int64(i))
		if err != nil {
			return 0, err
		}
		cbytes += size
	}
	if n > sampled {
		cbytes = int64(float64(cbytes) / sampled * float64(n))
	}
	return cbytes, nil
}
