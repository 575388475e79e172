// Chunks of a frame that the library has not read yet. Each chunk is checked in Go before its first
// use.

package cblosc

// #include "shim.h"
import "C"

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
	"github.com/hyperslab/hyperslab/internal/regular"
)

// pending records which chunks of an opened frame are not checked yet, and their offsets. A nil
// *pending means that all are checked.
//
// The library loads the chunks of a file lazily. It reads the header and the block starts, takes
// the difference of two starts as the length of a block, and reads that many bytes into a buffer
// for one block. It also starts programs to find unknown codecs and filters. Stored chunks do not
// move while a handle is open, so an offset stays valid after chunks are appended or deleted.
// Replacing a chunk moves the chunks after it, so all chunks are checked before the first change.
type pending struct {
	frame *cframe.Frame
	src   io.ReaderAt     // the frame, for storage written in Go
	path  string          // "" for a frame in memory or on src
	base  int64           // start of the frame in its file
	at    []cframe.Offset // offset of each chunk; negative for special and checked chunks
	left  int             // number of offsets that are not negative
}

const checked = cframe.Offset(-1)

func newPending(f *cframe.Frame, path string, base int64) (*pending, error) {
	offsets, err := f.Offsets(decode)
	if err != nil {
		return nil, invalid(err)
	}
	p := &pending{frame: f, path: path, base: base, at: offsets}
	for _, o := range offsets {
		if err := o.Check(); err != nil {
			return nil, invalid(err)
		}
		if !o.IsSpecial() {
			p.left++
		}
	}
	return p.orNone(), nil
}

// checkFirst checks the length of the first chunk of a frame. The library reads the header of that
// chunk when it opens the frame. For a stored chunk it allocates 8 bytes for each block before it
// compares the length with that of the file. checkStored finds all other contradictions.
func (p *pending) checkFirst() error {
	if p == nil || p.at[0].IsSpecial() {
		return nil
	}
	h, err := p.frame.ReadChunkHeader(p.at[0])
	if err == nil && h.Flags&chunk.FlagStored != 0 && int64(h.NBytes) > int64(h.CBytes) {
		return fmt.Errorf("chunk 0: %w", invalid(&format.Error{Format: "blosc chunk", What: "nbytes", Offset: 4,
			Got: fmt.Sprint(h.NBytes), Want: fmt.Sprintf("at most %d, the bytes of the stored chunk", h.CBytes), Err: format.ErrCorrupt}))
	}
	return nil // a read error is reported when the chunk is read
}

// decode decompresses one chunk, for example the index of a frame.
func decode(dst, b []byte) error {
	d, err := NewDecompressor(nil)
	if err != nil {
		return err
	}
	_, err = d.Decompress(dst, b)
	if cerr := d.Close(); err == nil {
		err = cerr
	}
	return err
}

// orNone returns nil if all chunks are checked.
func (p *pending) orNone() *pending {
	if p == nil || p.left == 0 {
		return nil
	}
	return p
}

// insert, done and remove record changes of chunk i of the super-chunk.
func (p *pending) insert(i int64) *pending {
	if p != nil {
		p.at = slices.Insert(p.at, int(i), checked)
	}
	return p
}

func (p *pending) done(i int64) *pending {
	if p != nil && p.at[i] >= 0 {
		p.at[i] = checked
		p.left--
	}
	return p.orNone()
}

func (p *pending) remove(i int64) *pending {
	p = p.done(i)
	if p != nil {
		p.at = slices.Delete(p.at, int(i), int(i)+1)
	}
	return p
}

// reorder records a new order: the new chunk i is the old chunk order[i].
func (p *pending) reorder(order []int64) {
	if p == nil {
		return
	}
	at := make([]cframe.Offset, len(order))
	for i, j := range order {
		at[i] = p.at[j]
	}
	p.at = at
}

// checkStored verifies that the chunks first to end (exclusive) exist and are safe for the library.
func (s *SChunk) checkStored(first, end int64) error {
	if n := int64(s.facts.nchunks); first < 0 || first > end || end > n {
		return fmt.Errorf("%w: chunk %d of %d", ErrRegion, first, n)
	}
	if s.vl != nil {
		return fmt.Errorf("%w: blocks of variable length, which only VLBlock reads", errors.ErrUnsupported)
	}
	for i := first; i < end && s.pending != nil; i++ {
		o := s.pending.at[i]
		if o.IsSpecial() {
			continue
		}
		h, starts, err := s.pending.readHead(o)
		if err == nil {
			err = s.allow.CheckHeader(h)
		}
		if err == nil {
			err = checkReads(h)
		}
		if err == nil {
			err = h.CheckStarts(starts)
		}
		if err == nil {
			err = s.fits(i, h)
		}
		if err == nil && h.Blosc2Flags&chunk.Flag2Dict != 0 {
			err = s.checkDictionary(o)
		}
		if err != nil {
			return fmt.Errorf("chunk %d: %w", i, invalid(err))
		}
		s.entire = s.entire || needsEntire(&h)
		s.pending = s.pending.done(i)
	}
	return nil
}

// checkDictionary checks the length of the dictionary of the stored chunk at o.
func (s *SChunk) checkDictionary(o cframe.Offset) error {
	b, err := s.pending.frame.ReadChunk(o)
	if err == nil {
		_, err = checkChunk(b, s.allow)
	}
	return err
}

// fits reports whether the header of stored chunk i matches the super-chunk.
func (s *SChunk) fits(i int64, h chunk.Header) error {
	bad := func(what string, offset int64, got, want any) error {
		return &format.Error{Format: "blosc chunk", What: what, Offset: offset, Got: fmt.Sprint(got), Want: fmt.Sprint(want), Err: format.ErrCorrupt}
	}
	size := s.chunkLen(i)
	switch {
	case !h.Extended:
		return bad("flags", 2, "a chunk of Blosc1", "one of Blosc2, as frames hold")
	case int(h.NBytes) != size:
		return bad("nbytes", 4, h.NBytes, size)
	case h.Special == chunk.RepeatedValue && h.ItemSize() != int(s.facts.typesize):
		return bad("cbytes", 12, h.CBytes, fmt.Sprintf("%d, the header and one element", headerLength+s.facts.typesize))
	case s.array && int(h.BlockLen()) != min(s.block, size):
		return bad("blocksize", 8, h.BlockSize, fmt.Sprintf("%d, the block of the array", s.block))
	}
	return nil
}

// readHead reads the header of the chunk at o and its block starts.
func (p *pending) readHead(o cframe.Offset) (chunk.Header, []byte, error) {
	h, err := p.frame.ReadChunkHeader(o)
	if err != nil || !h.HasBlocks() || !h.Extended || int64(h.NumBlocks())*4 > int64(h.CBytes) {
		return h, nil, err // if the block starts do not fit, Check reports it
	}
	if p.src != nil {
		starts := make([]byte, 4*int(h.NumBlocks()))
		_, err := p.src.ReadAt(starts, int64(p.frame.HeaderSize)+int64(o)+int64(h.Size()))
		return h, starts, err
	}
	if p.path == "" {
		b, err := p.frame.ReadChunk(o)
		if err != nil {
			return h, nil, err
		}
		return h, b[h.Size():min(len(b), h.Size()+4*int(h.NumBlocks()))], nil
	}
	file, at := p.path, p.base+int64(p.frame.HeaderSize)+int64(o)
	if p.frame.Type() == cframe.Sparse {
		file, at = filepath.Join(p.path, cframe.ChunkFile(o)), 0
	}
	starts := make([]byte, 4*int(h.NumBlocks()))
	f, _, err := regular.Open(file)
	if err != nil {
		return h, nil, err
	}
	_, err = io.ReadFull(io.NewSectionReader(f, at+int64(h.Size()), int64(len(starts))), starts)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return h, starts, err
}

// checkStoredRegion verifies that the chunks that r touches are safe for the library.
func (a *Array) checkStoredRegion(r *region) error {
	if a.sc.pending == nil || r.nbytes == 0 {
		return nil
	}
	return a.eachChunk(r, func(i int64, _ *[maxDims]int64) error { return a.sc.checkStored(i, i+1) })
}
