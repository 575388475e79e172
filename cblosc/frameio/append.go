// Appending many chunks to an existing frame, writing its index and trailer once.

package frameio

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
	"github.com/hyperslab/hyperslab/internal/files/filelock"
	"github.com/hyperslab/hyperslab/internal/format/b2ndmeta"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
)

// AppendOptions describe how chunks are appended. A nil *AppendOptions means the zero value.
type AppendOptions struct {
	ChunkSize int // bytes of the values of a chunk; only for a frame without chunks; 0: as in Params
	Workers   int // maximum number of goroutines that compress; 0: GOMAXPROCS

	// Durable guarantees that the frame is unchanged or complete if the program or the machine
	// stops. In a contiguous frame the new chunks then go after the old trailer. The old index and
	// trailer stay in the file as dead bytes, and a single write of the header activates the new
	// chunks.
	//
	// If the dead bytes exceed the live bytes, Append first removes them as Compact does. Appends
	// therefore grow the file to about twice its live bytes. In a frame of more than 1,024 chunks
	// the number of live bytes is estimated from 1,024 chunks. The dead bytes stay in a frame with
	// an invalid chunk, and in a directory without write permission.
	//
	// Without Durable the new chunks overwrite the index, and the bytes are the same as the
	// library's. If the program stops between the first write and the end of Commit, the frame
	// cannot be opened.
	//
	// In a sparse frame the index is always replaced in one step; Durable also syncs each chunk
	// file before.
	Durable bool

	// Lock is the lock of the frame, which the caller holds, and of which the writer keeps a
	// reference until Commit or Close. Nil: the writer takes the lock itself, and waits for other
	// writers: without limit for other processes, 10 seconds for a writer of this process. Then it
	// returns ErrLocked.
	Lock *Lock
}

// Append opens a frame to write chunks after its last one. Existing chunks, parameters and
// metalayers stay unchanged. The Writer's Commit activates the new chunks. Close without Commit
// restores the end of the frame; dead bytes that a durable Append has removed do not return. Other
// writers of this module wait until then. Bytes after the frame in its file are lost.
//
// The result has the same bytes as if the library opened the frame and appended the chunks one by
// one, except for contiguous frames with Durable.
//
// It returns the errors of Open, cblosc.ErrParam, cblosc.ErrLimit for more than 16 variable-length
// metalayers, or errors.ErrUnsupported for an array, whose number of chunks follows from its shape.
// errors.ErrUnsupported is also returned for a frame with a codec or a filter that this package
// cannot compress with. Write returns cblosc.ErrSize if the last chunk is shorter than the others.
func Append(path string, o *AppendOptions) (*Writer, error) {
	path = filepath.Clean(path)
	if o == nil {
		o = &AppendOptions{}
	}
	lock, err := hold("append", o.Lock, path)
	if err != nil {
		return nil, err
	}
	w, err := appendLocked(path, o, lock)
	if err != nil {
		return nil, errors.Join(err, lock.Release())
	}
	return w, nil
}

// appendLocked is Append with the lock of the frame, which the Writer takes.
func appendLocked(path string, o *AppendOptions, lock *Lock) (*Writer, error) {
	f, w, again, err := openToAppend(path, o, true, lock)
	if err == nil && again {
		f, w, _, err = openToAppend(path, o, false, lock)
	}
	if err != nil {
		return nil, err
	}
	if w.params.Sparse {
		var d *grownDirectory
		if d, err = openGrownDirectory(path, o.Durable); err == nil {
			w.to = d
		}
	} else {
		var g *grownFile
		if g, err = openGrownFile(path, f.head, o.Durable); err == nil {
			w.to = g
		}
	}
	if err != nil {
		return nil, &Error{"append", path, -1, err}
	}
	w.lock = lock
	return w, nil
}

// openToAppend opens a frame and returns a Writer without its target. At first, if a durable frame
// consists mainly of dead bytes, it compacts the frame and returns again: the frame must then
// be opened again.
func openToAppend(path string, o *AppendOptions, first bool, lock *filelock.Lock) (_ *Frame, w *Writer, again bool, err error) {
	f, err := Open(path, nil)
	if err != nil {
		return nil, nil, false, err
	}
	w, err = resumeFrame(f, o)
	var out *atomicfile.Output
	if err == nil && first && o.Durable {
		out, err = f.shrink(lock)
	}
	err = replace(out, errors.Join(err, f.Close()))
	again = out != nil && out.Committed()
	if errors.Is(err, fs.ErrPermission) && out != nil && !again {
		err = nil // chunks can be appended to the old frame
	}
	if err != nil {
		return nil, nil, false, f.wrap("append", err)
	}
	return f, w, again, nil
}

// resumeFrame is resume for a frame that is not an array.
func resumeFrame(f *Frame, o *AppendOptions) (*Writer, error) {
	for _, l := range f.head.Header.Metalayers {
		if l.Name == b2ndmeta.Name || l.Name == b2ndmeta.CatervaName {
			return nil, fmt.Errorf("%w: the number of chunks of an array follows from its shape; WriteArray makes one longer", errors.ErrUnsupported)
		}
	}
	return resume(f, o)
}

// paramsOf returns the parameters that f was written with, except its variable-length metalayers.
// It returns errors.ErrUnsupported for parameters that a Writer does not support.
func paramsOf(f *Frame, workers int) (*Params, error) {
	h := f.head.Header
	head := f.Header()
	head.CParams.CodecMeta, head.CParams.Threads = 0, 1
	p := &Params{ChunkSize: f.ChunkSize(), Sparse: h.Type() == cframe.Sparse, Workers: workers, CParams: &head.CParams, Meta: head.Meta}
	if err := p.CParams.Validate(); err != nil {
		return nil, fmt.Errorf("%w: a frame whose chunks are compressed with other parameters: %w", errors.ErrUnsupported, err)
	}
	if h.CodecMeta != 0 || h.UseDict() {
		return nil, fmt.Errorf("%w: a frame with a parameter of its codec, or dictionaries", errors.ErrUnsupported)
	}
	return p, nil
}

// CreateLike creates a frame at path with the parameters and metalayers of f, which may be an
// array, but without its chunks. It is meant for copying or reordering the chunks of f and of
// similar frames. The new frame is a file or a directory, like f. For an array the caller must
// write as many chunks as its shape requires.
//
// It returns the errors of Create, and errors.ErrUnsupported for parameters that Append does not
// support either.
func CreateLike(path string, f *Frame) (*Writer, error) {
	p, err := paramsOf(f, 0)
	if err != nil {
		return nil, &Error{"create", path, -1, err}
	}
	p.Checksums = f.HasChecksums()
	for _, name := range f.VLMetalayers() {
		if name == cframe.ChecksumLayer {
			continue
		}
		content, err := f.VLMetalayer(name)
		if err != nil {
			return nil, err
		}
		p.VLMeta = append(p.VLMeta, cblosc.Metalayer{Name: name, Content: content})
	}
	return Create(path, p)
}

// resume returns a Writer that continues at the end of f, without its target.
func resume(f *Frame, o *AppendOptions) (*Writer, error) {
	h := f.head.Header
	p, err := paramsOf(f, o.Workers)
	if err != nil {
		return nil, err
	}
	empty := h.ChunkSize <= 0 // no chunk yet; a frame whose chunks were deleted keeps their size
	switch {
	case empty:
		p.ChunkSize = o.ChunkSize
	case o.ChunkSize != 0 && o.ChunkSize != p.ChunkSize:
		return nil, fmt.Errorf("%w: ChunkSize = %d, the frame has chunks of %d", cblosc.ErrParam, o.ChunkSize, p.ChunkSize)
	}
	if n := len(f.head.Trailer.VLMetalayers); n > cblosc.MaxVLMetalayers {
		return nil, fmt.Errorf("%w: %d variable-length metalayers, at most %d", cblosc.ErrLimit, n, cblosc.MaxVLMetalayers)
	}
	w, header, err := newWriter(f.path, p.filled())
	if err == nil && f.HasChecksums() {
		w.sums = new(sums)
		w.sums.of32, err = f.checksums()
	}
	if err != nil {
		return nil, err
	}
	if header != int(h.HeaderSize) {
		return nil, fmt.Errorf("%w: a header of %d bytes, want %d", errs.ErrInvalidBytes, h.HeaderSize, header)
	}
	for _, l := range f.head.Trailer.VLMetalayers {
		if l.Name != cframe.ChecksumLayer { // rewritten, or stale
			w.vlmeta = append(w.vlmeta, cblosc.Metalayer{Name: l.Name, Content: l.Content})
		}
	}
	w.offsets = f.offsets
	w.resumed, w.had = true, len(f.offsets)
	w.totals.nbytes, w.totals.cbytes = h.NBytes, h.CBytes
	if o.Durable && !w.params.Sparse {
		w.totals.cbytes = h.FrameSize - int64(h.HeaderSize) // all existing bytes, including index and trailer
	}
	if !empty {
		w.totals.chunkSize = h.ChunkSize
		w.ended = h.NBytes%int64(h.ChunkSize) != 0
	}
	if o.Durable && w.params.Sparse {
		w.used = make(map[cframe.Offset]bool, len(f.offsets))
	}
	for _, o := range f.offsets {
		w.files = max(w.files, int64(o)+1) // special offsets are negative; unused in one file
		if w.used != nil {
			w.used[o] = true
		}
	}
	return w, nil
}
