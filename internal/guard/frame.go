// Frames of Blosc2 before C-Blosc2 opens them, and their stored chunks before it reads them.

package guard

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/b2ndmeta"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
)

// IndexFile is the file in a sparse frame's directory that contains everything except the chunks.
const IndexFile = cframe.IndexFile

// Decode decompresses the whole chunk b into dst, which has the length of its data.
type Decode = func(dst, b []byte) error

// Frame is a frame whose header, trailer, index and metalayers have been checked. Sizes are in
// bytes.
type Frame struct {
	Size       int64 // size of the frame
	HeaderSize int
	NBytes     int64 // size of the data of all chunks
	NumChunks  int64
	ChunkSize  int // size of the data of a chunk, -1 if there is none
	TypeSize   int
	Version    int

	Contiguous     bool
	VariableChunks bool // chunks may have different lengths
	VLBlocks       bool // blocks of chunks have variable length
	Delta          bool // new chunks store differences to their first block

	f *cframe.Frame
}

// OpenFrame checks the frame that starts at the beginning of r, which has size bytes. The Frame
// keeps r to read the index and the chunks.
func OpenFrame(r io.ReaderAt, size int64, p Policy) (*Frame, error) {
	f, err := cframe.Read(r, size)
	if err != nil {
		return nil, err
	}
	return newFrame(f, p)
}

// OpenDir is OpenFrame for the sparse frame in the directory dir.
func OpenDir(dir fs.FS, p Policy) (*Frame, error) {
	f, err := cframe.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &format.Error{Format: "blosc2 frame", What: "directory", Got: "a directory without " + IndexFile, Want: "a sparse frame", Err: format.ErrMagic}
	}
	if err != nil {
		return nil, err
	}
	return newFrame(f, p)
}

func newFrame(f *cframe.Frame, p Policy) (*Frame, error) {
	if err := f.CheckPolicy(p.p); err != nil {
		return nil, err
	}
	return &Frame{
		Size: f.FrameSize, HeaderSize: int(f.HeaderSize), NBytes: f.NBytes, NumChunks: f.NumChunks(),
		ChunkSize: int(f.ChunkSize), TypeSize: int(f.TypeSize), Version: f.Version(),
		Contiguous: f.Type() == cframe.Contiguous, VariableChunks: f.VariableChunks(), VLBlocks: f.VLBlocks(),
		Delta: slices.Contains(f.Filters[:], chunk.Delta), f: f,
	}, nil
}

// IsFrame reports an error if the file at r, which has size bytes, does not start with a frame.
func IsFrame(r io.ReaderAt, size int64) error {
	_, err := cframe.Read(r, size)
	return err
}

// IsFrameFile reports whether the file name belongs to a sparse frame.
func IsFrameFile(name string) bool { return name == IndexFile || filepath.Ext(name) == ".chunk" }

// FrameHeader returns the size of the header of the frame b, and of its chunks.
func FrameHeader(b []byte) (size int, cbytes int64, err error) {
	h, err := cframe.ParseHeader(b)
	return int(h.HeaderSize), h.CBytes, err
}

// Ends returns the bytes of the header and of the trailer. They are all that C-Blosc2 reads to open
// a frame.
func (f *Frame) Ends() (header, trailer []byte, err error) { return f.f.Ends() }

// Array is the metalayer of an array.
type Array struct {
	Shape          []int64
	Chunks, Blocks []int32
	Caterva        bool
}

// Array returns the b2nd or Caterva metalayer of the frame, checked alone and against the sizes of
// the frame. ok is false if the frame has neither.
func (f *Frame) Array() (a Array, ok bool, err error) {
	m, ok, err := f.f.Array()
	return Array{m.Shape, m.Chunks, m.Blocks, m.Caterva}, ok, err
}

// Check returns an error if C-Blosc2 must not read these shapes.
func (a *Array) Check() error {
	return b2ndmeta.Meta{Shape: a.Shape, Chunks: a.Chunks, Blocks: a.Blocks, Caterva: a.Caterva}.Check()
}

// NumChunks returns the number of chunks of a checked array.
func (a *Array) NumChunks() int64 {
	return b2ndmeta.Meta{Shape: a.Shape, Chunks: a.Chunks}.NumChunks()
}

// MaxDims is the maximum number of dimensions of an array.
const MaxDims = b2ndmeta.MaxDims

// Names of the metalayers of arrays.
const (
	ArrayName   = b2ndmeta.Name
	CatervaName = b2ndmeta.CatervaName
)

// ArrayMeta checks the content of a metalayer of an array and returns its number of dimensions.
// C-Blosc2 decodes it without any check.
func ArrayMeta(content []byte, caterva bool) (rank int, err error) {
	name := ArrayName
	if caterva {
		name = CatervaName
	}
	m, err := b2ndmeta.Parse(name, content)
	if err == nil {
		err = m.Check()
	}
	return len(m.Shape), err
}

// OneChunk returns the location of the only chunk of the frame in bytes from its start, or the kind
// of special chunk that it is. The location may be outside the frame.
func (f *Frame) OneChunk(decode Decode) (at int64, special int, err error) {
	if f.NumChunks != 1 {
		return 0, 0, badFrame("chunks", f.NumChunks, 1)
	}
	offsets, err := f.f.Offsets(decode)
	if err != nil {
		return 0, 0, err
	}
	if len(offsets) != 1 {
		return 0, 0, badFrame("index", fmt.Sprintf("%d chunks", len(offsets)), 1)
	}
	o := offsets[0]
	return int64(f.HeaderSize) + int64(o), int(o.Special()), nil
}

func badFrame(what string, got, want any) error {
	return &format.Error{Format: "blosc2 frame", What: what, Got: fmt.Sprint(got), Want: fmt.Sprint(want), Err: format.ErrCorrupt}
}

// Unread records which chunks of a frame are not checked yet. A nil *Unread means that all are
// checked.
//
// C-Blosc2 loads the chunks of a file lazily. It reads the header and the block starts, takes the
// difference of two starts as the length of a block, and reads that many bytes into a buffer for
// one block. It also starts programs to find unknown codecs and filters. Stored chunks do not move
// while a handle is open, so an offset stays valid after chunks are appended or deleted. Replacing
// a chunk moves the chunks after it, so all chunks must be checked before the first change.
type Unread struct {
	frame *cframe.Frame
	at    []cframe.Offset // offset of each chunk; negative for special and checked chunks
	left  int             // number of offsets that are not negative
}

const done = cframe.Offset(-1)

// Unread reads the index of the frame and checks the length of the first chunk. C-Blosc2 reads the
// header of that chunk when it opens the frame. For a stored chunk it allocates 8 bytes for each
// block before it compares the length with that of the file. Check finds all other contradictions.
func (f *Frame) Unread(decode Decode) (*Unread, error) {
	offsets, err := f.f.Offsets(decode)
	if err != nil {
		return nil, err
	}
	u := &Unread{frame: f.f, at: offsets}
	for _, o := range offsets {
		if err := o.Check(); err != nil {
			return nil, err
		}
		if !o.IsSpecial() {
			u.left++
		}
	}
	if len(offsets) > 0 && !offsets[0].IsSpecial() {
		h, err := f.f.ReadChunkHeader(offsets[0]) // an error is reported when the chunk is read
		if err == nil && h.Flags&chunk.FlagStored != 0 && int64(h.NBytes) > int64(h.CBytes) {
			return nil, fmt.Errorf("chunk 0: %w", badChunk("nbytes", 4, h.NBytes, fmt.Sprintf("at most %d, the bytes of the stored chunk", h.CBytes), format.ErrCorrupt))
		}
	}
	return u.orNone(), nil
}

func (u *Unread) orNone() *Unread {
	if u == nil || u.left == 0 {
		return nil
	}
	return u
}

// Insert, Done and Remove record changes of chunk i. Insert records a new checked chunk.
func (u *Unread) Insert(i int64) *Unread {
	if u != nil {
		u.at = slices.Insert(u.at, int(i), done)
	}
	return u
}

// Done records that chunk i is checked or replaced.
func (u *Unread) Done(i int64) *Unread {
	if u != nil && u.at[i] >= 0 {
		u.at[i] = done
		u.left--
	}
	return u.orNone()
}

// Remove records that chunk i is deleted.
func (u *Unread) Remove(i int64) *Unread {
	u = u.Done(i)
	if u != nil {
		u.at = slices.Delete(u.at, int(i), int(i)+1)
	}
	return u
}

// Reorder records a new order: the new chunk i is the old chunk order[i].
func (u *Unread) Reorder(order []int64) {
	if u == nil {
		return
	}
	at := make([]cframe.Offset, len(order))
	for i, j := range order {
		at[i] = u.at[j]
	}
	u.at = at
}

// Len returns the number of chunks.
func (u *Unread) Len() int { return len(u.at) }

// Chunk returns the bytes of chunk i, which must not be special. They are not checked.
func (u *Unread) Chunk(i int64) ([]byte, error) { return u.frame.ReadChunk(u.at[i]) }

// Expected is the content that a stored chunk must have. Sizes are in bytes.
type Expected struct {
	NBytes   int // size of the data
	TypeSize int
	Block    int // size of a block of the array, 0 if the chunk is not part of an array
}

// Check checks the stored chunk i unless it is checked: header, block starts, the sizes that the
// frame requires, and the length of a dictionary. It returns the zero Chunk for a chunk that needs
// no check. The caller then calls Done.
func (u *Unread) Check(i int64, p Policy, want Expected) (Chunk, error) {
	if u == nil || u.at[i].IsSpecial() {
		return Chunk{}, nil
	}
	o := u.at[i]
	h, err := u.frame.ReadChunkHeader(o)
	if err != nil {
		return Chunk{}, err
	}
	c := chunkOf(&h)
	var starts []byte
	if c.HasBlocks && c.Extended && int64(c.NumBlocks)*4 <= int64(c.CBytes) { // otherwise the next checks fail
		starts, err = u.frame.ReadStarts(o, h)
	}
	if err == nil {
		err = p.p.CheckHeader(&h)
	}
	if err == nil {
		err = c.Readable()
	}
	if err == nil {
		err = h.CheckStarts(starts)
	}
	if err == nil {
		err = c.fits(want)
	}
	if err == nil && c.Dict {
		var b []byte
		if b, err = u.frame.ReadChunk(o); err == nil {
			_, err = Whole(b, p)
		}
	}
	return c, err
}

// fits reports whether the chunk matches the frame.
func (c *Chunk) fits(want Expected) error {
	bad := func(what string, offset int, got, want any) error {
		return badChunk(what, offset, got, want, format.ErrCorrupt)
	}
	switch {
	case !c.Extended:
		return bad("flags", 2, "a chunk of Blosc1", "one of Blosc2, as frames hold")
	case c.NBytes != want.NBytes:
		return bad("nbytes", 4, c.NBytes, want.NBytes)
	case c.Repeated() && c.ItemSize != want.TypeSize:
		return bad("cbytes", 12, c.CBytes, fmt.Sprintf("%d, the header and one element", Blosc2Header+want.TypeSize))
	case want.Block > 0 && c.BlockLen != min(want.Block, want.NBytes):
		return bad("blocksize", 8, c.BlockSize, fmt.Sprintf("%d, the block of the array", want.Block))
	}
	return nil
}
