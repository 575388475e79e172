// Chunks that violate one rule and that a reader must refuse.

package crosscheck

import (
	"encoding/binary"
	"fmt"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
)

// breakage is one rule and a change of a valid chunk that violates it. base selects the chunk:
// "compressed" has several blocks and shuffle, "stored" is not compressed, "special" has a special
// value.
type breakage struct {
	name, base, section, rule string
	change                    func(b []byte) []byte
}

func setByte(at int, v byte) func([]byte) []byte {
	return func(b []byte) []byte { b[at] = v; return b }
}

func setInt(at int, v int32) func([]byte) []byte {
	return func(b []byte) []byte { binary.LittleEndian.PutUint32(b[at:], uint32(v)); return b }
}

func cut(n int) func([]byte) []byte { return func(b []byte) []byte { return b[:n] } }

var chunkBreakages = []breakage{
	{"version-0", "compressed", "Header: version", "undefined version 0", setByte(0, 0)},
	{"version-7", "compressed", "Header: version", "version greater than the newest version of the format", setByte(0, 7)},
	{"version-255", "compressed", "Header: version", "version greater than the newest version of the format", setByte(0, 255)},
	{"typesize-0", "compressed", "Header: typesize", "element size of 0 bytes", setByte(3, 0)},
	{"nbytes-negative", "compressed", "Header: nbytes", "negative length", setInt(4, -1)},
	{"nbytes-greatest", "compressed", "Header: nbytes", "size greater than the limit of a chunk", setInt(4, 0x7FFFFFFF)},
	{"nbytes-more", "compressed", "Header: nbytes", "more blocks than block starts", func(b []byte) []byte {
		return setInt(4, int32(binary.LittleEndian.Uint32(b[4:]))*4)(b)
	}},
	{"blocksize-0", "compressed", "Header: blocksize", "block size of 0 bytes", setInt(8, 0)},
	{"blocksize-negative", "compressed", "Header: blocksize", "negative block size", setInt(8, -4)},
	{"cbytes-0", "compressed", "Header: cbytes", "size less than the size of the header", setInt(12, 0)},
	{"cbytes-31", "compressed", "Header: cbytes", "size less than the size of the header", setInt(12, 31)},
	{"cbytes-negative", "compressed", "Header: cbytes", "negative length", setInt(12, -1)},
	{"cbytes-beyond", "compressed", "Header: cbytes", "size greater than the size of the file", func(b []byte) []byte { return setInt(12, int32(len(b)+1))(b) }},
	{"codec-reserved", "compressed", "Header: flags, bits 5 to 7", "reserved codec format", func(b []byte) []byte { b[2] = b[2]&0x1F | 5<<5; return b }},
	{"codec-superchunk", "compressed", "Header: flags, bits 5 to 7", "codec format of a super-chunk, which no library writes", func(b []byte) []byte { b[2] = b[2]&0x1F | 7<<5; return b }},
	{"codec-snappy", "compressed", "Header: flags, bits 5 to 7", "Snappy, which C-Blosc2 cannot decode", func(b []byte) []byte { b[2] = b[2]&0x1F | 2<<5; return b }},
	{"codec-user-unknown", "compressed", "Header: udcodec", "codec that is not registered", func(b []byte) []byte { b[2] = b[2]&0x1F | 6<<5; b[0x16] = 250; return b }},
	{"codec-user-program", "compressed", "Header: udcodec", "codec for which the library starts another program", func(b []byte) []byte { b[2] = b[2]&0x1F | 6<<5; b[0x16] = 36; return b }},
	{"filter-unknown", "compressed", "Header: filters", "filter that is not registered", setByte(0x10, 77)},
	{"filter-user-unknown", "compressed", "Header: filters", "filter that is not registered", setByte(0x10, 200)},
	{"lazy", "compressed", "Header: blosc2_flags, bit 3", "lazy chunk, which exists in memory only", func(b []byte) []byte { b[0x1F] |= chunk.Flag2Lazy; return b }},
	{"start-negative", "compressed", "Block starts", "block start before the chunk", setInt(chunk.ExtendedHeaderSize, -1)},
	{"start-in-header", "compressed", "Block starts", "block start inside the header", setInt(chunk.ExtendedHeaderSize, 16)},
	{"start-beyond", "compressed", "Block starts", "block start after the end of the chunk", func(b []byte) []byte {
		return setInt(chunk.ExtendedHeaderSize, int32(len(b)))(b)
	}},
	{"stream-beyond", "compressed", "Streams", "stream longer than the chunk", func(b []byte) []byte {
		at := int(binary.LittleEndian.Uint32(b[chunk.ExtendedHeaderSize:]))
		return setInt(at, int32(len(b)))(b)
	}},
	{"stream-run-wide", "compressed", "Streams: runs", "run of a value greater than 255", func(b []byte) []byte {
		at := int(binary.LittleEndian.Uint32(b[chunk.ExtendedHeaderSize:]))
		return setInt(at, -300)(b)
	}},
	{"cut-header", "compressed", "Header", "the file ends inside the header", cut(20)},
	{"cut-starts", "compressed", "Block starts", "the file ends inside the block starts", cut(chunk.ExtendedHeaderSize + 5)},
	{"cut-data", "compressed", "Streams", "the file ends inside the last stream", func(b []byte) []byte { return b[:len(b)-1] }},
	{"stored-nbytes", "stored", "Header: flags, bit 1", "uncompressed data longer than the chunk", func(b []byte) []byte {
		return setInt(4, int32(binary.LittleEndian.Uint32(b[4:]))+8)(b)
	}},
	{"special-value-cut", "special", "Header: blosc2_flags, special values", "the file ends inside the value", func(b []byte) []byte { return b[:len(b)-1] }},
	{"special-reserved", "special", "Header: blosc2_flags, special values", "undefined special value", func(b []byte) []byte { b[0x1F] = b[0x1F]&^0x70 | 7<<4; return b }},
	{"empty", "compressed", "Header", "empty file", cut(0)},
}

// brokenChunks adds chunks that the reference, with the checks of this module, refuses.
func (e *emitter) brokenChunks(d *cblosc.Decompressor) error {
	p := cblosc.DefaultCParams()
	p.TypeSize, p.BlockSize = 4, 4096
	p.Filters[len(p.Filters)-1] = cblosc.Filter{}
	p.Filters[0] = cblosc.Filter{ID: cblosc.Shuffle}
	p.Split = cblosc.SplitAlways
	bases := make(map[string][]byte)
	for name, base := range map[string]struct {
		data  []byte
		level int
	}{
		"compressed": {series("ramp", 1, 20_000, 4), 5},
		"stored":     {series("random", 1, 20_000, 4), 0},
	} {
		p.Level = base.level
		c, err := cblosc.NewCompressor(p)
		if err != nil {
			return err
		}
		b := make([]byte, cblosc.MaxCompressedSize(len(base.data)))
		n, err := c.Compress(b, base.data)
		c.Close()
		if err != nil {
			return err
		}
		bases[name] = b[:n]
	}
	special, err := cblosc.SpecialChunk(p, cblosc.Repeated, 4000, []byte{1, 2, 3, 4})
	if err != nil {
		return err
	}
	bases["special"] = special
	out := make([]byte, 1<<20)
	for _, br := range chunkBreakages {
		b := br.change(append([]byte(nil), bases[br.base]...))
		if _, err := d.Decompress(out, b); err == nil {
			return fmt.Errorf("broken %s: the reference accepts it", br.name)
		}
		c := Case{ID: "chunk/refuse/" + br.name, Area: "chunk", Must: Refuse, Rule: br.rule, Section: chunkDocument + ": " + br.section}
		if err := e.file(c, ".chunk", b); err != nil {
			return err
		}
	}
	return nil
}
