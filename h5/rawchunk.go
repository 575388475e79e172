// Chunks as they are stored: where they lie in the file, their bytes before any
// filter is undone, and chunks made elsewhere put into place.

package h5

// #include "shim.h"
import "C"

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"os"
	"runtime"
	"slices"

	"golang.org/x/sys/unix"
)

// Chunk is what the index of a dataset knows of one stored chunk.
type Chunk struct {
	Offset     []int64 // of its first element, in elements
	FilterMask uint32  // bit n is set if filter n of the pipeline was not applied
	Address    uint64  // of its first byte, counted from the beginning of the file, user block included
	Bytes      int64   // as stored, after the filters
}

// NumChunks is the number of chunks that are stored (H5Dget_num_chunks). It
// returns ErrParam for a dataset that is not chunked.
func (d *Dataset) NumChunks() (int64, error) {
	var n C.uint64_t
	err := d.run("count chunks", d.path, func(id C.int64_t, cerr *C.goh5_err_t) C.int { return C.goh5_dchunk_count(cerr, id, &n) })
	return int64(n), err
}

// ChunkByIndex describes the n-th stored chunk in the order of the index
// (H5Dget_chunk_info). The library counts from the first for each call; Chunks is
// the way to all of them.
//
// It returns ErrNotFound if fewer are stored, or ErrParam for a dataset that is
// not chunked.
func (d *Dataset) ChunkByIndex(n int64) (Chunk, error) {
	const op = "describe chunk"
	lock()
	defer unlock()
	id, err := d.h.idLocked(op, d.path)
	if err != nil {
		return Chunk{}, err
	}
	var cerr C.goh5_err_t
	var blob C.goh5_blob_t
	rc := C.goh5_dchunk_nth(&cerr, id, C.uint64_t(n), &blob)
	runtime.KeepAlive(d)
	if rc == C.GOH5_ENOCHUNK {
		return Chunk{}, &Error{Op: op, Path: d.path, Err: fmt.Errorf("%w: chunk %d of %d stored ones", ErrNotFound, n, cerr.want)}
	}
	if rc < 0 {
		return Chunk{}, newError(op, d.path, rc, &cerr)
	}
	r := takeBlob(&blob)
	return r.chunk(r.ints(r.word())), nil
}

// ChunkAt describes the chunk whose first element is at offset
// (H5Dget_chunk_info_by_coord). The library looks through the index from its
// beginning; Chunks is the way to all of them.
//
// It returns ErrNotFound if the chunk is not stored, ErrRegion if no chunk of the
// dataset begins there, or ErrParam for a dataset that is not chunked.
func (d *Dataset) ChunkAt(offset ...int64) (Chunk, error) {
	const op = "describe chunk"
	lock()
	defer unlock()
	id, err := d.h.idLocked(op, d.path)
	if err != nil {
		return Chunk{}, err
	}
	var cerr C.goh5_err_t
	var blob C.goh5_blob_t
	rc := C.goh5_dchunk_at(&cerr, id, cInts(offset), C.size_t(len(offset)), &blob)
	runtime.KeepAlive(d)
	if rc < 0 {
		return Chunk{}, d.chunkError(op, offset, rc, &cerr)
	}
	r := takeBlob(&blob)
	return r.chunk(r.ints(r.word())), nil
}

// ChunkBytes is the number of bytes that the chunk at offset takes in the file, 0
// if it is not stored (H5Dget_chunk_storage_size). Errors are those of ChunkAt.
func (d *Dataset) ChunkBytes(offset ...int64) (int64, error) {
	const op = "measure chunk"
	lock()
	defer unlock()
	id, err := d.h.idLocked(op, d.path)
	if err != nil {
		return 0, err
	}
	var cerr C.goh5_err_t
	var n C.uint64_t
	rc := C.goh5_dchunk_size(&cerr, id, cInts(offset), C.size_t(len(offset)), &n)
	runtime.KeepAlive(d)
	if rc < 0 {
		return 0, d.chunkError(op, offset, rc, &cerr)
	}
	return int64(n), nil
}

// Chunks yields every stored chunk in the order of the index (H5Dchunk_iter). All
// of them are taken at once when the loop begins, rank + 3 words each, and belong
// to the caller; the loop's body may do what it likes.
//
// It yields ErrParam for a dataset that is not chunked.
func (d *Dataset) Chunks() iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		r, err := d.chunks()
		if err != nil {
			yield(Chunk{}, err)
			return
		}
		rank, n := r.word(), r.word()
		offsets := make([]int64, rank*n) // of all chunks, in one piece
		for ; n > 0; n-- {
			offset := offsets[:rank:rank]
			offsets = offsets[rank:]
			for i := range offset {
				offset[i] = r.int()
			}
			if !yield(r.chunk(offset), nil) {
				return
			}
		}
	}
}

func (d *Dataset) chunks() (*reader, error) {
	var blob C.goh5_blob_t
	err := d.run("list chunks", d.path, func(id C.int64_t, cerr *C.goh5_err_t) C.int { return C.goh5_dchunks(cerr, id, &blob) })
	if err != nil {
		return nil, err
	}
	return takeBlob(&blob), nil
}

// chunk decodes what follows a chunk's offset.
func (r *reader) chunk(offset []int64) Chunk {
	return Chunk{Offset: offset, FilterMask: uint32(r.word()), Address: r.word(), Bytes: r.int()}
}

// ReadChunk reads the stored bytes of the chunk at offset into dst and returns how
// many there are, and which filters were not applied to them (H5Dread_chunk).
// What the library holds of the chunk in its cache is written first.
//
// It returns ErrSize, with both sizes, if dst is too short, errors.ErrUnsupported
// for a dataset of MaxRank dimensions (see Defects), and the errors of ChunkAt.
func (d *Dataset) ReadChunk(dst []byte, offset ...int64) (n int, mask uint32, err error) {
	const op = "read chunk"
	lock()
	defer unlock()
	id, err := d.h.idLocked(op, d.path)
	if err != nil {
		return 0, 0, err
	}
	var cerr C.goh5_err_t
	var bytes C.uint64_t
	var cmask C.uint32_t
	rc := C.goh5_dread_chunk(&cerr, id, cInts(offset), C.size_t(len(offset)), cBytes(dst), C.size_t(len(dst)), &bytes, &cmask)
	runtime.KeepAlive(d)
	if rc < 0 {
		return 0, 0, d.chunkError(op, offset, rc, &cerr)
	}
	return int(bytes), uint32(cmask), nil
}

// WriteChunk stores src as the chunk at offset (H5Dwrite_chunk). src is what the
// filters of the dataset make of a whole chunk in the byte order of the file, bit
// n of mask says that filter n was left out; it is ignored where no filter runs
// (PlainEdges). Whether the filters can read it is
// not looked at. What the library holds of the chunk in its cache is dropped.
//
// The library forgets to note a mask that differs from that of the chunk before,
// and forgets that of this chunk when it writes over it; all of that is put right
// (see Defects), and takes longer.
//
// It returns ErrSize for an empty chunk, or one that no filter changes and whose
// length is not that of a whole chunk, ErrParam for a mask with more bits than
// there are filters, errors.ErrUnsupported for a dataset of MaxRank dimensions (see
// Defects), ErrReadOnly, and the errors of ChunkAt.
func (d *Dataset) WriteChunk(src []byte, mask uint32, offset ...int64) error {
	const op = "write chunk"
	if err := d.writable(op, d.path); err != nil {
		return err
	}
	if len(src) == 0 || len(src) >= math.MaxUint32 {
		return &Error{Op: op, Path: d.path, Err: fmt.Errorf("%w: chunk of %d bytes, want 1 to %d", ErrSize, len(src), uint32(math.MaxUint32-1))}
	}
	lock()
	defer unlock()
	id, err := d.h.idLocked(op, d.path)
	if err != nil {
		return err
	}
	if err := d.findMasksLocked(op, id); err != nil {
		return err
	}
	var cerr C.goh5_err_t
	var stale C.int32_t
	rc := C.goh5_dwrite_chunk(&cerr, id, cInts(offset), C.size_t(len(offset)), C.uint32_t(mask), cBytes(src), C.size_t(len(src)), &stale)
	runtime.KeepAlive(d)
	if rc < 0 {
		return d.chunkError(op, offset, rc, &cerr)
	}
	d.storedLocked(C.uint32_t(mask), len(src))
	if stale != 0 {
		return d.reopenLocked(op, id)
	}
	return nil
}

// reopenLocked closes every id of the dataset id and opens it as often again, so
// that the library forgets what it believes of the chunk it saw last.
func (d *Dataset) reopenLocked(op string, id C.int64_t) error {
	s := d.h.ids
	owners := make([]C.int64_t, 0, len(s.open))
	ids := make([]C.int64_t, 0, len(s.open))
	for owner, now := range s.open {
		owners, ids = append(owners, owner), append(ids, now)
	}
	var cerr C.goh5_err_t
	rc := C.goh5_dreopen(&cerr, id, &ids[0], C.size_t(len(ids)))
	for i, owner := range owners {
		if ids[i] < 0 {
			delete(s.open, owner)
		} else {
			s.open[owner] = ids[i]
		}
	}
	if rc < 0 {
		return newError(op, d.path, rc, &cerr)
	}
	return nil
}

// chunkError says for a wrong offset both what was asked for and what is there.
func (d *Dataset) chunkError(op string, offset []int64, rc C.int, cerr *C.goh5_err_t) error {
	e := newError(op, d.path, rc, cerr)
	switch rc {
	case C.GOH5_EREGION:
		dims := make([]uint64, cerr.rank)
		for i := range dims {
			dims[i] = uint64(cerr.dims[i])
		}
		e.Err = fmt.Errorf("%w: no chunk begins at %d, the dataset has the shape %d", ErrRegion, offset, dims)
	case C.GOH5_EUNSUPPORTED:
		e.Err = fmt.Errorf("%w: the library reads and writes stored chunks of fewer than %d dimensions", errors.ErrUnsupported, MaxRank)
	case C.GOH5_ENOCHUNK:
		e.Err = fmt.Errorf("%w: the chunk at %d is not stored", ErrNotFound, slices.Clone(offset))
	}
	return e
}

// Descriptor opens what the file's bytes are in once more, for reads that do not
// pass through the library (H5Fget_vfd_handle). The addresses of Chunk count from
// its first byte. It belongs to the File and is closed with it; every call returns
// the same.
//
// It returns errors.ErrUnsupported, with the reason, unless the file was opened
// for reading only, nobody else in the process has it open for writing, it is not
// read while another process writes it (SWMR), its driver is the plain one (sec2),
// and it can still be opened.
func (f *File) Descriptor() (*os.File, error) {
	const op = "open descriptor"
	lock()
	defer unlock()
	id, err := f.h.idLocked(op, f.path)
	if err != nil {
		return nil, err
	}
	if f.raw != nil {
		return f.raw, nil
	}
	var cerr C.goh5_err_t
	var fd C.int32_t
	rc := C.goh5_fdescriptor(&cerr, id, &fd)
	runtime.KeepAlive(f)
	if rc < 0 {
		return nil, newError(op, f.path, rc, &cerr)
	}
	if f.raw, err = openAgain(int(fd), f.path); err != nil {
		return nil, &Error{Op: op, Path: f.path, Err: fmt.Errorf("%w: %w", errors.ErrUnsupported, err)}
	}
	return f.raw, nil
}

// openAgain opens the file of a descriptor anew. A duplicate would share the lock
// that the library has on the file, and hold it longer than the library does.
func openAgain(fd int, path string) (*os.File, error) {
	again, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", fd))
	if err != nil {
		if again, err = os.Open(path); err != nil {
			return nil, err
		}
	}
	var was, is unix.Stat_t
	err = errors.Join(unix.Fstat(fd, &was), unix.Fstat(int(again.Fd()), &is))
	if err == nil && (was.Dev != is.Dev || was.Ino != is.Ino) {
		err = errors.New("another file is at its path now")
	}
	if err != nil {
		return nil, errors.Join(err, again.Close())
	}
	return again, nil
}
