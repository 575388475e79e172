// Package undo is how package h5 comes to decoders that package h5/filter has, which
// imports it.
package undo

// Decode is filter.Decode, and Known is filter.Known, once package h5/filter is imported;
// nil before. They are set while packages are initialized, and never again.
var (
	Decode func(id int, values []uint32, dst, src []byte) (int, error)
	Known  func(id int) bool
)
