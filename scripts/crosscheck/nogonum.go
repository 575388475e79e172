//go:build !gonum

package main

import "errors"

// gonum is not tested, because it needs C flags that only the script run sets.
var gonum = goPeer{"gonum", func() string { return "" }, func(request) bool { return false }, "", func(request) ([]byte, error) { return nil, errors.ErrUnsupported }}
