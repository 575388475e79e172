// Stored chunks: their addresses in the file, reading them before filters are reversed, and writing
// chunks that were encoded elsewhere.

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
)

// Chunk is the index entry of one stored chunk.
type Chunk struct {
	Offset     []int64 // of its first element, in elements
	FilterMask uint32  // bit n is set if filter n of the pipeline was not applied
	Address    uint64  // of its first byte, counted from the beginning of the file, user block included
	Bytes      int64   // stored size, after the filters; 0 or negative (2^63 or more) if the entry is corrupt
}

// NumChunks returns the number of stored chunks (H5Dget_num_chunks). It returns ErrParam for a
// dataset that is not chunked.
func (d *Dataset) NumChunks() (int64, error) {
	var n C.uint64_t
	err := d.run("count chunks", d.path, func(id C.int64_t, cerr *C.goh5_err_t) C.int { return C.goh5_dchunk_count(cerr, id, &n) })
	return int64(n), err
}

// ChunkByIndex describes the n-th stored chunk in the order of the index (H5Dget_chunk_info).
// libhdf5 counts from the first chunk for each call. To list all chunks, use Chunks.
//
// It returns ErrNotFound if at most n chunks are stored, or ErrParam for a dataset that is not
// chunked.
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

// ChunkAt describes the chunk whose first element is at offset (H5Dget_chunk_info_by_coord).
// libhdf5 searches the index from its beginning. To list all chunks, use Chunks.
//
// It returns ErrNotFound if the chunk is not stored, ErrRegion if no chunk of the dataset begins at
// offset, or ErrParam for a dataset that is not chunked.
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

// ChunkBytes returns the number of bytes of the chunk at offset in the file, 0 if it is not stored
// (H5Dget_chunk_storage_size). It returns ErrCorrupt for a stored chunk whose size in the index is
// 0, or 2^63 or more. Other errors are those of ChunkAt.
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

// StoredChunks yields every stored chunk in the order of the index (H5Dchunk_iter). It reads all
// entries when the loop begins, rank + 3 words each. They belong to the caller, and the loop body
// may call any function of this package.
//
// It yields ErrParam for a dataset that is not chunked.
func (d *Dataset) StoredChunks() iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		r, err := d.chunks()
		if err != nil {
			yield(Chunk{}, err)
			return
		}
		rank, n := r.word(), r.word()
		offsets := make([]int64, rank*n) // of all chunks, in one allocation
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

// chunk decodes the fields that follow a chunk's offset.
func (r *reader) chunk(offset []int64) Chunk {
	return Chunk{Offset: offset, FilterMask: uint32(r.word()), Address: r.word(), Bytes: r.int()}
}

// ReadChunk reads the stored bytes of the chunk at offset into dst (H5Dread_chunk). It returns
// their number and the mask of filters that were not applied. If the chunk is in libhdf5's cache,
// libhdf5 writes it to the file first.
//
// It returns ErrSize, with both sizes, if dst is too short, errors.ErrUnsupported for a dataset of
// MaxRank dimensions (see docs/defects.md), and the errors of ChunkBytes.
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

// WriteChunk stores src as the chunk at offset (H5Dwrite_chunk). src must be the output of the
// dataset's filters for a whole chunk in the byte order of the file. WriteChunk does not check
// whether the filters can decode it. Bit n of mask means that filter n was skipped; mask is ignored
// for chunks without filters (PlainEdges). A copy of the chunk in libhdf5's cache is dropped.
//
// It returns ErrSize for an empty chunk, or for an unfiltered chunk whose length is not that of a
// whole chunk. It returns ErrParam for a mask with more bits than there are filters. It returns
// errors.ErrUnsupported for a dataset of MaxRank dimensions, and if the chunk at offset has the
// same length and another mask, because libhdf5 then keeps the old mask (see docs/defects.md). Such
// a chunk can be replaced in two steps, first by a chunk of another length. Other errors are
// ErrReadOnly and the errors of ChunkAt.
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

// reopenLocked closes all open ids of the dataset and opens it again for each, so that libhdf5
// drops its cached entry of the last chunk.
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

// chunkError adds the requested and the actual values to the error of a wrong offset.
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
	case C.GOH5_EMASKED:
		at := make([]uint64, cerr.rank)
		for i := range at {
			at[i] = uint64(cerr.dims[i])
		}
		e.Err = fmt.Errorf("%w: the library does not update the filter mask of a chunk that keeps its length: chunk %d has the mask %#x", errors.ErrUnsupported, at, cerr.have)
	case C.GOH5_ENOCHUNK:
		e.Err = fmt.Errorf("%w: the chunk at %d is not stored", ErrNotFound, slices.Clone(offset))
	case C.GOH5_ECHUNKSIZE:
		e.Err = chunkSizeError(fmt.Sprintf(" at %d", offset), int64(cerr.have))
	}
	return e
}

// Descriptor returns the file for reads that bypass libhdf5 (H5Fget_vfd_handle): OpenOptions.File,
// or the file opened a second time. The addresses of Chunk count from its first byte. The *os.File
// belongs to the File and is closed with it. Every call returns the same *os.File.
//
// It returns errors.ErrUnsupported, with the reason, unless all of these hold: the file was opened
// for reading only, is not open for writing elsewhere in the process, was not opened with SWMR,
// uses the default driver (sec2), and can be opened again.
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
	if f.given != nil && sameFile(int(fd), f.given) == nil {
		f.raw = f.given
		return f.raw, nil
	}
	if f.raw, err = openAgain(int(fd), f.path); err != nil {
		return nil, &Error{Op: op, Path: f.path, Err: fmt.Errorf("%w: %w", errors.ErrUnsupported, err)}
	}
	return f.raw, nil
}

// openAgain opens the file of a descriptor again, by its path if the system has no /proc. A
// duplicate would share libhdf5's lock on the file and hold it longer than libhdf5 does.
func openAgain(fd int, path string) (*os.File, error) {
	again, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", fd))
	if err != nil {
		if again, err = os.Open(path); err != nil {
			return nil, err
		}
	}
	if err := sameFile(fd, again); err != nil {
		return nil, errors.Join(err, again.Close())
	}
	return again, nil
}
