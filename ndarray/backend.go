// The contract between an Array and the storage behind it.

package ndarray

import "context"

// Backend is the storage behind one open Array. Implementations must be safe
// for concurrent reads. Optional abilities are separate interfaces, found by
// type assertion; a missing one makes the Array method return
// errors.ErrUnsupported.
//
// Array checks regions, buffer sizes, the closed and the read-only state before
// it calls a backend, which may trust that. A cancelled context is the backend's
// to notice: between chunks or the Slabs of a region, and before the first. At
// most Workers(ctx) goroutines of a call encode or decode; two more may hand their
// work on. Package ndarraytest asserts every sentence of this file.
type Backend interface {
	// Meta describes the array. It changes with Resize and Append alone, and the caller
	// must not modify its slices.
	Meta() Meta
	// ReadRegion fills dst, len(dst) == r.NumElems()*DType.Size bytes, with r in
	// row-major order and native byte order. r is already bounds-checked and not
	// empty, and the array is not null.
	// Elements never written read as Meta().Fill.
	//
	// Bytes that no value has, as those between fields of a structure, are passed
	// on as they are.
	ReadRegion(ctx context.Context, dst []byte, r Region) error
	// Close releases the storage. It is called exactly once, when no other call
	// is running.
	Close() error
}

// RegionWriter is implemented by backends that can be opened for writing; where
// Meta().ReadOnly is set it is not called.
type RegionWriter interface {
	// WriteRegion replaces the elements of r with src, len(src) ==
	// r.NumElems()*DType.Size bytes in row-major order and native byte order. It
	// does not change or keep src. r is already bounds-checked and not empty.
	//
	// Calls that touch different chunks may run at the same time. Calls that
	// touch the same chunk must not.
	WriteRegion(ctx context.Context, src []byte, r Region) error
}

// Sequencer is implemented by backends whose files also say in which order chunks were
// written: in HDF5 and in frames each lies behind the one before it. Copy and Map write with
// many workers, and ask for an order of which the number of workers is no part.
type Sequencer interface {
	// InOrder makes whole chunks that are written from now on wait until those before
	// them, in row-major order of the grid, are stored or skipped. Each is then written once,
	// by a call of WriteRegion whose region is whole chunks, or of ChunkWriter's WriteChunk;
	// nothing else is called but TakesChunks and HasChunk, until the Sequence ends.
	// What waits takes at most window bytes of memory, and otherwise a temporary file in dir,
	// "" for os.TempDir.
	//
	// It returns nil if the order leaves no trace, and errors.ErrUnsupported if the
	// backend cannot put calls in order: only one at a time then makes the same file.
	InOrder(ctx context.Context, window int64, dir string) (Sequence, error)
}

// Sequence is an order of writes in the making.
type Sequence interface {
	// Skip says that chunk n of the grid, counted in row-major order, will not be written.
	Skip(n int64) error
	// End ends the order. keep says that what still waits is stored; otherwise it is lost.
	End(keep bool) error
}

// StringReader is implemented by backends whose arrays may be of Kind String;
// ReadRegion and WriteRegion are not called for those.
type StringReader interface {
	// ReadStrings fills dst, len(dst) == r.NumElems(), with r in row-major order.
	ReadStrings(ctx context.Context, dst []string, r Region) error
}

// StringWriter is to StringReader what RegionWriter is to Backend.
type StringWriter interface {
	// WriteStrings replaces the elements of r with src, len(src) == r.NumElems().
	WriteStrings(ctx context.Context, src []string, r Region) error
}

// Resizer is implemented by backends whose arrays may grow and shrink; where
// Meta().ReadOnly is set it is not called.
type Resizer interface {
	// Resize changes the shape at the far end of each axis. Elements that were in
	// both shapes stay as they are; new ones read as Meta().Fill, those among them
	// that an earlier, larger shape had too. shape has the rank of the array and no
	// axis above Meta().MaxShape, and its bytes fit 63 bits; no other call is
	// running. It returns errors.ErrUnsupported for an array that cannot be resized.
	Resize(ctx context.Context, shape []int64) error
}

// Appender is implemented by Resizers that can add rows as one change; where
// Meta().ReadOnly is set it is not called.
type Appender interface {
	// Append adds src behind the last element along the first axis: one row or more,
	// in row-major order and native byte order. It does not change or keep src. What
	// Resize may rely on holds. Who opens the array sees all of the rows or none,
	// whatever becomes of the call.
	Append(ctx context.Context, src []byte) error
}

// AttrReader is implemented by backends that hold attributes.
type AttrReader interface {
	// Attrs reads all attributes. The result is the caller's to change.
	Attrs(ctx context.Context) (Attrs, error)
}

// AttrDigester is implemented by backends that can tell whether two attributes are the same
// that Attrs lists as unsupported.
type AttrDigester interface {
	// AttrDigest is the same for attributes that mean the same, be they in one file or in
	// two, and another for others. It returns errors.ErrUnsupported if nobody can tell.
	AttrDigest(ctx context.Context, name string) ([32]byte, error)
}

// AttrWriter is implemented by backends whose attributes can be changed; where
// Meta().ReadOnly is set it is not called.
type AttrWriter interface {
	// SetAttr adds an attribute, or replaces the one with that name, whatever
	// type it had.
	SetAttr(ctx context.Context, a Attr) error
	// DeleteAttr removes an attribute; ErrNotFound if there is none.
	DeleteAttr(ctx context.Context, name string) error
}

// StorageReporter is implemented by backends that know what their data takes.
type StorageReporter interface {
	Storage(ctx context.Context) (Storage, error)
}

// ChunkMeasurer is implemented by backends that know what each chunk takes.
type ChunkMeasurer interface {
	// ChunkBytes is how many bytes chunk n of the grid, counted in row-major order, takes
	// as stored; 0 if nothing is stored for it. It is called for chunked arrays alone.
	// It returns errors.ErrUnsupported where the grid is not that of what is stored.
	ChunkBytes(ctx context.Context, n int64) (int64, error)
}

// Storage says what an array takes where it is stored.
type Storage struct {
	StoredBytes int64 // bytes of the elements as stored, compressed, without metadata
	NumChunks   int64 // chunks of the grid, stored or not; 0 if not chunked

	// Library says why the C library of the format moves the elements, one call at a
	// time. It is "" where workers of ours do, and where there is no such library.
	Library string
}

// Ratio is how many of the bytes that the elements take in memory (Array.NBytes) come on
// each byte as stored; 0 if nothing is stored.
func (s Storage) Ratio(bytes int64) float64 {
	if s.StoredBytes == 0 {
		return 0
	}
	return float64(bytes) / float64(s.StoredBytes)
}
