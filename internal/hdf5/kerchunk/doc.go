// Package kerchunk writes kerchunk references of an HDF5 file: the locations of its chunks as a
// Zarr store of version 2, which fsspec and xarray read over the original file.
//
// The attributes and names are those that kerchunk 0.2.10 writes.
package kerchunk
