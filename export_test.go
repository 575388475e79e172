package hyperslab

import (
	"context"

	"github.com/hyperslab/hyperslab/ndarray"
)

// Isolated opens an array in a worker and returns the backend.
func Isolated(ctx context.Context, location string) (ndarray.Backend, error) {
	a, err := Open(ctx, location, &OpenOptions{Untrusted: new(Untrusted)})
	if err != nil {
		return nil, err
	}
	return a.Backend(), nil
}
