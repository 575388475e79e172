// Datatypes of Go types that HDF5 does not have, in the form that h5py uses.

package h5value

import "github.com/hyperslab/hyperslab/h5"

// Bool returns the datatype that h5py uses for bool: an enumeration of FALSE = 0 and TRUE = 1 over
// a signed byte.
func Bool() h5.Datatype {
	base := h5.Int(1, h5.LittleEndian)
	return h5.Datatype{
		Class: h5.Enum, Size: 1, Base: &base,
		Members: []h5.Member{{Name: "FALSE", Value: 0}, {Name: "TRUE", Value: 1}},
	}
}

// IsBool reports whether t is the enumeration that h5py uses for bool.
func IsBool(t h5.Datatype) bool {
	return t.Class == h5.Enum && t.Size == 1 && len(t.Members) == 2 &&
		t.Members[0].Name == "FALSE" && t.Members[0].Value == 0 && t.Members[1].Name == "TRUE" && t.Members[1].Value == 1
}

// ComplexCompound returns the datatype that h5py uses for complex numbers: a compound of r and i.
func ComplexCompound(part h5.Datatype) h5.Datatype {
	return h5.Datatype{Class: h5.Compound, Size: 2 * part.Size, Members: []h5.Member{
		{Name: "r", Type: &part}, {Name: "i", Offset: part.Size, Type: &part},
	}}
}
