// Sizes and offsets that a file contains.

package format

// maxSize is larger than every file, and the sum of three such numbers is not negative.
const maxSize = 1 << 61

// Size returns an unsigned size, offset or count of a file as a signed number. Larger numbers than
// any file has become 2^61, which no later check against a size accepts, instead of negative.
func Size[T ~uint64 | ~uint32 | ~uint](n T) int64 { return int64(min(uint64(n), maxSize)) }
