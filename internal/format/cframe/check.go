// Checks of a frame before C-Blosc2 opens it.

package cframe

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
)

// Check returns the first error that makes the frame unsafe for C-Blosc2, under the zero policy.
// See CheckPolicy.
func (f *Frame) Check() error { return f.CheckPolicy(chunk.Policy{}) }

// CheckPolicy returns the first error that makes it unsafe to open the frame with C-Blosc2. It
// checks for:
//
//   - codec and filter ids that p does not allow
//   - sizes that contradict each other or the limits of the format
//   - user-defined or reserved types
//   - a contiguous frame given as sparse, or the reverse
//   - an index or a variable-length metalayer that chunk.Policy.Check refuses
//   - names with a zero byte
//
// It does not read the chunks (see CheckChunks) or the contents of metalayers (see Array).
func (f *Frame) CheckPolicy(p chunk.Policy) error {
	if err := f.Header.check(); err != nil {
		return err
	}
	if err := f.Header.CheckPipeline(p); err != nil {
		return err
	}
	return f.checkParts(p)
}

// CheckLayout is CheckPolicy without the codec and the filters that the header names. It is for
// programs that read the metadata only, or that check the pipeline of each chunk.
func (f *Frame) CheckLayout(p chunk.Policy) error {
	if err := f.Header.check(); err != nil {
		return err
	}
	return f.checkParts(p)
}

// checkParts checks the type of the frame, its index and its variable-length metalayers.
func (f *Frame) checkParts(p chunk.Policy) error {
	switch {
	case f.UserType() != 0 || f.Type() > Sparse:
		return bad("flags", 26, fmt.Sprintf("%s, user's type %d", f.Type(), f.UserType()), "a contiguous or sparse frame", format.ErrUnsupported)
	case f.Type() == Sparse && f.dir == nil:
		return bad("flags", 26, "a sparse frame without its directory", "the directory", format.ErrUnsupported)
	case f.Index.Length > 0 && int64(f.Index.Header.CBytes) != f.Index.Length:
		return bad("index: cbytes", f.Index.Offset+12, strconv.Itoa(int(f.Index.Header.CBytes)), fmt.Sprintf("%d, up to the trailer", f.Index.Length), format.ErrCorrupt)
	}
	if f.Index.Length > 0 {
		if _, err := f.readIndex(); err != nil {
			return err
		}
	}
	start := f.FrameSize - int64(f.Trailer.Size)
	if err := checkNames(f.Trailer.VLMetalayers, start); err != nil {
		return err
	}
	for _, m := range f.Trailer.VLMetalayers {
		if err := p.Check(m.Content); err != nil {
			return movedError(err, start+m.Offset)
		}
	}
	return nil
}

// CheckPipeline returns format.ErrUnsupported if p does not allow the codec or a filter of new
// chunks.
func (h Header) CheckPipeline(p chunk.Policy) error {
	if id := h.CodecFlags & 0x0F; id == 3 || id > 6 || id == 6 && h.Codec() < chunk.NDLZ || !p.AllowsCodec(h.Codec()) {
		return bad("flags", 27, fmt.Sprintf("%s (%d, %d)", h.Codec(), id, h.UDCodec), "an available codec: one without plug-in that checks its input, or one that is allowed", format.ErrUnsupported)
	}
	for i, f := range h.Filters {
		if !p.AllowsFilter(f) {
			return bad("filter pipeline", int64(71+i), f.String(), "an available filter: one without plug-in that checks its input, or one that is allowed", format.ErrUnsupported)
		}
	}
	return nil
}

// check returns the first error of the header alone, except those of CheckPipeline.
func (h Header) check() error {
	corrupt := func(what string, off int64, got any, want string) error {
		return bad(what, off, fmt.Sprint(got), want, format.ErrCorrupt)
	}
	variable := h.VariableChunks()
	switch {
	case h.OffsetBits() != 64:
		return bad("flags", 25, fmt.Sprintf("%d-bit offsets", h.OffsetBits()), "64-bit ones", format.ErrUnsupported)
	case h.Version() < 3 && (variable || h.VLBlocks()):
		return corrupt("flags", 25, "chunks or blocks of variable length in version "+strconv.Itoa(h.Version()), "version 3")
	case variable && h.ChunkSize > 0:
		return corrupt("chunk_size", 58, h.ChunkSize, "0, since chunks vary in length")
	case h.Level() > 9:
		return corrupt("flags", 27, "level "+strconv.Itoa(h.Level()), "0 to 9")
	case h.NBytes < 0:
		return corrupt("uncompressed_size", 30, h.NBytes, "at least 0")
	case h.CBytes < 0:
		return corrupt("compressed_size", 39, h.CBytes, "at least 0")
	case h.TypeSize <= 0 || h.TypeSize > chunk.MaxBlockSize:
		return corrupt("type_size", 48, h.TypeSize, "1 to "+strconv.Itoa(chunk.MaxBlockSize))
	case h.BlockSize < 0 || h.BlockSize > chunk.MaxBlockSize:
		return corrupt("block_size", 53, h.BlockSize, "0 to "+strconv.Itoa(chunk.MaxBlockSize))
	case h.ChunkSize < -1 || h.ChunkSize > chunk.MaxNBytes:
		return corrupt("chunk_size", 58, h.ChunkSize, "-1 to "+strconv.Itoa(chunk.MaxNBytes))
	case h.NBytes > 0 && h.ChunkSize <= 0 && !variable:
		return corrupt("chunk_size", 58, h.ChunkSize, "at least 1, since there are values")
	case h.tooManyChunks():
		return corrupt("uncompressed_size", 30, h.NBytes, "fewer than 2^31 chunks")
	case h.NumFilters > chunk.NumFilters:
		return corrupt("filter pipeline", 70, h.NumFilters, "at most 6 filters")
	}
	return checkNames(h.Metalayers, 0)
}

// checkNames refuses names with a zero byte, because C-Blosc2 would truncate them.
func checkNames(layers []Metalayer, start int64) error {
	for _, m := range layers {
		if strings.IndexByte(m.Name, 0) >= 0 {
			return bad("metalayers", start+m.Offset, strconv.Quote(m.Name), "a name without a zero byte", format.ErrCorrupt)
		}
	}
	return nil
}

// CheckChunks reads the index and the header of every chunk. It returns the first error that makes
// it unsafe to read the chunks with C-Blosc2 under p:
//
//   - a reserved special offset
//   - a chunk outside the frame
//   - a header that chunk.Policy.CheckHeader refuses
//   - block starts that chunk.Header.CheckStarts refuses
//   - a chunk whose size differs from the frame's sizes, or whose blocks differ from those of the
//     array
//   - chunks that overlap
//
// decode is as in Offsets. CheckChunks makes two small reads for each stored chunk.
func (f *Frame) CheckChunks(p chunk.Policy, decode Decoder) error {
	offsets, err := f.Offsets(decode)
	if err != nil {
		return err
	}
	c := f.chunkChecker(p)
	for i, o := range offsets {
		if err := c.next(o); err != nil {
			return fmt.Errorf("chunk %d: %w", i, err)
		}
	}
	return c.end()
}

// chunkChecker checks the chunks of a frame in order and adds up their sizes.
type chunkChecker struct {
	f      *Frame
	policy chunk.Policy
	index  int64           // number of the next chunk
	values int64           // decoded bytes of the chunks so far
	stored int64           // stored bytes of the chunks so far
	files  map[Offset]bool // chunk files of a sparse frame so far
	block  int64           // bytes of a block of the array; 0 if the frame is not an array
}

func (f *Frame) chunkChecker(p chunk.Policy) *chunkChecker {
	c := &chunkChecker{f: f, policy: p, files: make(map[Offset]bool)}
	if m, ok, err := f.Array(); ok && err == nil {
		c.block = m.BlockItems() * int64(f.TypeSize)
	}
	return c
}

// errOverlap marks the error after which the check stops, because a small index can contain one
// chunk millions of times.
var errOverlap = fmt.Errorf("%w: chunks overlap", format.ErrCorrupt)

// next checks the next chunk, whose index entry is o.
func (c *chunkChecker) next(o Offset) error {
	f := c.f
	want := f.chunkLen(c.index)
	c.index++
	if o.IsSpecial() {
		if err := o.Check(); err != nil {
			return movedError(err, f.Index.Offset)
		}
		if want < 0 {
			return bad("offset", f.Index.Offset, o.String(), "a stored chunk, because chunks differ in length", format.ErrCorrupt)
		}
		c.values += want
		return nil
	}
	h, err := f.ReadChunkHeader(o)
	if err != nil {
		return err
	}
	at := int64(0)
	if f.Type() == Sparse {
		if c.files[o] {
			return bad("offset", f.Index.Offset, ChunkFile(o)+" once more", "one file for each chunk", errOverlap)
		}
		c.files[o] = true
	} else {
		at = int64(f.HeaderSize) + int64(o)
		if c.stored += int64(h.CBytes); c.stored > f.CBytes {
			return bad("offset", f.Index.Offset, fmt.Sprintf("%d bytes in chunks", c.stored), fmt.Sprintf("at most %d together", f.CBytes), errOverlap)
		}
	}
	if err := c.policy.CheckHeader(&h); err != nil {
		return movedError(err, at)
	}
	starts, err := f.ReadStarts(o, h)
	if err != nil {
		return err
	}
	if err := h.CheckStarts(starts); err != nil {
		return movedError(err, at)
	}
	if want >= 0 && int64(h.NBytes) != want {
		return bad("chunk: nbytes", at+4, strconv.Itoa(int(h.NBytes)), fmt.Sprintf("%d, from the frame's sizes", want), format.ErrCorrupt)
	}
	if err := checkBlocks("chunk: blocksize", c.block, int64(h.NBytes), int64(h.BlockLen()), at+8); err != nil {
		return err
	}
	c.values += int64(h.NBytes)
	return nil
}

// CheckBlocks returns an error if the blocks of chunk i differ from those of the array, of block
// bytes each. C-Blosc2 counts the blocks of the array and selects blocks of the chunk by their
// number (b2nd.c, blosc2_set_maskout). o is the index entry of the chunk and h its header, which
// does not matter for a special offset, because C-Blosc2 then makes a chunk with the frame's block
// size.
func (f *Frame) CheckBlocks(block, i int64, o Offset, h chunk.Header) error {
	n := f.chunkLen(i)
	switch {
	case n < 0:
		return nil
	case !o.IsSpecial():
		return checkBlocks("chunk: blocksize", block, n, int64(h.BlockLen()), 8)
	}
	return checkBlocks("block_size", block, n, min(int64(f.BlockSize), n), 53)
}

// checkBlocks compares the bytes of a block in a chunk of n bytes with those of the array. A block
// of 0 bytes means that the frame is not an array.
func checkBlocks(what string, block, n, got, at int64) error {
	if want := min(block, n); block > 0 && got != want && (got > 0 || want < n) {
		return bad(what, at, strconv.FormatInt(got, 10), fmt.Sprintf("%d, a block of the array", want), format.ErrCorrupt)
	}
	return nil
}

// end compares the total size of the chunks with the header.
func (c *chunkChecker) end() error {
	if c.values == c.f.NBytes {
		return nil
	}
	return bad("uncompressed_size", 30, strconv.FormatInt(c.f.NBytes, 10), fmt.Sprintf("%d, the sum of the chunks", c.values), format.ErrCorrupt)
}

// chunkLen returns the decoded bytes of chunk i, or -1 if chunks vary in length.
func (f *Frame) chunkLen(i int64) int64 {
	if f.VariableChunks() {
		return -1
	}
	return min(int64(f.ChunkSize), f.NBytes-i*int64(f.ChunkSize))
}

// tooManyChunks reports whether the number of chunks exceeds the range of C-Blosc2.
func (h Header) tooManyChunks() bool { return h.NumChunks() > math.MaxInt32 }
