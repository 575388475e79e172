// Package h5fs presents the groups and datasets of an HDF5 file as an io/fs file system, for
// example for fs.WalkDir, http.FileServerFS and text/template.
package h5fs
