// Chunk and block shapes for arrays whose creator does not say.

package ndarray

import (
	"slices"

	"github.com/hyperslab/hyperslab/internal/ceil"
)

// Sizes that AutoChunks and AutoBlocks aim at, in bytes. Of chunks of 256 KiB, 1
// MiB and 4 MiB in blocks of 32 KiB to 1 MiB, these read whole arrays and single
// columns both near the best, at a ratio within 1 percent of it (float32 field,
// zstd and lz4 behind shuffle, 1 MiB of second-level cache a core).
const (
	ChunkBytes = 1 << 20 // what one worker decodes at a time; HDF5's chunk cache holds it
	BlockBytes = 1 << 17 // the second-level cache holds it before and after the shuffle
)

// AutoChunks returns a chunk shape for an array of elements of size bytes: the
// shape itself, its longest axis halved (the first of equals) until a chunk takes
// at most ChunkBytes. So chunks are as near to cubes as the array allows, and a
// read along any axis touches few of them. An axis of length 0 counts as 1, and
// a scalar has no chunk shape: nil.
func AutoChunks(shape []int64, size int) []int64 {
	return halve(shape, int64(size), ChunkBytes)
}

// AutoBlocks returns a block shape inside a chunk, by the same rule with
// BlockBytes.
func AutoBlocks(chunk []int64, size int) []int64 {
	return halve(chunk, int64(size), BlockBytes)
}

func halve(shape []int64, size, target int64) []int64 {
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
		out[longest] = ceil.Div(out[longest], 2)
	}
}
