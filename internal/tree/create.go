// Creation of single arrays, and of files with many.

package tree

import (
	"fmt"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/hdf5/dimscale"
	"github.com/hyperslab/hyperslab/ndarray"
)

// CreateOptions are the options of Format.Create. Those of hyperslab.CreateOptions are documented
// there.
type CreateOptions struct {
	Format string // name of the format; the driver of frames has two
	File   string // to create, in messages
	Path   string // of the array in the file
	Name   string // of the array in Meta.Path and errors
	Exists bool   // the array is added to an existing file

	Sparse, Plain, InPlace, Library bool

	Stripes  []string
	StripeOf func(chunk []int64) int
	Mappings []h5.Mapping
	External []h5.ExternalFile
}

// Creates are the options of CreateOptions that a format has.
type Creates struct {
	Sparse, Plain, InPlace bool
	Elsewhere              bool // elements in other files: stripes, mappings and external files
}

// Check returns an error for options that a format does not have, and for options that exclude each
// other.
func (o *CreateOptions) Check(has Creates) error {
	elsewhere := 0
	for _, set := range []bool{o.Stripes != nil, o.Mappings != nil, o.External != nil} {
		if set {
			elsewhere++
		}
	}
	switch {
	case o.Sparse && !has.Sparse:
		return fmt.Errorf("%w: only b2nd can be sparse, not %s", ndarray.ErrParam, o.Format)
	case o.Plain && (!has.Plain || o.Sparse):
		return fmt.Errorf("%w: a plain frame: got format %s, sparse %v, want %s in one file", ndarray.ErrParam, o.Format, o.Sparse, detect.B2ND)
	case o.InPlace && !has.InPlace:
		return fmt.Errorf("%w: only HDF5 files are changed in place, not %s", ndarray.ErrParam, o.Format)
	case elsewhere > 0 && !has.Elsewhere:
		return fmt.Errorf("%w: format of an array with elements in other files: got %s, want %s", ndarray.ErrParam, o.Format, detect.HDF5)
	case elsewhere > 1:
		return fmt.Errorf("%w: location of the elements: got more than one of stripes, mappings and external files, want one", ndarray.ErrParam)
	case o.Stripes == nil && o.StripeOf != nil:
		return fmt.Errorf("%w: placement of stripes without stripe files", ndarray.ErrParam)
	}
	return nil
}

// Builder writes the objects of a new file. Its methods are called one at a time. Paths are those
// of Tree, and the group of an object exists.
type Builder interface {
	// Group creates a group with attributes. The root exists, and gets the attributes.
	Group(path string, attrs []ndarray.Attr) error
	// Array creates an array, which is closed before the file. name is that of the array in
	// messages. After an error there is no array.
	Array(path, name string, spec ndarray.Spec) (ndarray.Backend, error)
	// Scales attaches dimension scales to an array. All arrays are closed.
	Scales(path string, axes []dimscale.Axis) error
	// Close closes the file.
	Close() error
}
