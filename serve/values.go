// Elements as JSON, in the form of h5grove: floats without a finite value are null, complex numbers
// are [real, imaginary], compounds are lists, references are their kind.

package serve

import (
	"encoding/binary"
	"math"
	"strconv"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/elements/jsonform"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5elem"
	"github.com/hyperslab/hyperslab/ndarray"
)

// appendView appends one element of HDF5.
func appendView(out []byte, e h5elem.View) []byte {
	t := e.Datatype()
	switch t.Class {
	case h5.Integer, h5.Bitfield, h5.Time:
		return appendWhole(out, e)
	case h5.Float:
		f, _, ok := e.Float()
		if !ok {
			return append(out, "null"...)
		}
		return appendFloat(out, f, t.Size)
	case h5.Enum:
		if h5value.IsBool(t) {
			n, _ := e.Whole()
			return strconv.AppendBool(out, n != "0")
		}
		return appendWhole(out, e)
	case h5.String:
		s, _ := e.Text() // a null pointer is an empty string, as in h5py
		return jsonform.H5grove.AppendText(out, s)
	case h5.Opaque:
		return jsonform.H5grove.AppendBytes(out, e.Bytes())
	case h5.Reference:
		return jsonform.H5grove.AppendText(out, referenceText(e.Ref()))
	case h5.Complex:
		parts := h5.Values{Datatype: *t.Base, N: 2, Block: e.Bytes()}
		return jsonform.AppendList(out, 2, func(out []byte, i int) []byte { return appendView(out, h5elem.ViewOf(&parts, i)) })
	case h5.Array:
		return jsonform.AppendNested(out, t.Dims, func(out []byte, i int) []byte { return appendView(out, e.At(i)) })
	}
	return jsonform.AppendList(out, e.Len(), func(out []byte, i int) []byte { return appendView(out, e.At(i)) })
}

func appendWhole(out []byte, e h5elem.View) []byte {
	if s, ok := e.Whole(); ok {
		return append(out, s...)
	}
	return jsonform.H5grove.AppendBytes(out, e.Bytes()) // more than 64 bits
}

// referenceText is h5py's description of a reference.
func referenceText(r h5.Ref) string {
	kind := "object"
	if r.Kind == h5.RegionReference {
		kind = "region"
	}
	if r.IsNull() {
		kind += " reference (null)"
	} else {
		kind += " reference"
	}
	return "<HDF5 " + kind + ">"
}

// appendFloat appends the shortest digits that read back as the same float of size bytes.
func appendFloat(out []byte, f float64, size int) []byte {
	d, b := ndarray.DTypeOf[float64](), binary.NativeEndian.AppendUint64(nil, math.Float64bits(f))
	if size <= 4 && float64(float32(f)) == f {
		d, b = ndarray.DTypeOf[float32](), binary.NativeEndian.AppendUint32(nil, math.Float32bits(float32(f)))
	}
	return jsonform.H5grove.Append(out, d, b)
}
