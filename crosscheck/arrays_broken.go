// Arrays with one invalid field of the metalayer, in a frame and as a metalayer only, and arrays
// with codecs and filters that exist for arrays only.

package crosscheck

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/blosc/blosc1"
	"github.com/hyperslab/hyperslab/internal/format/b2ndmeta"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
)

// trusted allows the reference to use decoders that are for trusted files only, because it made the
// vectors itself.
var trusted = cblosc.Allow{Codecs: cblosc.ArrayCodecs(), Filters: []cblosc.FilterID{cblosc.NDCell, cblosc.NDMean}}

// Offsets in the metalayer of the changed arrays, which have 2 dimensions. Every number
// follows its msgpack marker (README_B2ND_METALAYER.rst).
const (
	metaVersion = 1
	metaDims    = 2
	metaShape   = 3 // the marker of the array; the marker of its first number follows
	metaChunks  = metaShape + 1 + 2*9
	metaBlocks  = metaChunks + 1 + 2*5
	metaDType   = metaBlocks + 1 + 2*5 // dtype_format, then marker and length of dtype
)

// putBig sets the number after the marker at offset at.
func putBig(at, size int, v int64) func([]byte) []byte { return setBig(at+1, size, v) }

// metalayerBreakages change the content of the metalayer but not its length. base is the name of
// the metalayer that has the field, "" for both.
var metalayerBreakages = []breakage{
	{"array-marker", "", "Metalayer format", "wrong number of fields", func(b []byte) []byte { b[0]--; return b }},
	{"version", "", "version", "undefined version", setByte(metaVersion, 1)},
	{"ndim-more", "", "ndim", "ndim greater than the number of elements of shape", setByte(metaDims, 3)},
	{"ndim-fewer", "", "ndim", "ndim less than the number of elements of shape", setByte(metaDims, 1)},
	{"ndim-17", "", "ndim", "more dimensions than the limit of the format", setByte(metaDims, 17)},
	{"ndim-negative", "", "ndim", "negative number of dimensions", setByte(metaDims, 0xFF)},
	{"shape-marker", "", "shape", "wrong length of the msgpack array", func(b []byte) []byte { b[metaShape]++; return b }},
	{"shape-number-marker", "", "shape", "msgpack integer of the wrong width", setByte(metaShape+1, 0xD2)},
	{"shape-negative", "", "shape", "negative dimension", putBig(metaShape+1, 8, -10)},
	{"shape-greatest", "", "shape", "number of elements greater than 2^63", putBig(metaShape+1, 8, 1<<62)},
	{"chunks-marker", "", "chunkshape", "wrong length of the msgpack array", func(b []byte) []byte { b[metaChunks]++; return b }},
	{"chunks-0", "", "chunkshape", "chunk dimension of 0", putBig(metaChunks+1, 4, 0)},
	{"chunks-negative", "", "chunkshape", "negative dimension", putBig(metaChunks+1, 4, -6)},
	{"chunks-greatest", "", "chunkshape", "chunk larger than the limit of the format", putBig(metaChunks+1, 4, 1<<31-1)},
	{"blocks-marker", "", "blockshape", "wrong length of the msgpack array", func(b []byte) []byte { b[metaBlocks]++; return b }},
	{"blocks-0", "", "blockshape", "block dimension of 0", putBig(metaBlocks+1, 4, 0)},
	{"blocks-negative", "", "blockshape", "negative dimension", putBig(metaBlocks+1, 4, -3)},
	{"blocks-beyond", "", "blockshape", "block larger than the chunk", putBig(metaBlocks+1, 4, 7)},
	{"dtype-format-negative", b2ndmeta.Name, "dtype_format", "negative dtype_format", setByte(metaDType, 0xFF)},
	{"dtype-marker", b2ndmeta.Name, "dtype", "string length of the wrong width", setByte(metaDType+1, 0xDA)},
	{"dtype-beyond", b2ndmeta.Name, "dtype", "string longer than the metalayer", putBig(metaDType+1, 4, 1000)},
	{"dtype-negative", b2ndmeta.Name, "dtype", "negative length", putBig(metaDType+1, 4, -1)},
}

// frameBreakagesOfArrays change a metalayer that stays valid so that it contradicts its frame.
var frameBreakagesOfArrays = []breakage{
	{"shape-other-chunks", "", "shape", "shape that needs more chunks than the frame contains", putBig(metaShape+1, 8, 100)},
	{"chunks-other-size", "", "chunkshape", "chunk shape that contradicts the chunk size of the frame", putBig(metaChunks+1, 4, 12)},
	{"blocks-other-size", "", "blockshape", "block shape that contradicts the chunk size of the frame", putBig(metaBlocks+1, 4, 4)},
}

// brokenArrays adds frames with invalid metalayers to an area.
func (e *emitter) brokenArrays(area string) error {
	p := cblosc.DefaultCParams()
	p.TypeSize = 4
	m := b2ndmeta.Meta{Shape: []int64{10, 7}, Chunks: []int32{6, 4}, Blocks: []int32{3, 2}, DType: "<f4", Caterva: area == "caterva"}
	if m.Caterva {
		m.DType = ""
	}
	base, err := e.place(area + "/base")
	if err != nil {
		return err
	}
	if err := writeArray(area, &cblosc.ArrayParams{
		Shape: m.Shape, ChunkShape: m.Chunks, Blocks: m.Blocks, DType: m.DType,
		Storage: cblosc.Storage{Path: base, Contiguous: true, CParams: p},
	}, series("ramp", 1, 280, 4)); err != nil {
		return err
	}
	whole, err := os.ReadFile(base)
	if err != nil {
		return err
	}
	if err := os.Remove(base); err != nil {
		return err
	}
	content := m.Append(nil)
	at := bytes.Index(whole, content)
	if at < 0 {
		return fmt.Errorf("%s: the frame does not contain the metalayer", area)
	}
	name := bytes.Index(whole[:at], []byte(area))
	add := func(br breakage, b []byte) error {
		c := Case{ID: area + "/refuse/" + br.name, Area: area, Must: Refuse, Rule: br.rule, Section: arrayDocument + ": " + br.section}
		if err := e.file(c, "."+area, b); err != nil {
			return err
		}
		if _, err := decodeArray(filepath.Join(e.dir, filepath.FromSlash(c.ID+"."+area))); err == nil {
			return fmt.Errorf("broken %s %s: the reference accepts it", area, br.name)
		}
		return nil
	}
	for _, br := range append(append([]breakage(nil), metalayerBreakages...), frameBreakagesOfArrays...) {
		if br.base != "" && br.base != area {
			continue
		}
		b := bytes.Clone(whole)
		copy(b[at:], br.change(bytes.Clone(content)))
		if err := add(br, b); err != nil {
			return err
		}
	}
	b := bytes.Clone(whole)
	b[name] ^= 0x20
	if err := add(breakage{name: "name", section: "Metalayer format", rule: "frame without a metalayer of an array"}, b); err != nil {
		return err
	}
	return add(breakage{name: "cut-header", section: "Metalayer format", rule: "the file ends inside the metalayer"}, whole[:at+len(content)/2])
}

// brokenMetalayers adds the invalid metalayers without a frame.
func (e *emitter) brokenMetalayers(name string) error {
	m := b2ndmeta.Meta{Shape: []int64{10, 7}, Chunks: []int32{6, 4}, Blocks: []int32{3, 2}, DType: "<f4", Caterva: name == b2ndmeta.CatervaName}
	if m.Caterva {
		m.DType = ""
	}
	for _, br := range metalayerBreakages {
		if br.base != "" && br.base != name {
			continue
		}
		b := br.change(m.Append(nil))
		back, err := b2ndmeta.Parse(name, b)
		if err == nil {
			err = back.Check()
		}
		c := Case{ID: fmt.Sprintf("metalayer/refuse/%s-%s", name, br.name), Area: "metalayer", Must: Refuse, Rule: br.rule, Section: arrayDocument + ": " + br.section, Params: map[string]string{"name": name}}
		if err == nil {
			return fmt.Errorf("%s: the reader accepts it", c.ID)
		}
		if err := e.file(c, ".msgpack", b); err != nil {
			return err
		}
	}
	return nil
}

// arrayCodecs adds arrays compressed with the codecs and filters that depend on the block shape.
// For lossy ones the expected result is that of the reference.
func (e *emitter) arrayCodecs() error {
	for i, x := range []struct {
		name  string
		dtype string
		shape []int64
		edit  func(p *cblosc.CParams)
		lossy bool
	}{
		{"ndlz-4", "|u1", []int64{40, 37}, func(p *cblosc.CParams) { p.Codec, p.CodecMeta = cblosc.NDLZ, 4 }, false},
		{"ndlz-8", "|u1", []int64{40, 37}, func(p *cblosc.CParams) { p.Codec, p.CodecMeta = cblosc.NDLZ, 8 }, false},
		{"zfp-accuracy", "<f8", []int64{40, 37}, func(p *cblosc.CParams) { p.Codec, p.CodecMeta = cblosc.ZFPAccuracy, 0xFD }, true},
		{"zfp-precision", "<f8", []int64{40, 37}, func(p *cblosc.CParams) { p.Codec, p.CodecMeta = cblosc.ZFPPrecision, 20 }, true},
		{"zfp-rate", "<f4", []int64{40, 37}, func(p *cblosc.CParams) { p.Codec, p.CodecMeta = cblosc.ZFPRate, 50 }, true},
		{"zfp-accuracy-1d", "<f4", []int64{500}, func(p *cblosc.CParams) { p.Codec, p.CodecMeta = cblosc.ZFPAccuracy, 0xFD }, true},
		{"zfp-accuracy-3d", "<f4", []int64{20, 18, 17}, func(p *cblosc.CParams) { p.Codec, p.CodecMeta = cblosc.ZFPAccuracy, 0xFD }, true},
		{"ndcell-4", "<f8", []int64{40, 37}, func(p *cblosc.CParams) {
			p.Filters[4], p.Filters[5] = cblosc.Filter{ID: cblosc.NDCell, Meta: 4}, cblosc.Filter{ID: cblosc.Shuffle}
		}, false},
		{"ndcell-3-3d", "<i2", []int64{20, 18, 17}, func(p *cblosc.CParams) {
			p.Filters[4], p.Filters[5] = cblosc.Filter{ID: cblosc.NDCell, Meta: 3}, cblosc.Filter{ID: cblosc.BitShuffle}
		}, false},
		{"ndmean-4", "<f4", []int64{40, 37}, func(p *cblosc.CParams) {
			p.Filters[4], p.Filters[5] = cblosc.Filter{ID: cblosc.NDMean, Meta: 4}, cblosc.Filter{ID: cblosc.Shuffle}
		}, true},
		{"ndmean-4-f8", "<f8", []int64{40, 37}, func(p *cblosc.CParams) {
			p.Filters[4], p.Filters[5] = cblosc.Filter{ID: cblosc.NDMean, Meta: 4}, cblosc.Filter{ID: cblosc.Shuffle}
		}, true},
	} {
		p := cblosc.DefaultCParams()
		p.Filters = [cblosc.MaxFilters]cblosc.Filter{}
		p.TypeSize = int(x.dtype[2] - '0')
		x.edit(p)
		c := Case{
			ID: "b2nd/array-codec/" + x.name, Area: "b2nd", Must: Accept, Section: arrayDocument + "; plugins/codecs and plugins/filters of C-Blosc2: README.md of each",
			Params: map[string]string{"codec": p.Codec.String(), "filter": strings.TrimRight(x.name, "-0123456789fd"), "dtype": x.dtype},
		}
		c.Path = c.ID + ".b2nd"
		a := &cblosc.ArrayParams{Shape: x.shape, DType: x.dtype}
		n := int64(p.TypeSize)
		for _, k := range x.shape {
			a.ChunkShape, a.Blocks = append(a.ChunkShape, 16), append(a.Blocks, 8)
			n *= k
		}
		if len(x.shape) == 1 {
			a.ChunkShape, a.Blocks = []int32{128}, []int32{64}
		}
		path, err := e.place(c.Path)
		if err != nil {
			return err
		}
		a.Storage = cblosc.Storage{Path: path, Contiguous: true, CParams: p, DParams: &cblosc.DParams{Threads: 1, Allow: trusted}}
		data := series("wave", uint64(i), int(n), p.TypeSize)
		if err := writeArray(b2ndmeta.Name, a, data); err != nil {
			return fmt.Errorf("%s: %w", c.ID, err)
		}
		got, err := decodeArray(path)
		if err != nil {
			return fmt.Errorf("%s: %w", c.ID, err)
		}
		if !x.lossy && !bytes.Equal(got, data) {
			return fmt.Errorf("%s: the reference does not decode the original bytes", c.ID)
		}
		if x.lossy && bytes.Equal(got, make([]byte, n)) {
			return fmt.Errorf("%s: the reference decodes zeros", c.ID)
		}
		c.Metadata = map[string]any{"shape": a.Shape, "chunks": a.ChunkShape, "blocks": a.Blocks, "dtype": x.dtype, "itemsize": p.TypeSize, "codec": p.Codec.String(), "codec_meta": int(p.CodecMeta)}
		c.Decoded = &Decoded{Bytes: n, SHA256: hexSum(got), DType: x.dtype, Shape: a.Shape, Item: p.TypeSize, Lossy: x.lossy}
		if err := e.add(c); err != nil {
			return err
		}
	}
	return nil
}

// metalayerText returns the expected result of decoding a metalayer.
func metalayerText(m b2ndmeta.Meta) ([]byte, error) {
	return json.Marshal(metalayerJSON{m.Version, m.Shape, m.Chunks, m.Blocks, m.DTypeFormat, m.DType})
}

// brokenBlosc1 adds chunks with a Blosc1 header that the reference, with the checks of this module,
// refuses.
func (e *emitter) brokenBlosc1(d *cblosc.Decompressor) error {
	p := cblosc.DefaultCParams()
	p.TypeSize, p.BlockSize, p.Split = 4, 4096, cblosc.SplitForwardCompat
	p.Filters = [cblosc.MaxFilters]cblosc.Filter{cblosc.MaxFilters - 1: {ID: cblosc.Shuffle}}
	p.Codec = cblosc.LZ4
	bases := make(map[string][]byte)
	for name, level := range map[string]int{"compressed": 5, "stored": 0} {
		p.Level = level
		data := series("ramp", 1, 20_000, 4)
		b := make([]byte, cblosc.MaxCompressedSize(len(data)))
		n, err := blosc1.Exact(p, b, data)
		if err != nil {
			return err
		}
		bases[name] = b[:n]
	}
	const starts = chunk.MinHeaderSize
	out := make([]byte, 1<<20)
	for _, br := range []breakage{
		{"version-0", "compressed", "version", "undefined version 0", setByte(0, 0)},
		{"version-255", "compressed", "version", "version greater than the newest version of the format", setByte(0, 255)},
		{"typesize-0", "compressed", "typesize", "element size of 0 bytes", setByte(3, 0)},
		{"nbytes-negative", "compressed", "nbytes", "negative length", setInt(4, -1)},
		{"nbytes-greatest", "compressed", "nbytes", "size greater than the limit of a chunk", setInt(4, 0x7FFFFFFF)},
		{"nbytes-more", "compressed", "nbytes", "more blocks than block starts", setInt(4, 80_000)},
		{"blocksize-0", "compressed", "blocksize", "block size of 0 bytes", setInt(8, 0)},
		{"blocksize-negative", "compressed", "blocksize", "negative block size", setInt(8, -4)},
		{"cbytes-0", "compressed", "ctbytes", "size less than the size of the header", setInt(12, 0)},
		{"cbytes-15", "compressed", "ctbytes", "size less than the size of the header", setInt(12, 15)},
		{"cbytes-negative", "compressed", "ctbytes", "negative length", setInt(12, -1)},
		{"cbytes-beyond", "compressed", "ctbytes", "size greater than the size of the file", func(b []byte) []byte { return setInt(12, int32(len(b)+1))(b) }},
		{"codec-reserved", "compressed", "flags, bits 5 to 7", "reserved codec format", func(b []byte) []byte { b[2] = b[2]&0x1F | 5<<5; return b }},
		{"codec-snappy", "compressed", "flags, bits 5 to 7", "Snappy, which C-Blosc2 cannot decode", func(b []byte) []byte { b[2] = b[2]&0x1F | 2<<5; return b }},
		{"start-negative", "compressed", "starts of blocks", "block start before the chunk", setInt(starts, -1)},
		{"start-in-header", "compressed", "starts of blocks", "block start inside the header", setInt(starts, 8)},
		{"start-beyond", "compressed", "starts of blocks", "block start after the end of the chunk", func(b []byte) []byte { return setInt(starts, int32(len(b)))(b) }},
		{"stream-beyond", "compressed", "streams", "stream longer than the chunk", func(b []byte) []byte {
			return setInt(int(binary.LittleEndian.Uint32(b[starts:])), int32(len(b)))(b)
		}},
		{"cut-header", "compressed", "header", "the file ends inside the header", cut(10)},
		{"cut-starts", "compressed", "starts of blocks", "the file ends inside the starts of blocks", cut(starts + 5)},
		{"cut-data", "compressed", "streams", "the file ends inside the last stream", func(b []byte) []byte { return b[:len(b)-1] }},
		{"stored-nbytes", "stored", "flags, bit 1", "uncompressed data longer than the chunk", setInt(4, 20_008)},
		{"empty", "compressed", "header", "empty file", cut(0)},
	} {
		b := br.change(bytes.Clone(bases[br.base]))
		if _, err := d.Decompress(out, b); err == nil {
			return fmt.Errorf("broken %s: the reference accepts it", br.name)
		}
		c := Case{ID: "blosc1/refuse/" + br.name, Area: "blosc1", Must: Refuse, Rule: br.rule, Section: "README_HEADER.rst of C-Blosc 1: " + br.section}
		if err := e.file(c, ".chunk", b); err != nil {
			return err
		}
	}
	return nil
}
