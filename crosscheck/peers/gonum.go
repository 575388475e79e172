//go:build gonum

// gonum.org/v1/hdf5, linked with the libhdf5 of this module (see the script run).

package main

import (
	"errors"
	"fmt"
	"strings"

	gonumhdf5 "gonum.org/v1/hdf5"

	"github.com/hyperslab/hyperslab/crosscheck"
)

var gonum = peer{
	name: "gonum", about: "gonum.org/v1/hdf5, cgo, linked with the libhdf5 of this module: Dataset.Read into bytes, for elements of fixed size",
	asks: func(c crosscheck.Case) bool {
		return dataset(c) && (c.Must == crosscheck.Refuse || c.Decoded.Item > 0)
	},
	read: gonumReads, version: func() string { return module("gonum.org/v1/hdf5") },
}

func gonumReads(path string, c crosscheck.Case) ([]byte, error) {
	f, err := gonumhdf5.OpenFile(path, gonumhdf5.F_ACC_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	d, err := f.OpenDataset(strings.TrimPrefix(c.Object, "/"))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	dt, err := d.Datatype()
	if err != nil {
		return nil, err
	}
	s := d.Space()
	if s == nil {
		return nil, errors.New("no dataspace")
	}
	// Read writes as many bytes as the file declares, even if the slice is shorter.
	n := s.SimpleExtentNPoints() * int(dt.Size())
	if n < 0 || n > 1<<30 {
		return nil, fmt.Errorf("%d bytes", n)
	}
	b := make([]byte, n)
	if n == 0 {
		return b, nil
	}
	return b, d.Read(&b)
}
