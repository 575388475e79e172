package b2nd

import "github.com/hyperslab/hyperslab/cblosc"

// SChunk lets tests do what another program does to an open array.
func SChunk(b *Backend) *cblosc.SChunk { return b.engine.array.SChunk() }
