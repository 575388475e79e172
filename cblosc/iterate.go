//go:build cgo

// Sequential reading of a super-chunk.

package cblosc

import (
	"fmt"
	"iter"
)

// Buffers yields the data of each chunk in order. A goroutine decompresses up to ahead further
// chunks while the caller processes one. A buffer is valid until the next one is yielded. After an
// error the iteration ends.
//
// The number of chunks is taken when the iteration starts. Errors are ErrParam for a negative
// ahead, and those of DecompressChunk.
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
		// One buffer is for the caller and one for the reader; the others wait.
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
