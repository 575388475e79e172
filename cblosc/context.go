// Contexts: compress and decompress one chunk at a time, with nothing allocated.

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
// #cgo noescape goblosc2_getitem
// #cgo nocallback goblosc2_getitem
import "C"

import (
	"fmt"
	"unsafe"
)

// MaxCompressedSize returns the bytes that a chunk of n bytes of data needs at most.
func MaxCompressedSize(n int) int { return n + overhead }

// Compressor makes chunks. It keeps its tables and buffers between calls.
type Compressor struct {
	h      *handle
	params CParams
	whole  bool // data must be whole elements
}

// NewCompressor returns a Compressor (blosc2_create_cctx). nil means
// DefaultCParams. It returns ErrParam for parameters that Validate refuses.
func NewCompressor(p *CParams) (*Compressor, error) {
	p, err := p.orDefault()
	if err != nil {
		return nil, refused("new compressor", "", err)
	}
	params := p.toC()
	var cerr C.goblosc2_err_t
	var c *C.goblosc2_handle_t
	if C.goblosc2_compressor_new(&cerr, &params, &c) < 0 {
		return nil, failed("new compressor", "", &cerr)
	}
	return &Compressor{own(c, "Compressor", ""), *p, p.wholeElements()}, nil
}

// CParams returns the parameters the Compressor was made with.
func (c *Compressor) CParams() CParams { return c.params }

// Compress compresses src into dst and returns the bytes of the chunk
// (blosc2_compress_ctx).
//
// A dst of MaxCompressedSize(len(src)) bytes always suffices. src is at most 2 GiB
// minus 32 bytes. An empty src gives a chunk of 32 bytes.
//
// It returns ErrSize if the chunk does not fit into dst, or if src is not whole
// elements and the filters Delta or TruncPrec, which would lose the rest, are set;
// ErrLimit, ErrClosed, or an *Error from the library.
func (c *Compressor) Compress(dst, src []byte) (int, error) {
	if len(src) > maxBuffer {
		return 0, refused("compress", "", fmt.Errorf("%w: %d bytes, at most %d", ErrLimit, len(src), maxBuffer))
	}
	if c.whole && len(src)%c.params.TypeSize != 0 {
		return 0, refused("compress", "", fmt.Errorf("%w: %d bytes, want a multiple of the type size %d for these filters", ErrSize, len(src), c.params.TypeSize))
	}
	if err := c.h.lock("compress"); err != nil {
		return 0, err
	}
	defer c.h.mu.Unlock()
	var cerr C.goblosc2_err_t
	n := C.goblosc2_compress(&cerr, c.h.c,
		(*C.uint8_t)(unsafe.SliceData(src)), C.int32_t(len(src)),
		(*C.uint8_t)(unsafe.SliceData(dst)), C.int32_t(min(len(dst), maxBuffer+overhead)))
	switch {
	case n < 0 && (len(dst) >= MaxCompressedSize(len(src)) || !tooShort(Code(cerr.code))):
		return 0, failed("compress", "", &cerr)
	case n <= 0:
		return 0, refused("compress", "", fmt.Errorf("%w: %d bytes for the chunk of %d, at most %d are needed",
			ErrSize, len(dst), len(src), MaxCompressedSize(len(src))))
	}
	return int(n), nil
}

// tooShort tells the results for a dst that is too short; most often there is none
// and the call just returns 0.
func tooShort(c Code) bool { return c == CodeWriteBuffer || c == C.BLOSC2_ERROR_MAX_BUFSIZE_EXCEEDED }

// Close frees the Compressor. A second Close returns ErrClosed.
func (c *Compressor) Close() error { return c.h.close() }

// Decompressor reads chunks. It keeps its tables and buffers between calls.
type Decompressor struct{ h *handle }

// NewDecompressor returns a Decompressor (blosc2_create_dctx). nil means
// DefaultDParams.
func NewDecompressor(p *DParams) (*Decompressor, error) {
	p, err := p.orDefault()
	if err != nil {
		return nil, refused("new decompressor", "", err)
	}
	var cerr C.goblosc2_err_t
	var c *C.goblosc2_handle_t
	if C.goblosc2_decompressor_new(&cerr, C.int32_t(p.Threads), &c) < 0 {
		return nil, failed("new decompressor", "", &cerr)
	}
	return &Decompressor{own(c, "Decompressor", "")}, nil
}

// Decompress decompresses chunk into dst and returns the bytes of the data
// (blosc2_decompress_ctx). Bytes behind the end of the chunk are ignored, and so
// is dst behind the data. Data that the chunk calls uninitialised is left as dst
// has it.
//
// It returns ErrFormat for bytes that are not a valid chunk, errors.ErrUnsupported
// for a chunk that the library cannot or must not read, ErrSize if dst is shorter
// than the data, ErrClosed, or an *Error from the library.
func (d *Decompressor) Decompress(dst, chunk []byte) (int, error) {
	head, err := checkChunk(chunk)
	if err != nil {
		return 0, refused("decompress", "", err)
	}
	if len(dst) < int(head.NBytes) {
		return 0, refused("decompress", "", fmt.Errorf("%w: %d bytes, the chunk holds %d", ErrSize, len(dst), head.NBytes))
	}
	if err := d.h.lock("decompress"); err != nil {
		return 0, err
	}
	defer d.h.mu.Unlock()
	var cerr C.goblosc2_err_t
	n := C.goblosc2_decompress(&cerr, d.h.c,
		(*C.uint8_t)(unsafe.SliceData(chunk)), C.int32_t(head.CBytes),
		(*C.uint8_t)(unsafe.SliceData(dst)), C.int32_t(head.NBytes))
	if n < 0 {
		return 0, failed("decompress", "", &cerr)
	}
	return int(n), nil
}

// Items decompresses items start to start+n of chunk into dst and returns their
// bytes (blosc2_getitem_ctx). An item has the chunk's own type size; above 255
// bytes that is 1.
//
// It returns ErrRegion if the chunk has fewer items, ErrSize if len(dst) is not
// n*TypeSize, and the errors of Decompress.
func (d *Decompressor) Items(dst, chunk []byte, start, n int) (int, error) {
	head, err := checkChunk(chunk)
	if err != nil {
		return 0, refused("read items", "", err)
	}
	size := int(head.TypeSize)
	total := int(head.NBytes) / size
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
	if n < total && usesDelta(head.Filters) {
		return d.wholeItemsLocked(dst, chunk, head, start)
	}
	var cerr C.goblosc2_err_t
	rc := C.goblosc2_getitem(&cerr, d.h.c,
		(*C.uint8_t)(unsafe.SliceData(chunk)), C.int32_t(head.CBytes), C.int32_t(start), C.int32_t(n),
		(*C.uint8_t)(unsafe.SliceData(dst)), C.int32_t(len(dst)))
	if rc < 0 {
		return 0, failed("read items", "", &cerr)
	}
	return int(rc), nil
}

// Close frees the Decompressor. A second Close returns ErrClosed.
func (d *Decompressor) Close() error { return d.h.close() }
