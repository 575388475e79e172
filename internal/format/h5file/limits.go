// Limits of the work and memory of a reader.

package h5file

import "github.com/hyperslab/hyperslab/internal/format"

// Limits limits the work and memory of a reader. A file beyond them is refused with
// format.ErrLimit.
type Limits struct {
	// Structure is the maximum size of one structure in bytes: an object header with its
	// continuations, a heap block, a node of an index. Default 64 MiB.
	Structure int64
	// Reread is the number of times that an operation may read the bytes of the file. Structures
	// are read once or twice, so only a file with overlapping structures needs more. Default 8.
	Reread int64
	// Depth is the maximum nesting depth of datatypes, and the maximum number of levels of a
	// version 2 B-tree. Default 64.
	Depth int
}

// DefaultLimits returns the defaults listed at the fields.
func DefaultLimits() Limits { return Limits{Structure: format.MaxMetadata, Reread: 8, Depth: 64} }

// freeWork is the number of bytes that an operation may read in any file, in addition to Reread.
// Small files need it because some structures are read for every link.
const freeWork = 1 << 20
