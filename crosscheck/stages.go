// Decoding of a chunk one step at a time. All buffers between the steps are kept, and one rule can
// be misread on purpose.
//
// The reference library runs the codec: each block becomes a separate chunk without filters. The
// filters are undone here in Go, as the format's document describes. A test checks that the last
// stage equals the library's result.

package crosscheck

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
)

// A stage contains the block's bytes after one step.
type stage struct {
	name string // "codec", "filter 5 (shuffle) undone"
	slot int    // -1 for the codec
	data []byte
}

// misread selects a mistake of a reader. The zero value selects no mistake.
type misread struct {
	firstStreamOnly  bool         // only the first stream of a split block is read
	runsAsZeros      bool         // a run of another byte is read as zeros
	skip             chunk.Filter // this filter is not undone
	tailDropped      bool         // bytes after the last whole element are zeros
	tailShuffled     bool         // the shuffle is undone as if the last, partial element were whole
	bitTail          bool         // bit shuffle is undone over all elements, not only over a multiple of 8
	bitOrder         bool         // the bits of a byte are reversed
	bitAsByte        bool         // bit shuffle is undone as byte shuffle
	deltaPrevious    bool         // delta is undone against the previous block, not the first
	filtersForward   bool         // filters are undone in the order in which they were applied
	storedAt16       bool         // stored data are read from offset 16, after a short header
	valueOnce        bool         // a repeated value is written once
	specialZeros     bool         // all special values are zeros
	nanPayload       bool         // a NaN has all bits set
	lastBlockMissing bool         // the last, shorter block is omitted
	swapped          bool         // the bytes of each element are reversed
}

// stages decodes the chunk b and returns the stages of each block. The last stage contains the
// block's decoded bytes. A stored or special chunk is one block with one stage.
func stages(b []byte, m misread) ([][]stage, error) {
	c, err := chunk.Parse(b)
	if err != nil {
		return nil, err
	}
	if err := chunk.Check(b); err != nil {
		return nil, err
	}
	var out [][]stage
	switch {
	case c.Special != chunk.NotSpecial:
		data := make([]byte, c.NBytes)
		if err := chunk.Decode(data, b); err != nil {
			return nil, err
		}
		switch {
		case m.specialZeros, m.valueOnce:
			clear(data[min(len(data), len(c.Value))*btoi(m.valueOnce):])
		case m.nanPayload && c.Special == chunk.NaNs:
			for i := range data {
				data[i] = 0xFF
			}
		}
		out = [][]stage{{{name: "special value " + c.Special.String(), slot: -1, data: data}}}
	case c.VLBlocks(): // no rule of readers is known for them
		d, err := cblosc.NewDecompressor(nil)
		if err != nil {
			return nil, err
		}
		data, err := decodeChunk(d, &c.Header, b)
		if err := errors.Join(err, d.Close()); err != nil {
			return nil, err
		}
		out = [][]stage{{{name: "blocks of variable length", slot: -1, data: data}}}
	case c.Stored():
		at := c.Size()
		if m.storedAt16 {
			at = chunk.MinHeaderSize
		}
		out = [][]stage{{{name: "stored", slot: -1, data: append([]byte(nil), b[at:at+int(c.NBytes)]...)}}}
	default:
		if out, err = blockStages(c, b, m); err != nil {
			return nil, err
		}
	}
	if m.swapped {
		for _, s := range out {
			last := s[len(s)-1].data
			for i := 0; i+int(c.TypeSize) <= len(last); i += int(c.TypeSize) {
				reverse(last[i : i+int(c.TypeSize)])
			}
		}
	}
	return out, nil
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func reverse(b []byte) {
	for i, j := 0, len(b)-1; i < j; i, j = i+1, j-1 {
		b[i], b[j] = b[j], b[i]
	}
}

func blockStages(c *chunk.Chunk, b []byte, m misread) ([][]stage, error) {
	d, err := cblosc.NewDecompressor(nil)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	var out [][]stage
	var first, before []byte // decoded bytes of the first block, and of the previous block
	for i, bl := range c.Blocks {
		raw := make([]byte, bl.Length)
		if _, err := d.Decompress(raw, alone(c, b, i)); err != nil {
			return nil, fmt.Errorf("block %d: %w", i, err)
		}
		if m.firstStreamOnly && len(bl.Streams) > 1 {
			clear(raw[bl.Streams[0].Length:])
		}
		if m.runsAsZeros {
			at := int32(0)
			for _, s := range bl.Streams {
				if s.Kind == chunk.ByteRun {
					clear(raw[at : at+s.Length])
				}
				at += s.Length
			}
		}
		st := []stage{{name: "codec " + c.Codec.String(), slot: -1, data: raw}}
		slots := []int{5, 4, 3, 2, 1, 0}
		if m.filtersForward {
			slots = []int{0, 1, 2, 3, 4, 5}
		}
		ref := first
		if m.deltaPrevious {
			ref = before
		}
		for _, slot := range slots {
			f := c.Filters[slot]
			if f == chunk.NoFilter || f == m.skip {
				continue
			}
			next, err := undo(c, f, c.FiltersMeta[slot], st[len(st)-1].data, ref, m)
			if err != nil {
				return nil, err
			}
			st = append(st, stage{name: fmt.Sprintf("filter %d (%s) undone", slot, f), slot: slot, data: next})
		}
		values := st[len(st)-1].data
		if m.lastBlockMissing && i == len(c.Blocks)-1 && i > 0 && bl.Length < c.Blocks[0].Length {
			st[len(st)-1].data = make([]byte, len(values))
		}
		if first == nil {
			first = values
		}
		before = values
		out = append(out, st)
	}
	return out, nil
}

// alone makes a chunk of one block, without filters, from block i of b. The streams are copied.
func alone(c *chunk.Chunk, b []byte, i int) []byte {
	bl := c.Blocks[i]
	h := make([]byte, chunk.ExtendedHeaderSize, chunk.ExtendedHeaderSize+4+len(b))
	h[0], h[1], h[3] = 5, c.VersionLZ, c.TypeSize
	if !c.Extended {
		h[0] = c.Version
	}
	// A shorter last block is not split. In the new chunk it is not shorter than the others, so the
	// header must have the flag for blocks that are not split.
	h[2] = c.Flags&^(chunk.FlagShuffle|chunk.FlagBitShuffle|chunk.FlagDelta|chunk.FlagStored|chunk.FlagDontSplit) | chunk.FlagShuffle | chunk.FlagBitShuffle
	if len(bl.Streams) == 1 {
		h[2] |= chunk.FlagDontSplit
	}
	h[0] = 5
	h[0x16], h[0x17] = c.UDCodec, c.CodecMeta
	if c.Dict != nil {
		h[0x1F] = chunk.Flag2Dict
	}
	h = binary.LittleEndian.AppendUint32(h, 0)
	if c.Dict != nil {
		h = binary.LittleEndian.AppendUint32(h, uint32(len(c.Dict)))
		h = append(h, c.Dict...)
	}
	binary.LittleEndian.PutUint32(h[chunk.ExtendedHeaderSize:], uint32(len(h)))
	h = append(h, b[bl.Offset:bl.Offset+bl.CLength]...)
	binary.LittleEndian.PutUint32(h[4:], uint32(bl.Length))
	binary.LittleEndian.PutUint32(h[8:], uint32(bl.Length))
	binary.LittleEndian.PutUint32(h[12:], uint32(len(h)))
	return h
}

// undo undoes one filter. first contains the decoded bytes of the reference block, or is nil for
// that block itself.
func undo(c *chunk.Chunk, f chunk.Filter, meta uint8, src, first []byte, m misread) ([]byte, error) {
	dst := make([]byte, len(src))
	size := int(c.TypeSize)
	switch f {
	case chunk.Shuffle:
		unshuffle(dst, src, size, m)
	case chunk.BitShuffle:
		if m.bitAsByte {
			unshuffle(dst, src, size, m)
		} else {
			unbitshuffle(dst, src, size, c.Version, m)
		}
	case chunk.Delta:
		copy(dst, src)
		undelta(dst, first, size)
	case chunk.ByteDelta:
		copy(dst, src)
		unbytedelta(dst, max(int(meta), 1))
	case chunk.TruncPrec, chunk.IntTrunc: // lossy: the original values cannot be restored
		copy(dst, src)
	default:
		return nil, fmt.Errorf("%w: filter %s", errors.ErrUnsupported, f)
	}
	return dst, nil
}

// unshuffle undoes a byte shuffle, which stores the first bytes of all elements, then the second
// bytes, and so on. Bytes after the last whole element are not moved.
func unshuffle(dst, src []byte, size int, m misread) {
	n := len(src) / size
	if m.tailShuffled && len(src)%size != 0 {
		n++
	}
	for j := range size {
		for i := range n {
			if from, to := j*n+i, i*size+j; from < len(src) && to < len(dst) {
				dst[to] = src[from]
			}
		}
	}
	if whole := len(src) / size * size; !m.tailDropped && !m.tailShuffled {
		copy(dst[whole:], src[whole:])
	}
}

// unbitshuffle undoes a bit shuffle, which stores bit 0 of byte 0 of all elements, then bit 1, and
// so on. A byte contains the bits of 8 elements, the first in the lowest bit. Only a multiple of 8
// elements is moved. Chunks of version 2 are not moved at all if their block is not such a
// multiple.
func unbitshuffle(dst, src []byte, size int, version uint8, m misread) {
	n := len(src) / size
	if version == 2 && n%8 != 0 {
		copy(dst, src)
		return
	}
	if !m.bitTail {
		n -= n % 8
	}
	row := (n + 7) / 8
	for j := range size {
		for k := range 8 {
			for i := range n {
				at := (j*8+k)*row + i/8
				if at >= len(src) {
					continue
				}
				shift := i % 8
				if m.bitOrder {
					shift = 7 - shift
				}
				dst[i*size+j] |= src[at] >> shift & 1 << k
			}
		}
	}
	if !m.tailDropped {
		copy(dst[n*size:], src[n*size:])
	}
}

// undelta undoes a delta: each byte is combined by exclusive or with the same byte of the first
// block. The first block is combined with itself, one unit earlier. A unit is 2 or 4 bytes for
// elements of that size, 8 bytes if the element size is a multiple of 8, otherwise 1 byte.
func undelta(b, first []byte, size int) {
	unit := 1
	switch {
	case size == 2, size == 4:
		unit = size
	case size%8 == 0:
		unit = 8
	}
	n := len(b) / unit * unit
	if first == nil {
		for i := unit; i < n; i++ {
			b[i] ^= b[i-unit]
		}
		return
	}
	for i := range min(n, len(first)) {
		b[i] ^= first[i]
	}
}

// unbytedelta undoes a byte delta: each byte is replaced by its difference from the previous byte,
// in each of size planes of equal length.
func unbytedelta(b []byte, size int) {
	n := len(b) / size
	for j := range size {
		plane := b[j*n : (j+1)*n]
		for i := 1; i < n; i++ {
			plane[i] += plane[i-1]
		}
	}
}

// valuesOf concatenates the last stages of all blocks.
func valuesOf(blocks [][]stage) []byte {
	var out []byte
	for _, s := range blocks {
		out = append(out, s[len(s)-1].data...)
	}
	return out
}
