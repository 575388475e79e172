// Dataspaces (File Format, IV.A.2.b).

package h5file

import (
	"fmt"
	"math/bits"
	"strings"
)

// MaxRank is the maximum number of dimensions of a dataspace, H5S_MAX_RANK in libhdf5. The format
// could represent 255.
const MaxRank = 32

// Unlimited is the maximum size of an unlimited dimension.
const Unlimited = ^uint64(0)

// SpaceClass is the class of a dataspace.
type SpaceClass uint8

// Classes of dataspaces.
const (
	ScalarSpace SpaceClass = iota
	SimpleSpace
	NullSpace
)

// Dataspace is the number of elements and their shape.
type Dataspace struct {
	Version uint8
	Class   SpaceClass
	Dims    []uint64
	MaxDims []uint64 // nil if equal to Dims; elements may be Unlimited
}

// Elements returns the number of elements; false if it is 2^64 or more.
func (s *Dataspace) Elements() (uint64, bool) {
	if s.Class == NullSpace {
		return 0, true
	}
	return product(s.Dims)
}

// product returns the product; false if it is 2^64 or more. It is 0 if any factor is 0.
func product(dims []uint64) (uint64, bool) {
	for _, d := range dims {
		if d == 0 {
			return 0, true
		}
	}
	n := uint64(1)
	for _, d := range dims {
		hi, lo := bits.Mul64(n, d)
		if hi != 0 {
			return 0, false
		}
		n = lo
	}
	return n, true
}

// String returns the shape, for example "scalar", "null", "[2 3]", "[2 3 of 2 unlimited]".
func (s *Dataspace) String() string {
	switch s.Class {
	case ScalarSpace:
		return "scalar"
	case NullSpace:
		return "null"
	}
	text := strings.Trim(fmt.Sprint(s.Dims), "[]")
	if s.MaxDims != nil {
		text += " of"
		for _, m := range s.MaxDims {
			if m == Unlimited {
				text += " unlimited"
			} else {
				text += fmt.Sprintf(" %d", m)
			}
		}
	}
	return "[" + text + "]"
}

func (p *part) dataspace() *Dataspace {
	s := &Dataspace{Version: p.u8("version")}
	if !p.version(s.Version, 1, 2) {
		return s
	}
	rank := int(p.u8("dimensionality"))
	if !p.check(rank <= MaxRank, rank, "at most 32") {
		return s
	}
	flags := p.u8("flags")
	p.hex()
	if s.Version == 1 {
		p.reserved(5)
		if rank > 0 {
			s.Class = SimpleSpace
		}
	} else {
		s.Class = SpaceClass(p.u8("type"))
		p.check(s.Class <= NullSpace, uint8(s.Class), "0 to 2")
		if s.Class != SimpleSpace && rank > 0 {
			p.bad(fmt.Sprintf("%d dimensions", rank), "0 dimensions for a scalar or null dataspace")
		}
	}
	for i := range rank {
		end := p.group("dimension", i)
		s.Dims = append(s.Dims, p.length("size"))
		end()
	}
	if flags&1 != 0 {
		for i := range rank {
			end := p.group("dimension", i)
			m := p.length("maximum size")
			if w := 8 * p.r.f.super.LengthSize; m == Unlimited>>(64-min(w, 64)) {
				m = Unlimited
				p.mean("unlimited")
			}
			p.check(s.Dims[i] <= m, m, fmt.Sprintf("at least the size, %d", s.Dims[i]))
			s.MaxDims = append(s.MaxDims, m)
			end()
		}
	}
	if flags&2 != 0 {
		// Permutation indices were never written, and libhdf5 does not read them.
		p.mean("permutation indices announced")
	}
	if _, ok := s.Elements(); !ok {
		p.bad("2^64 elements or more", "fewer than 2^64")
	}
	return s
}
