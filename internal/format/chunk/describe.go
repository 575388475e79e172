// Annotation of a chunk, byte range by byte range.

package chunk

import (
	"errors"
	"fmt"

	"github.com/hyperslab/hyperslab/internal/format"
)

// MaxDescribed is the number of streams, and of block starts, that Describe lists one by one.
// Further ones are counted in one field, but still checked.
const MaxDescribed = 4096

// Describe annotates the chunk at the start of b: every field of the header, the block starts, the
// dictionary, and each block with its streams. It describes as much as it can read and attaches
// complaints to errors, including all errors of Check. It never fails.
func Describe(b []byte) format.Field {
	root := describe(b)
	if c := root.Complaint; c == "" {
		if h, err := ParseHeader(b); err == nil && int64(len(b)) > int64(h.CBytes) {
			root.Complaint = fmt.Sprintf("%d bytes follow the chunk", int64(len(b))-int64(h.CBytes))
		}
	}
	return root
}

// DescribeHeader annotates the header at the start of b.
func DescribeHeader(b []byte) format.Field {
	f := format.Field{Name: "header", Length: int64(min(len(b), MinHeaderSize))}
	h, err := ParseHeader(b)
	if err != nil {
		f.Complaint = format.Complaint(err)
		if errors.Is(err, format.ErrTruncated) && len(b) < MinHeaderSize {
			return f
		}
		// Annotate what is readable, as a short header of a supported version.
		var short [MinHeaderSize]byte
		copy(short[:], b)
		short[0] = min(max(short[0], 1), MaxVersion)
		short[2] &^= FlagShuffle
		if h, err = ParseHeader(short[:]); err != nil {
			return f
		}
		h.Version, h.Flags = b[0], b[2]
	}
	f.Length = int64(h.Size())
	f.Fields = h.fields()
	if f.Complaint == "" {
		f.Complain(Policy{}.CheckHeader(&h))
	}
	return f
}

// describe annotates a chunk. The root's length is the chunk's claimed length, limited to len(b).
func describe(b []byte) format.Field {
	root := format.Field{Name: "chunk", Length: int64(len(b)), Fields: []format.Field{DescribeHeader(b)}}
	h, err := ParseHeader(b)
	if err != nil {
		root.Complaint = format.Complaint(err)
		return root
	}
	root.Value = summary(h)
	if h.CBytes >= 0 {
		root.Length = min(root.Length, int64(h.CBytes))
	}
	c, err := parse(b)
	if c == nil {
		root.Complaint = format.Complaint(err)
		return root
	}
	head := int64(c.Size())
	switch {
	case c.Special == RepeatedValue:
		root.Fields = append(root.Fields, format.Field{Name: "value", Offset: head, Length: int64(len(c.Value)),
			Value: hexBytes(c.Value), Meaning: "repeated to the end"})
	case c.Stored() && c.NBytes > 0:
		root.Fields = append(root.Fields, format.Field{Name: "values", Offset: head, Length: int64(c.NBytes),
			Meaning: "stored as they are"})
	case c.HasBlocks():
		root.Fields = append(root.Fields, c.blockFields()...)
	}
	root.Complain(err)
	return root
}

func summary(h Header) string {
	switch {
	case h.Special != NotSpecial:
		return fmt.Sprintf("%d bytes, special: %s", h.NBytes, h.Special)
	case h.Stored():
		return fmt.Sprintf("%d bytes, stored", h.NBytes)
	}
	return fmt.Sprintf("%d bytes in %d, %s", h.NBytes, h.CBytes, h.Codec)
}

var flagNames = []bitName{
	{FlagShuffle, "shuffle"}, {FlagStored, "stored"}, {FlagBitShuffle, "bitshuffle"}, {FlagDelta, "delta"}, {FlagDontSplit, "blocks not split"},
}

var flags2Names = []bitName{
	{Flag2Dict, "dictionary"}, {Flag2BigEndian, "big-endian data"}, {Flag2Lazy, "lazy"}, {Flag2Instrumented, "instrumented"},
}

var versionNames = [...]string{"", "before Blosc 1.0", "Blosc 1", "Blosc2 alpha", "Blosc2 beta", "Blosc2", "Blosc2, variable blocks"}

func (h Header) fields() []format.Field {
	var fs []format.Field
	add := func(name string, off, n int64, value, meaning string) {
		fs = append(fs, format.Field{Name: name, Offset: off, Length: n, Value: value, Meaning: meaning})
	}
	version := ""
	if int(h.Version) < len(versionNames) {
		version = versionNames[h.Version]
	}
	flags := bitNames(h.Flags&0x1F, flagNames)
	if h.Extended {
		flags = "32-byte header"
		if rest := bitNames(h.Flags&0x1F&^(FlagShuffle|FlagBitShuffle), flagNames); rest != "" {
			flags += ", " + rest
		}
	}
	if flags != "" {
		flags += ", "
	}
	add("version", 0x00, 1, itoa(h.Version), version)
	add("versionlz", 0x01, 1, itoa(h.VersionLZ), "version of the codec's stream format")
	add("flags", 0x02, 1, fmt.Sprintf("%#02x", h.Flags), fmt.Sprintf("%scodec format %d: %s", flags, h.Format, h.Codec))
	add("typesize", 0x03, 1, itoa(h.TypeSize), "bytes per element")
	add("nbytes", 0x04, 4, itoa(h.NBytes), "bytes of the values")
	if h.VLBlocks() {
		add("blocksize", 0x08, 4, itoa(h.BlockSize), "number of blocks, since their lengths vary")
	} else {
		add("blocksize", 0x08, 4, itoa(h.BlockSize), fmt.Sprintf("bytes per block, %d blocks", h.NumBlocks()))
	}
	add("cbytes", 0x0C, 4, itoa(h.CBytes), "bytes of the chunk")
	if !h.Extended {
		return fs
	}
	for i, f := range h.Filters {
		add(fmt.Sprintf("filter %d", i), int64(0x10+i), 1, itoa(uint8(f)), f.String())
	}
	udcodec := "unused, the codec is in flags"
	if h.Format == FormatUser {
		udcodec = h.Codec.String()
	}
	add("udcodec", 0x16, 1, itoa(h.UDCodec), udcodec)
	add("compcode_meta", 0x17, 1, itoa(h.CodecMeta), "parameter of the codec")
	for i, m := range h.FiltersMeta {
		add(fmt.Sprintf("filter meta %d", i), int64(0x18+i), 1, itoa(m), fmt.Sprintf("parameter of filter %d", i))
	}
	add("blosc2_flags2", 0x1E, 1, fmt.Sprintf("%#02x", h.VLFlags), bitNames(h.VLFlags, []bitName{{FlagVLBlocks, "variable blocks"}}))
	flags2 := bitNames(h.Blosc2Flags&^0x70, flags2Names)
	if h.Special != NotSpecial {
		if flags2 != "" {
			flags2 += ", "
		}
		flags2 += "special: " + h.Special.String()
	}
	add("blosc2_flags", 0x1F, 1, fmt.Sprintf("%#02x", h.Blosc2Flags), flags2)
	return fs
}

// blockFields annotates the bytes after the header of a chunk with blocks.
func (c *Chunk) blockFields() []format.Field {
	starts := format.Field{Name: "bstarts", Offset: int64(c.Size()), Length: int64(4 * len(c.Starts)),
		Meaning: "where each block starts, bytes from the start of the chunk"}
	for i, s := range c.Starts[:min(len(c.Starts), MaxDescribed)] {
		starts.Fields = append(starts.Fields, format.Field{Name: fmt.Sprintf("bstart %d", i),
			Offset: int64(c.Size() + 4*i), Length: 4, Value: itoa(s)})
	}
	starts.Fields = appendRest(starts.Fields, len(c.Starts)-MaxDescribed, "block starts")
	fs := []format.Field{starts}
	end := starts.Offset + starts.Length
	if c.Dict != nil {
		fs = append(fs,
			format.Field{Name: "dsize", Offset: end, Length: 4, Value: itoa(len(c.Dict)), Meaning: "bytes of the dictionary"},
			format.Field{Name: "dictionary", Offset: end + 4, Length: int64(len(c.Dict))})
		end += 4 + int64(len(c.Dict))
	}
	blocks := format.Field{Name: "blocks", Offset: end, Length: int64(c.CBytes) - end,
		Value: itoa(len(c.Starts)), Meaning: "blocks, in the order of the values"}
	shown := 0
	for i, b := range c.Blocks {
		if shown += len(b.Streams); shown > MaxDescribed {
			blocks.Fields = appendRest(blocks.Fields, len(c.Blocks)-i, "blocks")
			break
		}
		blocks.Fields = append(blocks.Fields, c.blockField(i, b))
	}
	return append(fs, blocks)
}

func (c *Chunk) blockField(i int, b Block) format.Field {
	f := format.Field{Name: fmt.Sprintf("block %d", i), Offset: int64(b.Offset), Length: int64(b.CLength),
		Value: fmt.Sprintf("%d bytes in %d", b.Length, b.CLength)}
	for j, s := range b.Streams {
		f.Fields = append(f.Fields, format.Field{Name: fmt.Sprintf("stream %d", j), Offset: int64(s.Offset) - 4,
			Length: int64(s.CLength()) + 4, Value: fmt.Sprintf("%d bytes in %d", s.Length, s.CLength()), Meaning: c.meaning(s)})
	}
	return f
}

func (c *Chunk) meaning(s Stream) string {
	switch s.Kind {
	case Compressed:
		return c.Codec.String()
	case ByteRun:
		return fmt.Sprintf("a run of byte %#02x", s.Value)
	}
	return s.Kind.String()
}

func appendRest(fs []format.Field, n int, what string) []format.Field {
	if n <= 0 {
		return fs
	}
	return append(fs, format.Field{Name: "…", Value: itoa(n), Meaning: "further " + what + ", not listed"})
}

// hexBytes returns up to 16 bytes in hexadecimal.
func hexBytes(b []byte) string {
	if len(b) > 16 {
		return fmt.Sprintf("%x…", b[:16])
	}
	return fmt.Sprintf("%x", b)
}
