// Package b2ndmeta reads and writes the metalayers that make a Blosc2 frame an n-dimensional array:
// "b2nd" and its predecessor "caterva".
//
// # Functions
//
// [Parse] reads the content of a metalayer. [Meta.Append] writes it, byte for byte as C-Blosc2
// does. [Meta.Check] checks the shapes, and [Meta.CheckStorage] compares them with the sizes of the
// frame. These checks are needed before C-Blosc2 opens the frame: for example, it divides by zero
// if a chunk shape is 0, and reads uninitialized memory if the chunks are too short. [Describe]
// annotates every byte.
//
// The specifications are README_B2ND_METALAYER.rst of C-Blosc2 and CATERVA_METALAYER.rst of
// Caterva. The libraries differ from them in one point: an array of 16 dimensions, see Meta.
//
// # Memory
//
// A Meta has at most 16 dimensions and is small. The dtype is at most as long as the input.
//
// # Concurrency
//
// All functions are pure; a Meta is safe for concurrent reads.
//
// # Errors
//
// Every error is a *format.Error that wraps a sentinel of package format.
package b2ndmeta
