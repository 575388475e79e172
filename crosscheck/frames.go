// Vectors of Blosc2 frames: contiguous and sparse, metalayers, and all special offsets.

package crosscheck

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"path/filepath"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
)

const frameDocument = "README_CFRAME_FORMAT.rst"

var frameParameters = []parameter{
	{Name: "storage", Values: []string{"contiguous", "sparse"}},
	{Name: "chunks", Values: []string{"0", "1", "2", "5", "300"}},
	{Name: "last", Values: []string{"whole", "ragged"}},
	{Name: "meta", Values: []string{"0", "1", "16"}},
	{Name: "vlmeta", Values: []string{"0", "1", "5"}},
	{Name: "codec", Values: []string{"blosclz", "lz4", "zstd"}},
	{Name: "typesize", Values: []string{"1", "4", "12", "300"}},
	{Name: "content", Values: []string{"data", "zeros", "value", "mixed"}},
}

func frameAllowed(v map[string]string) bool {
	return v["chunks"] != "0" || v["last"] == "whole" && v["content"] == "data"
}

func emitFrames(ctx context.Context, e *emitter) error {
	rows, pairs, impossible := choose(frameParameters, func(row []int) bool { return frameAllowed(values(frameParameters, row)) }, e.full)
	for i, row := range rows {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := e.frame(values(frameParameters, row), uint64(i)); err != nil {
			return err
		}
	}
	e.coverage("frame", frameParameters, rows, pairs, impossible)
	for _, more := range []func() error{e.filledFrames, e.changedFrames, e.parameterFrames, e.goldenFrames, e.brokenFrames} {
		if err := more(); err != nil {
			return err
		}
	}
	return nil
}

// metalayers returns n metalayers. Their contents are msgpack, as those of the libraries: a byte
// string (bin 8).
func metalayers(prefix string, n int, seed uint64) []cblosc.Metalayer {
	var out []cblosc.Metalayer
	for i := range n {
		content := series("random", seed+uint64(i), 3+17*i%200, 1)
		out = append(out, cblosc.Metalayer{Name: fmt.Sprintf("%s%d", prefix, i), Content: append([]byte{0xC4, byte(len(content))}, content...)})
	}
	return out
}

func layerMap(layers []cblosc.Metalayer) map[string]any {
	m := make(map[string]any, len(layers))
	for _, l := range layers {
		m[l.Name] = hex.EncodeToString(l.Content)
	}
	return m
}

// frame writes one frame with the reference library, reads it back and adds it.
func (e *emitter) frame(v map[string]string, seed uint64) (err error) {
	size := number(v, "typesize")
	n := number(v, "chunks")
	chunkSize := 120 * size
	id := fmt.Sprintf("frame/%s/%s-chunks_%s-meta%s-vl%s-%s-t%s-%s", v["storage"], v["chunks"], v["last"], v["meta"], v["vlmeta"], v["codec"], v["typesize"], v["content"])
	c := Case{ID: id, Area: "frame", Must: Accept, Path: id + ".b2frame", Section: frameDocument + ": Header, Chunks, Trailer", Params: v}
	codec, err := cblosc.ParseCodec(v["codec"])
	if err != nil {
		return err
	}
	p := cblosc.DefaultCParams()
	p.Codec, p.TypeSize = codec, size
	if v["storage"] == "sparse" {
		c.Section = frameDocument + ": Sparse frames"
	}
	path, err := e.place(c.Path)
	if err != nil {
		return err
	}
	s, err := cblosc.CreateSChunk(cblosc.Storage{Path: path, Contiguous: v["storage"] == "contiguous", CParams: p})
	if err != nil {
		return fmt.Errorf("%s: %w", id, err)
	}
	defer s.Close()
	meta, vlmeta := metalayers("meta", number(v, "meta"), seed), metalayers("vl", number(v, "vlmeta"), seed+100)
	for _, l := range meta {
		if err := s.Meta().Add(l.Name, l.Content); err != nil {
			return fmt.Errorf("%s: %w", id, err)
		}
	}
	var all []byte
	for i := range n {
		length := chunkSize
		if i == n-1 && v["last"] == "ragged" {
			length = 7 * size
		}
		b := frameChunk(v["content"], i, seed, length, size)
		all = append(all, b...)
		if err := s.AppendBuffer(b); err != nil {
			return fmt.Errorf("%s: chunk %d: %w", id, i, err)
		}
	}
	for _, l := range vlmeta {
		if err := s.VLMeta().Add(l.Name, l.Content); err != nil {
			return fmt.Errorf("%s: %w", id, err)
		}
	}
	got, err := decodeFrame(path)
	if err != nil {
		return fmt.Errorf("%s: %w", id, err)
	}
	if !bytes.Equal(got, all) {
		return fmt.Errorf("%s: the reference does not decode the original bytes", id)
	}
	c.Decoded = decodedBytes(got, size)
	c.Metadata = map[string]any{
		"chunks": n, "chunksize": s.ChunkSize(), "typesize": size, "nbytes": len(all), "codec": v["codec"],
		"meta": layerMap(meta), "vlmeta": layerMap(vlmeta),
	}
	return e.add(c)
}

// frameChunk returns the data of one chunk. Constant data become special offsets.
func frameChunk(content string, i int, seed uint64, length, size int) []byte {
	if content == "mixed" {
		content = []string{"data", "zeros", "value", "data", "nan"}[i%5]
	}
	switch content {
	case "zeros":
		return make([]byte, length)
	case "value":
		return series("constant", 0, length, size)
	case "nan":
		b := make([]byte, length)
		for k := 0; k+4 <= length; k += 4 {
			binary.LittleEndian.PutUint32(b[k:], 0x7FC00000)
		}
		return b
	}
	return series([]string{"ramp", "text", "random"}[i%3], seed+uint64(i), length, size)
}

// decodeFrame reads all chunks of a frame with the reference library.
func decodeFrame(path string) ([]byte, error) {
	if f := openVariable(path); f != nil {
		defer f.Close()
		return f.decode()
	}
	s, err := cblosc.OpenSChunk(path)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	out := make([]byte, 0, s.NBytes())
	buf := make([]byte, s.ChunkSize())
	for i := range s.NumChunks() {
		n, err := s.DecompressChunk(buf, i)
		if err != nil {
			return nil, fmt.Errorf("chunk %d: %w", i, err)
		}
		out = append(out, buf[:n]...)
	}
	return out, nil
}

// Offsets in a frame's header (README_CFRAME_FORMAT.rst, Header).
const (
	frameMagic     = 2
	frameHeaderLen = 12
	frameLen       = 16
	frameFlags     = 26
	frameNBytes    = 30
	frameCBytes    = 39
	frameTypeSize  = 48
	frameChunkSize = 58
)

func setBig(at, size int, v int64) func([]byte) []byte {
	return func(b []byte) []byte {
		for i := range size {
			b[at+size-1-i] = byte(v >> (8 * i))
		}
		return b
	}
}

var frameBreakages = []breakage{
	{"magic", "", "Header: magic number", "wrong magic number", func(b []byte) []byte { b[frameMagic] ^= 0x20; return b }},
	{"header-length-short", "", "Header: header length", "header length less than the fixed part", setBig(frameHeaderLen, 4, 40)},
	{"header-length-long", "", "Header: header length", "header length greater than the frame", setBig(frameHeaderLen, 4, 1<<30)},
	{"header-length-negative", "", "Header: header length", "negative length", setBig(frameHeaderLen, 4, -1)},
	{"frame-length-long", "", "Header: frame length", "size greater than the size of the file", setBig(frameLen, 8, 1<<40)},
	{"frame-length-negative", "", "Header: frame length", "negative length", setBig(frameLen, 8, -5)},
	{"frame-length-short", "", "Header: frame length", "frame length less than header and trailer", setBig(frameLen, 8, 120)},
	{"version-future", "", "Header: general flags", "version greater than the newest version of the format", func(b []byte) []byte { b[frameFlags] = b[frameFlags]&0xF0 | 0x0F; return b }},
	{"nbytes-negative", "", "Header: uncompressed size", "negative size", setBig(frameNBytes, 8, -1)},
	{"cbytes-negative", "", "Header: compressed size", "negative size", setBig(frameCBytes, 8, -1)},
	{"cbytes-beyond", "", "Header: compressed size", "chunks longer than the frame", setBig(frameCBytes, 8, 1<<40)},
	{"typesize-0", "", "Header: type size", "element size of 0 bytes", setBig(frameTypeSize, 4, 0)},
	{"typesize-negative", "", "Header: type size", "negative size", setBig(frameTypeSize, 4, -4)},
	{"chunksize-negative", "", "Header: chunk size", "negative size", setBig(frameChunkSize, 4, -4)},
	{"cut-header", "", "Header", "the file ends inside the header", cut(50)},
	{"cut-trailer", "", "Trailer", "the file ends inside the trailer", func(b []byte) []byte { return b[:len(b)-10] }},
	{"cut-chunks", "", "Chunks", "the file ends inside the chunks", func(b []byte) []byte { return b[:len(b)/2] }},
	{"trailer-length", "", "Trailer: length", "trailer length greater than the frame", func(b []byte) []byte { return setBig(len(b)-22, 4, 1<<30)(b) }},
	{"empty", "", "Header", "empty file", cut(0)},
}

func (e *emitter) brokenFrames() error {
	p := cblosc.DefaultCParams()
	p.TypeSize = 4
	s, err := cblosc.CreateSChunk(cblosc.Storage{Contiguous: true, CParams: p})
	if err != nil {
		return err
	}
	defer s.Close()
	for i := range 3 {
		if err := s.AppendBuffer(series("text", uint64(i), 4000, 4)); err != nil {
			return err
		}
	}
	whole, err := s.Bytes()
	if err != nil {
		return err
	}
	if _, err := cframe.Read(bytes.NewReader(whole), int64(len(whole))); err != nil {
		return err
	}
	for _, br := range frameBreakages {
		b := br.change(bytes.Clone(whole))
		c := Case{ID: "frame/refuse/" + br.name, Area: "frame", Must: Refuse, Rule: br.rule, Section: frameDocument + ": " + br.section}
		if err := e.file(c, ".b2frame", b); err != nil {
			return err
		}
		if _, err := decodeFrame(filepath.Join(e.dir, filepath.FromSlash(c.ID+".b2frame"))); err == nil {
			return fmt.Errorf("broken %s: the reference accepts it", br.name)
		}
	}
	return nil
}
