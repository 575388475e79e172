// Reading of chunks and parts of chunks with one read of the file and one context, directly into
// the caller's memory.

package frameio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/chunked/budget"
	"github.com/hyperslab/hyperslab/internal/chunked/readahead"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
	"github.com/hyperslab/hyperslab/internal/grid/boxes"
)

// Chunk returns the compressed bytes of chunk i as stored, in the memory of dst if it is large
// enough. For a special chunk that exists only in the index, it returns the chunk that the library
// would make.
//
// It returns cblosc.ErrRegion, cblosc.ErrFormat for a chunk that does not match the frame,
// fs.ErrNotExist if its file is missing, or cblosc.ErrClosed.
func (f *Frame) Chunk(dst []byte, i int64) ([]byte, error) {
	const op = "read chunk"
	var v values
	err := f.index(i)
	if err == nil {
		err = f.workers.with(func(w *worker) error {
			own := w.raw
			w.raw = dst[:0]
			err := f.load(w, &v, i)
			dst, w.raw = w.raw, own
			if w.held != nil { // the bytes of a mapping belong to the frame
				v.raw = append(dst[:0], v.raw...)
			}
			return err
		})
	}
	if err == nil && v.raw == nil {
		v.raw, err = f.specialChunk(i, v.n)
		v.raw = append(dst[:0], v.raw...)
	}
	if err != nil {
		return nil, &Error{op, f.path, i, err}
	}
	return v.raw, nil
}

// StoredBytes returns the stored size of chunk i in bytes, including its header, or 0 for a special
// chunk that exists only in the index. It reads only the header.
//
// It returns the errors of Chunk.
func (f *Frame) StoredBytes(i int64) (n int64, err error) {
	if err = f.index(i); err == nil && !f.offsets[i].IsSpecial() {
		err = f.workers.with(func(w *worker) error {
			raw, err := f.fetch(w, f.offsets[i], chunk.ExtendedHeaderSize)
			if err != nil {
				return closedFile(err)
			}
			h, err := chunk.ParseHeader(raw)
			if err != nil {
				return invalid(err)
			}
			n = int64(h.CBytes)
			return f.fits(i, f.chunkLen(i), &h)
		})
	}
	if err != nil {
		return 0, &Error{"measure chunk", f.path, i, err}
	}
	return n, nil
}

// Special returns the kind of a special chunk that exists only in the index: zeros, NaNs, or
// uninitialized values. It returns cblosc.NotSpecial for all other chunks and for an index out of
// range. It reads no data.
func (f *Frame) Special(i int64) cblosc.Special {
	if f.index(i) != nil || f.offsets[i].Check() != nil {
		return cblosc.NotSpecial
	}
	return cblosc.Special(f.offsets[i].Special())
}

// Repeated returns the value of chunk i, of TypeSize bytes, if the chunk is stored as one value of
// all its items, for example in an array of a fill value. It reads the header and the value of
// chunks that are as short as those two. It returns nil for all other chunks, for corrupt ones, and
// for all chunks of sparse frames and remote files, where a read of each header would be slow.
func (f *Frame) Repeated(i int64) (value []byte) {
	n := chunk.ExtendedHeaderSize + f.TypeSize()
	if f.index(i) != nil || f.space == nil || int64(f.space[i]) != int64(n) || f.distant() {
		return nil
	}
	err := f.workers.with(func(w *worker) error {
		var v values
		err := f.load(w, &v, i)
		if err == nil && v.h.Special == chunk.RepeatedValue {
			value = slices.Clone(v.value)
		}
		return err
	})
	if err != nil {
		return nil // the error of the read that follows
	}
	return value
}

// distant reports whether the file is remote, so that each read can be a request.
func (f *Frame) distant() bool {
	s, ok := f.src.(*fileSource)
	return ok && readahead.Of(s.r) != nil
}

// specialChunk makes the chunk that a special offset represents.
func (f *Frame) specialChunk(i int64, n int) ([]byte, error) {
	p := cblosc.DefaultCParams()
	p.TypeSize, p.BlockSize = f.TypeSize(), int(f.head.BlockSize)
	return cblosc.SpecialChunk(p, cblosc.Special(f.offsets[i].Special()), n, nil)
}

// Decompress decompresses chunk i into dst and returns the size of its values in bytes. dst may be
// longer. Uninitialized values are read as zeros.
//
// It returns cblosc.ErrRegion, cblosc.ErrSize if dst is shorter than the values, cblosc.ErrFormat
// if the stored chunk is invalid or truncated, errors.ErrUnsupported for a chunk that the library
// cannot or must not read, fs.ErrNotExist if its file is missing, or cblosc.ErrClosed.
func (f *Frame) Decompress(dst []byte, i int64) (int, error) {
	const op = "decompress chunk"
	err := f.index(i)
	if err != nil {
		return 0, &Error{op, f.path, i, err}
	}
	n := f.chunkLen(i)
	if len(dst) < n {
		return 0, &Error{op, f.path, i, fmt.Errorf("%w: %d bytes, the chunk holds %d", cblosc.ErrSize, len(dst), n)}
	}
	err = f.workers.reading(context.Background(), f.need(i, 0), func(w *worker) error { return f.readRange(w, dst[:n], i, 0) })
	if err != nil {
		return 0, &Error{op, f.path, i, err}
	}
	return n, nil
}

// Items decompresses the items start to start+n of chunk i into dst, TypeSize bytes each, and
// returns their size in bytes. If the chunk permits it, only the blocks that hold them are decoded.
//
// It returns cblosc.ErrRegion if the chunk has fewer items, cblosc.ErrSize if len(dst) is not
// n*TypeSize, format.ErrLimit for a chunk above Limits.Chunk that must be decoded whole, and the
// errors of Decompress.
func (f *Frame) Items(dst []byte, i int64, start, n int) (int, error) {
	const op = "read items"
	err := f.index(i)
	if err != nil {
		return 0, &Error{op, f.path, i, err}
	}
	size := f.TypeSize()
	total := f.chunkLen(i) / size
	switch {
	case start < 0 || n < 0 || start > total || n > total-start:
		err = fmt.Errorf("%w: %d items from %d on, of %d", cblosc.ErrRegion, n, start, total)
	case len(dst) != n*size:
		err = fmt.Errorf("%w: %d bytes, %d items have %d", cblosc.ErrSize, len(dst), n, n*size)
	default:
		err = f.workers.reading(context.Background(), f.need(i, f.partNeed(i, len(dst))), func(w *worker) error {
			return f.readRange(w, dst, i, start*size)
		})
	}
	if err != nil {
		return 0, &Error{op, f.path, i, err}
	}
	return len(dst), nil
}

// ReadAt implements io.ReaderAt for the values of all chunks as one sequence of bytes. If it
// returns fewer than len(p) bytes, it also returns an error, which is io.EOF at the end.
func (f *Frame) ReadAt(p []byte, off int64) (int, error) {
	const op = "read"
	if off < 0 {
		return 0, &Error{op, f.path, -1, fmt.Errorf("%w: offset %d", cblosc.ErrRegion, off)}
	}
	n, i := 0, int64(-1)
	if f.workers.closed.Load() {
		return 0, &Error{op, f.path, i, cblosc.ErrClosed}
	}
	for n < len(p) && off < f.head.NBytes {
		i = off / int64(f.head.ChunkSize)
		from := int(off % int64(f.head.ChunkSize))
		part := p[n:min(len(p), n+f.chunkLen(i)-from)]
		err := f.workers.reading(context.Background(), f.need(i, f.partNeed(i, len(part))), func(w *worker) error {
			return f.readRange(w, part, i, from)
		})
		if err != nil {
			return n, &Error{op, f.path, i, err}
		}
		n += len(part)
		off += int64(len(part))
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// ReadAll decompresses all chunks into dst with the given number of workers; 0 means GOMAXPROCS.
// len(dst) must be NBytes.
//
// It stops at the first error, after which the content of dst is undefined, and before the next
// chunk when ctx ends. The errors are those of Decompress, and ctx.Err.
func (f *Frame) ReadAll(ctx context.Context, dst []byte, workers int) error {
	const op = "read all"
	if int64(len(dst)) != f.head.NBytes {
		return &Error{op, f.path, -1, fmt.Errorf("%w: %d bytes, the frame holds %d", cblosc.ErrSize, len(dst), f.head.NBytes)}
	}
	err := each(ctx, &f.workers, f.NumChunks(), workers, func() struct{} { return struct{}{} }, func(_ struct{}, i int64) error {
		at := i * int64(f.head.ChunkSize)
		err := f.workers.reading(ctx, f.need(i, 0), func(w *worker) error {
			return f.readRange(w, dst[at:at+int64(f.chunkLen(i))], i, 0)
		})
		return f.inChunk(op, i, err)
	})
	return f.wrap(op, err)
}

// wrap returns err as an *Error if it is not one already.
func (f *Frame) wrap(op string, err error) error {
	if err == nil || errors.As(err, new(*Error)) {
		return err
	}
	return &Error{op, f.path, -1, err}
}

// inChunk adds chunk i to err. The end of a context concerns no chunk.
func (f *Frame) inChunk(op string, i int64, err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &Error{op, f.path, i, err}
}

// need returns the bytes of memory for reading chunk i with data bytes of values outside the
// caller's buffer: the stored chunk, the values, and the blocks of a context.
func (f *Frame) need(i int64, data int) int64 {
	if f.offsets[i].IsSpecial() {
		return 0
	}
	n := int64(data) + contextBlocks*int64(f.head.BlockSize)
	if _, mapped := f.src.(*mapSource); mapped {
		return n
	}
	return n + int64(f.stored(i))
}

// contextBlocks is the number of blocks for which C-Blosc2 allocates memory in a context.
const contextBlocks = 4

// stored returns the maximum size of stored chunk i, for a chunk that a library wrote.
func (f *Frame) stored(i int64) int {
	n := f.chunkLen(i) + chunk.ExtendedHeaderSize
	if f.space != nil {
		n = min(n, int(f.space[i]))
	}
	return n
}

// partNeed returns the size of the values that readRange may decode for n bytes of chunk i.
func (f *Frame) partNeed(i int64, n int) int {
	if whole := f.chunkLen(i); n < whole {
		return whole
	}
	return 0
}

// index checks whether chunk i exists.
func (f *Frame) index(i int64) error {
	if i < 0 || i >= f.NumChunks() {
		return fmt.Errorf("%w: chunk %d of %d", cblosc.ErrRegion, i, f.NumChunks())
	}
	return nil
}

// values is one chunk before decoding.
type values struct {
	n     int          // size of the values in bytes
	raw   []byte       // the chunk; nil for a special chunk that exists only in the index
	h     chunk.Header // its header; zero without raw
	parts *chunk.Parts // the available parts of raw; nil: all
	same  bool         // the values are repetitions of value
	value []byte       // nil for zeros
}

// The NaNs that the library writes.
var (
	nan32 = []byte{0, 0, 0xC0, 0x7F}
	nan64 = []byte{0, 0, 0, 0, 0, 0, 0xF8, 0x7F}
)

// load reads chunk i, which must exist, into w and checks it as far as possible without decoding. v
// is valid until w reads again.
func (f *Frame) load(w *worker, v *values, i int64) error {
	*v = values{n: f.chunkLen(i)}
	o := f.offsets[i]
	if o.IsSpecial() {
		return v.setSpecial(o.Special(), f.TypeSize(), nil)
	}
	most := f.stored(i)
	raw, err := f.fetch(w, o, most)
	if err != nil {
		return closedFile(err)
	}
	n := len(raw)
	h, err := chunk.ParseHeader(raw)
	if err == nil {
		err = f.fits(i, v.n, &h)
	}
	if err != nil {
		return f.unlike(i, raw, &h, invalid(err))
	}
	if size := int(h.CBytes); size > n {
		if n < most {
			return truncated(n, size)
		}
		if err := f.loadRest(w, o, size); err != nil {
			return err
		}
		raw = w.raw
	}
	v.h, v.raw = h, raw[:h.CBytes]
	if err := f.matches(i, v.raw); err != nil {
		return err
	}
	if h.Special != chunk.NotSpecial {
		return v.setSpecial(h.Special, int(h.TypeSize), v.raw)
	}
	return nil
}

// fetch returns up to n bytes of the chunk at o, in w.raw or in the mapping.
func (f *Frame) fetch(w *worker, o cframe.Offset, n int) ([]byte, error) {
	if m, ok := f.src.(*mapSource); ok {
		return m.view(w, o, n)
	}
	w.raw = budget.Grown(w.raw, n)
	n, err := w.src.read(w.raw, o, 0)
	w.raw = w.raw[:n]
	return w.raw, err
}

// partialBytes is the minimum length of a stored chunk for reading its blocks one by one. A read
// costs as much as copying some KiB, so smaller chunks are read whole.
const partialBytes = 16 << 10

// hasBlocks reports whether loadBlocks may save work for chunk i.
func (f *Frame) hasBlocks(i int64) bool {
	_, mapped := f.src.(*mapSource)
	return !mapped && f.sums == nil && f.space != nil && !f.offsets[i].IsSpecial() && f.space[i] >= partialBytes
}

// loadBlocks is load for a chunk of which only some blocks are needed; blocks is the expected
// number of blocks. It reads the header and the table of block starts, and v.parts reads blocks. If
// that saves no work or is not possible, ok is false and the caller must call load. It requires
// hasBlocks.
func (f *Frame) loadBlocks(w *worker, v *values, i int64, blocks int64) (ok bool, err error) {
	o := f.offsets[i]
	n := chunk.ExtendedHeaderSize + 4*int(min(blocks, int64(f.space[i])/4))
	w.raw = budget.Grown(w.raw, max(n, partialBytes))
	n, err = w.src.read(w.raw[:min(n, int(f.space[i]))], o, 0)
	if err != nil {
		return false, closedFile(err)
	}
	h, err := chunk.ParseHeader(w.raw[:n])
	if err != nil {
		return false, invalid(err)
	}
	*v = values{n: f.chunkLen(i), h: h}
	if err := f.fits(i, v.n, &h); err != nil {
		return false, err
	}
	if !h.HasBlocks() && !h.Stored() || h.CBytes < partialBytes || !v.partial() || n < h.Size() {
		return false, nil
	}
	if int(h.CBytes) > cap(w.raw) {
		raw := budget.Get(int(h.CBytes)) // at most f.space[i], which is inside the file
		copy(raw, w.raw[:n])
		w.raw = raw
	}
	v.raw = w.raw[:h.CBytes]
	v.parts, err = chunk.OpenParts(chunkAt{w.src, o}, h, v.raw, n)
	if errors.Is(err, format.ErrCorrupt) {
		err = invalid(err)
	}
	return err == nil, closedFile(err)
}

// chunkAt is a stored chunk as an io.ReaderAt.
type chunkAt struct {
	src source
	o   cframe.Offset
}

func (c chunkAt) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.src.read(p, c.o, off)
	if err == nil && n < len(p) {
		err = truncated(n, len(p))
	}
	return n, err
}

// fits checks whether the header of stored chunk i matches the frame. These are the conditions
// under which the library reads it.
func (f *Frame) fits(i int64, n int, h *chunk.Header) error {
	switch {
	case !h.Extended:
		return corrupt("flags", 2, "a chunk of Blosc1", "one of Blosc2, as frames hold")
	case int(h.NBytes) != n:
		return corrupt("nbytes", 4, h.NBytes, n)
	case f.space != nil && h.CBytes > f.space[i]:
		return corrupt("cbytes", 12, h.CBytes, fmt.Sprintf("at most %d, up to the next chunk", f.space[i]))
	}
	if err := h.Check(); err != nil {
		return invalid(err)
	}
	switch {
	case h.VLBlocks():
		return fmt.Errorf("%w: a chunk with blocks of variable length", errors.ErrUnsupported)
	case h.Blosc2Flags&chunk.Flag2Instrumented != 0:
		return fmt.Errorf("%w: a chunk of measurements instead of data", errors.ErrUnsupported)
	case h.Special == chunk.RepeatedValue && h.ItemSize() != f.TypeSize():
		return corrupt("cbytes", 12, h.CBytes, fmt.Sprintf("%d, the header and one element", chunk.ExtendedHeaderSize+f.TypeSize()))
	}
	return nil
}

// loadRest reads a chunk of size bytes again if it is longer than its values and a header. No
// library writes such chunks. It verifies that the last byte exists before it allocates memory.
func (f *Frame) loadRest(w *worker, o cframe.Offset, size int) error {
	var last [1]byte
	n, err := w.src.read(last[:], o, int64(size)-1)
	if err == nil && n == 1 {
		w.raw = budget.Grown(w.raw, size)
		n, err = w.src.read(w.raw, o, 0)
		if err == nil && n == size {
			return nil
		}
	}
	if err != nil {
		return closedFile(err)
	}
	return truncated(n, size)
}

// setSpecial sets the value that all elements, of size bytes, have.
func (v *values) setSpecial(s chunk.Special, size int, raw []byte) error {
	v.same = true
	switch s {
	case chunk.RepeatedValue:
		v.value = raw[chunk.ExtendedHeaderSize:]
	case chunk.NaNs:
		switch size {
		case len(nan32):
			v.value = nan32
		case len(nan64):
			v.value = nan64
		default:
			return corrupt("special value", 0, fmt.Sprintf("NaNs of %d bytes", size), "4 or 8")
		}
	}
	return nil
}

// readRange decodes the bytes of chunk i from byte from on into dst. Both ends must be inside the
// chunk.
func (f *Frame) readRange(w *worker, dst []byte, i int64, from int) error {
	var v values
	if err := f.load(w, &v, i); err != nil {
		return err
	}
	return f.decode(w, &v, dst, from)
}

// decode writes the values of v from byte from on to dst.
func (f *Frame) decode(w *worker, v *values, dst []byte, from int) error {
	switch {
	case len(dst) == 0:
		return nil
	case v.same:
		boxes.RepeatFrom(dst, v.value, from)
		return nil
	case v.h.Stored():
		copy(dst, v.raw[v.h.Size()+from:])
		return nil
	case len(dst) == v.n:
		return v.all(w, dst)
	case v.partial() && v.pays(from, len(dst)) && from%int(v.h.TypeSize) == 0 && len(dst)%int(v.h.TypeSize) == 0:
		return v.items(w, dst, from)
	}
	if err := f.scratch(w, v.n); err != nil {
		return err
	}
	if err := v.all(w, w.data); err != nil {
		return err
	}
	copy(dst, w.data[from:])
	return nil
}

// scratch sets the length of w.data to n, unless n exceeds the limit.
func (f *Frame) scratch(w *worker, n int) error {
	if err := f.allow(n); err != nil {
		return err
	}
	w.data = budget.Grown(w.data, n)
	return nil
}

// all decodes the whole chunk.
func (v *values) all(w *worker, dst []byte) error {
	n, err := w.d.Decompress(dst, v.raw)
	if err == nil && n != v.n {
		err = corrupt("nbytes", 4, n, v.n)
	}
	return invalid(err)
}

// items decodes whole elements of the type size in the chunk's header.
func (v *values) items(w *worker, dst []byte, from int) error {
	size := int(v.h.TypeSize)
	n, err := w.d.Items(dst, v.raw, from/size, len(dst)/size)
	if err == nil && n != len(dst) {
		err = corrupt("values", 0, n, len(dst))
	}
	return invalid(err)
}

// partial reports whether blocks can be decoded separately. With Delta blocks depend on the first
// block, and the library's function for items treats each block as the first.
// Dictionaries are only set up for whole chunks.
func (v *values) partial() bool {
	if v.same || v.h.Blosc2Flags&chunk.Flag2Dict != 0 {
		return false
	}
	return !slices.Contains(v.h.Filters[:], chunk.Delta)
}

// pays reports whether the blocks that hold n bytes from byte from on are at most half of the
// chunk.
func (v *values) pays(from, n int) bool {
	b := int(v.h.BlockLen())
	return ((from+n-1)/b-from/b+1)*b <= v.n/2
}
