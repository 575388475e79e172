// Package bcolz is ndarray's backend for arrays of bcolz 1.x: carray directories and ctable
// directories. A ctable can be opened as a whole or by column.
//
// # Overview
//
// Open opens one carray, for reading or for writing in place. Create creates one. OpenTable opens
// the columns of a ctable. OpenRecords opens all columns as one array of structures, and
// CreateRecords creates one. GatherTable makes a ctable from existing carrays. All arrays have
// attributes (ndarray.AttrReader), Storage and ChunkBytes. If opened for writing, they can be
// written, resized and appended to, and their attributes can be changed.
//
// Numbers, booleans, strings, dates, durations and opaque bytes can be read and written, with rank
// 1 to 32. Complex numbers of 8 and 16 bytes can too: bcolz cannot create such arrays in files, but
// opens them and appends to them. Their dflt is the real part of the fill value. Long doubles and
// structured types are read-only, because bcolz itself cannot reopen them. Python objects are not
// supported as elements: OpenObjects returns their pickles as bytes. Loading a pickle in Python
// runs code from the file.
//
// OpenFS and OpenTableFS read a tree in any file system. OpenTable and OpenRecords also read the
// nested form of a ctable in bcolz's format document (DISK_FORMAT_v1.rst), whose columns are below
// data/ at any depth. bcolz itself never wrote this form. CreateRecords writes it if
// CreateOptions.Nested is set.
//
// The metadata defines the array. Chunk files that remain from a longer array are ignored, and an
// array with a missing chunk file is corrupt. The fill value is bcolz's dflt.
//
// bcolz stores each chunk, also those of the fill value, and the header of a Blosc1 chunk does not
// mark equal elements. Therefore the arrays have no ndarray.UniformTeller, and each chunk of a
// constant array is decoded.
//
// Attributes are those of __attrs__ in JSON: strings, booleans, int64 (uint64 if necessary),
// float64, and lists of equal lengths of one of these. null, objects and mixed lists are listed as
// unsupported, and copied unchanged to other carrays and to Blosc2 frames. Other files in meta/ are
// not changed, and are listed with the attributes.
//
// bcolz can read and extend the files, and would have written the same ones: the order of keys,
// chunk lengths, chunks of Blosc1, leftovers and byte counts are bcolz's.
//
// # The record
//
// Properties that bcolz's files cannot represent are in one more file of JSON, meta/hyperslab, or
// __hyperslab__ for a ctable. bcolz ignores it. If another program has changed the array since,
// bcolz's files take precedence. The file exists only if it is needed. It is an object with these
// keys, of which only version is always present:
//
//	version     2
//	dtype       the element type, if bcolz's metadata contains another one
//	fill        the fill value if dflt cannot represent it: one element in native order, base64
//	attrs       attributes that JSON cannot represent, or whose type JSON loses
//	max_shape   maximum length of each dimension; -1 is unlimited
//	axis_names  name of each dimension; "" if it has none
//
// Each attribute is an object with these keys:
//
//	name     its name
//	dtype    its element type
//	shape    its shape; absent for a scalar
//	null     true if it has no elements and no shape
//	plain    true if the value is in __attrs__; the entry is ignored if the two contradict
//	data     the elements if plain is absent: little-endian, base64
//	strings  the elements of a type of variable length
//
// A dtype is the string of ndarray.DType.String. If parts of the type have properties that the
// string lacks, it is an object with these keys:
//
//	text   the string
//	parts  a list of objects, one for each such part
//
// The object of a part has these keys:
//
//	index    which part: the innermost one is 0, then fields in their order, then the whole type
//	charset  "UTF-8"; absent for ASCII
//	padding  "null-terminated" or "space-padded"; absent for zero bytes to the end
//	tag      DType.Tag in base64; absent if empty
//
// In version 1, which is read too, a dtype is an object with the fields of ndarray.DType. Other
// versions are errors.ErrUnsupported.
//
// # Writing in place
//
// A chunk file is replaced by a rename. Resize and Append write the new chunk files first, then the
// sizes. Therefore a program that opens the array sees all new rows or none of them, also after a
// crash. A ctable is as long as its first column, which therefore grows last and shrinks first. The
// columns of a nested ctable with a single meta/ change their length together.
//
// Several processes can fill one array with OpenOptions.ChunkRange, each its own chunk files, if
// the array was made with CreateOptions.Skeleton. Package shards joins their directories.
//
// # Memory
//
// Each chunk file that is being read takes its stored bytes, and its decompressed rows if a region
// contains only a part of them. A region is read by at most the number of workers of the call, each
// with one file.
//
// # Concurrency
//
// All methods may be called at the same time, except Resize and Append together with calls that use
// rows they remove. Each chunk is decompressed by its own context, from a pool.
//
// # Errors
//
// Errors are sentinels of ndarray. A wrapped *format.Error contains the file and the problem. File
// names cannot lead outside the directory, also not through symbolic links.
//
// # C version
//
// The same as of package cblosc. It has no decoder for Snappy, which C-Blosc could be built with.
// Such chunks return errors.ErrUnsupported.
package bcolz
