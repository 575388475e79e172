// Contexts that compress or decompress one chunk at a time without allocating.

package cblosc

// #include "shim.h"
// #cgo noescape goblosc2_compressor_new
// #cgo nocallback goblosc2_compressor_new
// #cgo noescape goblosc2_decompressor_new
// #cgo nocallback goblosc2_decompressor_new
// #cgo noescape goblosc2_compress
// #cgo nocallback goblosc2_compress
// #cgo noescape goblosc2_decompress
// #cgo nocallback goblosc2_decompress
// #cgo noescape goblosc2_decompress_blocks
// #cgo nocallback goblosc2_decompress_blocks
// #cgo noescape goblosc2_getitem
// #cgo nocallback goblosc2_getitem
import "C"

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"github.com/hyperslab/hyperslab/internal/guard"
)

// MaxCompressedSize returns the maximum size in bytes of a chunk of n bytes of data.
func MaxCompressedSize(n int) int { return n + overhead }

// Compressor compresses data to chunks. It keeps its tables and buffers between calls.
type Compressor struct {
	h         *handle
	params    CParams // in use
	requested CParams // parameters before overrides by environment variables
	hooks     *hooks  // nil if the context never calls Go
	callsGo   bool    // the library calls Go
	tuning    *tuning // nil without a tuner, which changes params under the lock of h
}

// NewCompressor returns a Compressor (blosc2_create_cctx). A nil p means DefaultCParams. It returns
// ErrParam for parameters that Validate rejects.
func NewCompressor(p *CParams) (*Compressor, error) { return newCompressor(p, nil, nil) }

// NewPrefiltered returns a Compressor that passes each block of its data through f and compresses
// the result (a prefilter of blosc2_create_cctx). The chunk does not record this. The Compressor
// cannot make Blosc1 chunks or chunks with blocks of variable length: errors.ErrUnsupported.
// [SChunk.CompressWith] uses it for a super-chunk.
func NewPrefiltered(p *CParams, f BlockFunc) (*Compressor, error) {
	if f == nil {
		return nil, refused("new compressor", "", errNoFunc)
	}
	return newCompressor(p, f, nil)
}

var errNoFunc = fmt.Errorf("%w: no function", ErrParam)

func newCompressor(p *CParams, f BlockFunc, t *tuning) (*Compressor, error) {
	const op = "new compressor"
	p, err := p.orDefaultOutsideArrays()
	if err == nil && f != nil && p.Dict {
		err = fmt.Errorf("%w: Dict = true, want no dictionary of prefiltered data", ErrParam)
	}
	if err == nil && f != nil && p.usesDelta() {
		err = fmt.Errorf("%w: delta after a prefilter, because its reference is the data before the prefilter", ErrParam)
	}
	if err != nil {
		return nil, refused(op, "", err)
	}
	c := &Compressor{requested: *p, callsGo: f != nil || p.usesGo(), tuning: t}
	if c.callsGo || t != nil {
		c.hooks = newHooks(f, nil)
	}
	params := p.toC()
	var cerr C.goblosc2_err_t
	var owned *C.goblosc2_handle_t
	var effective C.goblosc2_cparams_t
	if C.goblosc2_compressor_new(&cerr, &params, c.hooks.number(), cBool(f != nil), &owned, &effective) < 0 {
		c.hooks.close()
		return nil, failed(op, "", &cerr)
	}
	c.h, c.params = own(owned, "Compressor", ""), *fromC(&effective)
	c.hooks.outlive(c.h)
	return c, nil
}

// CParams returns the parameters in use: those that the Compressor was created with, except where
// environment variables override them (blosc2_ctx_get_cparams). For a Compressor with a tuner they
// are the last parameters that the tuner chose.
func (c *Compressor) CParams() CParams {
	if c.tuning != nil {
		c.h.mu.Lock()
		defer c.h.mu.Unlock()
	}
	return c.params
}

// Compress compresses src into dst and returns the size of the chunk in bytes
// (blosc2_compress_ctx).
//
// A dst of MaxCompressedSize(len(src)) bytes always suffices. src can have at most 2 GiB minus 32
// bytes. An empty src gives a chunk of 32 bytes.
//
// It returns ErrSize if the chunk does not fit into dst. It also returns ErrSize if src is not a
// whole number of elements and the filters include Delta or TruncPrec, because they would lose the
// rest. Other errors are ErrLimit, ErrClosed, and an *Error from the library.
func (c *Compressor) Compress(dst, src []byte) (int, error) {
	return c.compressAs("compress", dst, src, alone)
}

// appendTo appends the chunk of src to dst. index is that of the item in a call for several, or
// alone.
func (c *Compressor) appendTo(op string, dst, src []byte, index int64) ([]byte, error) {
	if len(src) > maxBuffer {
		return dst, refused(op, "", c.params.checkData(len(src)))
	}
	long := slices.Grow(dst, MaxCompressedSize(len(src)))
	n, err := c.compressAs(op, long[len(dst):cap(long)], src, index)
	if err != nil {
		return dst, err
	}
	return long[:len(dst)+n], nil
}

// alone is the index of a chunk that is not part of a batch or super-chunk.
const alone = -1

// compressAs is Compress for the chunk with that index in a batch or super-chunk.
func (c *Compressor) compressAs(op string, dst, src []byte, index int64) (int, error) {
	if c.tuning == nil { // the tuner's parameters are not known yet
		err := c.params.checkData(len(src))
		if err == nil {
			err = c.params.checkRoom(len(dst), len(src))
		}
		if err != nil {
			return 0, refused(op, "", err)
		}
	}
	if err := c.h.lock(op); err != nil {
		return 0, err
	}
	defer c.h.unlockAfter(compressing * len(src))
	if c.tuning != nil {
		return c.tunedLocked(op, dst, src, index)
	}
	return c.compressLocked(op, dst, src, index)
}

// compressLocked compresses src, which must have been checked.
func (c *Compressor) compressLocked(op string, dst, src []byte, index int64) (int, error) {
	capacity := min(len(dst), MaxCompressedSize(len(src)))
	var cerr C.goblosc2_err_t
	var n C.int
	if c.hooks != nil {
		c.hooks.beginChunk(index)
	}
	if !c.callsGo {
		n = C.goblosc2_compress(&cerr, c.h.c, (*C.uint8_t)(unsafe.SliceData(src)), C.int32_t(len(src)),
			(*C.uint8_t)(unsafe.SliceData(dst)), C.int32_t(capacity))
	} else {
		n, cerr = compressHooked(c.h.c, src, dst[:capacity])
	}
	switch {
	case n < 0 && (len(dst) >= MaxCompressedSize(len(src)) || !tooShort(Code(cerr.code))):
		return 0, c.hooks.explain(failed(op, "", &cerr))
	case n <= 0:
		return 0, refused(op, "", fmt.Errorf("%w: %d bytes for the chunk of %d, at most %d are needed",
			ErrSize, len(dst), len(src), MaxCompressedSize(len(src))))
	}
	return int(n), nil
}

// checkData reports data of a length that cannot be compressed.
func (p *CParams) checkData(n int) error {
	if n > maxBuffer {
		return fmt.Errorf("%w: %d bytes, at most %d", ErrLimit, n, maxBuffer)
	}
	if p.Dict && n < minDictData {
		return fmt.Errorf("%w: %d bytes, want at least %d for a dictionary", ErrSize, n, minDictData)
	}
	if n%p.TypeSize != 0 && p.wholeElements() {
		return fmt.Errorf("%w: %d bytes, want a multiple of the type size %d for these filters", ErrSize, n, p.TypeSize)
	}
	return nil
}

// checkRoom reports a dst that is too short in cases that the library does not report.
func (p *CParams) checkRoom(dst, src int) error {
	if most := MaxCompressedSize(src); p.Dict && dst < most {
		return fmt.Errorf("%w: %d bytes for the chunk of %d, want %d for one with a dictionary", ErrSize, dst, src, most)
	}
	return nil
}

// tooShort reports whether c is a code for a dst that is too short. Usually the library returns 0
// instead of a code.
func tooShort(c Code) bool { return c == codeWriteBuffer || c == C.BLOSC2_ERROR_MAX_BUFSIZE_EXCEEDED }

// Close frees the Compressor. A second Close returns ErrClosed.
func (c *Compressor) Close() error {
	err := c.h.close()
	if err == nil {
		c.hooks.close()
	}
	return err
}

// Decompressor decompresses chunks. It keeps its tables and buffers between calls.
type Decompressor struct {
	h      *handle
	params DParams
	hooks  *hooks // nil if the context never calls Go
}

// NewDecompressor returns a Decompressor (blosc2_create_dctx). A nil p means DefaultDParams.
func NewDecompressor(p *DParams) (*Decompressor, error) { return newDecompressor(p, nil) }

// NewPostfiltered returns a Decompressor that passes each decompressed block through f (a
// postfilter of blosc2_create_dctx). f gets zeros for uninitialised data. The Decompressor cannot
// read chunks with the filter Delta, whose blocks depend on each other: errors.ErrUnsupported.
// [SChunk.DecompressWith] uses it for a super-chunk.
func NewPostfiltered(p *DParams, f BlockFunc) (*Decompressor, error) {
	if f == nil {
		return nil, refused("new decompressor", "", errNoFunc)
	}
	return newDecompressor(p, f)
}

func newDecompressor(p *DParams, f BlockFunc) (*Decompressor, error) {
	const op = "new decompressor"
	p, err := p.orDefault()
	if err != nil {
		return nil, refused(op, "", err)
	}
	d := &Decompressor{params: *p}
	if f != nil || allowsGo(p.Allow) {
		d.hooks = newHooks(f, nil)
	}
	var cerr C.goblosc2_err_t
	var owned *C.goblosc2_handle_t
	var threads C.int32_t
	if C.goblosc2_decompressor_new(&cerr, C.int32_t(p.Threads), d.hooks.number(), cBool(f != nil), &owned, &threads) < 0 {
		d.hooks.close()
		return nil, failed(op, "", &cerr)
	}
	d.h, d.params.Threads = own(owned, "Decompressor", ""), int(threads)
	d.hooks.outlive(d.h)
	return d, nil
}

// DParams returns the parameters in use: those that the Decompressor was created with, except where
// environment variables override them (blosc2_ctx_get_dparams).
func (d *Decompressor) DParams() DParams { return d.params }

// Decompress decompresses the chunk b into dst and returns the size of the data in bytes
// (blosc2_decompress_ctx). Bytes after the end of the chunk are ignored, and dst is unchanged after
// the data. Uninitialised data is zeros, because the library would leave old bytes in dst.
//
// It returns ErrFormat for bytes that are not a valid chunk, errors.ErrUnsupported for a chunk that
// the library cannot or must not read, ErrSize if dst is shorter than the data, ErrLimit for data
// larger than DParams.MaxBytes, ErrClosed, or an *Error from the library.
func (d *Decompressor) Decompress(dst, b []byte) (int, error) {
	return d.decompressAs("decompress", dst, b, alone)
}

// decompressAs is Decompress for the chunk with that index in a batch or super-chunk.
func (d *Decompressor) decompressAs(op string, dst, b []byte, index int64) (int, error) {
	special := NotSpecial
	n, size, ok := guard.Ordinary(b)
	if !ok || d.hooks != nil {
		head, err := d.check(b)
		if err != nil {
			return 0, refused(op, "", err)
		}
		n, size, special = head.NBytes, head.CBytes, Special(head.Special)
	}
	if err := d.params.checkBytes(n); err != nil {
		return 0, refused(op, "", err)
	}
	if len(dst) < n {
		return 0, refused(op, "", fmt.Errorf("%w: %d bytes, the chunk holds %d", ErrSize, len(dst), n))
	}
	if err := d.h.lock(op); err != nil {
		return 0, err
	}
	defer d.h.unlockAfter(n)
	return d.wholeLocked(op, dst[:n], b[:size], special, index)
}

// appendTo appends the data of the chunk b to dst. index is that of the item in a call for several,
// or alone.
func (d *Decompressor) appendTo(op string, dst, b []byte, index int64) ([]byte, error) {
	n, _, ok := guard.Ordinary(b)
	var err error
	if !ok || d.hooks != nil {
		var head guard.Chunk
		head, err = d.check(b)
		n = head.NBytes
	}
	if err == nil {
		err = d.params.checkBytes(n)
	}
	if err != nil {
		return dst, refused(op, "", err)
	}
	long := slices.Grow(dst, n)[:len(dst)+n]
	if _, err := d.decompressAs(op, long[len(dst):], b, index); err != nil {
		return dst, err
	}
	return long, nil
}

// wholeLocked decompresses the chunk b, which must have been checked, into dst, which must have the
// size of its data. index is its index in a batch or super-chunk.
func (d *Decompressor) wholeLocked(op string, dst, b []byte, special Special, index int64) (int, error) {
	var cerr C.goblosc2_err_t
	var n C.int
	if special == Uninit {
		clear(dst)
	}
	if d.hooks != nil && special == Uninit {
		if d.hooks.block == nil {
			return len(dst), nil
		}
		// The library would pass uninitialised memory to the function, so the chunk becomes one of
		// zeros.
		const at, bits, shift = C.BLOSC2_CHUNK_BLOSC2_FLAGS, C.BLOSC2_SPECIAL_MASK << 4, 4
		b = slices.Clone(b)
		b[at] = b[at]&^bits | byte(Zeros)<<shift
	}
	if d.hooks == nil {
		n = C.goblosc2_decompress(&cerr, d.h.c, (*C.uint8_t)(unsafe.SliceData(b)), C.int32_t(len(b)),
			(*C.uint8_t)(unsafe.SliceData(dst)), C.int32_t(len(dst)))
	} else {
		d.hooks.beginChunk(index)
		n, cerr = decompressHooked(d.h.c, b, dst)
	}
	if n < 0 {
		return 0, d.hooks.explain(failed(op, "", &cerr))
	}
	return int(n), nil
}

// check is checkAlone. It also rejects chunks that a context with hooks cannot read.
func (d *Decompressor) check(b []byte) (guard.Chunk, error) {
	h, err := checkAlone(b, d.params.Allow)
	if err != nil || d.hooks == nil {
		return h, err
	}
	if h.Delta() {
		err = fmt.Errorf("%w: a chunk with delta in a context that calls Go", errors.ErrUnsupported)
	}
	return h, err
}

// Items decompresses the items start to start+n of the chunk b into dst and returns their size in
// bytes (blosc2_getitem_ctx). An item has the TypeSize of Info. If that exceeds 255 bytes, an item
// is 1 byte, except for a repeated value.
//
// It returns ErrRegion if the chunk has fewer items, ErrSize if len(dst) is not n*TypeSize, and the
// errors of Decompress.
func (d *Decompressor) Items(dst, b []byte, start, n int) (int, error) {
	head, err := d.check(b)
	if err != nil {
		return 0, refused("read items", "", err)
	}
	size := head.ItemSize
	total := head.NBytes / size
	if start < 0 || n < 0 || start > total || n > total-start {
		return 0, refused("read items", "", fmt.Errorf("%w: items [%d, %d) of %d", ErrRegion, start, start+n, total))
	}
	if want := n * size; len(dst) != want {
		return 0, refused("read items", "", fmt.Errorf("%w: %d bytes, %d items have %d", ErrSize, len(dst), n, want))
	}
	if err := d.h.lock("read items"); err != nil {
		return 0, err
	}
	defer d.h.mu.Unlock()
	if n == 0 {
		return 0, nil
	}
	if Special(head.Special) == Uninit {
		clear(dst)
	}
	if d.hooks != nil || head.PartsUnsafe() {
		return d.partLocked("read items", dst, b, &head, start*size)
	}
	if err := d.itemsLocked("read items", dst, b, &head, start); err != nil {
		return 0, err
	}
	return len(dst), nil
}

// itemsLocked reads whole items from item start on, which fill dst.
//
// If len(dst) equals the length of a block or of the short last block, the library returns a whole
// block, even if the items start inside another block. So such items are read in two parts: up to
// the next block and from there.
func (d *Decompressor) itemsLocked(op string, dst, b []byte, head *guard.Chunk, start int) error {
	size, block := head.TypeSize, head.BlockLen
	at := start * size
	if rest := head.NBytes % block; at%block != 0 && (len(dst) == block || len(dst) == rest) {
		// A block holds whole items, or the chunk has one block.
		if n := min(block-at%block, len(dst)); n < len(dst) {
			if err := d.itemsLocked(op, dst[:n], b, head, start); err != nil {
				return err
			}
			dst, start = dst[n:], start+n/size
		}
	}
	var cerr C.goblosc2_err_t
	if C.goblosc2_getitem(&cerr, d.h.c,
		(*C.uint8_t)(unsafe.SliceData(b)), C.int32_t(head.CBytes), C.int32_t(start), C.int32_t(len(dst)/size),
		(*C.uint8_t)(unsafe.SliceData(dst)), C.int32_t(len(dst))) < 0 {
		return failed(op, "", &cerr)
	}
	return nil
}

// partLocked decompresses the whole chunk and copies its bytes from start on to dst.
func (d *Decompressor) partLocked(op string, dst, b []byte, head *guard.Chunk, start int) (int, error) {
	all := make([]byte, head.NBytes)
	if _, err := d.wholeLocked(op, all, b[:head.CBytes], Special(head.Special), alone); err != nil {
		return 0, err
	}
	return copy(dst, all[start:]), nil
}

// Blocks is Decompress without the blocks for which skip is true; dst is unchanged there
// (blosc2_set_maskout). skip must have one value for each block of the chunk: NBytes/BlockSize of
// Info, rounded up.
//
// It returns ErrSize for another length of skip, ErrParam if the first block is skipped and the
// others are differences to it (Delta), and the errors of Decompress.
func (d *Decompressor) Blocks(dst, b []byte, skip []bool) (int, error) {
	const op = "decompress blocks"
	head, err := d.check(b)
	if err != nil {
		return 0, refused(op, "", err)
	}
	n := 0
	if head.NBytes > 0 {
		n = head.NumBlocks
	}
	switch {
	case len(skip) != n:
		err = fmt.Errorf("%w: a mask of %d blocks, the chunk has %d", ErrSize, len(skip), n)
	case len(dst) < head.NBytes:
		err = fmt.Errorf("%w: %d bytes, the chunk holds %d", ErrSize, len(dst), head.NBytes)
	case n > 0 && skip[0] && head.Delta() && slices.Contains(skip, false):
		err = fmt.Errorf("%w: the first block is skipped, to which the others are differences", ErrParam)
	case head.Blosc1Tail():
		err = fmt.Errorf("%w: a mask of blocks of a chunk of Blosc1 that ends with a part of an element", errors.ErrUnsupported)
	case d.hooks != nil:
		err = fmt.Errorf("%w: a mask of blocks on a context that calls Go", errors.ErrUnsupported)
	}
	if err != nil {
		return 0, refused(op, "", err)
	}
	if n == 0 {
		return d.Decompress(dst, b)
	}
	if err := d.h.lock(op); err != nil {
		return 0, err
	}
	defer d.h.mu.Unlock()
	for i := 0; Special(head.Special) == Uninit && i < n; i++ {
		if !skip[i] {
			clear(dst[i*head.BlockLen : min((i+1)*head.BlockLen, head.NBytes)])
		}
	}
	var cerr C.goblosc2_err_t
	rc := C.goblosc2_decompress_blocks(&cerr, d.h.c, (*C.uint8_t)(unsafe.SliceData(b)), C.int32_t(head.CBytes),
		(*C.uint8_t)(unsafe.Pointer(unsafe.SliceData(skip))), C.int32_t(n), (*C.uint8_t)(unsafe.SliceData(dst)), C.int32_t(head.NBytes))
	if rc < 0 {
		return 0, failed(op, "", &cerr)
	}
	return int(rc), nil
}

// Close frees the Decompressor. A second Close returns ErrClosed.
func (d *Decompressor) Close() error {
	err := d.h.close()
	if err == nil {
		d.hooks.close()
	}
	return err
}
