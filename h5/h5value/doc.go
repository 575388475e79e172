// Package h5value converts between Go values and elements of HDF5 datasets and attributes.
//
// Package h5 transfers bytes and h5.Values. This package maps them to Go types: [Read], [ReadAll]
// and [Write] for datasets, [ReadAttr] and [WriteAttr] for attributes, [Decode] and [Encode] for
// h5.Values.
//
//	values, err := h5value.ReadAll[float64](dataset)
//
// # Types
//
// These pairs of a stored datatype and a Go type are possible:
//
//	integer, bit field, time    any Go integer or float; bit fields as unsigned
//	float                       any Go integer or float, *big.Float
//	enumeration                 any Go number (a member's to write), string (a member's name), EnumValue;
//	                            bool for FALSE and TRUE
//	string, fixed or variable   string
//	opaque                      []byte, [N]byte
//	compound                    struct (fields by name), Record; complex64 and complex128 for {r, i}
//	complex (HDF5 2)            complex64, complex128
//	array                       [N]T, or a slice of that many, per dimension
//	sequence                    []T; string if the elements are bytes or characters
//	reference                   h5.Ref
//
// The empty interface is possible for all of them. It then holds:
//
//   - integers, bit fields, times: an integer of the stored sign and the next width, unsigned for
//     bit fields; []byte over 64 bits
//   - floats: float32 or float64 if exact, *big.Float for longer floats (nil for NaN)
//   - enumerations: bool for FALSE and TRUE, otherwise EnumValue
//   - strings: string; opaque: []byte
//   - complex numbers: complex64 or complex128; other compounds: Record
//   - references: h5.Ref
//   - sequences and arrays: slices of these types
//
// # Values that change
//
// No value changes silently: a number that the other type cannot represent exactly returns
// h5.ErrOverflow or h5.ErrPrecision, except in functions with Lossy in their name. Those clamp
// numbers that are out of range and round to nearest, ties to even.
//
// libhdf5 converts datasets of numbers in one call, directly into the caller's slice, if no number
// can change. Otherwise this package reads or writes the elements as stored and converts them,
// which needs memory for the stored elements. It does the same with numbers inside compounds,
// arrays and sequences, and with numbers of layouts that libhdf5 does not support.
//
// # Errors
//
// Every failure is an *h5.Error with the sentinels of package h5.
package h5value
