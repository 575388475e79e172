// Package msgpack reads and writes the MessagePack values that Blosc2 frames and metalayers consist
// of.
//
// A Reader reads the header and the trailer of a frame, and the metalayers of C-Blosc2. It accepts
// only the encoding that C-Blosc2 writes, because C-Blosc2 reads by position and would misread any
// other. Parse reads any value, for example a metalayer of python-blosc2.
//
// The specification is https://github.com/msgpack/msgpack/blob/master/spec.md.
package msgpack
