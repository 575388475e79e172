// Chunks of Blosc1 from contexts, and bit-shuffled ones.

package blosc1

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
)

const op = "compress for Blosc1"

// buffers holds buffers for the chunks of contexts, because allocating them would take longer than
// compression.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// A Compressor makes Blosc2 chunks. *cblosc.Compressor and *cblosc.Pool are Compressors.
type Compressor interface {
	Compress(dst, src []byte) (int, error)
}

// Compress is Exact with the context c, which must have the parameters p. Contexts work
// concurrently. The context makes a Blosc2 chunk, whose streams get a Blosc1 header. Data with
// runs, and blocks that Blosc1 reads differently, are passed to Exact, one call at a time. The
// chunk decodes to the same bytes either way, but its own bytes may differ.
//
// It returns the errors of c and of Exact.
func Compress(c Compressor, p *cblosc.CParams, dst, src []byte) (int, error) {
	if len(src) == 0 || len(src) > chunk.MaxNBytes {
		return Exact(p, dst, src)
	}
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	*buffer = slices.Grow((*buffer)[:0], cblosc.MaxCompressedSize(len(src)))
	b := (*buffer)[:cap(*buffer)]
	n, err := c.Compress(b, src)
	if err != nil {
		return 0, err
	}
	parsed, err := chunk.Parse(b[:n])
	if err != nil {
		return 0, fmt.Errorf("%s: %w", op, err)
	}
	out, ok := parsed.AppendBlosc1(dst[:0])
	if !ok || len(out) > chunk.MinHeaderSize+len(src) {
		return Exact(p, dst, src)
	}
	if len(out) > len(dst) {
		return 0, fmt.Errorf("%s: %w: %d bytes for the chunk of %d, at most %d are needed", op, cblosc.ErrSize, len(dst), len(src), cblosc.MaxCompressedSize(len(src)))
	}
	return len(out), nil
}

// Exact is cblosc.CompressBlosc1. It also makes the bit-shuffled chunks that CompressBlosc1 refuses
// because Blosc1 could not undo the shuffle: it compresses them again in blocks of a multiple of 8
// elements and does not shuffle the remaining data.
func Exact(p *cblosc.CParams, dst, src []byte) (int, error) {
	n, err := cblosc.CompressBlosc1(p, dst, src)
	if !errors.Is(err, errors.ErrUnsupported) {
		return n, err
	}
	h, herr := chunk.ParseHeader(dst)
	if herr != nil || h.Extended || !h.HasBlocks() {
		return 0, err
	}
	whole := *p.WithDefaults()
	eight := 8 * elementSize(&whole)
	whole.BlockSize = max(int(h.BlockLen())/eight*eight, eight)
	return compressEven(&whole, dst, src)
}

// elementSize returns the type size in the header of a Blosc1 chunk.
func elementSize(p *cblosc.CParams) int {
	if p.TypeSize > 255 {
		return 1
	}
	return p.TypeSize
}

// compressEven compresses src in blocks of whole.BlockSize bytes, a multiple of 8 elements. If the
// number of elements of a shorter last block is not a multiple of 8, that block is compressed
// separately, without a filter, and joined to the chunk.
func compressEven(whole *cblosc.CParams, dst, src []byte) (int, error) {
	block := whole.BlockSize
	n := len(src) - len(src)%block
	if len(src[n:])/elementSize(whole)%8 == 0 {
		return cblosc.CompressBlosc1(whole, dst, src)
	}
	// One block of one stream. The library would cut it to whole elements, so its type size is 1.
	rest := *whole
	rest.BlockSize, rest.TypeSize, rest.Split = len(src)-n, 1, cblosc.SplitNever
	rest.Filters = [cblosc.MaxFilters]cblosc.Filter{}
	head := make([]byte, cblosc.MaxCompressedSize(n))
	tail := make([]byte, cblosc.MaxCompressedSize(len(src)-n))
	hn, err := cblosc.CompressBlosc1(whole, head, src[:n])
	if err != nil {
		return 0, err
	}
	tn, err := cblosc.CompressBlosc1(&rest, tail, src[n:])
	if err != nil {
		return 0, err
	}
	joined := join(head[:hn], tail[:tn], block)
	if joined == nil || len(joined) > min(len(dst), chunk.MinHeaderSize+len(src)) {
		stored := *whole
		stored.Level = 0
		return cblosc.CompressBlosc1(&stored, dst, src) // also detects a dst that is too short
	}
	return copy(dst, joined), nil
}

// join appends the single block of the chunk tail to the blocks of the chunk head. It returns nil
// if head does not have blocks of block bytes.
func join(head, tail []byte, block int) []byte {
	const header = chunk.MinHeaderSize
	h, err := chunk.ParseHeader(head)
	t, terr := chunk.ParseHeader(tail)
	if err != nil || terr != nil || !h.HasBlocks() || int(h.BlockLen()) != block {
		return nil
	}
	le := binary.LittleEndian
	stream := tail[header:] // start, size and bytes of the stream, or the bytes as stored
	if t.HasBlocks() {
		stream = stream[4:]
	} else {
		stream = append(le.AppendUint32(nil, uint32(t.NBytes)), stream...)
	}
	n := int(h.NumBlocks())
	out := make([]byte, 0, len(head)+4+len(stream))
	out = append(out, head[:header]...)
	le.PutUint32(out[4:], uint32(h.NBytes+t.NBytes))
	le.PutUint32(out[12:], uint32(cap(out)))
	for i := range n {
		out = le.AppendUint32(out, le.Uint32(head[header+4*i:])+4)
	}
	out = le.AppendUint32(out, uint32(len(head)+4))
	out = append(out, head[header+4*n:]...)
	return append(out, stream...)
}
