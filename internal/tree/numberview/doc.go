// Package numberview shows arrays of numbers with another type of numbers. Conversions with a
// change of the element type use it.
//
// Each value must be exactly representable in the other type, unless the rules of the conversion
// allow to round or to clip it; then the changed values are counted. The attributes whose type must
// be that of the elements, for example _FillValue, are converted too.
package numberview
