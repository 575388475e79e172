// Package msgpack reads and writes the few msgpack values that Blosc2 frames and
// metalayers are made of. It is strict: a value has the one encoding that C-Blosc2
// writes, since its reader goes by position and would misread any other.
//
// The specification is https://github.com/msgpack/msgpack/blob/master/spec.md.
package msgpack
