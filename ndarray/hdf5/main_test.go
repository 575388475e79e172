package hdf5_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/testkit/leak"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
	"github.com/hyperslab/hyperslab/ndarray/ndarraytest"
)

func TestMain(m *testing.M) {
	leak.Main(m, leak.Check{Name: "open HDF5 ids", Left: h5.OpenIDs})
}

func factory(t *testing.T) ndarraytest.Factory {
	dir, n := testenv.Scratch(t), 0
	file := func() string { return filepath.Join(dir, fmt.Sprintf("%d.h5", n)) }
	return ndarraytest.Factory{
		Create: func(_ ndarraytest.TB, spec ndarray.Spec) (ndarray.Backend, error) {
			if err := os.RemoveAll(file()); err != nil {
				return nil, err
			}
			n++
			b, err := hdf5.Create(file(), "group/sub/data", spec, nil)
			if err != nil {
				if _, left := os.Lstat(file()); left == nil {
					err = errors.Join(err, errors.New("something is left behind"))
				}
				return nil, err
			}
			return b, nil
		},
		Reopen: func(ndarraytest.TB) (ndarray.Backend, error) {
			b, err := hdf5.Open(file(), "/group/sub/data", nil)
			if err != nil {
				return nil, err
			}
			return b, nil
		},
		Cannot:     func(spec ndarray.Spec) string { return cannot(spec.DType) },
		CannotAttr: func(a ndarray.Attr) string { return cannot(a.Value.DType) },
	}
}

func cannot(d ndarray.DType) string {
	why := ""
	d.MapParts(func(p ndarray.DType) ndarray.DType {
		if p.Kind == ndarray.Unicode {
			why = "HDF5 has no text of 4-byte code points"
		}
		for _, f := range p.Fields {
			if f.Title != "" {
				why = "HDF5 has no titles"
			}
		}
		return p
	})
	return why
}

func TestConformance(t *testing.T) { ndarraytest.TestBackend(t, factory(t)) }
