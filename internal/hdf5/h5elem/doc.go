// Package h5elem reads and builds the elements of h5.Values without Go types: a [View] inspects an
// element of any datatype, a [Builder] makes h5.Values from bytes, and [MapRefs] replaces
// references. Package h5value, which converts between elements and Go values, uses the same
// functions for the words, strings and sequences of a block.
package h5elem
