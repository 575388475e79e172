// How many goroutines a backend may use: a caller that runs many calls at once says
// so, and the calls do not multiply.

package ndarray

import (
	"context"
	"runtime"
)

type workersKey struct{}

// WithWorkers returns a context that allows each call of a backend n goroutines. Copy,
// which makes many calls at once, shares out among them what it is allowed.
func WithWorkers(ctx context.Context, n int) context.Context {
	return context.WithValue(ctx, workersKey{}, n)
}

// Workers is how many goroutines a backend may use in one call: what WithWorkers
// allows, or GOMAXPROCS.
func Workers(ctx context.Context) int {
	if n, ok := ctx.Value(workersKey{}).(int); ok && n > 0 {
		return n
	}
	return runtime.GOMAXPROCS(0)
}
