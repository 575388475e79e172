// Explain, which finds the first difference between a wrong result and the reference, and the
// misread rule.

package crosscheck

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"github.com/hyperslab/hyperslab/internal/format/chunk"
)

// Explanation describes the difference between a result and the reference's.
type Explanation struct {
	Offset   int64    `json:"offset"`             // first differing byte of the decoded output; -1 if there is no difference
	Element  int64    `json:"element"`            // the element it belongs to
	Index    []int64  `json:"index,omitempty"`    // that element's index in an array
	Got      string   `json:"got"`                // bytes from there, as hex
	Want     string   `json:"want"`               // bytes of the reference from there, as hex
	GotSize  int64    `json:"got_size"`           // bytes of the result
	WantSize int64    `json:"want_size"`          // bytes of the reference
	Differ   int64    `json:"differ"`             // number of differing bytes, up to the shorter length
	Chunk    int64    `json:"chunk"`              // in a frame or an array; 0 for a single chunk
	Block    int      `json:"block"`              // in the chunk; -1 if the chunk has no blocks
	Stream   int      `json:"stream"`             // stream of the block that contains the byte; -1 if unknown
	Stage    string   `json:"stage"`              // the first decoding step with a different result
	Rule     string   `json:"rule,omitempty"`     // the misread rule that gives exactly this result
	Sentence string   `json:"sentence,omitempty"` // the sentence of the specification
	Header   []string `json:"header,omitempty"`   // relevant fields, "name = value (meaning)"
}

// String formats the explanation as several lines.
func (x *Explanation) String() string {
	var b strings.Builder
	switch {
	case x.GotSize != x.WantSize:
		fmt.Fprintf(&b, "size: got %d bytes, want %d\n", x.GotSize, x.WantSize)
	case x.Offset < 0:
		return "no difference"
	}
	if x.Offset >= 0 {
		fmt.Fprintf(&b, "first difference at byte %d (element %d", x.Offset, x.Element)
		if x.Index != nil {
			fmt.Fprintf(&b, ", index %v", x.Index)
		}
		fmt.Fprintf(&b, "): got %s, want %s; %d bytes differ\n", x.Got, x.Want, x.Differ)
		fmt.Fprintf(&b, "in chunk %d", x.Chunk)
		if x.Block >= 0 {
			fmt.Fprintf(&b, ", block %d", x.Block)
		}
		if x.Stream >= 0 {
			fmt.Fprintf(&b, ", stream %d", x.Stream)
		}
		b.WriteByte('\n')
	}
	if x.Stage != "" {
		fmt.Fprintf(&b, "stage: %s\n", x.Stage)
	}
	if x.Rule != "" {
		fmt.Fprintf(&b, "misread rule: %s\n", x.Rule)
	}
	if x.Sentence != "" {
		fmt.Fprintf(&b, "specification: %s\n", x.Sentence)
	}
	for _, h := range x.Header {
		fmt.Fprintf(&b, "header: %s\n", h)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// difference fills in the fields that do not depend on the format.
func difference(got, want []byte, item int) *Explanation {
	x := &Explanation{Offset: -1, GotSize: int64(len(got)), WantSize: int64(len(want)), Block: -1, Stream: -1}
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			if x.Offset < 0 {
				x.Offset = int64(i)
			}
			x.Differ++
		}
	}
	if x.Offset < 0 && len(got) != len(want) {
		x.Offset = int64(min(len(got), len(want)))
	}
	if x.Offset >= 0 {
		x.Element = x.Offset / int64(max(item, 1))
		x.Got, x.Want = window(got, x.Offset), window(want, x.Offset)
	}
	return x
}

// window formats up to 16 bytes from offset as hex.
func window(b []byte, offset int64) string {
	if offset >= int64(len(b)) {
		return "no bytes"
	}
	return fmt.Sprintf("% x", b[offset:min(offset+16, int64(len(b)))])
}

// rule is one mistake of a reader, its stage, and the sentence of the specification. m selects the
// mistake in a reader of this package.
type rule[M any] struct {
	name, stage, sentence string
	m                     M
}

// explainedBy records in x the first rule whose mistake gives the bytes in got, and reports whether
// there is one.
func explainedBy[M any](x *Explanation, rules []rule[M], got []byte, read func(M) ([]byte, error)) bool {
	for _, r := range rules {
		if other, err := read(r.m); err == nil && bytes.Equal(other, got) {
			x.Rule, x.Stage, x.Sentence = r.name, r.stage, r.sentence
			return true
		}
	}
	return false
}

var chunkRules = []rule[misread]{
	{"only the first stream of a split block is read", "streams", "Streams: if bit 4 of flags is 0, each block except a shorter last one has one stream for each byte of the type size", misread{firstStreamOnly: true}},
	{"a run of a byte is read as zeros", "streams", "Streams: a size from -255 to -1 marks a run of one byte, whose value is the negated size", misread{runsAsZeros: true}},
	{"the shuffle is not undone", "filter shuffle", "Filter pipeline: filter 1 is undone after the codec", misread{skip: chunk.Shuffle}},
	{"the bit shuffle is not undone", "filter bitshuffle", "Filter pipeline: filter 2 is undone after the codec", misread{skip: chunk.BitShuffle}},
	{"the delta is not undone", "filter delta", "Filter pipeline: filter 3 is undone last, against the first block", misread{skip: chunk.Delta}},
	{"the byte delta is not undone", "filter bytedelta", "Filter pipeline: filter 35 stores the difference of each byte from the previous one, in each of the streams; its parameter is the number of streams", misread{skip: chunk.ByteDelta}},
	{"bytes after the last whole element are zeros", "filter shuffle", "Shuffle: bytes after the last whole element of a block are copied unchanged", misread{tailDropped: true}},
	{"the shuffle moves bytes after the last whole element", "filter shuffle", "Shuffle: bytes after the last whole element of a block are copied unchanged", misread{tailShuffled: true}},
	{"the bit shuffle covers elements after the last multiple of 8", "filter bitshuffle", "Bit shuffle: it moves the largest multiple of 8 elements; the other elements are copied unchanged", misread{bitTail: true}},
	{"the bits of each byte are reversed", "filter bitshuffle", "Bit shuffle: the first of 8 elements is in the lowest bit", misread{bitOrder: true}},
	{"bit shuffle is undone as byte shuffle", "filter bitshuffle", "Header: filter 1 is the byte shuffle, filter 2 the bit shuffle", misread{bitAsByte: true}},
	{"delta is undone against the previous block", "filter delta", "Delta: the reference of every block is the first block of the chunk", misread{deltaPrevious: true}},
	{"filters are undone in the order in which they were applied", "filter order", "Filter pipeline: the filters are undone in reverse order", misread{filtersForward: true}},
	{"uncompressed data are read from byte 16", "stored", "Header: it has 32 bytes if bits 0 and 2 of flags are both set", misread{storedAt16: true}},
	{"a repeated value is written once", "special value", "blosc2_flags: special value 3 repeats the value after the header to the length nbytes", misread{valueOnce: true}},
	{"special values are decoded as zeros", "special value", "blosc2_flags, bits 4 to 6: 1 zeros, 2 NaN, 3 a repeated value, 4 uninitialized", misread{specialZeros: true}},
	{"a NaN has all bits set", "special value", "blosc2_flags: special value 2 is the NaN of the C library, 0x7FC00000 or 0x7FF8000000000000", misread{nanPayload: true}},
	{"the last, shorter block is omitted", "blocks", "Blocks: their number is nbytes divided by blocksize, rounded up", misread{lastBlockMissing: true}},
	{"the bytes of each element are reversed", "byte order", "Data are stored in the byte order of the machine that wrote them; bit 1 of blosc2_flags marks big-endian", misread{swapped: true}},
}

// stageSentences are the sentences of the specification for stages, used if no misread rule
// applies. The first entry whose key is in the stage's name counts.
var stageSentences = []struct{ key, sentence string }{
	{"(shuffle)", "Shuffle: the first bytes of all elements are stored first, then the second bytes, and so on; bytes after the last whole element are copied unchanged"},
	{"(bitshuffle)", "Bit shuffle: bit 0 of byte 0 of all elements is stored first, then bit 1, and so on; elements after the last multiple of 8 are copied unchanged"},
	{"(delta)", "Delta: each block except the first is combined with the first block of the chunk by exclusive or"},
	{"(bytedelta)", "Filter pipeline: filter 35 stores the difference of each byte from the previous one, in each of the streams; its parameter is the number of streams"},
	{"filter ", "Filter pipeline: the filters are undone in reverse order"},
	{"codec", "Streams: a stream consists of its size in 4 bytes and the compressed data of this size; if the size equals that of the data, they are not compressed"},
	{"special value", "blosc2_flags, bits 4 to 6: 1 zeros, 2 NaN, 3 a repeated value, 4 uninitialized"},
	{"stored", "Header: if bit 1 of flags is set, the uncompressed data follow the header"},
}

// complete sets a missing stage and a missing sentence of the specification: that of the stage, or
// else the section of the vector.
func (x *Explanation) complete(section string) {
	if x.Offset < 0 || x.Sentence != "" {
		return
	}
	if x.Stage == "" {
		x.Stage = "length"
	}
	for _, s := range stageSentences {
		if strings.Contains(x.Stage, s.key) {
			x.Sentence = s.sentence
			return
		}
	}
	x.Sentence = section
}

func explainChunkFile(path string, _ Case, got []byte) (*Explanation, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return ExplainChunk(b, got)
}

// ExplainChunk compares got, a reader's result for the chunk b, with the result of the reference.
// The chunk must be valid.
func ExplainChunk(b, got []byte) (*Explanation, error) {
	c, err := chunk.Parse(b)
	if err != nil {
		return nil, err
	}
	blocks, err := stages(b, misread{})
	if err != nil {
		return nil, err
	}
	want := valuesOf(blocks)
	x := difference(got, want, c.ItemSize())
	if x.Offset < 0 {
		return x, nil
	}
	x.Header = headerLines(c)
	at := x.Offset
	var block []stage
	for i, s := range blocks {
		n := int64(len(s[len(s)-1].data))
		if at < n {
			block = s
			if c.HasBlocks() {
				x.Block = i
			}
			break
		}
		at -= n
	}
	explainedBy(x, chunkRules, got, func(m misread) ([]byte, error) {
		s, err := stages(b, m)
		return valuesOf(s), err
	})
	if block != nil {
		start := x.Offset - at
		theirs := got[min(start, int64(len(got))):]
		theirs = theirs[:min(len(theirs), len(block[len(block)-1].data))]
		if x.Stage == "" {
			x.Stage = lastEqual(block, theirs)
		}
		if x.Block >= 0 {
			x.Stream = streamOf(c, x.Block, int(at))
		}
	}
	x.complete(chunkDocument + ": Header, nbytes")
	return x, nil
}

// lastEqual returns the name of the stage that the reader omitted: the one after the stage that its
// result equals. If there is none, it returns the last stage.
func lastEqual(block []stage, theirs []byte) string {
	for i := len(block) - 2; i >= 0; i-- {
		if bytes.Equal(block[i].data, theirs) {
			return block[i+1].name + ": not done, the result equals the data before this step"
		}
	}
	if len(block) == 1 {
		return block[0].name
	}
	return block[len(block)-1].name + ", or an earlier step"
}

// streamOf returns the stream that contains byte at of a block. It maps the offset through the byte
// shuffle, but not through other filters.
func streamOf(c *chunk.Chunk, block, at int) int {
	streams := c.Blocks[block].Streams
	if len(streams) == 1 {
		return 0
	}
	n := int(c.Blocks[block].Length)
	size := int(c.TypeSize)
	for slot := chunk.NumFilters - 1; slot >= 0; slot-- {
		switch c.Filters[slot] {
		case chunk.Shuffle:
			if whole := n / size; at < whole*size {
				at = at%size*whole + at/size
			}
		case chunk.BitShuffle:
			return at % size // all bits of a byte are in the planes of one stream
		}
	}
	for i, s := range streams {
		if at < int(s.Length) {
			return i
		}
		at -= int(s.Length)
	}
	return -1
}

// headerLines formats the fields of the header that determine the decoding.
func headerLines(c *chunk.Chunk) []string {
	lines := []string{
		fmt.Sprintf("version = %d", c.Version),
		fmt.Sprintf("flags = 0x%02x (codec format %d, split %t, stored %t)", c.Flags, c.Format, c.Split(), c.Stored()),
		fmt.Sprintf("typesize = %d", c.TypeSize),
		fmt.Sprintf("nbytes = %d", c.NBytes),
		fmt.Sprintf("blocksize = %d (%d blocks)", c.BlockSize, c.NumBlocks()),
	}
	for i, f := range c.Filters {
		if f != chunk.NoFilter {
			lines = append(lines, fmt.Sprintf("filter %d = %d (%s), meta %d", i, f, f, c.FiltersMeta[i]))
		}
	}
	if c.Special != chunk.NotSpecial {
		lines = append(lines, fmt.Sprintf("special value = %d (%s)", c.Special, c.Special))
	}
	return lines
}
