// Memory of responses: one budget for those that are made, sent and cached. Their bytes also count
// in the memory of the process, so that reads use fewer.

package serve

import (
	"context"
	"sync/atomic"

	"golang.org/x/sync/semaphore"

	memory "github.com/hyperslab/hyperslab/internal/chunked/budget"
)

// budget is the memory of all responses. Small responses have a part of it to themselves, so that
// they do not wait for clients that receive large ones slowly.
type budget struct {
	small, large     *semaphore.Weighted
	reserved, common int64        // bytes of small and large
	limit            int64        // bytes of the largest small response
	waiting          atomic.Int64 // requests that wait for memory
	evict            func()       // frees the memory of cached responses
}

// newBudget divides the memory. A small response has at most 256 KiB and at most 1/64 of its part.
func newBudget(memory int64, evict func()) *budget {
	b := &budget{reserved: memory / 8, evict: evict}
	b.common = memory - b.reserved
	b.limit = min(256<<10, b.reserved/64)
	b.small, b.large = semaphore.NewWeighted(b.reserved), semaphore.NewWeighted(b.common)
	return b
}

// share is the memory of one response. Requests that send it and the cache hold it together.
type share struct {
	budget *budget
	part   *semaphore.Weighted
	grant  memory.Grant
	size   int64
	users  atomic.Int64
}

// take waits for n bytes. More than the budget of large responses is all of it.
func (b *budget) take(ctx context.Context, n int64) (*share, error) {
	s := b.share(n)
	if s.part.TryAcquire(s.size) {
		s.lend()
		return s, nil
	}
	b.waiting.Add(1)
	defer b.waiting.Add(-1)
	b.evict()
	if err := s.part.Acquire(ctx, s.size); err != nil {
		return nil, err
	}
	s.lend()
	return s, nil
}

// try is take without waiting. It returns nil if the memory is not available.
func (b *budget) try(n int64) *share {
	if s := b.share(n); s.part.TryAcquire(s.size) {
		s.lend()
		return s
	}
	return nil
}

func (b *budget) share(n int64) *share {
	s := &share{budget: b, part: b.large, size: min(n, b.common)}
	if n <= b.limit {
		s.part = b.small
	}
	s.users.Store(1)
	return s
}

// lend takes the bytes from the memory of the process, without waiting.
func (s *share) lend() { s.grant = memory.Lend(s.size, s.size) }

// shrink reduces the share to n bytes. Only its first user may call it, before there are others.
func (s *share) shrink(n int64) {
	if n < s.size {
		s.part.Release(s.size - n)
		s.size = n
		s.grant.Release()
		s.lend()
	}
}

// hold adds a user. A share without users must not be used again, so that the caller must be a user
// or hold the lock of one.
func (s *share) hold() { s.users.Add(1) }

// release ends the use by a request.
func (s *share) release() {
	if !s.drop() && s.budget.waiting.Load() > 0 {
		s.budget.evict() // the cache may be the only user left
	}
}

// drop ends the use by one user. The last one returns the memory.
func (s *share) drop() bool {
	if s.users.Add(-1) > 0 {
		return false
	}
	s.grant.Release()
	s.part.Release(s.size)
	return true
}
