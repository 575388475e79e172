// The queue: what comes too early waits, in memory as far as that is allowed and behind
// that in a temporary file.

package inorder

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
)

// Queue calls a function for numbered blocks of bytes in the order of their numbers,
// whatever the order in which they come. Its methods are safe for any number of goroutines
// at once; the function is called by one of them at a time.
type Queue[T any] struct {
	store func(n int64, b []byte, tag T) error
	limit int
	dir   string

	mu      sync.Mutex
	next    int64 // all before it are stored, or will not come
	waiting map[int64]block[T]
	held    int      // bytes of those in memory
	file    *os.File // nil until there is no more room in memory
	end     int64    // of file
	err     error    // the first of store, or of the file
}

// block is one that waits.
type block[T any] struct {
	b    []byte // nil if it has none, or they are in the file
	tag  T
	skip bool  // it will not come
	at   int64 // in the file
	n    int   // bytes in the file; 0: it is not there
}

// New returns a queue that begins with number 0. Of the bytes that wait at most limit are
// in memory; more are in a temporary file in the folder dir, "" for os.TempDir, which has
// no name and ends with the program at the latest. store must not keep b.
func New[T any](limit int, dir string, store func(n int64, b []byte, tag T) error) *Queue[T] {
	return &Queue[T]{store: store, limit: limit, dir: dir, waiting: make(map[int64]block[T])}
}

// Put brings block n. It is stored at once if it is the next one, or one before that,
// which comes again; otherwise a copy waits. It returns what storing, or the temporary
// file, returned, now or in an earlier call.
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

// Skip says that block n will not come.
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

// wait keeps block n.
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
			f, err := os.CreateTemp(q.dir, "hyperslab-")
			if err != nil {
				return fmt.Errorf("temporary file: %w", err)
			}
			if err := os.Remove(f.Name()); err != nil { // gone with the program, whatever ends it
				return errors.Join(fmt.Errorf("temporary file: %w", err), f.Close())
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

// advance stores what has waited for the blocks before it.
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
		q.end = 0 // the file is used again from its beginning
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

// Flush stores all that wait, in order, whatever is missing between them. What comes then
// is stored at once.
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

// Close forgets what waits, and frees the temporary file. The queue is not used again.
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
