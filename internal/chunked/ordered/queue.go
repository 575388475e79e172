// Queue, which holds blocks that arrive too early in memory and, beyond a limit, in a temporary
// file.

package ordered

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"

	"github.com/hyperslab/hyperslab/internal/files/regularfile"
)

// Queue calls a function for numbered blocks of bytes in the order of their numbers, in whichever
// order they arrive. Its methods are safe for concurrent use; the function is called by one
// goroutine at a time.
type Queue[T any] struct {
	store func(n int64, b []byte, tag T) error
	limit int
	dir   string

	mu      sync.Mutex
	next    int64 // all blocks before it are stored or skipped
	waiting map[int64]block[T]
	held    int      // bytes of the waiting blocks in memory
	file    *os.File // nil until the memory limit is first exceeded
	end     int64    // end of the used part of file
	err     error    // the first error of store or of the file
}

// block is a waiting block.
type block[T any] struct {
	b    []byte // nil if the block has no bytes or they are in the file
	tag  T
	skip bool  // the block was skipped
	at   int64 // offset in the file
	n    int   // bytes in the file; 0: the block is not in the file
}

// New returns a queue that begins with number 0. At most limit bytes of waiting blocks are in
// memory. The others are in a temporary file in the directory dir, "" for os.TempDir. The file has
// no name, so it disappears with the process at the latest. store must not keep b.
func New[T any](limit int, dir string, store func(n int64, b []byte, tag T) error) *Queue[T] {
	return &Queue[T]{store: store, limit: limit, dir: dir, waiting: make(map[int64]block[T])}
}

// Put adds block n. It is stored at once if it is the next block, or an earlier one that is put
// again; otherwise a copy waits. Put returns the first error of store or of the temporary file,
// from this call or an earlier one.
func (q *Queue[T]) Put(n int64, b []byte, tag T) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err == nil {
		q.err = q.put(n, b, tag)
	}
	return q.err
}

func (q *Queue[T]) put(n int64, b []byte, tag T) error {
	if n > q.next {
		return q.wait(n, b, tag)
	}
	if err := q.store(n, b, tag); err != nil || n < q.next {
		return err
	}
	q.next++
	return q.advance()
}

// Skip marks block n as missing, so that later blocks do not wait for it.
func (q *Queue[T]) Skip(n int64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.err != nil || n < q.next:
	case n > q.next:
		q.waiting[n] = block[T]{skip: true}
	default:
		q.next++
		q.err = q.advance()
	}
	return q.err
}

// wait keeps block n until its turn.
func (q *Queue[T]) wait(n int64, b []byte, tag T) error {
	q.held -= len(q.waiting[n].b)
	x := block[T]{tag: tag}
	switch {
	case b == nil:
	case q.held+len(b) <= q.limit:
		x.b = bytes.Clone(b)
		q.held += len(b)
	default:
		if q.file == nil {
			f, err := regularfile.Temp(q.dir)
			if err != nil {
				return fmt.Errorf("temporary file: %w", err)
			}
			q.file = f
		}
		if _, err := q.file.WriteAt(b, q.end); err != nil {
			return fmt.Errorf("temporary file: %w", err)
		}
		x.at, x.n = q.end, len(b)
		q.end += int64(len(b))
	}
	q.waiting[n] = x
	return nil
}

// advance stores the blocks that waited for those before them.
func (q *Queue[T]) advance() error {
	for ; ; q.next++ {
		x, ok := q.waiting[q.next]
		if !ok {
			break
		}
		if err := q.release(q.next, x); err != nil {
			return err
		}
	}
	if len(q.waiting) == 0 {
		q.end = 0 // reuse the file from its beginning
	}
	return nil
}

func (q *Queue[T]) release(n int64, x block[T]) error {
	delete(q.waiting, n)
	if x.skip {
		return nil
	}
	q.held -= len(x.b)
	if x.n > 0 {
		x.b = make([]byte, x.n)
		if _, err := q.file.ReadAt(x.b, x.at); err != nil {
			return fmt.Errorf("temporary file: %w", err)
		}
	}
	return q.store(n, x.b, x.tag)
}

// Flush stores all waiting blocks in order, and skips the missing ones between them.
func (q *Queue[T]) Flush() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, n := range slices.Sorted(maps.Keys(q.waiting)) {
		if q.err != nil {
			break
		}
		q.err = q.release(n, q.waiting[n])
		q.next = n + 1
	}
	return q.err
}

// Close discards the waiting blocks and closes the temporary file, which frees its space. Later
// calls return os.ErrClosed.
func (q *Queue[T]) Close() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	clear(q.waiting)
	q.held, q.err = 0, os.ErrClosed
	if q.file == nil {
		return nil
	}
	f := q.file
	q.file = nil
	return f.Close()
}
