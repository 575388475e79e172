// Package undo lets package h5 call the decoders of package h5/filter without an import cycle,
// because h5/filter imports h5.
package undo

// Decode is filter.Decode and Known is filter.Known if package h5/filter is imported, otherwise
// nil. They are set during package initialization and do not change afterwards.
var (
	Decode func(id int, values []uint32, dst, src []byte) (int, error)
	Known  func(id int) bool
)
