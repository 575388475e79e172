// How much work and memory a file may cost its reader.

package hdf5

// Limits bounds what a file may make its reader do. A file beyond them is refused
// with format.ErrLimit.
type Limits struct {
	// Structure is the most bytes of one structure: an object header with its
	// continuations, a heap block, a node of an index. Default 64 MiB.
	Structure int64
	// Reread is how often over an operation may read the bytes of the file.
	// Structures are read once or twice; only a file whose structures overlap asks
	// for more. Default 8.
	Reread int64
	// Depth is the most types inside one another, and the most levels of a version 2
	// B-tree. Default 64.
	Depth int
}

// DefaultLimits returns the defaults named at the fields.
func DefaultLimits() Limits { return Limits{Structure: 64 << 20, Reread: 8, Depth: 64} }

// freeWork is what an operation may read in any file, in bytes: small files read
// some structures for every link.
const freeWork = 1 << 20
