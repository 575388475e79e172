//go:build cgo

// Constructors of libhdf5's built-in filters.

package h5

import (
	"fmt"
	"sync"
)

// Deflate compresses with zlib at a level from 0 (store) to 9 (H5Pset_deflate).
func Deflate(level int) Filter {
	return Filter{ID: FilterDeflate, Optional: true, Values: []uint32{uint32(level)}}
}

// Shuffle stores the first bytes of all elements together, then the second bytes, and so on
// (H5Pset_shuffle).
func Shuffle() Filter { return Filter{ID: FilterShuffle, Optional: true} }

// Fletcher32 stores a checksum with each chunk (H5Pset_fletcher32).
func Fletcher32() Filter { return Filter{ID: FilterFletcher32} }

// SzipCoding is the coding method of Szip (H5_SZIP_…_OPTION_MASK).
type SzipCoding uint32

// The coding methods.
const (
	SzipEntropy SzipCoding = 4  // entropy coding, for data that already consists of small differences
	SzipNearest SzipCoding = 32 // nearest-neighbour preprocessing before the entropy coding
)

// szipRaw is a bit that libhdf5 sets in every mask (SZ_RAW_OPTION_MASK).
const szipRaw = 128

// Szip compresses integers and floats of up to 64 bits (H5Pset_szip). pixels is the number of
// elements in a block. It must be even, from 2 to 32, and at most the number of elements of a
// chunk.
func Szip(coding SzipCoding, pixels int) Filter {
	return Filter{ID: FilterSzip, Optional: true, Values: []uint32{uint32(coding) | szipRaw, uint32(pixels)}}
}

// Nbit stores only the bits within the precision of each number (H5Pset_nbit).
func Nbit() Filter { return Filter{ID: FilterNbit, Optional: true} }

// Scale types of ScaleOffset (H5Z_SO_scale_type_t).
const (
	scaleFloat = 0 // H5Z_SO_FLOAT_DSCALE
	scaleInt   = 2 // H5Z_SO_INT
)

// ScaleOffsetInt stores integers as differences from the minimum of a chunk, with bits bits each
// (H5Pset_scaleoffset). With 0 bits libhdf5 uses as many as needed, which is lossless; otherwise
// values that do not fit lose bits. HDF5 1.14.5 does not read a chunk whose integers need all bits
// of their type.
func ScaleOffsetInt(bits int) Filter {
	return Filter{ID: FilterScaleOffset, Optional: true, Values: []uint32{scaleInt, uint32(bits)}}
}

// ScaleOffsetFloat keeps the given number of decimal digits after the decimal point of floats
// (H5Pset_scaleoffset). It is lossy.
func ScaleOffsetFloat(digits int) Filter {
	return Filter{ID: FilterScaleOffset, Optional: true, Values: []uint32{scaleFloat, uint32(int32(digits))}}
}

// filterChecks are the functions of RegisterFilterCheck, by filter number.
var filterChecks sync.Map

// RegisterFilterCheck registers a function that checks the Values of a Filter before a dataset is
// created with it. If check returns an error, CreateDataset returns that error and ErrParam.
// Filters with a Name come from a file and are not checked, so that every dataset can be copied.
func RegisterFilterCheck(id int, check func(values []uint32) error) { filterChecks.Store(id, check) }

// validate rejects values that libhdf5's built-in filters would misinterpret, or reject without a
// reason.
func (f Filter) validate() error {
	bad := func(want string) error {
		return fmt.Errorf("%w: filter %d with values %d: %s", ErrParam, f.ID, f.Values, want)
	}
	if f.ID < 1 || f.ID > maxFilter || len(f.Values) > 1<<16-1 {
		return fmt.Errorf("%w: filter %d with %d values", ErrParam, f.ID, len(f.Values))
	}
	if check, ok := filterChecks.Load(f.ID); ok && f.Name == "" {
		if err := check.(func([]uint32) error)(f.Values); err != nil {
			return fmt.Errorf("%w: filter %d with values %d: %w", ErrParam, f.ID, f.Values, err)
		}
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
