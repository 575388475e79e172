// Limits on goroutines of a backend, so that many concurrent calls do not multiply them.

package ndarray

import (
	"context"
	"runtime"
)

type workersKey struct{}

// WithWorkers returns a context that allows each call of a backend n goroutines. For example, Copy
// makes many calls at once and divides its workers among them.
func WithWorkers(ctx context.Context, n int) context.Context {
	return context.WithValue(ctx, workersKey{}, n)
}

// Workers returns the number of goroutines that a backend may use in one call: the limit of
// WithWorkers, or GOMAXPROCS.
func Workers(ctx context.Context) int {
	if n, ok := ctx.Value(workersKey{}).(int); ok && n > 0 {
		return n
	}
	return runtime.GOMAXPROCS(0)
}
