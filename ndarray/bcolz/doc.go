// Package bcolz is ndarray's backend for reading arrays of bcolz 1.x: carray
// directories, and the columns of ctable directories.
//
// # What
//
// Open returns a *Backend over one carray, OpenTable the columns of a ctable.
// Numbers, truth values, text and opaque bytes are read, of any rank from 1 to
// 32. Dates, durations, objects, structured types and numbers above 64 bits (128
// of complex ones) are refused, by the name of the element type.
//
// An array is what its metadata says. Chunk files left over from a longer array
// do not count; a missing chunk file is a damaged array. The fill value is bcolz's
// dflt. Attributes are those of __attrs__, as JSON has them: texts, truth values,
// int64 (uint64 if one is needed), float64, and lists of equal lengths of one of
// these; null, objects and mixed lists are listed as unsupported.
//
// Nothing is written: chunk files that bcolz reads hold chunks of Blosc1, which
// package cblosc does not make.
//
// # Memory
//
// Each chunk file that is being read takes its stored bytes; where a region holds
// only a part of its rows, the decompressed rows too. A region is read by up to
// GOMAXPROCS goroutines, each with one file.
//
// # Concurrency
//
// All methods may be called at the same time. Each chunk is decompressed by a
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
