// The contract between an Array and its storage backend.

package ndarray

import (
	"context"
)

// Backend is the storage of one open Array. Implementations must be safe for concurrent reads.
// Optional abilities are separate interfaces, found by As. If a backend lacks one, the Array method
// returns errors.ErrUnsupported.
//
// A backend that wraps another one and has a method Unwrap() Backend has the optional abilities of
// the wrapped backend too. Its own methods take precedence.
//
// Array checks regions, buffer sizes, and the closed and the read-only state before it calls a
// backend, so a backend need not check them again. A backend must check the context before the
// first chunk or Slab of a region and between them. At most workers goroutines of a call may encode
// or decode; two more may pass work on. workers 0 means GOMAXPROCS. Package ndarraytest tests every
// sentence of this file.
type Backend interface {
	// Meta describes the array. Only Resize and Append change it. The caller must not modify its
	// slices.
	Meta() Meta
	// ReadRegion fills dst, len(dst) == r.NumElems()*DType.Size bytes, with r in row-major order
	// and native byte order. r is already bounds-checked and not empty, and the array is not null.
	// Elements that were never written read as Meta().Fill, or as zero bytes if Fill is nil.
	//
	// The call defines every byte of dst, whatever dst contained before, because callers reuse
	// memory: a byte that stays unchanged would be one of another array. After an error the content
	// of dst is undefined.
	//
	// Bytes outside every value, such as the padding between fields of a structure, are passed on
	// unchanged.
	ReadRegion(ctx context.Context, dst []byte, r Region, workers int) error
	// Close releases the storage. It is called exactly once, while no other call is running.
	Close() error
}

// As returns b as B, an optional interface of backends. If b lacks it and has a method Unwrap()
// Backend, As tries the wrapped backend.
func As[B any](b Backend) (B, bool) {
	for {
		if x, ok := b.(B); ok {
			return x, true
		}
		w, ok := b.(wrapper)
		if !ok {
			var none B
			return none, false
		}
		b = w.Unwrap()
	}
}

// wrapper is implemented by backends that wrap another one and have its optional abilities.
type wrapper interface{ Unwrap() Backend }

// RegionWriter is implemented by backends that can be opened for writing. It is not called if
// Meta().ReadOnly is set.
type RegionWriter interface {
	// WriteRegion replaces the elements of r with src, len(src) ==
	// r.NumElems()*DType.Size bytes in row-major order and native byte order. It
	// does not change or keep src. r is already bounds-checked and not empty.
	//
	// Calls that touch different chunks may run at the same time. Calls that
	// touch the same chunk must not.
	WriteRegion(ctx context.Context, src []byte, r Region, workers int) error
}

// StringReader is implemented by backends whose elements may have a variable size. ReadRegion and
// WriteRegion are not called for those arrays.
type StringReader interface {
	// ReadStrings fills dst, len(dst) == r.NumElems(), with r in row-major order.
	ReadStrings(ctx context.Context, dst []string, r Region) error
}

// StringWriter is to StringReader what RegionWriter is to Backend.
type StringWriter interface {
	// WriteStrings replaces the elements of r with src, len(src) == r.NumElems().
	WriteStrings(ctx context.Context, src []string, r Region) error
}

// Resizer is implemented by backends whose arrays may grow and shrink. It is not called if
// Meta().ReadOnly is set.
type Resizer interface {
	// Resize changes the shape at the far end of each dimension. Elements in both shapes keep their
	// values. New elements read as Meta().Fill, also those that an earlier, larger shape contained.
	// shape has the rank of the array, no dimension exceeds Meta().MaxShape, and its bytes fit 63
	// bits. No other call is running. Resize returns errors.ErrUnsupported for an array that cannot
	// be resized.
	Resize(ctx context.Context, shape []int64) error
}

// ResizeChecker is implemented by a Resizer whose array cannot have every shape within its maximum
// shape. Array.Delete asks it before it moves elements.
type ResizeChecker interface {
	// CheckResize returns the error that Resize would return for a shape.
	CheckResize(shape []int64) error
}

// Appender is implemented by Resizers that can add rows as one change. It is not called if
// Meta().ReadOnly is set.
type Appender interface {
	// Append adds src after the last element along the first axis: one row or more, in row-major
	// order and native byte order. It does not change or keep src. The guarantees for arguments of
	// Resize hold here too. A program that opens the array sees all of the rows or no new row, even
	// if the call fails or is interrupted.
	Append(ctx context.Context, src []byte) error
}

// AttrReader is implemented by backends with attributes.
type AttrReader interface {
	// Attrs reads all attributes. The caller may change the result.
	Attrs(ctx context.Context) (Attrs, error)
}

// attrDigester is implemented by backends that can compare two attributes that Attrs lists as
// unsupported.
type attrDigester interface {
	// AttrDigest returns equal digests for attributes with the same meaning, in one file or in two,
	// and different digests for other attributes. It returns errors.ErrUnsupported if the backend
	// cannot decide.
	AttrDigest(ctx context.Context, name string) ([32]byte, error)
}

// AttrWriter is implemented by backends whose attributes can be changed. It is not called if
// Meta().ReadOnly is set.
type AttrWriter interface {
	// SetAttr adds an attribute, or replaces the one with that name, also if its type differs.
	SetAttr(ctx context.Context, a Attr) error
	// DeleteAttr removes an attribute. It returns ErrNotFound if there is no such attribute.
	DeleteAttr(ctx context.Context, name string) error
}

// StorageReporter is implemented by backends that can measure the stored size of an array.
type StorageReporter interface {
	Storage(ctx context.Context) (Storage, error)
}

// ChunkMeasurer is implemented by backends that can measure the stored size of each chunk.
type ChunkMeasurer interface {
	// ChunkBytes returns the stored bytes of chunk n of the grid, counted in row-major order; 0 if
	// the chunk is not stored. It is called only for chunked arrays. It returns
	// errors.ErrUnsupported if the stored chunks have a different grid.
	ChunkBytes(ctx context.Context, n int64) (int64, error)
}

// ScaleReader is implemented by backends of HDF5, whose dimensions can have scales.
type ScaleReader interface {
	// Scales returns the path of the first scale of each dimension, "" without one. It returns nil
	// if the scales are unknown.
	Scales(ctx context.Context) ([]string, error)
}

// ExternalElements is implemented by backends whose elements can be in other files than the one
// with the array. Programs that read untrusted files refuse such arrays, because the names of the
// files are read from an untrusted file.
type ExternalElements interface {
	// Elsewhere returns the names of the other files as they are stored, each once. It is empty if
	// all elements are in the file of the array.
	Elsewhere() []string
}

// StoredTyper is implemented by backends of formats that store the element type as a string, or
// none, so that Meta().DType can differ from it.
type StoredTyper interface {
	// StoredDType returns the element type as stored, or "" if none is stored.
	StoredDType() string
}

// MetadataReader is implemented by backends that can open an array whose elements they cannot read,
// so that its metadata can be listed.
type MetadataReader interface {
	// Unreadable returns the reason why no element can be read, or nil.
	Unreadable() error
}

// Storage describes the stored size of an array.
type Storage struct {
	StoredBytes int64 // bytes of the elements as stored, compressed, without metadata
	NumChunks   int64 // chunks of the grid, stored or not; 0 if not chunked

	// Library is the reason why the C library of the format moves the elements, one call at a time.
	// It is "" if Go workers move them, and if the format has no such library.
	Library string

	// Isolation describes the protections of the worker process that reads an array of an untrusted
	// file, for example "rlimits, landlock (ABI 5), seccomp". It is "" if the program's own process
	// reads the array.
	Isolation string
}
