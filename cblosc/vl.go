// Chunks with blocks of variable length.

package cblosc

// #include "shim.h"
// #cgo noescape goblosc2_vl_compress
// #cgo nocallback goblosc2_vl_compress
// #cgo noescape goblosc2_vl_count
// #cgo nocallback goblosc2_vl_count
// #cgo noescape goblosc2_vl_decompress
// #cgo nocallback goblosc2_vl_decompress
// #cgo noescape goblosc2_vl_block
// #cgo nocallback goblosc2_vl_block
import "C"

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"github.com/hyperslab/hyperslab/internal/guard"
)

// maxDict is the maximum size of a dictionary in bytes (BLOSC2_MAXDICTSIZE).
const maxDict = 128 << 10

// CompressVL returns a chunk whose blocks are the items of src (blosc2_vlcompress_ctx). Items must
// not be empty. With CParams.Dict the items share a dictionary, which is stored in the chunk and
// has at most a twentieth of the data and 128 KiB. Zstd trains it. For LZ4 and LZ4HC it consists of
// the first items. The library makes none for fewer than 8 items and for data that is too small.
//
// A chunk cannot use the dictionary of another chunk: C-Blosc2 has no function that accepts one.
//
// It returns errors.ErrUnsupported for a Compressor that calls Go and for level 0, at which the
// library reads out of bounds; ErrSize for no items, an empty item, or an item that is not whole
// elements; ErrLimit, ErrClosed, or an *Error from the library.
func (c *Compressor) CompressVL(src *Batch) ([]byte, error) {
	const op = "compress blocks"
	const perBlock = 64 // start and length of a block, and the overhead of its codec
	var err error
	n := src.Len()
	overhead := perBlock * n
	if c.params.Dict {
		overhead += maxDict
	}
	switch {
	case c.hooks != nil:
		err = fmt.Errorf("%w: blocks of variable length with functions of Go", errors.ErrUnsupported)
	case c.params.Level == 0:
		err = fmt.Errorf("%w: blocks of variable length at level 0", errors.ErrUnsupported)
	case n == 0:
		err = fmt.Errorf("%w: 0 blocks, want at least 1", ErrSize)
	case len(src.data) > maxBuffer-overhead:
		err = fmt.Errorf("%w: %d bytes in %d blocks, at most %d", ErrLimit, len(src.data), n, maxBuffer-overhead)
	}
	for i := 0; i < n && err == nil; i++ {
		if k := len(src.Item(i)); k == 0 || k%c.params.TypeSize != 0 {
			err = fmt.Errorf("%w: block %d of %d bytes, want a positive multiple of the type size %d", ErrSize, i, k, c.params.TypeSize)
		}
	}
	if err != nil {
		return nil, refused(op, "", err)
	}
	if err := c.h.lock(op); err != nil {
		return nil, err
	}
	defer c.h.mu.Unlock()
	dst := make([]byte, len(src.data)+headerLength+overhead)
	var cerr C.goblosc2_err_t
	rc := C.goblosc2_vl_compress(&cerr, c.h.c, (*C.uint8_t)(unsafe.SliceData(src.data)), (*C.int64_t)(unsafe.SliceData(src.ends)), C.int32_t(n),
		(*C.uint8_t)(unsafe.SliceData(dst)), C.int32_t(len(dst)))
	if rc < 0 {
		return nil, failed(op, "", &cerr)
	}
	return slices.Clip(dst[:rc]), nil
}

// VLBlocks returns the number of blocks in a chunk of CompressVL (blosc2_vlchunk_get_nblocks).
//
// It returns ErrFormat for bytes that are not a valid chunk, and ErrParam for a chunk with blocks
// of one length.
func VLBlocks(b []byte) (int, error) {
	const op = "count blocks"
	if _, err := checkVL(op, b, Allow{}); err != nil {
		return 0, err
	}
	var cerr C.goblosc2_err_t
	n := C.goblosc2_vl_count(&cerr, (*C.uint8_t)(unsafe.SliceData(b)), C.int32_t(len(b)))
	if n < 0 {
		return 0, failed(op, "", &cerr)
	}
	return int(n), nil
}

// checkVL checks a chunk with blocks of variable length, including its streams.
func checkVL(op string, b []byte, allow Allow) (guard.Chunk, error) {
	h, ok, err := guard.VariableBlocks(b, allow.policy())
	switch {
	case err != nil:
		return h, refused(op, "", invalid(err))
	case !ok:
		return h, refused(op, "", fmt.Errorf("%w: a chunk whose blocks have one length", ErrParam))
	}
	return h, nil
}

// DecompressVL appends the blocks of a chunk of CompressVL to dst (blosc2_vldecompress_ctx). b must
// hold exactly the chunk.
//
// Its errors are those of VLBlocks, ErrClosed, or an *Error from the library. On an error dst is
// unchanged. For a Decompressor that calls Go it returns errors.ErrUnsupported.
func (d *Decompressor) DecompressVL(dst *Batch, b []byte) error {
	const op = "decompress blocks"
	h, err := d.lockVL(op, b)
	if err != nil {
		return err
	}
	defer d.h.mu.Unlock()
	if err := d.params.checkBytes(h.NBytes); err != nil {
		return refused(op, "", err)
	}
	blocks := h.NumBlocks
	data, ends := make([]byte, h.NBytes), make([]int64, blocks)
	var cerr C.goblosc2_err_t
	if C.goblosc2_vl_decompress(&cerr, d.h.c, (*C.uint8_t)(unsafe.SliceData(b)), C.int32_t(len(b)),
		(*C.uint8_t)(unsafe.SliceData(data)), C.int64_t(len(data)), (*C.int64_t)(unsafe.SliceData(ends)), C.int32_t(blocks)) < 0 {
		return failed(op, "", &cerr)
	}
	at := int64(len(dst.data))
	dst.data = append(dst.data, data...)
	for _, end := range ends {
		dst.ends = append(dst.ends, at+end)
	}
	return nil
}

// VLBlock returns block i of a chunk of CompressVL (blosc2_vldecompress_block_ctx). It decompresses
// only that block. It returns ErrRegion, and the errors of DecompressVL.
func (d *Decompressor) VLBlock(b []byte, i int) ([]byte, error) {
	const op = "decompress block"
	h, err := d.lockVL(op, b)
	if err != nil {
		return nil, err
	}
	defer d.h.mu.Unlock()
	if n := h.NumBlocks; i < 0 || i >= n {
		return nil, refused(op, "", fmt.Errorf("%w: block %d of %d", ErrRegion, i, n))
	}
	var cerr C.goblosc2_err_t
	var p *C.uint8_t
	n := C.goblosc2_vl_block(&cerr, d.h.c, (*C.uint8_t)(unsafe.SliceData(b)), C.int32_t(len(b)), C.int32_t(i), &p)
	if n < 0 {
		return nil, failed(op, "", &cerr)
	}
	return takeBytes(p, C.int64_t(n), true), nil
}

// lockVL checks b and locks d.
func (d *Decompressor) lockVL(op string, b []byte) (guard.Chunk, error) {
	h, err := checkVL(op, b, d.params.Allow)
	if err == nil && d.hooks != nil {
		err = refused(op, "", fmt.Errorf("%w: blocks of variable length on a context that calls Go", errors.ErrUnsupported))
	}
	if err != nil {
		return h, err
	}
	return h, d.h.lock(op)
}

// VLBlock returns a block of chunk i, whose blocks have variable length
// (blosc2_schunk_get_vlblock). Such a super-chunk has chunks of CompressVL, and VLBlock is the only
// way to read their data.
//
// It returns ErrParam for a super-chunk without such blocks, ErrRegion, ErrFormat if the stored
// chunk is not valid, ErrClosed, or an *Error from the library.
func (s *SChunk) VLBlock(i int64, block int) ([]byte, error) {
	const op = "decompress block"
	if err := s.h.lock(op); err != nil {
		return nil, err
	}
	defer s.h.mu.Unlock()
	if !s.variable {
		return nil, refused(op, s.path, fmt.Errorf("%w: a super-chunk whose blocks have one length", ErrParam))
	}
	if err := s.checkIndex(i); err != nil {
		return nil, refused(op, s.path, err)
	}
	var b []byte
	var err error
	if s.vl != nil {
		b, err = s.vl.Chunk(i)
		if err != nil {
			err = refused(op, s.path, invalid(err))
		}
	} else {
		b, err = s.chunkLocked(op, i)
	}
	if err != nil {
		return nil, err
	}
	h, err := checkVL(op, b, s.allow)
	if err == nil && (block < 0 || block >= h.NumBlocks) {
		err = refused(op, s.path, fmt.Errorf("%w: block %d of %d", ErrRegion, block, h.NumBlocks))
	}
	if err != nil {
		return nil, err
	}
	var cerr C.goblosc2_err_t
	var p *C.uint8_t
	n := C.goblosc2_schunk_vl_block(&cerr, s.h.c, C.int64_t(i), C.int32_t(block), &p)
	if n < 0 {
		return nil, s.h.failed(op, &cerr)
	}
	return takeBytes(p, C.int64_t(n), true), nil
}
