// Package cf interprets the attributes of the CF conventions: packed numbers, missing values and
// times. The values are those of netCDF4-python, and the dates are those of cftime.
//
// Integers never pass through a float: an element that is not scaled keeps its type and value, and
// a time that is stored as an integer has an exact date.
package cf
