// Decoding of chunks that need no codec library. With it, formats that consist of chunks (for
// example the index of a frame) can be read and checked in Go.

package chunk

import (
	"encoding/binary"
	"fmt"

	"github.com/hyperslab/hyperslab/internal/format"
)

// Decode writes the values of the chunk at the start of src to dst. len(dst) must equal the chunk's
// NBytes, otherwise Decode returns format.ErrSize. It decodes special chunks, stored chunks, and
// chunks whose streams are BloscLZ, stored or runs, with no filter or the byte shuffle. The filter
// trunc_prec needs no decoding. Other codecs and filters return format.ErrUnsupported with their
// name; use cblosc for them. The values of an uninitialized chunk become zeros.
//
// Decode can be used as a Decoder of cframe.
func Decode(dst, src []byte) error {
	c, err := Parse(src)
	if err != nil {
		return err
	}
	return c.Decode(dst)
}

// Decode is the function Decode on a parsed chunk.
func (c *Chunk) Decode(dst []byte) error { return c.DecodeZstd(dst, nil) }

// DecodeZstd is Decode for chunks of the codec zstd too. zstd decodes one stream to exactly
// len(dst) bytes.
func (c *Chunk) DecodeZstd(dst []byte, zstd func(dst, stream []byte) error) error {
	if len(dst) != int(c.NBytes) {
		return bad("nbytes", 0x04, fmt.Sprintf("a buffer of %d bytes", len(dst)), itoa(c.NBytes), format.ErrSize)
	}
	switch {
	case c.Special != NotSpecial:
		c.fillSpecial(dst)
		return nil
	case c.Stored():
		copy(dst, c.data[c.Size():])
		return nil
	}
	group, err := c.decodable()
	if err != nil {
		return err
	}
	shuffled := group > 0
	var tmp []byte
	if shuffled {
		tmp = make([]byte, min(c.longestBlock(), len(dst)))
	}
	for i, b := range c.Blocks {
		out := dst[:b.Length]
		raw := out
		if shuffled {
			raw = tmp[:b.Length]
		}
		if err := c.decodeBlock(i, raw, zstd); err != nil {
			return err
		}
		if shuffled {
			unshuffle(out, raw, group)
		}
		dst = dst[b.Length:]
	}
	return nil
}

func (c *Chunk) longestBlock() int {
	n := 0
	for _, b := range c.Blocks {
		n = max(n, int(b.Length))
	}
	return n
}

// fillSpecial writes the values that the header alone determines.
func (c *Chunk) fillSpecial(dst []byte) {
	value := c.Value
	if c.Special == NaNs {
		if c.TypeSize == 4 {
			value = binary.LittleEndian.AppendUint32(nil, 0x7FC00000)
		} else {
			value = binary.LittleEndian.AppendUint64(nil, 0x7FF8000000000000)
		}
	}
	clear(dst)
	if len(value) == 0 {
		return
	}
	for n := copy(dst, value); n < len(dst); n *= 2 {
		copy(dst[n:], dst[:n])
	}
}

// decodable returns an error if Decode does not support the filter pipeline. group is the element
// size of the shuffle, 0 without a shuffle. It is the parameter of the filter if that is not 0
// (C-Blosc2 2.23.1 and later), or else the type size.
func (c *Chunk) decodable() (group int, err error) {
	if c.Blosc2Flags&Flag2Instrumented != 0 {
		return 0, bad("blosc2_flags", 0x1F, "an instrumented codec", "data", format.ErrUnsupported)
	}
	for i, f := range c.Filters {
		switch f {
		case NoFilter, TruncPrec:
		case Shuffle:
			if group > 0 {
				return 0, bad(fmt.Sprintf("filter %d", i), int64(0x10+i), "a second shuffle", "at most one", format.ErrUnsupported)
			}
			if group = int(c.TypeSize); c.FiltersMeta[i] != 0 {
				group = int(c.FiltersMeta[i])
			}
		default:
			return 0, bad(fmt.Sprintf("filter %d", i), int64(0x10+i), f.String(), "none, shuffle or trunc_prec", format.ErrUnsupported)
		}
	}
	return group, nil
}

// decodeBlock writes the decoded streams of block i to dst, one after the other.
func (c *Chunk) decodeBlock(i int, dst []byte, zstd func(dst, stream []byte) error) error {
	for j, s := range c.Blocks[i].Streams {
		out := dst[:s.Length]
		dst = dst[s.Length:]
		content := c.data[s.Offset : s.Offset+s.CLength()]
		switch s.Kind {
		case ZeroRun:
			clear(out)
		case ByteRun:
			for k := range out {
				out[k] = s.Value
			}
		case StoredBytes:
			copy(out, content)
		default:
			what := fmt.Sprintf("block %d, stream %d", i, j)
			if zstd != nil && c.Codec == Zstd && c.Format == FormatZstd {
				if err := zstd(out, content); err != nil {
					return bad(what, int64(s.Offset), err.Error(), itoa(s.Length)+" bytes in zstd", format.ErrCorrupt)
				}
				continue
			}
			if c.Codec != BloscLZ || c.Format != FormatBloscLZ {
				return bad(what, int64(s.Offset), "codec "+c.Codec.String(), "blosclz", format.ErrUnsupported)
			}
			if n := blosclz(out, content); n != len(out) {
				return bad(what, int64(s.Offset), fmt.Sprintf("%d bytes", n), itoa(s.Length), format.ErrCorrupt)
			}
		}
	}
	return nil
}

// unshuffle reverses the byte shuffle: src contains the first bytes of all elements, then the
// second bytes, and so on. Bytes after the last whole element were not moved.
func unshuffle(dst, src []byte, size int) {
	n := len(src) / size
	for j := range size {
		plane := src[j*n : (j+1)*n]
		for i, v := range plane {
			dst[i*size+j] = v
		}
	}
	copy(dst[n*size:], src[n*size:])
}
