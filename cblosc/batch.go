// Many buffers in one call: what a service that compresses records wants.

package cblosc

// #include "shim.h"
// #cgo noescape goblosc2_compress_batch
// #cgo nocallback goblosc2_compress_batch
// #cgo noescape goblosc2_decompress_batch
// #cgo nocallback goblosc2_decompress_batch
// #cgo noescape goblosc2_compress_parts
// #cgo nocallback goblosc2_compress_parts
// #cgo noescape goblosc2_decompress_parts
// #cgo nocallback goblosc2_decompress_parts
import "C"

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/hyperslab/hyperslab/format/chunk"
	"github.com/hyperslab/hyperslab/internal/ceil"
)

// Batch is a list of byte strings, its items, one behind the other in one buffer.
// The zero Batch has none. It is not safe for concurrent changes.
type Batch struct {
	data []byte
	ends []int64 // where each item ends in data
}

// NewBatch returns the batch of the items of data, each of size bytes, the last one
// maybe shorter. data is not copied and belongs to the batch. It returns ErrParam if
// size is not positive.
func NewBatch(data []byte, size int) (*Batch, error) {
	if size <= 0 {
		return nil, refused("new batch", "", fmt.Errorf("%w: items of %d bytes, want at least 1", ErrParam, size))
	}
	b := &Batch{data: data}
	for end := 0; end < len(data); {
		end = min(end+size, len(data))
		b.ends = append(b.ends, int64(end))
	}
	return b, nil
}

// Append adds a copy of each item.
func (b *Batch) Append(items ...[]byte) {
	for _, item := range items {
		b.data = append(b.data, item...)
		b.ends = append(b.ends, int64(len(b.data)))
	}
}

// Reset takes all items out and keeps the memory for others.
func (b *Batch) Reset() { b.data, b.ends = b.data[:0], b.ends[:0] }

// Len returns the number of items.
func (b *Batch) Len() int { return len(b.ends) }

// Item returns item i, which is part of the buffer. It panics if there is none.
func (b *Batch) Item(i int) []byte {
	start, end := b.start(i), b.ends[i]
	return b.data[start:end:end]
}

// All returns the items and their numbers.
func (b *Batch) All() iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		for i := range b.ends {
			if !yield(i, b.Item(i)) {
				return
			}
		}
	}
}

// Bytes returns the buffer: all items, one behind the other.
func (b *Batch) Bytes() []byte { return b.data }

// start returns where item i starts.
func (b *Batch) start(i int) int64 {
	if i == 0 {
		return 0
	}
	return b.ends[i-1]
}

// grow makes b a batch of n items in a buffer of size bytes, both of any content.
func (b *Batch) grow(n, size int) {
	b.Reset()
	b.data = slices.Grow(b.data, size)[:size]
	b.ends = slices.Grow(b.ends, n)[:n]
}

// CompressBatch makes dst the chunks of the items of src, in one call of C
// (blosc2_compress_ctx). What dst held is gone, its memory is used again; to be
// safe of any data it takes 32 bytes an item more than src. Items of one length are
// fastest: for another length the library makes its tables anew.
//
// An error names the item that failed and leaves dst empty. It is one of
// Compressor.Compress, or ErrParam if dst and src are the same.
func (c *Compressor) CompressBatch(dst, src *Batch) error {
	if err := c.params.checkBatch(dst, src, c.tuning != nil); err != nil {
		return err
	}
	dst.grow(src.Len(), len(src.data)+overhead*src.Len())
	n, err := c.compressItems(dst.data, dst.ends, src, 0)
	if err != nil {
		dst.Reset()
		return err
	}
	dst.data = dst.data[:n]
	return nil
}

// checkBatch checks the items as Compress does, and empties dst. A tuner chooses other
// parameters: then each item is checked when its are known.
func (p *CParams) checkBatch(dst, src *Batch, tuned bool) error {
	if dst == src {
		return refused("compress", "", errSameBatch)
	}
	dst.Reset()
	if tuned {
		return nil
	}
	for i := range src.ends {
		if err := p.checkData(int(src.ends[i] - src.start(i))); err != nil {
			return refused(nameItem("compress", i, src.Len()), "", err)
		}
	}
	return nil
}

var errSameBatch = fmt.Errorf("%w: one batch as the source and the destination", ErrParam)

// nameItem is the operation in the error of one item.
func nameItem(op string, i, n int) string { return fmt.Sprintf("%s item %d of %d", op, i, n) }

// compressItems compresses len(ends) items of src from item first into dst, which
// is long enough. It sets ends, relative to dst, and returns the bytes.
func (c *Compressor) compressItems(dst []byte, ends []int64, src *Batch, first int) (int, error) {
	if err := c.h.lock("compress"); err != nil {
		return 0, err
	}
	defer c.h.mu.Unlock()
	if c.hooks != nil {
		return c.eachItemLocked(dst, ends, src, first)
	}
	start := src.start(first)
	var cerr C.goblosc2_err_t
	var bad C.int64_t
	n := C.goblosc2_compress_batch(&cerr, c.h.c, (*C.uint8_t)(unsafe.SliceData(src.data)), C.int64_t(start),
		(*C.int64_t)(unsafe.SliceData(src.ends[first:])), C.int64_t(len(ends)),
		(*C.uint8_t)(unsafe.SliceData(dst)), C.int64_t(len(dst)), (*C.int64_t)(unsafe.SliceData(ends)), &bad)
	if n < 0 {
		return 0, failed(nameItem("compress", first+int(bad), src.Len()), "", &cerr)
	}
	return int(n), nil
}

// eachItemLocked is compressItems for a context that calls Go: what the library calls
// for many items in one call could not be told apart.
func (c *Compressor) eachItemLocked(dst []byte, ends []int64, src *Batch, first int) (int, error) {
	at := 0
	for i := range ends {
		compress := c.compressLocked
		if c.tuning != nil {
			compress = c.tunedLocked
		}
		n, err := compress(nameItem("compress", first+i, src.Len()), dst[at:], src.Item(first+i), int64(first+i))
		if err != nil {
			return 0, err
		}
		at += n
		ends[i] = int64(at)
	}
	return at, nil
}

// DecompressBatch makes dst the data of the chunks, in one call of C
// (blosc2_decompress_ctx). What dst held is gone, its memory is used again: data
// that a chunk calls uninitialised is whatever was there.
//
// An error names the item that failed and leaves dst empty. It is one of
// Decompressor.Decompress, or ErrParam if dst and chunks are the same. No header is believed before all chunks were looked at:
// a chunk of special values may stand for 2 GiB, so a caller who does not trust the
// chunks adds up the NBytes of Info first.
func (d *Decompressor) DecompressBatch(dst, chunks *Batch) error {
	if err := layOut(dst, chunks, d.params.Allow); err != nil {
		return err
	}
	if err := d.decompressItems(dst, chunks, 0, chunks.Len()); err != nil {
		dst.Reset()
		return err
	}
	return nil
}

// layOut checks all chunks and makes dst a batch of the lengths of their data.
func layOut(dst, chunks *Batch, allow chunk.Policy) error {
	if dst == chunks {
		return refused("decompress", "", errSameBatch)
	}
	dst.Reset()
	for i := range chunks.ends {
		b := chunks.Item(i)
		n, ok := plainChunk(b)
		if !ok {
			head, err := checkAlone(b, allow)
			if err != nil {
				dst.Reset()
				return refused(nameItem("decompress", i, chunks.Len()), "", err)
			}
			n = head.NBytes
		}
		dst.ends = append(dst.ends, dst.start(i)+int64(n))
	}
	total := int(dst.start(len(dst.ends)))
	dst.data = slices.Grow(dst.data, total)[:total]
	return nil
}

// plainChunk is a quick checkChunk: it returns the bytes of data if b starts with a
// chunk of Blosc2 as Compress writes most, with linked codecs and filters only and
// nothing special, and false if that needs a closer look. For small chunks the full
// check takes as long as the library does.
func plainChunk(b []byte) (nbytes int32, ok bool) {
	const both = chunk.FlagShuffle | chunk.FlagBitShuffle
	if len(b) < headerLength || b[0] != 5 || b[2]&both != both {
		return 0, false
	}
	le := binary.LittleEndian
	flags, typeSize := b[2], uint32(b[3])
	n, block, cbytes := le.Uint32(b[4:]), le.Uint32(b[8:]), le.Uint32(b[12:])
	filters := le.Uint64(b[16:]) & 0xFFFF_FFFF_FFFF // six ids of a byte each
	switch {
	case typeSize == 0, n == 0, n > maxBuffer, block < 32, block > maxBlock, block > n, cbytes < headerLength, int64(cbytes) > int64(len(b)):
		return 0, false
	case filters&^0x0303_0303_0303 != 0, le.Uint64(b[24:]) != 0: // up to Delta; no parameters, VL-blocks, dictionary, lazy, special
		return 0, false
	case flags>>5 > uint8(chunk.FormatZstd), flags>>5 == uint8(chunk.FormatSnappy):
		return 0, false
	case flags&chunk.FlagStored != 0:
		return int32(n), cbytes == n+headerLength
	case flags&chunk.FlagDontSplit == 0 && block%typeSize != 0:
		return 0, false
	}
	return int32(n), (cbytes-headerLength)/4 >= ceil.Div(n, block)
}

// decompressItems decompresses chunks first to end, not included, to where layOut
// has put them.
func (d *Decompressor) decompressItems(dst, chunks *Batch, first, end int) error {
	if err := d.h.lock("decompress"); err != nil {
		return err
	}
	defer d.h.mu.Unlock()
	for i := first; i < end && d.hooks != nil; i++ {
		op, b := nameItem("decompress", i, chunks.Len()), chunks.Item(i)
		head, err := d.check(b)
		if err == nil {
			_, err = d.wholeLocked(op, dst.Item(i), b, &head, int64(i))
		} else {
			err = refused(op, "", err)
		}
		if err != nil {
			return err
		}
	}
	if d.hooks != nil {
		return nil
	}
	var cerr C.goblosc2_err_t
	var bad C.int64_t
	if C.goblosc2_decompress_batch(&cerr, d.h.c, (*C.uint8_t)(unsafe.SliceData(chunks.data)), C.int64_t(chunks.start(first)),
		(*C.int64_t)(unsafe.SliceData(chunks.ends[first:])), C.int64_t(end-first),
		(*C.uint8_t)(unsafe.SliceData(dst.data)), C.int64_t(dst.start(first)), (*C.int64_t)(unsafe.SliceData(dst.ends[first:])), &bad) < 0 {
		return failed(nameItem("decompress", first+int(bad), chunks.Len()), "", &cerr)
	}
	return nil
}

// CompressBatch is Compressor.CompressBatch on all cores (GOMAXPROCS), one context
// each.
func (p *Pool) CompressBatch(dst, src *Batch) error {
	if err := p.cparams.checkBatch(dst, src, p.tuned); err != nil {
		return err
	}
	parts := src.parts()
	dst.grow(src.Len(), len(src.data)+overhead*src.Len())
	lengths := make([]int64, len(parts.firsts)-1)
	err := parts.share(func() error {
		c, err := p.compressors.take()
		if err != nil {
			return refused("compress", "", err)
		}
		return errors.Join(c.compressParts(dst, src, parts, lengths), p.compressors.put(c))
	})
	if err != nil {
		dst.Reset()
		return err
	}
	total := int64(0)
	for i, n := range lengths { // close the gaps between the parts
		at := partStart(src, parts.firsts[i])
		copy(dst.data[total:], dst.data[at:at+n])
		for j := parts.firsts[i]; j < parts.firsts[i+1]; j++ {
			dst.ends[j] += total
		}
		total += n
	}
	dst.data = dst.data[:total]
	return nil
}

// partStart returns where the chunks of a part go that starts with item first of src:
// behind room for those before, of any data.
func partStart(src *Batch, first int64) int64 { return src.start(int(first)) + overhead*first }

// compressParts compresses the parts of src that nobody else takes. Their ends count
// from partStart.
func (c *Compressor) compressParts(dst, src *Batch, parts *parts, lengths []int64) error {
	if c.hooks != nil {
		return parts.each(func(i int, first, end int64) (err error) {
			var n int
			n, err = c.compressItems(dst.data[partStart(src, first):partStart(src, end)], dst.ends[first:end], src, int(first))
			lengths[i] = int64(n)
			return err
		})
	}
	if err := c.h.lock("compress"); err != nil {
		return err
	}
	defer c.h.mu.Unlock()
	var cerr C.goblosc2_err_t
	var bad C.int64_t
	if C.goblosc2_compress_parts(&cerr, c.h.c, (*C.uint8_t)(unsafe.SliceData(src.data)), (*C.int64_t)(unsafe.SliceData(src.ends)),
		(*C.int64_t)(unsafe.SliceData(parts.firsts)), C.int64_t(len(lengths)), (*C.int64_t)(&parts.taken),
		(*C.uint8_t)(unsafe.SliceData(dst.data)), (*C.int64_t)(unsafe.SliceData(dst.ends)), (*C.int64_t)(unsafe.SliceData(lengths)), &bad) < 0 {
		return failed(nameItem("compress", int(bad), src.Len()), "", &cerr)
	}
	return nil
}

// DecompressBatch is Decompressor.DecompressBatch on all cores (GOMAXPROCS), one
// context each.
func (p *Pool) DecompressBatch(dst, chunks *Batch) error {
	if err := layOut(dst, chunks, p.dparams.Allow); err != nil {
		return err
	}
	parts := dst.parts()
	err := parts.share(func() error {
		d, err := p.decompressors.take()
		if err != nil {
			return refused("decompress", "", err)
		}
		return errors.Join(d.decompressParts(dst, chunks, parts), p.decompressors.put(d))
	})
	if err != nil {
		dst.Reset()
	}
	return err
}

// decompressParts decompresses the parts that nobody else takes to where layOut has put
// them.
func (d *Decompressor) decompressParts(dst, chunks *Batch, parts *parts) error {
	if d.hooks != nil {
		return parts.each(func(_ int, first, end int64) error { return d.decompressItems(dst, chunks, int(first), int(end)) })
	}
	if err := d.h.lock("decompress"); err != nil {
		return err
	}
	defer d.h.mu.Unlock()
	var cerr C.goblosc2_err_t
	var bad C.int64_t
	if C.goblosc2_decompress_parts(&cerr, d.h.c, (*C.uint8_t)(unsafe.SliceData(chunks.data)), (*C.int64_t)(unsafe.SliceData(chunks.ends)),
		(*C.int64_t)(unsafe.SliceData(parts.firsts)), C.int64_t(len(parts.firsts)-1), (*C.int64_t)(&parts.taken),
		(*C.uint8_t)(unsafe.SliceData(dst.data)), (*C.int64_t)(unsafe.SliceData(dst.ends)), &bad) < 0 {
		return failed(nameItem("decompress", int(bad), chunks.Len()), "", &cerr)
	}
	return nil
}

// Work is handed out in parts of at least that many bytes: enough for the other
// cores to be worth waking.
const partBytes = 64 << 10

// parts are runs of items for workers, who take one after the other until none is left.
// They do so inside one call of C each: Go's scheduler takes a call of more than 20 µs
// for one that waits, and wakes another thread.
type parts struct {
	firsts []int64 // part i is items firsts[i] to firsts[i+1]
	taken  int64   // parts; changed by atomic operations, here and in C
}

// parts cuts the items into many parts for each worker, so that one that started late, or
// has the last part, does not keep the others waiting.
func (b *Batch) parts() *parts {
	size := int64(max(partBytes, len(b.data)/(16*runtime.GOMAXPROCS(0))))
	p := &parts{firsts: []int64{0}}
	from := int64(0)
	for i, end := range b.ends {
		if end-from >= size || i+1 == len(b.ends) {
			p.firsts = append(p.firsts, int64(i)+1)
			from = end
		}
	}
	return p
}

// each calls work for the parts that nobody else takes, until it fails.
func (p *parts) each(work func(i int, first, end int64) error) error {
	n := int64(len(p.firsts) - 1)
	for i := atomic.AddInt64(&p.taken, 1) - 1; i < n; i = atomic.AddInt64(&p.taken, 1) - 1 {
		if err := work(int(i), p.firsts[i], p.firsts[i+1]); err != nil {
			atomic.StoreInt64(&p.taken, n)
			return err
		}
	}
	return nil
}

// share runs work, which takes parts, on as many goroutines as have something to do, the
// caller's included, and returns their errors.
func (p *parts) share(work func() error) error {
	errs := make([]error, min(len(p.firsts)-1, runtime.GOMAXPROCS(0)))
	var wg sync.WaitGroup
	for i := 1; i < len(errs); i++ {
		wg.Go(func() { errs[i] = work() })
	}
	if len(errs) > 0 {
		errs[0] = work()
	}
	wg.Wait()
	return errors.Join(errs...)
}
