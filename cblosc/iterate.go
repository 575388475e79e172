//go:build cgo

// Reading a super-chunk from its first chunk to its last.

package cblosc

import (
	"fmt"
	"iter"
)

// Buffers yields the data of each chunk in order, decompressing up to ahead further
// chunks on a goroutine while the caller works on one. A buffer is valid until the
// next is yielded. An error comes last.
//
// The chunks are those there are when it starts. It returns ErrParam for a negative
// ahead, and the errors of DecompressChunk.
func (s *SChunk) Buffers(ahead int) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		if ahead < 0 {
			yield(nil, refused("read", s.path, fmt.Errorf("%w: %d chunks ahead", ErrParam, ahead)))
			return
		}
		type result struct {
			b   []byte
			err error
		}
		f := s.read()
		// A buffer for the caller, one for the reader, the rest waiting.
		empty, full := make(chan []byte, ahead+1), make(chan result, ahead)
		stop, done := make(chan struct{}), make(chan struct{})
		for range min(int64(ahead)+1, int64(f.nchunks)) {
			empty <- make([]byte, f.chunksize)
		}
		go func() {
			defer close(done)
			defer close(full)
			for i := range int64(f.nchunks) {
				var b []byte
				select {
				case b = <-empty:
				case <-stop:
					return
				}
				n, err := s.DecompressChunk(b, i)
				select {
				case full <- result{b[:n], err}:
				case <-stop:
					return
				}
				if err != nil {
					return
				}
			}
		}()
		defer func() { <-done }()
		defer close(stop)
		for r := range full {
			if r.err != nil {
				yield(nil, r.err)
				return
			}
			if !yield(r.b, nil) {
				return
			}
			empty <- r.b[:cap(r.b)]
		}
	}
}
