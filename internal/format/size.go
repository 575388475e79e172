// Sizes and offsets that a file contains.

package format

// maxSize is larger than every file, and the sum of three such numbers is not negative.
const maxSize = 1 << 61

// Size returns an unsigned size, offset or count of a file as a signed number. A number above 2^61
// becomes 2^61, because a negative number could pass a later check against a size.
func Size[T ~uint64 | ~uint32 | ~uint](n T) int64 { return int64(min(uint64(n), maxSize)) }
