// Parameters of szip, n-bit and scale-offset that the library's decoders and encoders
// take on trust: a damaged one would make them leave their buffers.

package h5

// #include "shim.h"
import "C"

import (
	"fmt"

	"github.com/hyperslab/hyperslab/format/hdf5"
)

// soundLocked comes before an operation that runs the dataset's filters. It returns
// ErrCorrupt for parameters that are not those of the type and the chunk shape; of a
// type with pointers, whose stored size the library does not tell, those that
// contradict one another. What it has found sound it does not look at again.
//
// It does not see the chunks: that one is long enough package verify finds out, and
// formats.OpenUntrusted where no other filter comes after.
func (d *Dataset) soundLocked(op string, id C.int64_t) error {
	if d.sound {
		return nil
	}
	var cerr C.goh5_err_t
	var blob C.goh5_blob_t
	if rc := C.goh5_dsteps(&cerr, id, &blob); rc < 0 {
		return newError(op, d.path, rc, &cerr)
	}
	r := takeBlob(&blob)
	if r.bool() {
		elements, size := r.word(), r.word()
		for _, f := range r.filters() {
			x := hdf5.Filter{ID: hdf5.FilterID(f.ID), Values: f.Values}
			if size == 0 && f.ID == FilterNbit && len(f.Values) > 4 {
				size = uint64(f.Values[4])
			}
			if err := x.Sound(size, elements*size); err != nil {
				return &Error{Op: op, Path: d.path, Err: fmt.Errorf("%w: %w", ErrCorrupt, err)}
			}
		}
	}
	d.sound = true
	return nil
}
