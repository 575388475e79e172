// Uniform regions, whose elements are known to be equal without reading them because their chunks
// are not stored. Sums and comparisons process each such region at once. Therefore a small file
// with a huge shape is still cheap to process.

package ndarray

import (
	"context"
	"slices"
)

// UniformTeller is implemented by backends that can find regions of equal elements without reading
// them: chunks that are not stored, or chunks whose index entry marks them as zeros.
type UniformTeller interface {
	// Uniform returns a function that reports whether all elements of a region are known to have
	// the same bytes; false means that they may differ. The region must be inside the array and not
	// empty. Any number of goroutines may call the function at once, until the array changes. It is
	// nil if the backend has no such information. It may return false for every region that is not
	// inside the region within, which is inside the array and not empty.
	Uniform(ctx context.Context, within Region) (func(r Region) bool, error)
}

// Uniform returns a function that reports, without reading, whether all elements of a region are
// known to be equal. If true, the caller needs to read only one of them; false means that they may
// differ. The region must be inside the array and not empty. The results are valid until the array
// changes. Any number of goroutines may call the function at once.
//
// The function is nil if the backend has no such information. Uniform returns ErrClosed, the
// context's error, or the backend's error.
func (a *Array) Uniform(ctx context.Context) (func(r Region) bool, error) {
	return a.uniform(ctx, Whole(a.m().Shape))
}

// uniform is Uniform for regions inside the region within.
func (a *Array) uniform(ctx context.Context, within Region) (func(r Region) bool, error) {
	var uniform func(Region) bool
	err := a.use("find what is stored of", func() (err error) {
		u, ok := As[UniformTeller](a.backend)
		if !ok || a.m().NumElems() == 0 {
			return ctx.Err()
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		uniform, err = u.Uniform(ctx, within)
		return err
	})
	return uniform, err
}

// uniformIn returns a function that reports whether all elements of a region are known to be equal
// in each of the arrays. It is nil if one of the arrays has no such information, or if the plan has
// fewer than 2 units.
func (p *plan) uniformIn(ctx context.Context, arrays ...*Array) (func(r Region) bool, error) {
	if p.count < 2 {
		return nil, nil
	}
	var all []func(Region) bool
	for _, a := range arrays {
		u, err := a.Uniform(ctx)
		if err != nil || u == nil {
			return nil, err
		}
		all = append(all, u)
	}
	return func(r Region) bool {
		for _, u := range all {
			if !u(r) {
				return false
			}
		}
		return true
	}, nil
}

// first returns the first element of a region as a region.
func (r Region) first() Region {
	return Region{Start: r.Start, Shape: slices.Repeat([]int64{1}, len(r.Start))}
}
