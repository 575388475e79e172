// Rounded division, multiples and divisors without overflow. Dimensions in files reach the largest
// int64, so (n+d-1)/d is wrong for them. A test of internal/lint forbids that form elsewhere.

package grid

// Integer is a type for numbers of elements, chunks or bytes.
type Integer interface {
	~int | ~int32 | ~int64 | ~uint32 | ~uint64
}

// DivUp returns n/d rounded up, for n ≥ 0 and d > 0. It returns 0 for n = 0 and any d, because
// chunks along an empty dimension may have the length 0.
func DivUp[T Integer](n, d T) T {
	if n == 0 {
		return 0
	}
	q := n / d
	if n%d != 0 {
		q++
	}
	return q
}

// RoundUp returns the least multiple of d that is at least n, or limit if that is less. It
// requires n ≥ 0, d > 0 and limit ≥ 0, and returns 0 for n = 0.
func RoundUp[T Integer](n, d, limit T) T {
	if n == 0 {
		return 0
	}
	if limit < n {
		return limit
	}
	if rest := n % d; rest != 0 {
		if limit-n < d-rest {
			return limit
		}
		n += d - rest
	}
	return n
}

// GCD returns the greatest common divisor of a and b, or the other number if one of them is 0.
func GCD(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
