package b2nd

import (
	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/ndarray"
)

// SChunk returns the super-chunk of an open array, so that tests can change it like another
// program.
func SChunk(b ndarray.Backend) *cblosc.SChunk { return b.(*backend).engine.array.SChunk() }
