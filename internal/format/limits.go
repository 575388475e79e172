// Bounds of untrusted inputs.

package format

import (
	"fmt"

	"github.com/hyperslab/hyperslab/internal/errs"
)

// MaxMetadata is the default of Limits.Metadata.
const MaxMetadata = 64 << 20

// Limits are the bounds of an untrusted input in bytes. 0 means the default.
type Limits struct {
	Array    int64 // all elements of an array according to its shape; default 1 TiB
	Chunk    int64 // a decoded chunk; default 512 MiB
	Metadata int64 // one metadata structure, and all attributes; default 64 MiB
	Copy     int64 // copy of an input that is not a file; default 1 GiB
	Memory   int64 // memory of a worker process; default 2 GiB
}

// Filled returns the limits with their defaults. It returns ErrParam for a negative limit.
func (l Limits) Filled() (Limits, error) {
	for _, x := range []struct {
		field *int64
		value int64
	}{{&l.Array, 1 << 40}, {&l.Chunk, 512 << 20}, {&l.Metadata, MaxMetadata}, {&l.Copy, 1 << 30}, {&l.Memory, 2 << 30}} {
		if *x.field < 0 {
			return l, fmt.Errorf("%w: a limit of %d bytes", errs.ErrParam, *x.field)
		}
		if *x.field == 0 {
			*x.field = x.value
		}
	}
	return l, nil
}
