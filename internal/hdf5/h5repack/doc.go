// Package h5repack copies HDF5 files and stores their datasets in another way: with other chunks,
// another compression, or the layout for object stores of package h5cloud. All other objects and
// properties are copied as they are stored.
package h5repack
