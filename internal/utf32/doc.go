// Package utf32 converts between strings and elements of NumPy's type U: code points of four bytes
// each in native byte order, padded with zeros.
package utf32
