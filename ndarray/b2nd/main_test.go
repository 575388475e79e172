package b2nd_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/testkit/leak"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/b2nd"
	"github.com/hyperslab/hyperslab/ndarray/ndarraytest"
)

func TestMain(m *testing.M) { leak.Main(m) }

// factory creates arrays in files, or in sparse directories if sparse is set. It deletes the
// previous array, because the suite needs one at a time.
func factory(t *testing.T, sparse bool) ndarraytest.Factory {
	dir, n := testenv.Scratch(t), 0
	path := func() string { return filepath.Join(dir, fmt.Sprintf("%d.b2nd", n)) }
	return ndarraytest.Factory{
		Create: func(_ ndarraytest.TB, spec ndarray.Spec) (ndarray.Backend, error) {
			if err := os.RemoveAll(path()); err != nil {
				return nil, err
			}
			n++
			b, err := b2nd.Create(path(), spec, &b2nd.CreateOptions{Sparse: sparse})
			if err != nil {
				if _, left := os.Lstat(path()); left == nil {
					err = errors.Join(err, errors.New("something is left behind"))
				}
				return nil, err
			}
			return b, nil
		},
		Reopen: func(ndarraytest.TB) (ndarray.Backend, error) {
			b, err := b2nd.Open(path(), nil)
			if err != nil {
				return nil, err
			}
			return b, nil
		},
		Cannot: func(spec ndarray.Spec) string {
			if len(spec.Shape) > cblosc.MaxDim {
				return "more axes than the library has"
			}
			if spec.DType.Size == 0 {
				return "b2nd has no elements of variable size"
			}
			if spec.Comment != "" {
				return "b2nd has no comments"
			}
			return ""
		},
	}
}

func TestConformanceContiguous(t *testing.T) { ndarraytest.TestBackend(t, factory(t, false)) }

// TestConformanceCaterva runs the conformance suite for Caterva. Caterva does not store the element
// type, so the test passes it to Open again, and it cannot store some metadata.
func TestConformanceCaterva(t *testing.T) {
	f := factory(t, false)
	file := filepath.Join(testenv.Scratch(t), "c.b2nd")
	var given ndarray.DType
	f.Create = func(_ ndarraytest.TB, spec ndarray.Spec) (ndarray.Backend, error) {
		if err := os.RemoveAll(file); err != nil {
			return nil, err
		}
		given = spec.DType
		b, err := b2nd.Create(file, spec, &b2nd.CreateOptions{Caterva: true})
		if err != nil {
			return nil, err
		}
		return b, nil
	}
	f.Reopen = func(ndarraytest.TB) (ndarray.Backend, error) {
		b, err := b2nd.Open(file, &b2nd.OpenOptions{DType: &given})
		if err != nil {
			return nil, err
		}
		return b, nil
	}
	b2ndCannot := f.Cannot
	f.Cannot = func(spec ndarray.Spec) string {
		switch {
		case spec.Null, spec.MaxShape != nil, spec.AxisNames != nil, slices.ContainsFunc(spec.Fill, func(b byte) bool { return b != 0 }):
			return "Caterva has no words for it"
		}
		return b2ndCannot(spec)
	}
	ndarraytest.TestBackend(t, f)
}

func TestConformanceSparse(t *testing.T) { ndarraytest.TestBackend(t, factory(t, true)) }
