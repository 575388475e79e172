// Opening of frames: header, index, trailer and the size of each chunk.

package frameio

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
)

// Frame is a frame open for reading. All its methods are safe for concurrent use without locks: no
// read waits for another.
//
// A Frame represents the frame at the time of opening. Chunks that another program appends later
// are not visible and cause no errors. A chunk that another program replaces in place may be read
// half old and half new, which is detected only if it cannot be decoded. In a sparse frame, a chunk
// whose file was deleted or reused for another chunk gives an error.
type Frame struct {
	path    string
	head    *cframe.Frame
	offsets []cframe.Offset
	space   []int32  // for each stored chunk of a contiguous frame: bytes up to the next one
	sums    []uint32 // checksums that reads compare; nil without Limits.Checksums or if there are none
	src     source
	limit   int64 // Limits.Chunk
	workers workerPool
}

// Limits bounds the memory that a frame can make its reader allocate, in addition to the caller's
// buffers. Larger sizes give format.ErrLimit. Sizes are in bytes. 0 is the default, and nil is the
// zero value.
type Limits struct {
	Header  int64 // the header with its metalayers; default 64 MiB
	Trailer int64 // the trailer with its compressed metalayers; default 1 GiB
	Index   int64 // the decompressed index, 8 bytes per chunk; default 128 MiB

	// Chunk is the maximum number of bytes of values that are decoded into the reader's own memory.
	// This happens for a chunk or block if only a part of it is needed or its values are not
	// contiguous in the result. A few bytes in a file can represent many values. The default is
	// the limit of the format, 2 GiB.
	Chunk int64

	// Checksums compares each chunk that is read with its checksum, if the frame has current ones
	// (HasChecksums). A chunk with another checksum gives format.ErrCorrupt with both values.
	// Chunks are then read whole, also if only some of their blocks are needed.
	Checksums bool

	// AnyCodec opens frames also if their codec or filters are not available, for example to read
	// the metadata. Reading a chunk with such a codec or filter returns errors.ErrUnsupported.
	AnyCodec bool
}

func (l Limits) ofFrame() cframe.Limits {
	return cframe.Limits{Header: l.Header, Trailer: l.Trailer, Index: l.Index}
}

// filled returns the limits with the defaults.
func (l *Limits) filled() Limits {
	d := cframe.DefaultLimits()
	if l == nil {
		return Limits{Header: d.Header, Trailer: d.Trailer, Index: d.Index, Chunk: chunk.MaxNBytes}
	}
	return Limits{
		Header: cmp.Or(l.Header, d.Header), Trailer: cmp.Or(l.Trailer, d.Trailer), Index: cmp.Or(l.Index, d.Index),
		Chunk: cmp.Or(l.Chunk, chunk.MaxNBytes), Checksums: l.Checksums, AnyCodec: l.AnyCodec,
	}
}

// Open opens a contiguous frame (a file) or a sparse one (a directory). Header, metalayers, index
// and trailer are read and checked. Each chunk is checked when it is read.
//
// It returns fs.ErrNotExist; cblosc.ErrFormat, with format.ErrMagic, format.ErrTruncated,
// format.ErrCorrupt or format.ErrLimit; or errors.ErrUnsupported for chunks of variable length
// (C-Blosc2 3.0 and later) and for codecs and filters that are not linked.
func Open(path string, l *Limits) (*Frame, error) {
	info, err := os.Stat(filepath.Clean(path))
	if err != nil {
		return nil, &Error{"open", filepath.Clean(path), -1, err}
	}
	if info.IsDir() {
		return openBy(openDir, path, l)
	}
	return openBy(openFile, path, l)
}

// OpenMapped is Open for a contiguous frame whose file is mapped into memory (mmap). Chunks
// are decoded from the mapping, without a read and a copy. The mapping uses address space, not
// memory. It is removed some time after Close.
//
// The file must not be truncated while it is open: an access after its end terminates the process
// (SIGBUS). A sparse frame gives errors.ErrUnsupported.
func OpenMapped(path string, l *Limits) (*Frame, error) {
	info, err := os.Stat(filepath.Clean(path))
	if err == nil && info.IsDir() {
		err = fmt.Errorf("%w: a frame of many files in one mapping", errors.ErrUnsupported)
	}
	if err != nil {
		return nil, &Error{"open", filepath.Clean(path), -1, err}
	}
	return openBy(openMapped, path, l)
}

func openBy(open func(string, cframe.Limits) (*cframe.Frame, source, error), path string, limits *Limits) (*Frame, error) {
	const op = "open"
	path = filepath.Clean(path)
	l := limits.filled()
	head, src, err := open(path, l.ofFrame())
	if err != nil {
		return nil, &Error{op, path, -1, invalid(err)}
	}
	f, err := newFrame(path, head, src, l)
	if err != nil {
		return nil, &Error{op, path, -1, errors.Join(err, src.Close())}
	}
	return f, nil
}

// OpenFS opens the sparse frame in the root directory of fsys. For example, fsys can be an archive,
// or combine several directories that each hold some of the chunks. Each read opens a file. The
// errors are those of Open and of fsys.
func OpenFS(fsys fs.FS, limits *Limits) (*Frame, error) {
	const op = "open"
	l := limits.filled()
	head, err := cframe.ReadDirLimits(fsys, l.ofFrame())
	if err != nil {
		return nil, &Error{op, "", -1, invalid(err)}
	}
	f, err := newFrame("", head, fsSource{fsys}, l)
	if err != nil {
		return nil, &Error{op, "", -1, err}
	}
	return f, nil
}

// OpenReaderAt opens the contiguous frame at the beginning of r, which must hold size bytes. Bytes
// after the frame are ignored. All readers use r concurrently, and Close does not close it. If r is
// an *os.File, workers may open its file again. The errors are those of Open and of r.
func OpenReaderAt(r io.ReaderAt, size int64, limits *Limits) (*Frame, error) {
	const op = "open"
	l := limits.filled()
	path := ""
	if f, ok := r.(*os.File); ok {
		path = f.Name()
	}
	head, err := cframe.ReadLimits(r, size, l.ofFrame())
	if err != nil {
		return nil, &Error{op, path, -1, invalid(err)}
	}
	f, err := newFrame(path, head, &fileSource{r, int64(head.HeaderSize), nil}, l)
	if err != nil {
		return nil, &Error{op, path, -1, err}
	}
	return f, nil
}

// newFrame checks the header and trailer and decodes the index.
func newFrame(path string, head *cframe.Frame, src source, l Limits) (*Frame, error) {
	check := head.Check
	if l.AnyCodec {
		check = func() error { return head.CheckLayout(chunk.Policy{}) }
	}
	if err := check(); err != nil {
		return nil, invalid(err)
	}
	// A frame without chunks can be read in any format. C-Blosc2 3 writes such arrays as format 3.
	variable := fmt.Errorf("%w: a frame of format %d, with chunks or blocks of variable length", errors.ErrUnsupported, head.Version())
	vary := head.VariableChunks() || head.VLBlocks()
	if vary && head.NBytes != 0 {
		return nil, variable
	}
	f := &Frame{path: path, head: head, src: src, limit: l.Chunk}
	f.workers.src = src
	var err error
	f.offsets, err = head.Offsets(func(dst, b []byte) error {
		return f.workers.with(func(w *worker) error { _, err := w.d.Decompress(dst, b); return err })
	})
	if err == nil {
		err = f.measure()
	}
	if err == nil && l.Checksums && f.HasChecksums() {
		f.sums, err = f.checksums()
	}
	if err == nil && vary && len(f.offsets) > 0 {
		return nil, errors.Join(variable, f.workers.close())
	}
	if err != nil {
		return nil, errors.Join(invalid(err), f.workers.close())
	}
	if dir, ok := src.(*dirSource); ok {
		dir.offsets = f.offsets
	}
	return f, nil
}

// measure checks the index and computes the space of each chunk: up to the next one, or to the
// index. With it, one read returns a whole chunk.
func (f *Frame) measure() error {
	contiguous := f.head.Type() == cframe.Contiguous
	ascending, last := true, cframe.Offset(-1)
	for i, o := range f.offsets {
		if err := o.Check(); err != nil {
			return fmt.Errorf("chunk %d: %w", i, err)
		}
		if o.IsSpecial() {
			continue
		}
		most := int64(math.MaxUint32) // maximum number of a chunk file
		if contiguous {
			most = f.head.CBytes - chunk.MinHeaderSize
		}
		if int64(o) > most {
			return fmt.Errorf("chunk %d: %w", i, corrupt("offset", 0, o, fmt.Sprintf("0 to %d", most)))
		}
		ascending = ascending && o > last
		last = o
	}
	if !contiguous || last < 0 { // no chunk is stored
		return nil
	}
	sorted := f.offsets
	if !ascending {
		sorted = slices.Clone(f.offsets)
		slices.Sort(sorted)
	}
	f.space = make([]int32, len(f.offsets))
	space := func(at int64, end int64) int32 { return int32(min(end-at, math.MaxInt32)) }
	if ascending {
		end := f.head.CBytes
		for i, o := range slices.Backward(f.offsets) {
			if !o.IsSpecial() {
				f.space[i] = space(int64(o), end)
				end = int64(o)
			}
		}
		return nil
	}
	for i, o := range f.offsets {
		if o.IsSpecial() {
			continue
		}
		end := f.head.CBytes
		if k, _ := slices.BinarySearch(sorted, o+1); k < len(sorted) {
			end = int64(sorted[k])
		}
		f.space[i] = space(int64(o), end)
	}
	return nil
}

// Close closes the file and frees the contexts. Active reads finish or return ErrClosed. Calls that
// start after Close, including a second Close, return ErrClosed.
func (f *Frame) Close() error {
	err := f.workers.close()
	if err == nil {
		err = f.src.Close()
	}
	if err != nil {
		return &Error{"close", f.path, -1, err}
	}
	return nil
}

// Header is the content of a frame's header. Sizes are in bytes.
type Header struct {
	HeaderSize int
	FrameSize  int64
	CBytes     int64              // size of all chunks
	CParams    cblosc.CParams     // parameters of new chunks; a frame stores no number of threads
	Meta       []cblosc.Metalayer // fixed metalayers in storage order
}

// Metalayer returns the content of a fixed metalayer. The caller must not change it.
func (h *Header) Metalayer(name string) (content []byte, ok bool) {
	for _, m := range h.Meta {
		if m.Name == name {
			return m.Content, true
		}
	}
	return nil, false
}

// Header returns the stored header. The caller must not change the content of the metalayers.
func (f *Frame) Header() *Header {
	h := &f.head.Header
	out := &Header{HeaderSize: int(h.HeaderSize), FrameSize: h.FrameSize, CBytes: h.CBytes, CParams: cblosc.CParams{
		Codec: cblosc.Codec(h.Codec()), CodecMeta: h.CodecMeta, Level: h.Level(), TypeSize: int(h.TypeSize),
		BlockSize: int(h.BlockSize), Split: cblosc.SplitMode(h.SplitMode()),
	}}
	for i, id := range h.Filters {
		out.CParams.Filters[i] = cblosc.Filter{ID: cblosc.FilterID(id), Meta: h.FiltersMeta[i]}
	}
	for _, m := range h.Metalayers {
		out.Meta = append(out.Meta, cblosc.Metalayer{Name: m.Name, Content: m.Content})
	}
	return out
}

// NumChunks returns the number of chunks.
func (f *Frame) NumChunks() int64 { return int64(len(f.offsets)) }

// NBytes returns the size of the values of all chunks in bytes.
func (f *Frame) NBytes() int64 { return f.head.NBytes }

// TypeSize returns the size of an element in bytes.
func (f *Frame) TypeSize() int { return int(f.head.TypeSize) }

// ChunkSize returns the size of the values of each chunk except the last in bytes, or 0 without
// chunks.
func (f *Frame) ChunkSize() int { return max(0, int(f.head.ChunkSize)) }

// chunkLen returns the size of the values of chunk i, which must exist, in bytes.
func (f *Frame) chunkLen(i int64) int {
	size := int64(f.head.ChunkSize)
	return int(min(size, f.head.NBytes-i*size))
}

// allow checks whether n bytes of values may be decoded into the reader's own memory.
func (f *Frame) allow(n int) error {
	if int64(n) <= f.limit {
		return nil
	}
	return &format.Error{Format: "blosc chunk", What: "nbytes", Offset: 4, Got: fmt.Sprint(n), Want: fmt.Sprintf("at most %d", f.limit), Err: format.ErrLimit}
}

// VLMetalayer returns the decompressed content of a variable-length metalayer. It returns
// cblosc.ErrNotFound, cblosc.ErrFormat, format.ErrLimit above Limits.Chunk, or cblosc.ErrClosed.
func (f *Frame) VLMetalayer(name string) ([]byte, error) {
	const op = "read metalayer"
	b, ok := f.head.Trailer.VLMetalayer(name)
	if !ok {
		return nil, &Error{op, f.path, -1, fmt.Errorf("%w: %q", cblosc.ErrNotFound, name)}
	}
	h, err := chunk.ParseHeader(b) // checked when the frame was opened
	var dst []byte
	if err == nil {
		err = f.allow(int(h.NBytes))
	}
	if err == nil {
		dst = make([]byte, h.NBytes)
		err = f.workers.with(func(w *worker) error { _, err := w.d.Decompress(dst, b); return err })
	}
	if err != nil {
		return nil, &Error{op, f.path, -1, fmt.Errorf("%q: %w", name, invalid(err))}
	}
	return dst, nil
}

// VLMetalayerSize returns the size of the content of a variable-length metalayer according to its
// chunk header, and its stored size, in bytes. It returns cblosc.ErrNotFound or cblosc.ErrFormat.
func (f *Frame) VLMetalayerSize(name string) (content, stored int64, err error) {
	const op = "measure metalayer"
	b, ok := f.head.Trailer.VLMetalayer(name)
	if !ok {
		return 0, 0, &Error{op, f.path, -1, fmt.Errorf("%w: %q", cblosc.ErrNotFound, name)}
	}
	h, err := chunk.ParseHeader(b)
	if err != nil {
		return 0, 0, &Error{op, f.path, -1, fmt.Errorf("%q: %w", name, invalid(err))}
	}
	return int64(h.NBytes), int64(len(b)), nil
}

// VLMetalayers returns the names of the variable-length metalayers in storage order.
func (f *Frame) VLMetalayers() []string {
	names := make([]string, len(f.head.Trailer.VLMetalayers))
	for i, m := range f.head.Trailer.VLMetalayers {
		names[i] = m.Name
	}
	return names
}

// ChunkFiles returns the file name of each chunk in the directory of a sparse frame. The name is ""
// for special chunks, which have no file. It returns nil for a frame in one file.
func (f *Frame) ChunkFiles() []string {
	if f.head.Type() != cframe.Sparse {
		return nil
	}
	out := make([]string, len(f.offsets))
	for i, o := range f.offsets {
		if !o.IsSpecial() {
			out[i] = cframe.ChunkFile(o)
		}
	}
	return out
}
