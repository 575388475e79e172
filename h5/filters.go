//go:build cgo

// The filters that the library brings along, as steps of a pipeline.

package h5

import "fmt"

// Deflate compresses with zlib's level, 0 (store) to 9 (H5Pset_deflate).
func Deflate(level int) Filter {
	return Filter{ID: FilterDeflate, Optional: true, Values: []uint32{uint32(level)}}
}

// Shuffle gathers the bytes of equal weight (H5Pset_shuffle).
func Shuffle() Filter { return Filter{ID: FilterShuffle, Optional: true} }

// Fletcher32 stores a checksum with each chunk (H5Pset_fletcher32).
func Fletcher32() Filter { return Filter{ID: FilterFletcher32} }

// SzipCoding is how Szip codes (H5_SZIP_…_OPTION_MASK).
type SzipCoding uint32

// The codings.
const (
	SzipEntropy SzipCoding = 4  // for data that is already small differences
	SzipNearest SzipCoding = 32 // nearest neighbour first
)

// szipRaw is what the library adds to every mask (SZ_RAW_OPTION_MASK).
const szipRaw = 128

// Szip compresses integers and floats of up to 64 bits (H5Pset_szip). pixels is
// the number of elements in a block: even, 2 to 32, and at most those of a chunk.
func Szip(coding SzipCoding, pixels int) Filter {
	return Filter{ID: FilterSzip, Optional: true, Values: []uint32{uint32(coding) | szipRaw, uint32(pixels)}}
}

// Nbit stores of each number only the bits of its precision (H5Pset_nbit).
func Nbit() Filter { return Filter{ID: FilterNbit, Optional: true} }

// How ScaleOffset works (H5Z_SO_scale_type_t).
const (
	scaleFloat = 0 // H5Z_SO_FLOAT_DSCALE
	scaleInt   = 2 // H5Z_SO_INT
)

// ScaleOffsetInt stores integers as differences from the least of a chunk, in as
// many bits (H5Pset_scaleoffset). 0 bits: as many as are needed, and nothing is
// lost; otherwise values that do not fit lose bits. HDF5 1.14.5 does not read a chunk whose
// integers need all bits of their type.
func ScaleOffsetInt(bits int) Filter {
	return Filter{ID: FilterScaleOffset, Optional: true, Values: []uint32{scaleInt, uint32(bits)}}
}

// ScaleOffsetFloat keeps of floats that many decimal digits behind the point
// (H5Pset_scaleoffset). The rest is lost.
func ScaleOffsetFloat(digits int) Filter {
	return Filter{ID: FilterScaleOffset, Optional: true, Values: []uint32{scaleFloat, uint32(int32(digits))}}
}

// validate finds what the library's own filters would take for something else, or
// end in a failure without a reason.
func (f Filter) validate() error {
	bad := func(want string) error {
		return fmt.Errorf("%w: filter %d with values %d: %s", ErrParam, f.ID, f.Values, want)
	}
	if f.ID < 1 || f.ID > maxFilter || len(f.Values) > 1<<16-1 {
		return fmt.Errorf("%w: filter %d with %d values", ErrParam, f.ID, len(f.Values))
	}
	switch f.ID {
	case FilterDeflate:
		if len(f.Values) != 1 || f.Values[0] > 9 {
			return bad("one level, 0 to 9")
		}
	case FilterSzip:
		if len(f.Values) != 2 {
			return bad("a mask and the elements of a block")
		}
		coding := SzipCoding(f.Values[0]) & (SzipEntropy | SzipNearest)
		if pixels := f.Values[1]; coding != SzipEntropy && coding != SzipNearest || pixels < 2 || pixels > 32 || pixels%2 != 0 {
			return bad("one coding, and an even number of elements from 2 to 32")
		}
	case FilterScaleOffset:
		if len(f.Values) != 2 || f.Values[0] != scaleFloat && f.Values[0] != scaleInt {
			return bad("floats by digits or integers by bits")
		}
	}
	return nil
}
