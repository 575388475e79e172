// Conversion of Blosc2 chunks to Blosc1 chunks: another header and the same streams, except for
// runs.

package chunk

import "encoding/binary"

// Splitting rule of C-Blosc 1 (blosc.c). It assumes that a block has one stream per byte of its
// elements if all of these hold: an element has at most blosc1SplitMost bytes, the block has at
// least blosc1SplitLeast elements, and the block has the length of all blocks except the last.
const (
	blosc1Version    = 2
	blosc1SplitMost  = 16
	blosc1SplitLeast = 128
)

// AppendBlosc1 appends the chunk to dst with the 16-byte header of C-Blosc 1, and returns the
// extended slice. The streams are copied, except for runs among LZ4 streams, which are encoded in
// LZ4.
//
// ok is false, and dst is unchanged, for chunks that Blosc1 does not support or would read
// differently:
//
//   - special chunks and empty chunks
//   - runs in chunks of codecs other than LZ4
//   - dictionaries and VL-blocks
//   - codecs and filters that only Blosc2 has
//   - blocks that only Blosc2 splits
//   - bit-shuffled blocks whose number of elements is not a multiple of 8
func (c *Chunk) AppendBlosc1(dst []byte) (out []byte, ok bool) {
	filter, ok := c.blosc1Filter()
	if !ok || !c.Extended || c.Special != NotSpecial || c.VLBlocks() || c.NBytes == 0 || c.BlockSize > c.NBytes ||
		c.Blosc2Flags&(Flag2Dict|Flag2Instrumented) != 0 || c.Format > FormatZstd {
		return dst, false
	}
	for i := range c.Blocks {
		if !c.blosc1Block(&c.Blocks[i], filter) {
			return dst, false
		}
	}
	at := len(dst)
	dst = append(dst, c.data[:MinHeaderSize]...)
	dst[at] = blosc1Version
	dst[at+2] = c.Flags&^(FlagShuffle|FlagBitShuffle|FlagDelta) | filter
	if c.Blocks == nil {
		dst = append(dst, c.data[ExtendedHeaderSize:]...)
	}
	le := binary.LittleEndian
	starts := len(dst)
	dst = append(dst, make([]byte, 4*len(c.Blocks))...)
	for i, b := range c.Blocks {
		le.PutUint32(dst[starts+4*i:], uint32(len(dst)-at))
		for _, s := range b.Streams {
			size := len(dst)
			dst = append(dst, 0, 0, 0, 0)
			switch s.Kind {
			case ZeroRun, ByteRun:
				dst = appendLZ4Run(dst, s.Value, int(s.Length))
			default:
				dst = append(dst, c.data[s.Offset:s.Offset+s.CSize]...)
			}
			le.PutUint32(dst[size:], uint32(len(dst)-size-4))
		}
	}
	le.PutUint32(dst[at+12:], uint32(len(dst)-at))
	return dst, true
}

// appendLZ4Run appends n bytes of one value in LZ4 encoding: a literal, one match that repeats it,
// and five literals, because an LZ4 block must end with them (lz4_Block_format.md). n must be at
// least lz4Least.
func appendLZ4Run(dst []byte, value byte, n int) []byte {
	const last = 5
	match := n - 1 - last - 4 // a match is four bytes longer than its stored length
	dst = append(dst, 1<<4|byte(min(match, 15)), value, 1, 0)
	if match >= 15 {
		for match -= 15; match >= 255; match -= 255 {
			dst = append(dst, 255)
		}
		dst = append(dst, byte(match))
	}
	return append(dst, last<<4, value, value, value, value, value)
}

// lz4Least is the length of the shortest data that LZ4 can encode with a match.
const lz4Least = 13

// blosc1Filter returns the flag of Blosc1 for the filters.
func (c *Chunk) blosc1Filter() (flag uint8, ok bool) {
	for i, f := range c.Filters {
		switch {
		case f == NoFilter:
			continue
		case flag != 0 || c.FiltersMeta[i] != 0:
			return 0, false
		case f == Shuffle:
			flag = FlagShuffle
		case f == BitShuffle:
			flag = FlagBitShuffle
		default:
			return 0, false
		}
	}
	return flag, true
}

// blosc1Block reports whether Blosc1 would read a block correctly.
func (c *Chunk) blosc1Block(b *Block, filter uint8) bool {
	size := int32(max(c.TypeSize, 1))
	streams := 1
	if c.Split() && b.Length == c.BlockLen() && size <= blosc1SplitMost && b.Length/size >= blosc1SplitLeast {
		streams = int(size)
	}
	if len(b.Streams) != streams {
		return false
	}
	if n := b.Length / size; filter == FlagBitShuffle && (n%8 != 0 || n == 0) {
		return false
	}
	for _, s := range b.Streams {
		run := s.Kind == ZeroRun || s.Kind == ByteRun
		if run && (c.Format != FormatLZ4 || s.Length < lz4Least) {
			return false
		}
	}
	return true
}
