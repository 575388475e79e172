// Package npyfile is the driver of the .npy files of NumPy.
package npyfile
