// Package frames is the driver of Blosc2 frames: b2nd and Caterva arrays and plain frames, in one
// file or in the directory of a sparse frame.
package frames
