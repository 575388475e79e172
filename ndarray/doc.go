// Package ndarray is one array type over every storage format: the same verbs
// and the same results whatever lies beneath.
//
// # What
//
// An Array has a Meta (shape, chunk shape, element type, fill value,
// compression), elements that are read and written by Region, and attributes.
// Behind it stands a Backend: ndarray/mem, ndarray/b2nd, ndarray/hdf5 or
// ndarray/bcolz. This package knows none of them; ndarray/formats knows all and opens by location.
//
// The element type is a fact of the file, so there is no Array[T]. Bytes move in
// this machine's byte order whatever the order in storage is, and typed slices
// stand at the edge: Read, ReadAll and Write take a slice of exactly the
// element's Go type. Nothing is converted silently.
//
// Copy moves elements between any two arrays, Compare says where two differ;
// both work on chunks, in parallel, in bounded memory.
//
// # What each backend says
//
// A Meta has one field for each fact; the backends find it, and Create stores it,
// here. "Record" is the metalayer "hyperslab" of ndarray/b2nd, which other
// programs pass over; what stands there they do not see.
//
//	Meta          b2nd                             Caterva             HDF5
//	Format        "b2nd"                           "caterva"           "hdf5"
//	Shape         shape, 0 to 8 axes (16 from      shape, 0 to 8 axes  current dimensions, 0 to 32 axes;
//	              C-Blosc2 2.21.3 on)                                  scalar dataspace: no axes
//	Null          record; shape [0] to others      cannot              null dataspace
//	MaxShape      record; any axis can grow        cannot              maximum dimensions, unlimited: -1;
//	                                                                   nil if equal to the current ones
//	ChunkShape    chunkshape                       chunkshape          chunk dimensions, no longer than a
//	                                                                   fixed axis; nil if contiguous,
//	                                                                   compact, virtual, scalar, null or
//	                                                                   if a fixed axis has length 0
//	BlockShape    blockshape                       blockshape          has none
//	DType         dtype, NumPy's string; character cannot: opaque      datatype; has no Unicode (U)
//	              set and padding: record          until told
//	Fill          record; every chunk a run of it  cannot: zero bytes  fill value, if one was given
//	Compression   codec, level, filters of the     the same            deflate, shuffle, fletcher32; other
//	              super-chunk                                          filters by name, for reading
//	attributes    variable-length metalayers, 16   the same, for       attributes; other than ndarray's
//	              at most; the rest, and exact     reading             types are listed as unsupported
//	              types: record
//
// bcolz is read only. A carray's meta/sizes shape is the Shape, its chunklen rows
// the ChunkShape, its dtype the DType, dflt the Fill, cparams the Compression and
// __attrs__ the attributes; it has no blocks and cannot say Null or MaxShape.
//
// mem holds every fact. The fixed metalayers of b2nd other than its own, and
// HDF5's dimension scales, are not part of a Meta.
//
// # Memory
//
// Read and Write use the caller's buffer and keep nothing. Copy and Compare hold
// as many bytes as their options allow.
//
// # Concurrency
//
// All methods of an Array may be called at the same time. Two writes that touch
// the same chunk must not run at once. Close waits for running calls.
//
// # Errors
//
// Every error is an *Error with the operation and the path. Match the sentinels
// (ErrClosed, ErrSize, ErrRegion, …) with errors.Is. What a backend cannot do is
// errors.ErrUnsupported.
package ndarray
