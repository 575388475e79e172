// Package b2nd reads and writes the metalayers that make a Blosc2 frame an
// n-dimensional array: "b2nd", and its ancestor "caterva".
//
// # What
//
// [Parse] reads the content of a metalayer, [Meta.Append] writes it, byte for
// byte as C-Blosc2 does. [Meta.Check] says whether the shapes make sense, and
// [Meta.CheckStorage] whether they fit the frame they are found in; a chunk shape
// of 0 makes the library divide by zero, and a frame of shorter chunks makes it
// read memory it never wrote. [Describe] annotates every byte.
//
// The documents are README_B2ND_METALAYER.rst of C-Blosc2 and
// CATERVA_METALAYER.rst of Caterva. They agree with the libraries but for one
// thing: an array of 16 dimensions, see Meta.
//
// # Memory
//
// At most 16 dimensions are read, so a Meta is small; the dtype is as long as the
// input says and holds.
//
// # Concurrency
//
// All functions are pure; a Meta is safe for concurrent reads.
//
// # Errors
//
// Every failure is a *format.Error that wraps a sentinel of package format.
package b2nd
