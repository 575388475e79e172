// Package textview shows arrays of strings with another type of strings. Conversions use it for
// formats that lack the type of the source: Blosc2, bcolz and .npy store strings of a fixed size
// only, and HDF5 has no strings of four-byte characters.
//
// No string changes. Strings that the other type cannot represent are errors with their index.
package textview
