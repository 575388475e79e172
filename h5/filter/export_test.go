//go:build cgo

package filter

// Encode applies one filter, and Bound returns the maximum size of its result.
var Encode, Bound = encode, bound
