//go:build !gonum

package main

var gonum = peer{
	name: "gonum", about: "gonum.org/v1/hdf5 needs C flags of its own: the script run has them", asks: none, read: unread,
	version: func() string { return "" },
}
