// Package bcolz is ndarray's backend for arrays of bcolz 1.x: carray directories, and
// ctable directories, whole or by the column.
//
// # What
//
// Open returns a *Backend over one carray, for reading or for writing in place;
// Create makes one. OpenTable gives the columns of a ctable; OpenRecords returns a
// *Records over all of them, an array of structures, and CreateRecords makes one.
// GatherTable makes a ctable of carrays that are there. Numbers, truth values,
// text, dates, durations and opaque bytes are read and written, of any rank from 1
// to 32; complex numbers, long doubles and structured types are read only, as bcolz
// itself cannot write or cannot reopen them. Objects are no elements: OpenObjects gives
// their pickles as bytes, which to load means to run a program.
//
// OpenFS and OpenTableFS read a tree in any file system. OpenTable, OpenRecords and,
// when CreateOptions.Nested asks for it, CreateRecords know the document's own form of a
// ctable too, whose columns lie below data/ at any depth, and which bcolz never had.
//
// An array is what its metadata says. Chunk files left over from a longer array
// do not count; a missing chunk file is a damaged array. The fill value is bcolz's
// dflt. Attributes are those of __attrs__, as JSON has them: texts, truth values,
// int64 (uint64 if one is needed), float64, and lists of equal lengths of one of
// these; null, objects and mixed lists are listed as unsupported. What JSON does not
// say, an attribute's own type, a fill value of bytes above 127, a largest shape,
// stands in one file more, RecordFile, for a ctable TableRecordFile, which bcolz ignores.
// Other files in meta/ stay as they are, and are listed with the attributes.
//
// What is written, bcolz reads, goes on with and would have written so itself: its
// order of keys, its chunk lengths, chunks of Blosc1, leftovers, its count of bytes.
//
// # Writing in place
//
// A chunk file is replaced by a rename. Resize and Append write the new chunk files,
// then the sizes: who opens the array sees all new rows or none, also after a crash. A
// ctable is as long as its first column, which therefore grows last and shrinks first;
// the columns of a nested one that one meta/ describes change their length together.
//
// Several processes fill one array with OpenOptions.Chunks, each its own chunk files, of
// an array made with CreateOptions.Skeleton; package shards joins their directories.
//
// # Memory
//
// Each chunk file that is being read takes its stored bytes; where a region holds
// only a part of its rows, the decompressed rows too. A region is read by up to
// GOMAXPROCS goroutines, each with one file.
//
// # Concurrency
//
// All methods may be called at the same time, but for Resize and Append beside
// whatever touches the rows they take away. Each chunk is decompressed by a
// context of its own, from a pool.
//
// # Errors
//
// Sentinels of ndarray; a *format.Error inside says in which file what is wrong.
// Names lead nowhere out of the directory, symbolic links included.
//
// # C version
//
// As package cblosc. It has no decoder for Snappy, which C-Blosc could be built
// with: such chunks are errors.ErrUnsupported.
package bcolz
