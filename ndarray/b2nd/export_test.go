package b2nd

import "github.com/hyperslab/hyperslab/cblosc"

// SChunk returns the super-chunk of an open array, so that tests can change it like another
// program.
func SChunk(b *Backend) *cblosc.SChunk { return b.engine.array.SChunk() }
