package hyperslab_test

import (
	"errors"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/ndarray"
)

// TestSentinels_above checks that an error of an inner package matches the conditions of package
// ndarray, and only those.
func TestSentinels_above(t *testing.T) {
	missing := &fs.PathError{Op: "open", Path: "a", Err: fs.ErrNotExist}
	conditions := []error{ndarray.ErrFormat, ndarray.ErrCorrupt, ndarray.ErrNotFound, ndarray.ErrShape, ndarray.ErrExists, errors.ErrUnsupported}
	for _, x := range []struct {
		name  string
		err   error
		above []error
	}{
		{"not HDF5", h5.ErrNotHDF5, []error{ndarray.ErrFormat}},
		{"missing filter", &h5.FilterError{ID: 32015}, []error{errors.ErrUnsupported}},
		{"truncated HDF5", h5.ErrTruncated, []error{ndarray.ErrCorrupt}},
		{"kind of object", h5.ErrKind, nil},
		{"missing file of HDF5", &h5.Error{Op: "open", Path: "a", Err: missing}, []error{ndarray.ErrNotFound}},
		{"existing file", ndarray.Wrap("create", "a", &fs.PathError{Op: "mkdir", Path: "a", Err: fs.ErrExist}), []error{ndarray.ErrExists}},
		{"file that is not regular", regularfile.ErrNot, []error{ndarray.ErrFormat}},
		{"frame that is not valid", errs.ErrInvalidBytes, []error{ndarray.ErrCorrupt}},
		{"frame without an array", errs.ErrInvalidKind, []error{ndarray.ErrFormat}},
		{"chunk of another codec", cblosc.Code(-7), []error{errors.ErrUnsupported}},
		{"corrupt chunk", cblosc.Code(-3), []error{ndarray.ErrCorrupt}},
		{"failed write", cblosc.ErrBroken, []error{ndarray.ErrCorrupt}},
		{"limit of C-Blosc2", cblosc.ErrLimit, []error{ndarray.ErrShape}},
		{"missing file", ndarray.Wrap("open", "a", missing), []error{ndarray.ErrNotFound}},
	} {
		t.Run(x.name, func(t *testing.T) {
			var got []error
			for _, c := range conditions {
				if errors.Is(x.err, c) {
					got = append(got, c)
				}
			}
			require.Equal(t, x.above, got)
		})
	}
	require.EqualError(t, ndarray.Wrap("open", "a", missing), "ndarray: open a: "+missing.Error())
}
