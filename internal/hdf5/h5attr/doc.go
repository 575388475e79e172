// Package h5attr contains operations on attributes of HDF5 that commands and copies of trees need
// in addition to a backend: digests of attributes that ndarray cannot represent, the creation order
// of attributes and links, and the size that an object header can store.
package h5attr
