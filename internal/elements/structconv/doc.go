// Package structconv converts structs and arrays between Go memory and elements in bytes. The
// packages ndarray and h5/h5value have different type systems. They supply the converters of
// numbers, strings and their other types without parts, and this package combines them.
//
// Every pointer must refer to memory of the Go type for which a [Converter] was made.
package structconv
