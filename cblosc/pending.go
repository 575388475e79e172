// Chunks of a frame that the library has not seen yet: each is checked in Go
// before it is touched the first time.

package cblosc

// #include "shim.h"
import "C"

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/hyperslab/hyperslab/format"
	"github.com/hyperslab/hyperslab/format/cframe"
	"github.com/hyperslab/hyperslab/format/chunk"
	"github.com/hyperslab/hyperslab/internal/regular"
)

// pending knows which chunks of an opened frame are not checked, and where they
// are. A nil *pending has none.
//
// The library loads the chunks of a file lazily: it reads the header and the block
// starts, takes the distance of two starts for the length of a block, and reads
// that much into a buffer made for one block. It also starts programs to find
// codecs and filters that it does not know. Stored chunks do not move while a
// handle is open, so an offset stays right whatever is appended or deleted. Replacing a
// chunk moves the chunks after it; all chunks are checked before the first change.
type pending struct {
	frame *cframe.Frame
	src   io.ReaderAt     // the frame, if it is on storage written in Go
	path  string          // "" if the frame is in memory or on src
	base  int64           // where the frame starts in its file
	at    []cframe.Offset // chunk i, special ones and those done as a negative number
	left  int             // how many are not negative
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
// chunk when it opens the frame, and allocates 8 bytes for each block of a stored chunk before it
// compares the length with that of the file. Every other contradiction is found by checkStored.
func (p *pending) checkFirst() error {
	if p == nil || p.at[0].IsSpecial() {
		return nil
	}
	h, err := p.frame.ReadChunkHeader(p.at[0])
	if err == nil && h.Flags&chunk.FlagStored != 0 && int64(h.NBytes) > int64(h.CBytes) {
		return fmt.Errorf("chunk 0: %w", invalid(&format.Error{Format: "blosc chunk", What: "nbytes", Offset: 4,
			Got: fmt.Sprint(h.NBytes), Want: fmt.Sprintf("at most %d, the bytes of the stored chunk", h.CBytes), Err: format.ErrCorrupt}))
	}
	return nil // what cannot be read is reported where the chunk is read
}

// decode decompresses one chunk, such as the index of a frame.
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

// orNone forgets the frame when nothing is left to check.
func (p *pending) orNone() *pending {
	if p == nil || p.left == 0 {
		return nil
	}
	return p
}

// insert, done and remove follow what happens to chunk i of the super-chunk.
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

// reorder follows chunks that change places: chunk i is what order[i] was.
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

// checkStored makes sure that chunks first to end, not included, exist and are safe
// for the library.
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
		if err != nil {
			return fmt.Errorf("chunk %d: %w", i, invalid(err))
		}
		s.delta = s.delta || usesDelta(h.Filters)
		s.pending = s.pending.done(i)
	}
	return nil
}

// fits says whether the stored chunk i is what the super-chunk expects there.
func (s *SChunk) fits(i int64, h chunk.Header) error {
	bad := func(what string, offset int64, got, want any) error {
		return &format.Error{Format: "blosc chunk", What: what, Offset: offset, Got: fmt.Sprint(got), Want: fmt.Sprint(want), Err: format.ErrCorrupt}
	}
	size := s.chunkLen(i)
	switch {
	case !h.Extended:
		return bad("flags", 2, "a chunk of Blosc1", "one of Blosc2, as frames hold")
	case h.Blosc2Flags&chunk.Flag2Dict != 0:
		return fmt.Errorf("%w: a chunk with a dictionary in a frame", errors.ErrUnsupported)
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
		return h, nil, err // if the block starts do not fit, Check will say so
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

// checkStoredRegion makes sure that the chunks that r touches are safe.
func (a *Array) checkStoredRegion(r *region) error {
	if a.sc.pending == nil || r.nbytes == 0 {
		return nil
	}
	return a.eachChunk(r, func(i int64, _ *[maxDims]int64) error { return a.sc.checkStored(i, i+1) })
}
