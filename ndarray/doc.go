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
// stand at the edge: Read, ReadAll, Take and Write move numbers, strings and structs
// of exactly the element's type. Nothing is converted silently.
//
// A Selection says in NumPy's words which elements are meant, "[0, 10:20, ::-1]";
// Take and Put move them, and a View is those elements as an array. Resize, Append,
// Insert and Delete change the shape. Copy moves all elements between any two
// arrays, Compare says where two differ, Each, Map, Summarize and CountBins work on
// all of one; they work on chunks, in parallel, in bounded memory.
//
// # What each backend says
//
// A Meta has one field for each fact; the backends find it, and Create stores it,
// here. "Record" is the metalayer "hyperslab" of ndarray/b2nd, which other
// programs pass over; what stands there they do not see.
//
//	Meta          b2nd                             Caterva             HDF5
//	Format        "b2nd"                           "caterva"           "hdf5"
//	Shape         shape, 0 to 16 axes              shape, 0 to 8 axes  current dimensions, 0 to 32 axes;
//	                                                                   scalar dataspace: no axes
//	Null          record; shape [0] to others      cannot              null dataspace
//	MaxShape      record; any axis can grow,       cannot              maximum dimensions, unlimited: -1;
//	              nil says no more than that                           nil if equal to the current ones:
//	                                                                   the shape is fixed
//	AxisNames     record                           cannot              labels of the axes, or the name of
//	                                                                   the first dimension scale; as labels
//	                                                                   when written
//	ChunkShape    chunkshape                       chunkshape          chunk dimensions, no longer than a
//	                                                                   fixed axis; nil if contiguous,
//	                                                                   compact, virtual, scalar, null or
//	                                                                   if a fixed axis has length 0
//	BlockShape    blockshape                       blockshape          has none
//	DType         dtype, NumPy's string; what      cannot: opaque      datatype; has no Unicode (U), no
//	              NumPy has no word for: record;   until told          titles of fields; ndarray has no
//	              no String                                            references, bit fields, sequences
//	Fill          record; every chunk a run of it  cannot: zero bytes  fill value, if one was given
//	Compression   codec, level, filters of the     the same            hdf5.Codecs(), and filters
//	              super-chunk                                          shuffle, bitshuffle, fletcher32
//	Comment       cannot                           cannot              comment of the object
//	attributes    variable-length metalayers, 16   the same            attributes; other than ndarray's
//	              at most; the rest, and exact                         types are listed as unsupported
//	              types: record; fixed metalayers
//	              of others are read only
//
// In bcolz a carray's meta/sizes shape is the Shape, its chunklen rows the
// ChunkShape, its dtype the DType, dflt the Fill, cparams the Compression and
// __attrs__ the attributes; a record beside them (ndarray/bcolz) has the rest. It has
// no scalars, no blocks, no Comment and no Null, and grows along the first axis alone.
//
// A plain frame, which is no array, is read as one axis of opaque elements of its type
// size (Format "frame"); it has ChunkShape, Compression and attributes. The tests of
// these rows and sentences are TestMapping and TestPlainFrames of ndarray/formats.
//
// mem holds every fact. The values of HDF5's dimension scales are not part of a Meta.
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
