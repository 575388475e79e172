// The order of chunk writes to one array.

package ordered

import "context"

// Sequencer is implemented by backends whose files depend on the order of chunk writes: HDF5 and
// frames append each chunk after the one before it. Copy and Map write with many workers, and use a
// Sequencer so that the file does not depend on the number of workers.
type Sequencer interface {
	// InOrder makes later writes of whole chunks wait until all earlier chunks, in row-major order
	// of the grid, are stored or skipped. Each chunk is then written once, by a call of WriteRegion
	// whose region is whole chunks, or by ChunkWriter's WriteChunk. Until the Sequence ends, the
	// caller must call no other method except TakesChunks and HasChunk. Waiting chunks take at most
	// window bytes of memory, and otherwise a temporary file in dir ("" means os.TempDir).
	//
	// It returns nil if the order does not change the file. It returns errors.ErrUnsupported if the
	// backend cannot order calls; the caller must then make one call at a time to get the same
	// file.
	InOrder(ctx context.Context, window int64, dir string) (Sequence, error)
}

// Sequence is an order of chunk writes in progress.
type Sequence interface {
	// Skip reports that chunk n of the grid, counted in row-major order, will not be written.
	Skip(n int64) error
	// End ends the order. Chunks that still wait are stored if keep is set, and discarded
	// otherwise.
	End(keep bool) error
}
