// Package ndarray provides one array type for all storage formats, with the same operations and the
// same results for each of them.
//
// # Overview
//
// An Array has a Meta (shape, chunk shape, element type, fill value, compression), elements that
// are read and written by Region, and attributes. It is backed by a Backend: ndarray/mem,
// ndarray/npy, ndarray/b2nd, ndarray/hdf5 or ndarray/bcolz. This package imports none of them.
// Package ndarray/cf returns values, dates and coordinates by the CF conventions.
// Package hyperslab, the module root, imports all and opens arrays by location.
//
// There is no Array[T], because the element type is known only after the file is open. Bytes move
// in native byte order, whatever the order in storage is. The functions Read, ReadAll, Take and
// Write move typed slices: numbers, strings, slices and structs of exactly the element's type.
// There are no implicit conversions. ReadAs, TakeAs and WriteAs convert numbers where every value
// is exactly representable. Records and Rows iterate with the same conversions, and a RecordWriter
// appends records in whole chunks.
//
// A Selection selects elements in NumPy's notation, for example "[0, 10:20, ::-1]". Take and Put
// move them, and a View is an array of those elements. Resize, Append, Insert and Delete change the
// shape. Copy moves all elements between any two arrays, and Compare finds the differences of two
// arrays. Each, Map, Summarize and CountBins process all elements of one array. These functions
// work on chunks, in parallel, in bounded memory.
//
// # Metadata of each backend
//
// A Meta has one field for each property. The table shows where each backend finds it and where
// Create stores it. "Record" is the metalayer "hyperslab" of ndarray/b2nd. Other programs ignore
// this metalayer, so they do not see the properties in it.
//
//	Meta          b2nd                             Caterva             HDF5
//	Format        "b2nd"                           "caterva"           "hdf5"
//	Shape         shape, 0 to 16 dimensions        shape, 0 to 8       current dimensions, 0 to 32;
//	                                               dimensions          scalar dataspace: 0 dimensions
//	Null          record; shape [0] to others      cannot              null dataspace
//	MaxShape      record; any dimension can grow,  any can grow        maximum dimensions, unlimited: -1;
//	              nil means the same                                   nil if equal to the current ones:
//	                                                                   the shape is fixed
//	AxisNames     record                           cannot              dimension labels, or the name of
//	                                                                   the first dimension scale; written
//	                                                                   as labels
//	ChunkShape    chunkshape                       chunkshape          chunk dimensions, no longer than a
//	                                                                   fixed dimension; nil if contiguous,
//	                                                                   compact, virtual, scalar, null or
//	                                                                   if a fixed dimension has length 0
//	BlockShape    blockshape                       blockshape          cannot
//	DType         dtype, NumPy's string; types     cannot: opaque      datatype; not Unicode (U) and
//	              unknown to NumPy: record;        unless specified    titles of fields
//	              not of variable size
//	Fill          record; missing chunks are runs  cannot: zero bytes  fill value, if defined
//	              of it
//	Compression   codec, level, filters of the     the same            hdf5.Codecs(), and filters
//	              super-chunk                                          shuffle, bitshuffle, fletcher32
//	Comment       cannot                           cannot              comment of the object
//	attributes    variable-length metalayers, at   the same            attributes; types that ndarray
//	              most 16; more, and exact types:                      does not have are listed as
//	              record; fixed metalayers of                          unsupported
//	              other programs are read-only
//
// In bcolz the shape in meta/sizes of a carray is the Shape, its chunklen rows are the ChunkShape,
// its dtype is the DType, dflt is the Fill, cparams are the Compression and __attrs__ are the
// attributes. A record next to them (ndarray/bcolz) contains the other properties. bcolz has no
// scalars, blocks, Comment and Null, and grows only along the first axis.
//
// A plain frame, which is not an array, is read as one dimension of opaque elements of its type
// size (Format "frame"). It has ChunkShape, Compression and attributes.
//
// Elements of variable size (strings, sequences, references, and structures that contain them) are
// stored by HDF5 and mem. A reference is the path of its target, for example "/group/data" or
// "/data[2:8, 0:3]". HDF5 writes it if the target exists in the file. Numbers of unusual form in
// HDF5 (bit fields, 17-bit integers, VAX floats, H5T_TIME) are integers, floats and dates with a
// DType.Tag. Writes return ErrValue for a number that the stored form cannot represent.
//
// Package mem supports every property. The values of HDF5's dimension scales are not part of a
// Meta.
//
// # Memory
//
// Read and Write use the caller's buffer and do not keep it. SetReadMemory limits the scratch
// memory of all concurrent reads of the process, 256 MiB by default. Copy and Compare use at most
// as many bytes as their options allow.
//
// # Concurrency
//
// All methods of an Array may be called at the same time. Two writes that touch the same chunk must
// not run at the same time. Close waits for running calls.
//
// # Errors
//
// Every error is an *Error with the operation and the path. Callers should match the sentinels
// (ErrClosed, ErrSize, ErrRegion, …) with errors.Is. An operation that a backend does not support
// returns errors.ErrUnsupported.
package ndarray
