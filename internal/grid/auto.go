// Default chunk and block shapes.

package grid

import (
	"slices"
)

// Target sizes of AutoChunk and AutoBlocks, in bytes. They were chosen by measurements of
// chunks of 256 KiB, 1 MiB and 4 MiB in blocks of 32 KiB to 1 MiB (float32 field, zstd and lz4
// after shuffle, 1 MiB of second-level cache per core). With them, whole arrays and single columns
// both read at nearly the best speed, and the ratio is within 1 percent of the best.
const (
	ChunkBytes = 1 << 20 // decoded by one worker at a time; fits HDF5's chunk cache
	blockBytes = 1 << 17 // fits the second-level cache before and after the shuffle
)

// AutoChunk returns a chunk shape for an array of elements of size bytes. It starts with the
// shape and halves the longest dimension (the first of equals) until a chunk takes at most
// ChunkBytes. Chunks are therefore as close to cubes as the array allows, and a read along any axis
// touches only a small number of them. A dimension of length 0 counts as 1. The result is nil for a
// scalar.
func AutoChunk(shape []int64, size int) []int64 {
	return Halve(shape, int64(size), ChunkBytes)
}

// AutoBlocks returns a block shape inside a chunk, by the same rule with blockBytes.
func AutoBlocks(chunk []int64, size int) []int64 {
	return Halve(chunk, int64(size), blockBytes)
}

// Halve halves the longest dimension, the first of equals, until size × shape is at most target
// bytes. A dimension of length 0 counts as 1.
func Halve(shape []int64, size, target int64) []int64 {
	if len(shape) == 0 {
		return nil
	}
	out := slices.Clone(shape)
	for i := range out {
		out[i] = max(out[i], 1)
	}
	for {
		longest := 0
		for i, n := range out {
			if n > out[longest] {
				longest = i
			}
		}
		if n, ok := Product(append(slices.Clone(out), size)); ok && n <= target || out[longest] == 1 {
			return out
		}
		out[longest] = DivUp(out[longest], 2)
	}
}
