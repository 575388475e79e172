//go:build cgo

// Super-chunks whose chunks are made and read by contexts of the caller's: with a
// prefilter, a tuner, a postfilter.

package cblosc

import (
	"errors"
	"fmt"
)

// CompressWith lets c make the chunks of AppendBuffer and WriteItems from now on, instead
// of the super-chunk's own context: one that is prefiltered or tuned. What goes in
// compressed, and what Fill makes, does not pass c. nil ends it.
//
// The caller closes c, after the last use: then it is ErrClosed. Its functions must not
// use the super-chunk. An error in one leaves the chunk that it was for as it was, and the
// super-chunk in order. With a prefilter WriteItems takes whole chunks only, since what it
// keeps of a chunk was filtered before: errors.ErrUnsupported for others.
//
// It returns ErrParam if c makes chunks of elements of another size or with a dictionary,
// ErrReadOnly, errors.ErrUnsupported for the super-chunk of an Array, whose chunks hold
// blocks of several dimensions with padding, or ErrClosed.
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
	case p.Dict:
		err = fmt.Errorf("%w: a Compressor with a dictionary, which a super-chunk does not hold", ErrParam)
	}
	if err != nil {
		return refused(op, s.path, err)
	}
	s.with = c
	return nil
}

var errArrayWith = fmt.Errorf("%w: the chunks of an array, which only the array makes and reads", errors.ErrUnsupported)

// DecompressWith lets d read the data from now on, instead of the super-chunk's own
// context: in DecompressChunk, DecompressItems, ReadItems, ReadPoints and Buffers. Chunks
// are decompressed whole then. Copy, Save, Bytes and WriteItems see what is stored. nil
// ends it.
//
// The caller closes d, after the last use: then it is ErrClosed. Its functions must not
// use the super-chunk. What d does not allow (DParams.Allow) is not read.
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

// makeLocked returns the chunk number i of src that s.with makes, checked as one from
// outside: a tuner may choose what the super-chunk does not read back.
func (s *SChunk) makeLocked(op string, i int64, src []byte) ([]byte, error) {
	b := make([]byte, MaxCompressedSize(len(src)))
	n, err := s.with.compressAs(op, b, src, i)
	if err != nil {
		return nil, s.named(err)
	}
	return b[:n:n], nil
}

// appendMadeLocked is AppendBuffer with s.with.
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

// writeMadeLocked is WriteItems with s.with, of the chunks first to last.
func (s *SChunk) writeMadeLocked(op string, src []byte, start, first, last int64) error {
	if s.with.hooks != nil && s.with.hooks.block != nil {
		err := s.eachPart(first, last, start, len(src), func(i int64, lo, hi, _ int) error {
			if n := s.chunkLen(i); hi-lo < n {
				return refused(op, s.path, fmt.Errorf("%w: bytes [%d, %d) of chunk %d of %d behind a prefilter, which would filter the others again", errors.ErrUnsupported, lo, hi, i, n))
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return s.eachPart(first, last, start, len(src), func(i int64, lo, hi, at int) error {
		data := src[at : at+hi-lo]
		if len(data) < s.chunkLen(i) {
			all := make([]byte, s.chunkLen(i))
			if _, err := s.decompressLocked(op, all, i); err != nil {
				return err
			}
			copy(all[lo:], data)
			data = all
		}
		b, err := s.makeLocked(op, i, data)
		if err != nil {
			return err
		}
		h, err := s.checkForSChunk(b)
		if err != nil {
			return refused(op, s.path, err)
		}
		return s.putLocked(op, putInPlace, i, h, b)
	})
}

// readLocked is decompressLocked with s.through, if there is one.
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
