//go:build cgo

// Super-chunks with a Compressor or Decompressor of the caller, for example one with a prefilter, a
// tuner or a postfilter.

package cblosc

import (
	"errors"
	"fmt"
)

// CompressWith makes AppendBuffer compress with c, which may have a prefilter or a tuner, instead
// of the super-chunk's context. Chunks that are added compressed, and those of Fill, do not use c.
// WriteItems then returns errors.ErrUnsupported; use UpdateChunk with a chunk of c instead. A nil c
// restores the super-chunk's context.
//
// The caller must close c after the last use; calls after that return ErrClosed. The functions of c
// must not use the super-chunk. If one of them fails, the chunk is unchanged and the super-chunk
// stays usable.
//
// It returns ErrParam if c has another TypeSize, ErrReadOnly, ErrClosed, or
// errors.ErrUnsupported for the super-chunk of an Array, whose chunks hold multidimensional blocks
// with padding.
func (s *SChunk) CompressWith(c *Compressor) error {
	const op = "compress with"
	var p CParams
	if c != nil {
		p = c.CParams()
	}
	if err := s.h.lockWrite(op); err != nil {
		return err
	}
	defer s.h.mu.Unlock()
	var err error
	switch size := int(s.facts.typesize); {
	case s.array:
		err = errArrayWith
	case c == nil:
	case p.TypeSize != size:
		err = fmt.Errorf("%w: a Compressor for elements of %d bytes, the super-chunk's have %d", ErrParam, p.TypeSize, size)
	}
	if err != nil {
		return refused(op, s.path, err)
	}
	s.with = c
	return nil
}

var errArrayWith = fmt.Errorf("%w: the chunks of an array, which only the array makes and reads", errors.ErrUnsupported)

// DecompressWith makes DecompressChunk, DecompressItems, ReadItems, ReadPoints and Buffers
// decompress with d instead of the super-chunk's context. Chunks are then decompressed whole. Copy,
// Save, Bytes and WriteItems still use the stored data. A nil d restores the super-chunk's context.
//
// The caller must close d after the last use; calls after that return ErrClosed. The functions of d
// must not use the super-chunk. Chunks that d does not allow (DParams.Allow) cannot be read.
//
// It returns errors.ErrUnsupported for the super-chunk of an Array, or ErrClosed.
func (s *SChunk) DecompressWith(d *Decompressor) error {
	const op = "decompress with"
	if err := s.h.lock(op); err != nil {
		return err
	}
	defer s.h.mu.Unlock()
	if s.array {
		return refused(op, s.path, errArrayWith)
	}
	s.through = d
	return nil
}

// makeLocked returns chunk i of the data src, compressed by s.with. The caller must check it like
// an untrusted chunk, because a tuner may choose parameters that the super-chunk cannot read.
func (s *SChunk) makeLocked(op string, i int64, src []byte) ([]byte, error) {
	b := make([]byte, MaxCompressedSize(len(src)))
	n, err := s.with.compressAs(op, b, src, i)
	if err != nil {
		return nil, s.named(err)
	}
	return b[:n:n], nil
}

// appendMadeLocked implements AppendBuffer with s.with.
func (s *SChunk) appendMadeLocked(op string, src []byte) error {
	i := int64(s.facts.nchunks)
	b, err := s.makeLocked(op, i, src)
	if err != nil {
		return err
	}
	h, err := s.checkForSChunk(b)
	if err != nil {
		return refused(op, s.path, err)
	}
	return s.putLocked(op, putLast, i, h, b)
}

// readLocked is decompressLocked, or decompresses with s.through if it is set.
func (s *SChunk) readLocked(op string, dst []byte, i int64) (int, error) {
	if s.through == nil {
		return s.decompressLocked(op, dst, i)
	}
	b, err := s.chunkLocked(op, i)
	if err != nil {
		return 0, err
	}
	n, err := s.through.decompressAs(op, dst, b, i)
	return n, s.named(err)
}

// named adds the path of the super-chunk to an error of a context.
func (s *SChunk) named(err error) error {
	if e, ok := err.(*Error); ok && e.Path == "" {
		e.Path = s.path
	}
	return err
}
