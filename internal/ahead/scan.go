// Scan, the regions of an array that a program is about to read.

package ahead

import (
	"context"
	"iter"
	"slices"
	"sync"
)

// Regions yields the start and the shape of regions in the order in which they will be read. The
// yielded slices are valid until the next pair.
type Regions iter.Seq2[[]int64, []int64]

// Scan is a pass through an array. The first read of the array in a remote file begins to fetch all
// regions of the pass in the background, in bounded memory, so that latency does not delay the
// reads after it.
type Scan struct {
	Regions Regions
	*once
}

// once is common to a Scan and those that are derived from it.
type once struct {
	ctx  context.Context
	mu   sync.Mutex
	done bool
	stop func()
}

type (
	scanKey    struct{ array any }
	currentKey struct{}
)

// WithScan returns a context with a pass through an array, which is identified by its pointer. The
// caller calls stop when it reads no more.
func WithScan(ctx context.Context, array any, r Regions) (_ context.Context, stop func()) {
	s := &Scan{r, &once{ctx: ctx}}
	return context.WithValue(ctx, scanKey{array}, s), s.end
}

// Enter returns the context for a read of the storage of an array. It contains the pass through
// that array and no other one.
func Enter(ctx context.Context, array any) context.Context {
	s, _ := ctx.Value(scanKey{array}).(*Scan)
	if s == Current(ctx) {
		return ctx
	}
	return context.WithValue(ctx, currentKey{}, s)
}

// Through returns the context for a read of another array by the storage of the current one, for
// example by a view. Function region converts a region of the current array into one of the other
// array. nil means that the regions are the same.
func Through(ctx context.Context, array any, region func(start, shape []int64) ([]int64, []int64)) context.Context {
	s := Current(ctx)
	if s == nil {
		return ctx
	}
	regions := s.Regions
	if region != nil {
		regions = func(yield func(start, shape []int64) bool) {
			for start, shape := range s.Regions {
				if !yield(region(start, shape)) {
					return
				}
			}
		}
	}
	return context.WithValue(ctx, scanKey{array}, &Scan{regions, s.once})
}

// Current returns the pass of which a read is a part, or nil.
func Current(ctx context.Context) *Scan {
	s, _ := ctx.Value(currentKey{}).(*Scan)
	return s
}

// Bounds returns the first element of the bounding box of the regions, and the element after its
// last one. It returns nil if there are no regions.
func (s *Scan) Bounds() (start, end []int64) {
	if s == nil {
		return nil, nil
	}
	for at, shape := range s.Regions {
		if start == nil {
			start, end = slices.Clone(at), slices.Clone(at)
		}
		if len(at) != len(start) {
			return nil, nil // not regions of one array
		}
		for i := range at {
			start[i], end[i] = min(start[i], at[i]), max(end[i], at[i]+shape[i])
		}
	}
	return start, end
}

// Begin begins to fetch ranges in the order of the pass, if no earlier call has begun. Ranges may
// be called in another goroutine after Begin returned.
func (s *Scan) Begin(r Reader, ranges Ranges) {
	if s == nil || r == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.done {
		s.done = true
		s.stop = r.Prefetch(s.ctx, ranges)
	}
}

// end stops the pass.
func (s *Scan) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = true
	if s.stop != nil {
		s.stop()
	}
}
