// Checks of a chunk before C-Blosc2 reads it.

package chunk

import (
	"fmt"
	"math"
	"slices"

	"github.com/hyperslab/hyperslab/internal/format"
)

// Policy lists codecs and filters that are allowed in addition to the safe ones (see Codec.Safe and
// Filter.Safe). The zero Policy allows no others. A caller should add the plug-ins that the process
// has registered, and NDLZ, ZFP, NDCell and NDMean for trusted files. For an unknown id C-Blosc2
// searches for a plug-in, and for some ids it starts a Python interpreter to do so. An untrusted
// file must not cause this.
type Policy struct {
	Codecs  []Codec
	Filters []Filter
}

// Unchecked returns the policy that allows the codecs and filters that C-Blosc2 contains and that
// do not check the bounds of their input.
func Unchecked() Policy {
	return Policy{Codecs: []Codec{NDLZ, ZFPAccuracy, ZFPPrecision, ZFPRate}, Filters: []Filter{NDCell, NDMean}}
}

// Check returns the first error that makes the header unsafe for C-Blosc2, under the zero Policy.
// See Policy.CheckHeader.
func (h *Header) Check() error { return Policy{}.CheckHeader(h) }

// Check parses b and returns the first error that makes it unsafe for C-Blosc2, under the zero
// Policy. See Policy.Check.
func Check(b []byte) error { return Policy{}.Check(b) }

// Check returns the first error that makes the chunk b unsafe for C-Blosc2: errors of CheckHeader,
// block starts and stream sizes outside the chunk, blocks that overlap, and bytes after the chunk.
// b must be exactly one chunk. Check does not read the contents of streams.
func (p Policy) Check(b []byte) error {
	c, err := Parse(b)
	if err != nil {
		return err
	}
	if len(b) != int(c.CBytes) {
		return bad("cbytes", 0x0C, itoa(c.CBytes)+" bytes", itoa(len(b))+", the length of the input", format.ErrCorrupt)
	}
	return p.CheckHeader(&c.Header)
}

// CheckHeader returns the first error that makes the header unsafe for C-Blosc2. The error is
// format.ErrCorrupt for sizes that contradict each other or the limits of the format, and for an
// invalid cell size of NDCell or NDMean. It is also format.ErrCorrupt for a lazy chunk, because
// C-Blosc2 does not check its block sizes. The error is format.ErrUnsupported for codec and filter
// ids that are neither safe nor allowed by p, for example Snappy and the plug-ins.
//
// Ids are checked even if no stream needs them, because the result must not depend on the next call
// of C-Blosc2. The only exception is Snappy in stored chunks, because its id starts no plug-in
// search.
func (p Policy) CheckHeader(h *Header) error {
	if err := h.checkSizes(); err != nil {
		return err
	}
	if h.Blosc2Flags&Flag2Lazy != 0 {
		return bad("blosc2_flags", 0x1F, "a lazy chunk", "a chunk that holds its blocks", format.ErrCorrupt)
	}
	if err := p.checkCodec(h); err != nil {
		return err
	}
	for i, f := range h.Filters {
		if !p.AllowsFilter(f) {
			return bad(fmt.Sprintf("filter %d", i), int64(0x10+i), f.String(), "an available filter: one without plug-in that checks its input, or one that is allowed", format.ErrUnsupported)
		}
		if meta := h.FiltersMeta[i]; (f == NDCell || f == NDMean) && int8(meta) <= 0 {
			return bad(fmt.Sprintf("filter meta %d", i), int64(0x18+i), itoa(meta), "1 to 127, the cell size of "+f.String(), format.ErrCorrupt)
		}
	}
	return nil
}

// CheckStarts returns format.ErrCorrupt for the first block start that is unsafe for C-Blosc2: a
// start outside the chunk or before the blocks, or one so far before the next that C-Blosc2's
// buffer for a block would overflow. starts are the bytes after the header, 4 for each of NumBlocks
// blocks. A chunk for which HasBlocks is false has no starts.
//
// Header and starts contain everything that Check checks and C-Blosc2 does not. They are therefore
// sufficient to check a chunk that is not in memory. The caller must call Check first.
func (h Header) CheckStarts(starts []byte) error {
	if !h.HasBlocks() {
		return nil
	}
	n := int(h.NumBlocks())
	if len(starts) < 4*n {
		return truncated("bstarts", int64(h.Size()), len(starts), 4*n)
	}
	offsets := make([]int32, n)
	for i := range offsets {
		offsets[i] = le32(starts[4*i:])
	}
	_, err := h.blockEnds(offsets, h.Size()+4*n)
	return err
}

// AllowsCodec reports whether c is safe or listed in the policy.
func (p Policy) AllowsCodec(c Codec) bool { return c.Safe() || slices.Contains(p.Codecs, c) }

// AllowsFilter reports whether f is safe or listed in the policy.
func (p Policy) AllowsFilter(f Filter) bool { return f.Safe() || slices.Contains(p.Filters, f) }

func (p Policy) checkCodec(h *Header) error {
	const want = "an available codec: one without plug-in that checks its input, or one that is allowed"
	switch h.Format {
	case FormatUser:
		// Codecs that have their own format must use it.
		if h.Codec < NDLZ || !p.AllowsCodec(h.Codec) {
			return bad("udcodec", 0x16, fmt.Sprintf("%s (%d)", h.Codec, h.UDCodec), want, format.ErrUnsupported)
		}
	case FormatSnappy:
		if h.HasBlocks() {
			return bad("flags", 0x02, "snappy streams", want, format.ErrUnsupported)
		}
	case FormatReserved, FormatSuperChunk:
		return bad("flags", 0x02, fmt.Sprintf("codec format %d", h.Format), want, format.ErrUnsupported)
	}
	return nil
}

// checkSizes returns the first contradiction among the sizes and flags.
func (h *Header) checkSizes() error {
	corrupt := func(what string, off int64, got, want string) error {
		return bad(what, off, got, want, format.ErrCorrupt)
	}
	size := int32(h.Size())
	switch {
	case h.TypeSize == 0:
		return corrupt("typesize", 0x03, "0", "1 to 255")
	case h.NBytes < 0 || h.NBytes > MaxNBytes:
		return corrupt("nbytes", 0x04, itoa(h.NBytes), "0 to "+itoa(MaxNBytes))
	case h.BlockSize <= 0 || h.BlockSize > MaxBlockSize:
		return corrupt("blocksize", 0x08, itoa(h.BlockSize), "1 to "+itoa(MaxBlockSize))
	case h.CBytes < size:
		return corrupt("cbytes", 0x0C, itoa(h.CBytes), "at least "+itoa(size)+", the header")
	case h.VLFlags&^FlagVLBlocks != 0:
		return bad("blosc2_flags2", 0x1E, fmt.Sprintf("%#02x", h.VLFlags), "0 or 1", format.ErrUnsupported)
	case h.VLBlocks() && h.Version < 6:
		return corrupt("blosc2_flags2", 0x1E, "VL-blocks in version "+itoa(h.Version), "version 6")
	case h.VLBlocks() && (h.Special != NotSpecial || h.Flags&FlagStored != 0):
		return corrupt("blosc2_flags2", 0x1E, "VL-blocks in a stored or special chunk", "one of them")
	case h.Special > Uninitialized:
		return corrupt("blosc2_flags", 0x1F, h.Special.String(), "special value 0 to 4")
	case h.Flags&FlagStored != 0 && int64(h.CBytes) != int64(h.NBytes)+int64(size):
		return corrupt("cbytes", 0x0C, itoa(h.CBytes), itoa(int64(h.NBytes)+int64(size))+", the header and the stored values")
	}
	if err := h.checkSpecial(); err != nil {
		return err
	}
	blocks := int64(h.NumBlocks())
	if h.HasBlocks() {
		if starts := 4 * blocks; int64(h.CBytes-size) < starts {
			return corrupt("cbytes", 0x0C, itoa(h.CBytes), "at least "+itoa(int64(size)+starts)+", the header and the block starts")
		}
		if n := int32(h.TypeSize); h.Split() && h.BlockLen()%n != 0 {
			// The streams of a block would be shorter than the block, and C-Blosc2 would leave the
			// rest of its buffer unchanged. C-Blosc2 3.3.5 writes such chunks with the split mode
			// "always", and loses the end of each block. 2.17.1 rounds blocks to whole elements.
			return corrupt("blocksize", 0x08, itoa(h.BlockLen()), "a multiple of typesize "+itoa(n)+", since blocks are split")
		}
	}
	// C-Blosc2 computes the size of a lazily loaded chunk with 32-bit arithmetic: header, two
	// fields, two words per block.
	if blocks*8+44 > math.MaxInt32 {
		return corrupt("blocksize", 0x08, itoa(h.BlockSize), "fewer than 2^28 blocks")
	}
	return nil
}

// checkSpecial returns the first contradiction in a special chunk.
func (h *Header) checkSpecial() error {
	corrupt := func(what string, off int64, got, want string) error {
		return bad(what, off, got, want, format.ErrCorrupt)
	}
	item := int32(h.ItemSize())
	if h.Special != NotSpecial && h.Blosc2Flags&Flag2Dict != 0 {
		return corrupt("blosc2_flags", 0x1F, fmt.Sprintf("%#02x", h.Blosc2Flags), "no dictionary, since a special chunk has no blocks")
	}
	if h.Special != NotSpecial && h.Special != RepeatedValue && h.CBytes != ExtendedHeaderSize {
		return corrupt("cbytes", 0x0C, itoa(h.CBytes), "32, since a special chunk ends with its header")
	}
	switch h.Special {
	case RepeatedValue:
		if item < 1 || item > MaxBlockSize || item > h.NBytes {
			return corrupt("cbytes", 0x0C, itoa(h.CBytes), "32 and a value of 1 to nbytes "+itoa(h.NBytes)+" bytes")
		}
		if h.NBytes%item != 0 || h.BlockLen()%item != 0 {
			return corrupt("nbytes", 0x04, itoa(h.NBytes)+" in blocks of "+itoa(h.BlockLen()), "multiples of the value's "+itoa(item)+" bytes")
		}
	case NaNs:
		if item != 4 && item != 8 {
			return corrupt("typesize", 0x03, itoa(item), "4 or 8, since the values are NaN")
		}
		fallthrough
	case Uninitialized:
		if h.NBytes%item != 0 {
			return corrupt("nbytes", 0x04, itoa(h.NBytes), "a multiple of typesize "+itoa(item))
		}
	}
	return nil
}
