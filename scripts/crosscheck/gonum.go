//go:build gonum

// gonum.org/v1/hdf5, linked with the libhdf5 of this module (see the script run).

package main

import (
	"errors"
	"fmt"
	"strings"

	gonumhdf5 "gonum.org/v1/hdf5"
)

var gonum = goPeer{"gonum", moduleVersion("gonum.org/v1/hdf5"), func(in request) bool { return dataset(in) && in.item > 0 }, "", gonumReads}

func gonumReads(in request) ([]byte, error) {
	f, err := gonumhdf5.OpenFile(in.path, gonumhdf5.F_ACC_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	d, err := f.OpenDataset(strings.TrimPrefix(in.object, "/"))
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
