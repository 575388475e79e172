// Explanation of a wrong result for a frame: the chunk, and the misread rule of the index that
// gives exactly this result.

package crosscheck

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
)

// frameMisread selects a mistake of a reader of frames. The zero value selects no mistake.
type frameMisread struct {
	zeros     bool // special offsets decode to zeros
	nanBits   bool // the NaN of a special offset has all bits set
	skipped   bool // special offsets are skipped
	fileOrder bool // chunks are read in the order in which they are stored
	lastFull  bool // the last chunk has the length of the others
}

var frameRules = []rule[frameMisread]{
	{"special offsets are decoded as zeros", "special offset", "Chunks: an offset whose highest bit is set does not refer to a chunk; its bits 56 to 58 are 1 for zeros, 2 for NaN, 4 for uninitialized values", frameMisread{zeros: true}},
	{"the NaN of a special offset has all bits set", "special offset", "Chunks: special offset 2 is the NaN of the C library, 0x7FC00000 or 0x7FF8000000000000", frameMisread{nanBits: true}},
	{"special offsets are skipped", "special offset", "Chunks: an offset whose highest bit is set represents a whole chunk that is not stored", frameMisread{skipped: true}},
	{"chunks are read in the order in which they are stored", "order of chunks", "Chunks: entry i of the index contains the offset of chunk i; the offsets of changed or moved chunks are not in ascending order", frameMisread{fileOrder: true}},
	{"the last chunk is read with the length of the others", "last chunk", "Header: the uncompressed size is that of all chunks; the last chunk has the remaining bytes", frameMisread{lastFull: true}},
}

// frameStored is a frame and its index as package internal/format/cframe reads them.
type frameStored struct {
	*cframe.Frame
	offsets []cframe.Offset
	d       *cblosc.Decompressor
}

// withFrame calls f with an open frame. Its chunks must have the same size.
func withFrame(path string, f func(*frameStored) error) (err error) {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	s := &frameStored{}
	if info.IsDir() {
		s.Frame, err = cframe.ReadDir(os.DirFS(path))
	} else {
		var file *os.File
		if file, err = os.Open(path); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		s.Frame, err = cframe.Read(file, info.Size())
	}
	if err != nil {
		return err
	}
	if s.offsets, err = s.Offsets(nil); err != nil {
		return err
	}
	if s.d, err = cblosc.NewDecompressor(nil); err != nil {
		return err
	}
	defer s.d.Close()
	return f(s)
}

// read concatenates the chunks.
func (s *frameStored) read(m frameMisread) ([]byte, error) {
	offsets := slices.Clone(s.offsets)
	if m.fileOrder {
		var stored []cframe.Offset
		for _, o := range offsets {
			if !o.IsSpecial() {
				stored = append(stored, o)
			}
		}
		slices.Sort(stored)
		for i, o := range offsets {
			if !o.IsSpecial() {
				offsets[i], stored = stored[0], stored[1:]
			}
		}
	}
	out := make([]byte, 0, s.NBytes)
	for i, o := range offsets {
		n := int(min(int64(s.ChunkSize), s.NBytes-int64(i)*int64(s.ChunkSize)))
		if m.lastFull {
			n = int(s.ChunkSize)
		}
		b := make([]byte, n)
		switch {
		case !o.IsSpecial():
			if err := s.chunk(b, o); err != nil {
				return nil, fmt.Errorf("chunk %d: %w", i, err)
			}
		case m.skipped:
			continue
		case o.Special() == chunk.NaNs && !m.zeros:
			s.nan(b, m)
		}
		out = append(out, b...)
	}
	return out, nil
}

// chunk decodes a stored chunk to the beginning of b.
func (s *frameStored) chunk(b []byte, o cframe.Offset) error {
	c, err := s.ReadChunk(o)
	if err != nil {
		return err
	}
	h, err := chunk.ParseHeader(c)
	if err != nil {
		return err
	}
	values := make([]byte, h.NBytes)
	if _, err := s.d.Decompress(values, c); err != nil {
		return err
	}
	copy(b, values)
	return nil
}

// nan fills b with NaN.
func (s *frameStored) nan(b []byte, m frameMisread) {
	size := int(s.TypeSize)
	for i := 0; i+size <= len(b); i += size {
		switch {
		case m.nanBits:
			put(b[i:i+size], bytes.Repeat([]byte{0xFF}, size))
		case size == 4:
			binary.LittleEndian.PutUint32(b[i:], 0x7FC00000)
		default:
			binary.LittleEndian.PutUint64(b[i:], 0x7FF8000000000000)
		}
	}
}

// explainFrame tries the rules of the index, then explains the chunk that contains the first
// difference.
func explainFrame(path string, c Case, got []byte) (*Explanation, error) {
	want, err := decodeFrame(path)
	if err != nil {
		return nil, err
	}
	if f := openVariable(path); f != nil {
		x := difference(got, want, c.Decoded.Item)
		x.Header = []string{fmt.Sprintf("%s frame of %d chunks or blocks of variable length, %d bytes in all, type size %d", f.Type(), f.NumChunks(), len(want), f.TypeSize)}
		return x, f.Close()
	}
	s, err := cblosc.OpenSChunk(path)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	x := difference(got, want, c.Decoded.Item)
	if x.Offset < 0 || s.ChunkSize() == 0 || s.NumChunks() == 0 {
		return x, nil
	}
	size := int64(s.ChunkSize())
	i := min(x.Offset/size, s.NumChunks()-1)
	err = withFrame(path, func(f *frameStored) error {
		if explainedBy(x, frameRules, got, f.read) {
			x.Chunk = i
			x.Header = []string{
				fmt.Sprintf("%s frame of %d chunks of %d bytes, %d bytes in all, type size %d", f.Type(), len(f.offsets), f.ChunkSize, f.NBytes, f.TypeSize),
				fmt.Sprintf("index entry %d = %v", i, f.offsets[i]),
			}
		}
		return nil
	})
	if err != nil || x.Rule != "" {
		return x, err
	}
	theirs := got[min(i*size, int64(len(got))):min((i+1)*size, int64(len(got)))]
	return explainPart(x, s, i, theirs, i*size)
}

// explainPart explains the differences of chunk i. theirs are the bytes that a reader returned for
// it, at is their offset in its output.
func explainPart(x *Explanation, s *cblosc.SChunk, i int64, theirs []byte, at int64) (*Explanation, error) {
	b, err := s.Chunk(i)
	if err != nil {
		return nil, err
	}
	part, err := ExplainChunk(b, theirs)
	if errors.Is(err, errors.ErrUnsupported) {
		x.Chunk, x.Stage = i, "codec or filter of arrays: "+err.Error()
		return x, nil
	}
	if err != nil {
		return nil, err
	}
	x.Chunk, x.Block, x.Stream, x.Stage, x.Rule, x.Sentence = i, part.Block, part.Stream, part.Stage, part.Rule, part.Sentence
	x.Header = append([]string{fmt.Sprintf("chunk %d of %d, decoded bytes %d to %d", i, s.NumChunks(), at, at+int64(s.ChunkSize()))}, part.Header...)
	return x, nil
}
