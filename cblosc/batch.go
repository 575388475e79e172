// Compression of many buffers in one call, for example the records of a service.

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
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/hyperslab/hyperslab/internal/guard"
)

// Batch is a list of byte strings, its items, stored contiguously in one buffer. The zero Batch is
// empty. A Batch must not be changed concurrently.
type Batch struct {
	data []byte
	ends []int64 // end of each item in data
}

// NewBatch returns a batch that splits data into items of size bytes; the last item may be shorter.
// data is not copied and belongs to the batch. It returns ErrParam if size is not positive.
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

// Reset removes all items and keeps the memory for new ones.
func (b *Batch) Reset() { b.data, b.ends = b.data[:0], b.ends[:0] }

// Len returns the number of items.
func (b *Batch) Len() int { return len(b.ends) }

// Item returns item i, a part of the buffer. It panics if i is out of range.
func (b *Batch) Item(i int) []byte {
	start, end := b.start(i), b.ends[i]
	return b.data[start:end:end]
}

// All returns an iterator over the indices and items.
func (b *Batch) All() iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		for i := range b.ends {
			if !yield(i, b.Item(i)) {
				return
			}
		}
	}
}

// Bytes returns the buffer, which holds all items in order.
func (b *Batch) Bytes() []byte { return b.data }

// start returns the offset of item i.
func (b *Batch) start(i int) int64 {
	if i == 0 {
		return 0
	}
	return b.ends[i-1]
}

// grow makes b a batch of n items in a buffer of size bytes; the contents are undefined.
func (b *Batch) grow(n, size int) {
	b.Reset()
	b.data = slices.Grow(b.data, size)[:size]
	b.ends = slices.Grow(b.ends, n)[:n]
}

// CompressBatch compresses each item of src to a chunk in dst, in one C call (blosc2_compress_ctx).
// The items of dst are replaced and its memory is reused. Its buffer is 32 bytes per item larger
// than src, because data may not compress. Items of one length are fastest, because the library
// rebuilds its tables for another length.
//
// An error names the item that failed and leaves dst empty. It is an error of Compressor.Compress,
// or ErrParam if dst and src are the same.
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

// checkBatch checks the items as Compress does, and empties dst. With a tuner, which changes the
// parameters, each item is checked when its parameters are known.
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

// nameItem returns the operation for the error of one item.
func nameItem(op string, i, n int) string { return fmt.Sprintf("%s item %d of %d", op, i, n) }

// compressItems compresses len(ends) items of src, starting with item first, into dst, which must
// be long enough. It sets ends, relative to dst, and returns the number of bytes.
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

// eachItemLocked is compressItems for a context that calls Go. It compresses one item per C call,
// because callbacks during a batch call could not be assigned to an item.
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

// DecompressBatch decompresses each item of chunks into dst, in one C call (blosc2_decompress_ctx).
// The items of dst are replaced and its memory is reused. Uninitialised data is zeros.
//
// An error names the item that failed and leaves dst empty. It is an error of
// Decompressor.Decompress, or ErrParam if dst and chunks are the same. All chunks are checked
// before memory for their data is allocated. A chunk of special values can expand to 2 GiB;
// DParams.MaxBytes limits the data of all items.
func (d *Decompressor) DecompressBatch(dst, chunks *Batch) error {
	if err := layOut(dst, chunks, &d.params); err != nil {
		return err
	}
	if err := d.decompressItems(dst, chunks, 0, chunks.Len()); err != nil {
		dst.Reset()
		return err
	}
	return nil
}

// layOut checks all chunks and gives the items of dst the lengths of their data.
func layOut(dst, chunks *Batch, p *DParams) error {
	if dst == chunks {
		return refused("decompress", "", errSameBatch)
	}
	dst.Reset()
	var uninit []int
	for i := range chunks.ends {
		b := chunks.Item(i)
		n, _, ok := guard.Ordinary(b)
		if !ok {
			head, err := checkAlone(b, p.Allow)
			if err != nil {
				dst.Reset()
				return refused(nameItem("decompress", i, chunks.Len()), "", err)
			}
			if n = head.NBytes; Special(head.Special) == Uninit {
				uninit = append(uninit, i)
			}
		}
		total := dst.start(i) + int64(n)
		if err := p.checkBytes(int(total)); err != nil {
			dst.Reset()
			return refused(nameItem("decompress", i, chunks.Len()), "", err)
		}
		dst.ends = append(dst.ends, total)
	}
	total := int(dst.start(len(dst.ends)))
	dst.data = slices.Grow(dst.data, total)[:total]
	for _, i := range uninit {
		clear(dst.Item(i)) // the library leaves its bytes unchanged
	}
	return nil
}

// decompressItems decompresses the chunks first to end (exclusive) to the offsets that layOut
// chose.
func (d *Decompressor) decompressItems(dst, chunks *Batch, first, end int) error {
	if err := d.h.lock("decompress"); err != nil {
		return err
	}
	defer d.h.mu.Unlock()
	for i := first; i < end && d.hooks != nil; i++ {
		op, b := nameItem("decompress", i, chunks.Len()), chunks.Item(i)
		head, err := d.check(b)
		if err == nil {
			_, err = d.wholeLocked(op, dst.Item(i), b[:head.CBytes], Special(head.Special), int64(i))
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

// CompressBatch is Compressor.CompressBatch on all cores (GOMAXPROCS), with one context per core.
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

// partStart returns the offset in dst of the part that starts with item first of src. It leaves
// enough space for the chunks of all earlier items.
func partStart(src *Batch, first int64) int64 { return src.start(int(first)) + overhead*first }

// compressParts takes and compresses parts of src until all are taken. Their ends are relative to
// partStart.
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

// DecompressBatch is Decompressor.DecompressBatch on all cores (GOMAXPROCS), with one context per
// core.
func (p *Pool) DecompressBatch(dst, chunks *Batch) error {
	if err := layOut(dst, chunks, &p.dparams); err != nil {
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

// decompressParts takes and decompresses parts, to the offsets that layOut chose, until all are
// taken.
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

// partBytes is the minimum size of a part. Smaller parts are not worth waking another core.
const partBytes = 64 << 10

// parts are runs of items for workers, which take one part after another until all are taken. Each
// worker does so inside one C call. Go's scheduler treats a C call of more than 20 µs as blocking
// and wakes another thread.
type parts struct {
	firsts []int64 // part i holds the items firsts[i] to firsts[i+1]
	taken  int64   // number of parts taken; changed by atomic operations, here and in C
}

// parts splits the items into about 16 parts for each worker, so that a worker that starts late or
// takes the last part does not delay the others.
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

// each calls work for one part after another until all are taken or work fails.
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

// share runs work on the caller's goroutine and others, at most one per part and GOMAXPROCS in all.
// It returns their joined errors.
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
