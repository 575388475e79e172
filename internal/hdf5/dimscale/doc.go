// Package dimscale handles the attributes with which HDF5 links arrays and their dimension scales:
// DIMENSION_LIST of an array and REFERENCE_LIST of a scale refer to each other, and
// DIMENSION_LABELS contains names. netCDF-4 stores the dimensions of its variables in this way.
package dimscale
