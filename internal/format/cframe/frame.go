// Frame: the locations of its parts, and methods that read the index and chunks.

package cframe

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"strconv"
	"unsafe"

	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/b2ndmeta"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
)

// IndexFile is the file in a sparse frame's directory that contains everything except the chunks.
const IndexFile = "chunks.b2frame"

// ChunkFile returns the name of the file that contains a chunk of a sparse frame.
func ChunkFile(o Offset) string { return fmt.Sprintf("%08X.chunk", uint32(o)) }

// Limits limits the memory that a frame may require. A frame beyond them is refused with
// format.ErrLimit. Sizes are bytes.
type Limits struct {
	Header  int64 // the header with its metalayers
	Trailer int64 // the trailer with its compressed metalayers
	Index   int64 // the decompressed index, 8 bytes per chunk
}

// DefaultLimits returns 64 MiB for the header, 1 GiB for the trailer, and 128 MiB for the index,
// which is enough for 16 million chunks. The size of the input also limits header and trailer. It
// does not limit the index, because 40 bytes can represent any number of chunks.
func DefaultLimits() Limits {
	return Limits{Header: format.MaxMetadata, Trailer: 1 << 30, Index: 128 << 20}
}

// FileHolder is implemented by an array of a frame that is read through an open file.
type FileHolder interface {
	// File returns the file, or nil if the array is read in another way. It belongs to the array.
	File() *os.File
}

// Frame is an open frame. It does not own its reader.
type Frame struct {
	Header
	Trailer Trailer
	Index   Index

	src    io.ReaderAt // the frame, or the index file of a sparse frame
	dir    fs.FS       // directory of a sparse frame; nil if it was opened without its directory
	limits Limits
}

// Index is the location of a frame's index. The zero value means that the frame has no index
// because it has no chunks.
type Index struct {
	Offset int64        // bytes from the start of the frame
	Length int64        // bytes up to the trailer; the index is one chunk
	Header chunk.Header // header of that chunk
}

// Decoder writes the decoded values of a chunk to dst. len(dst) is exactly their number of bytes.
// chunk.Decode is a Decoder without C; cblosc has one for every codec.
type Decoder func(dst, chunk []byte) error

// Read opens the frame that starts at the beginning of r, which has size bytes. Use an
// io.SectionReader for a frame inside a larger file. Bytes after the frame are ignored. Read is
// ReadLimits with DefaultLimits.
func Read(r io.ReaderAt, size int64) (*Frame, error) { return ReadLimits(r, size, DefaultLimits()) }

// ReadLimits reads header and trailer of the frame that starts at the beginning of r, and the
// header of its index. The Frame keeps r to read the index and the chunks.
//
// The error is format.ErrMagic, format.ErrVersion, format.ErrTruncated if size is less than the
// frame size in the header, format.ErrLimit, format.ErrUnsupported if the offsets of the index do
// not have 64 bits, or format.ErrCorrupt.
func ReadLimits(r io.ReaderAt, size int64, l Limits) (*Frame, error) {
	f := &Frame{src: r, limits: l}
	if err := f.read(size); err != nil {
		return nil, err
	}
	return f, nil
}

// ReadDir opens the sparse frame in the directory fsys. It is ReadDirLimits with DefaultLimits.
func ReadDir(fsys fs.FS) (*Frame, error) { return ReadDirLimits(fsys, DefaultLimits()) }

// ReadDirLimits is ReadLimits for the sparse frame in the directory fsys. It leaves no files open.
// The error is fs.ErrNotExist for a missing directory or file, and format.ErrCorrupt for a frame
// that is not sparse.
func ReadDirLimits(fsys fs.FS, l Limits) (*Frame, error) {
	file := dirFile{fsys, IndexFile}
	size, err := file.size()
	if err != nil {
		return nil, err
	}
	f := &Frame{src: file, dir: fsys, limits: l}
	if err := f.read(size); err != nil {
		return nil, err
	}
	return f, nil
}

// read fills f from its reader, which has size bytes.
func (f *Frame) read(size int64) error {
	fixed, err := readFixed(f.src, size)
	if err != nil {
		return err
	}
	if size < fixed.FrameSize {
		return truncated("frame", 0, size, fixed.FrameSize)
	}
	if f.Header, err = readWhole(f.src, fixed, f.limits); err != nil {
		return err
	}
	if f.dir != nil && f.Type() != Sparse {
		return bad("flags", 26, "a "+f.Type().String()+" frame in a directory", "a sparse one", format.ErrCorrupt)
	}
	trailer, err := f.readTrailer()
	if err != nil {
		return err
	}
	start := f.FrameSize - int64(len(trailer))
	if f.Trailer, err = ParseTrailer(trailer); err != nil {
		return movedError(err, start)
	}
	return f.locateIndex(start)
}

// ReadHeader reads only the header of the frame that starts at the beginning of r, which has size
// bytes. The rest of the frame may be missing. The errors are those of ParseHeader, and
// format.ErrLimit for more than l.Header bytes.
func ReadHeader(r io.ReaderAt, size int64, l Limits) (Header, error) {
	fixed, err := readFixed(r, size)
	if err != nil {
		return Header{}, err
	}
	return readWhole(r, fixed, l)
}

// readFixed reads the fields before the metalayers, which contain the header size.
func readFixed(r io.ReaderAt, size int64) (Header, error) {
	head, err := readAt(r, 0, min(size, fixedHeaderSize), "header")
	if err != nil {
		return Header{}, err
	}
	return parseFixed(head, nil)
}

// readWhole reads the header that begins with fixed.
func readWhole(r io.ReaderAt, fixed Header, l Limits) (Header, error) {
	if err := limit("header_size", 11, int64(fixed.HeaderSize), l.Header); err != nil {
		return Header{}, err
	}
	head, err := readAt(r, 0, int64(fixed.HeaderSize), "header")
	if err != nil {
		return Header{}, err
	}
	return ParseHeader(head)
}

// readTrailer finds the trailer by its length, which is stored near the end of the frame.
func (f *Frame) readTrailer() ([]byte, error) {
	at := f.FrameSize - trailerTail
	tail, err := readAt(f.src, at, trailerTail, "trailer")
	if err != nil {
		return nil, err
	}
	n := int64(binary.BigEndian.Uint32(tail[1:]))
	most := f.FrameSize - int64(f.HeaderSize)
	if tail[0] != 0xCE || n < MinTrailerSize || n > most {
		return nil, bad("trailer_len", at, fmt.Sprintf("marker %#02x, %d", tail[0], n), fmt.Sprintf("marker 0xce, %d to %d", MinTrailerSize, most), format.ErrCorrupt)
	}
	if err := limit("trailer_len", at, n, f.limits.Trailer); err != nil {
		return nil, err
	}
	return readAt(f.src, f.FrameSize-n, n, "trailer")
}

// Ends reads the bytes of the header and of the trailer again.
func (f *Frame) Ends() (header, trailer []byte, err error) {
	if header, err = readAt(f.src, 0, int64(f.HeaderSize), "header"); err != nil {
		return nil, nil, err
	}
	trailer, err = readAt(f.src, f.FrameSize-int64(f.Trailer.Size), int64(f.Trailer.Size), "trailer")
	return header, trailer, err
}

// locateIndex sets Index to the range between the chunks and the trailer.
func (f *Frame) locateIndex(trailer int64) error {
	at := int64(f.HeaderSize)
	if f.Type() != Sparse {
		if f.NBytes == 0 && at == trailer && f.CBytes > 0 {
			// When C-Blosc2 deletes the last chunk of a frame, the size of the chunks in the header
			// keeps its old value.
			f.CBytes = 0
		}
		if f.CBytes < 0 || f.CBytes > trailer-at {
			return bad("compressed_size", 39, strconv.FormatInt(f.CBytes, 10), fmt.Sprintf("0 to %d, the bytes before the trailer", trailer-at), format.ErrCorrupt)
		}
		at += f.CBytes
	}
	want := f.Header.NumChunks()
	if at == trailer {
		if want != 0 && f.NBytes > 0 {
			return bad("index", at, "none", fmt.Sprintf("one of chunks that hold %d bytes", f.NBytes), format.ErrCorrupt)
		}
		return nil
	}
	length := trailer - at
	b, err := readAt(f.src, at, min(length, chunk.ExtendedHeaderSize), "index")
	if err != nil {
		return err
	}
	h, err := chunk.ParseHeader(b)
	if err != nil {
		return movedError(err, at)
	}
	n, cbytes := int64(h.NBytes), int64(h.CBytes)
	switch {
	case f.OffsetBits() != 64:
		return bad("flags", 25, fmt.Sprintf("%d-bit offsets", f.OffsetBits()), "64-bit ones", format.ErrUnsupported)
	case n < 0 || n%8 != 0:
		return bad("index: nbytes", at+4, strconv.FormatInt(n, 10), "a multiple of 8", format.ErrCorrupt)
	case cbytes < int64(h.Size()) || cbytes > length:
		return bad("index: cbytes", at+12, strconv.FormatInt(cbytes, 10), fmt.Sprintf("%d to %d, the bytes before the trailer", h.Size(), length), format.ErrCorrupt)
	case want >= 0 && n/8 != want:
		return bad("index: nbytes", at+4, fmt.Sprintf("%d, %d chunks", n, n/8), fmt.Sprintf("%d chunks, from the frame's sizes", want), format.ErrCorrupt)
	case n > 0 && h.ItemSize() != 8:
		// C-Blosc2 reads entries by their number and this type size.
		return bad("index: typesize", at+3, strconv.Itoa(h.ItemSize()), "8, the bytes of an entry", format.ErrCorrupt)
	case h.HasBlocks() && h.NumBlocks() > 1 && h.BlockLen()%8 != 0:
		// C-Blosc2 would read an entry that spans two blocks from one of them.
		return bad("index: blocksize", at+8, strconv.Itoa(int(h.BlockLen())), "a multiple of 8", format.ErrCorrupt)
	case h.HasBlocks() && slices.Contains(h.Filters[:], chunk.Delta):
		// C-Blosc2 reads entries block by block, and Delta decodes wrong values without the first
		// block.
		return bad("index: filters", at+16, "delta", "filters that work within a block", format.ErrCorrupt)
	}
	f.Index = Index{Offset: at, Length: length, Header: h}
	return nil
}

// NumChunks returns the number of chunks: from the header, or from the index if chunks vary in
// length.
func (f *Frame) NumChunks() int64 {
	if n := f.Header.NumChunks(); n >= 0 {
		return n
	}
	return int64(f.Index.Header.NBytes) / 8
}

// Offsets reads the index: one entry for each chunk, in order. decode decompresses the index; nil
// means chunk.Decode. chunk.Decode supports every index that C-Blosc2 writes by default, and
// returns format.ErrUnsupported for other compression.
func (f *Frame) Offsets(decode Decoder) ([]Offset, error) {
	if f.Index.Length == 0 {
		return nil, nil
	}
	if decode == nil {
		decode = chunk.Decode
	}
	n := int64(f.Index.Header.NBytes)
	if err := limit("index: nbytes", f.Index.Offset+4, n, f.limits.Index); err != nil {
		return nil, err
	}
	b, err := f.readIndex()
	if err != nil {
		return nil, err
	}
	offsets := make([]Offset, (n+7)/8)
	if err := decode(memory(offsets)[:n], b); err != nil {
		return nil, movedError(err, f.Index.Offset)
	}
	offsets = offsets[:n/8]
	fromStored(offsets)
	return offsets, nil
}

// WithStored calls do with the entries as the index stores them. They are in the memory of offsets,
// because an index can have 128 MiB. Other goroutines must not use offsets meanwhile.
func WithStored(offsets []Offset, do func(b []byte) error) error {
	b := memory(offsets)
	for i, o := range offsets {
		binary.LittleEndian.PutUint64(b[8*i:], uint64(o))
	}
	defer fromStored(offsets)
	return do(b)
}

// fromStored replaces stored entries by their values.
func fromStored(offsets []Offset) {
	b := memory(offsets)
	for i := range offsets {
		offsets[i] = Offset(binary.LittleEndian.Uint64(b[8*i:]))
	}
}

// memory returns the bytes of entries, in the byte order of the processor.
func memory(offsets []Offset) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(offsets))), 8*len(offsets))
}

// readIndex returns the stored index after checks that make it safe to decompress.
func (f *Frame) readIndex() ([]byte, error) {
	b, err := readAt(f.src, f.Index.Offset, int64(f.Index.Header.CBytes), "index")
	if err != nil {
		return nil, err
	}
	if err := chunk.Check(b); err != nil {
		return nil, movedError(err, f.Index.Offset)
	}
	return b, nil
}

// ReadChunkHeader reads the header of the chunk at o, which must not be special. It reads at most
// 32 bytes.
func (f *Frame) ReadChunkHeader(o Offset) (chunk.Header, error) {
	p, err := f.locate(o)
	if err != nil {
		return chunk.Header{}, err
	}
	return p.readHeader()
}

// ReadChunk reads the whole chunk at o, which must not be special. The chunk is compressed as
// stored and is not checked; see chunk.Check.
func (f *Frame) ReadChunk(o Offset) ([]byte, error) {
	p, err := f.locate(o)
	if err != nil {
		return nil, err
	}
	h, err := p.readHeader()
	if err != nil {
		return nil, err
	}
	return readAt(p.src, p.at, int64(h.CBytes), "chunk")
}

// ReadStarts reads the block starts of the chunk at o. The header h must have passed its check, so
// the starts fit in the chunk.
func (f *Frame) ReadStarts(o Offset, h chunk.Header) ([]byte, error) {
	if !h.HasBlocks() {
		return nil, nil
	}
	p, err := f.locate(o)
	if err != nil {
		return nil, err
	}
	return readAt(p.src, p.at+int64(h.Size()), 4*int64(h.NumBlocks()), "block starts")
}

// place is the start of a chunk and its maximum length.
type place struct {
	src      io.ReaderAt
	at, most int64
}

func (p place) readHeader() (chunk.Header, error) {
	b, err := readAt(p.src, p.at, min(p.most, chunk.ExtendedHeaderSize), "chunk")
	if err != nil {
		return chunk.Header{}, err
	}
	h, err := chunk.ParseHeader(b)
	if err != nil {
		return chunk.Header{}, movedError(err, p.at)
	}
	if int64(h.CBytes) > p.most || h.CBytes < int32(h.Size()) {
		return chunk.Header{}, bad("chunk: cbytes", p.at+12, strconv.Itoa(int(h.CBytes)), fmt.Sprintf("%d to %d, the bytes there are", h.Size(), p.most), format.ErrCorrupt)
	}
	return h, nil
}

// locate finds the chunk at o.
func (f *Frame) locate(o Offset) (place, error) {
	switch {
	case o.IsSpecial():
		return place{}, bad("chunk", f.Index.Offset, o.String(), "a chunk that is stored", format.ErrUnsupported)
	case f.Type() != Sparse:
		if int64(o) > f.CBytes-chunk.MinHeaderSize {
			return place{}, bad("offset", f.Index.Offset, o.String(), fmt.Sprintf("0 to %d, inside the chunks", f.CBytes-chunk.MinHeaderSize), format.ErrCorrupt)
		}
		return place{f.src, int64(f.HeaderSize) + int64(o), f.CBytes - int64(o)}, nil
	case o > math.MaxUint32:
		return place{}, bad("offset", f.Index.Offset, o.String(), "the number of a file, below 2^32", format.ErrCorrupt)
	case f.dir == nil:
		return place{}, bad("chunk", f.Index.Offset, "a sparse frame without its directory", "the directory", format.ErrUnsupported)
	}
	file := dirFile{f.dir, ChunkFile(o)}
	size, err := file.size()
	return place{file, 0, size}, err
}

// Array returns the b2nd or Caterva metalayer of the frame, checked alone and against the frame's
// sizes. ok is false if the frame has neither. If it has both, Array returns b2nd, like C-Blosc2.
func (f *Frame) Array() (m b2ndmeta.Meta, ok bool, err error) {
	for _, name := range []string{b2ndmeta.Name, b2ndmeta.CatervaName} {
		for _, l := range f.Metalayers {
			if l.Name != name {
				continue
			}
			m, err := b2ndmeta.Parse(name, l.Content)
			if err == nil {
				err = m.Check()
			}
			if err == nil {
				err = m.CheckStorage(f.TypeSize, f.ChunkSize, f.NBytes)
			}
			return m, true, movedError(err, l.Offset)
		}
	}
	return b2ndmeta.Meta{}, false, nil
}

// limit refuses a size above its limit.
func limit(what string, offset, got, most int64) error {
	if got <= most {
		return nil
	}
	return bad(what, offset, strconv.FormatInt(got, 10), "at most "+strconv.FormatInt(most, 10), format.ErrLimit)
}

// movedError returns err with its offset relative to the start of the frame.
func movedError(err error, delta int64) error {
	var e *format.Error
	if err == nil || !errors.As(err, &e) {
		return err
	}
	moved := *e
	moved.Offset += delta
	return &moved
}

// readAt reads exactly n bytes. The caller must have compared n with the available bytes.
func readAt(r io.ReaderAt, off, n int64, what string) ([]byte, error) {
	b := make([]byte, n)
	k, err := r.ReadAt(b, off)
	if int64(k) == n {
		return b, nil
	}
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, truncated(what, off, off+int64(k), off+n)
	}
	return nil, bad(what, off, "", "", err)
}

// dirFile reads a file of a file system. It opens the file for each read, so that it needs no
// Close.
type dirFile struct {
	fsys fs.FS
	name string
}

// size returns the length of the file in bytes. The file must be regular, because opening a pipe
// would block until a writer opens it.
func (d dirFile) size() (int64, error) {
	info, err := fs.Stat(d.fsys, d.name)
	if err != nil {
		return 0, bad(d.name, 0, "", "", err)
	}
	if !info.Mode().IsRegular() {
		return 0, bad(d.name, 0, info.Mode().Type().String(), "a regular file", format.ErrCorrupt)
	}
	return info.Size(), nil
}

func (d dirFile) ReadAt(p []byte, off int64) (n int, err error) {
	f, err := d.fsys.Open(d.name)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if r, ok := f.(io.ReaderAt); ok {
		return r.ReadAt(p, off)
	}
	if _, err := io.CopyN(io.Discard, f, off); err != nil {
		return 0, err
	}
	return io.ReadFull(f, p)
}
