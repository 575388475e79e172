// Package chunkmap lists the stored chunks of an array of any format with their offsets and sizes,
// and finds the Blosc2 frame of an array in a container. No chunk is decoded, except those that
// contain an embedded frame of python-blosc2.
package chunkmap
