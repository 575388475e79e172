// Package msgpack reads and writes the msgpack values that Blosc2 frames and metalayers consist of.
// It accepts only the encoding that C-Blosc2 writes, because C-Blosc2 reads by position and would
// misread any other.
//
// The specification is https://github.com/msgpack/msgpack/blob/master/spec.md.
package msgpack
