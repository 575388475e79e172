//go:build !gonum

package main

var gonum = peer{
	name: "gonum", about: "gonum.org/v1/hdf5: not tested, because it needs C flags that only the script run sets", asks: none, read: unread,
	version: func() string { return "" },
}
