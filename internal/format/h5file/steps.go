// Checks of the parameters and chunk lengths that libhdf5's decoders of n-bit, scale-offset, szip
// and checksums do not check (H5Znbit.c, H5Zscaleoffset.c, H5Zszip.c, H5Zfletcher32.c).

package h5file

import (
	"fmt"

	"github.com/hyperslab/hyperslab/internal/format"
)

// A stepError is an error in a filter's parameters, or in the bytes that it decodes.
type stepError struct {
	id        FilterID
	got, want string
}

func (e *stepError) Error() string { return fmt.Sprintf("%s: %s, want %s", e.id, e.got, e.want) }

func (e *stepError) Is(target error) bool { return target == format.ErrCorrupt }

func (f *Filter) bad(got, want string) error { return &stepError{f.ID, got, want} }

// Sound returns an error if libhdf5's decoder of n-bit, scale-offset or szip is unsafe with the
// filter's parameters: it would access memory outside its buffers, divide by zero, or produce a
// chunk of another size. The error is format.ErrCorrupt. element and chunk are the sizes in bytes
// of an element and of an unfiltered chunk. For other filters Sound returns nil.
func (f *Filter) Sound(element, chunk uint64) error {
	switch f.ID {
	case NBit:
		_, err := f.nbit(element, chunk)
		return err
	case ScaleOffset:
		return f.scaleOffset(element, chunk)
	case SZip:
		return f.szip()
	}
	return nil
}

// Needs returns the number of bytes of a filtered chunk that libhdf5's decoder of n-bit,
// scale-offset or szip reads, whatever the length of the chunk. It returns 0 for other filters, and
// if the filter does nothing. stored is the chunk, or its first 4 bytes. element and chunk are as
// in Sound, whose errors Needs returns.
func (f *Filter) Needs(stored []byte, element, chunk uint64) (uint64, error) {
	if err := f.Sound(element, chunk); err != nil {
		return 0, err
	}
	switch f.ID {
	case NBit:
		return f.nbit(element, chunk)
	case SZip:
		return 4, nil // the size of the chunk; the decoder checks the length of the rest
	case ScaleOffset:
		if f.untouched() {
			return 0, nil
		}
		if len(stored) < 4 {
			return scaleOffsetHead, nil
		}
		bits := uint64(le32(stored))
		if bits > 8*element { // 8*element is valid, although HDF5 1.14.5 refuses to read it
			return 0, f.bad(fmt.Sprintf("numbers of %d bits", bits), fmt.Sprintf("at most %d, those of an element", 8*element))
		}
		return scaleOffsetHead + (chunk/element*bits+7)/8, nil
	}
	return 0, nil
}

// Classes of datatypes in the parameters of n-bit.
const (
	nbitAtomic   = 1
	nbitArray    = 2
	nbitCompound = 3
	nbitNoOp     = 4
)

// mostNBit is the maximum number of parameters that libhdf5 writes (H5Z_NBIT_MAX_NPARMS).
// deepestNBit is the maximum nesting depth of datatypes, because libhdf5's decoder is recursive.
const (
	mostNBit    = 4096
	deepestNBit = 64
)

// nbit checks the parameters of n-bit, and returns the number of bytes that the decoder reads.
func (f *Filter) nbit(element, chunk uint64) (uint64, error) {
	v := f.Values
	switch {
	case len(v) < 3 || len(v) > mostNBit || uint64(v[0]) != uint64(len(v)):
		return 0, f.bad(fmt.Sprintf("%d parameters", len(v)), fmt.Sprintf("3 to %d, and their number first", mostNBit))
	case v[1] != 0:
		return 0, nil // the filter does nothing
	case len(v) < 5 || uint64(v[4]) != element:
		return 0, f.bad(fmt.Sprint(v[3:]), fmt.Sprintf("the parameters of elements of %d bytes", element))
	case uint64(v[2])*element != chunk:
		return 0, f.bad(fmt.Sprintf("%d elements of %d bytes", v[2], element), fmt.Sprintf("those of a chunk of %d bytes", chunk))
	case v[3] < nbitAtomic || v[3] > nbitCompound:
		return 0, f.bad(fmt.Sprintf("class %d", v[3]), "1 to 3")
	}
	p := &nbitParameters{f: f, rest: v[3:]}
	bits := p.element(element, 0)
	if p.err == nil && len(p.rest) > 0 {
		p.fail(fmt.Sprintf("%d parameters after the last", len(p.rest)), "none")
	}
	// The decoder reads the same number of bits for every element.
	return (uint64(v[2])*bits + 7) / 8, p.err
}

// nbitParameters reads parameters one by one, as the decoder does.
type nbitParameters struct {
	f    *Filter
	rest []uint32
	err  error
}

func (p *nbitParameters) fail(got, want string) {
	if p.err == nil {
		p.err = p.f.bad(got, want)
	}
}

func (p *nbitParameters) next() uint64 {
	if len(p.rest) == 0 {
		p.fail("the last parameter too early", "those of the whole type")
		return 0
	}
	v := p.rest[0]
	p.rest = p.rest[1:]
	return uint64(v)
}

// element reads the parameters of a type that must have want bytes. It returns the number of stored
// bits of a value, which is at most 8*want.
func (p *nbitParameters) element(want uint64, depth int) uint64 {
	class, size := p.next(), p.next()
	switch {
	case p.err != nil:
		return 0
	case size != want:
		p.fail(fmt.Sprintf("a type of %d bytes", size), fmt.Sprint(want))
		return 0
	case depth >= deepestNBit:
		p.fail(fmt.Sprintf("more than %d types in one another", deepestNBit), "fewer")
		return 0
	}
	switch class {
	case nbitAtomic:
		return p.atomic(size)
	case nbitArray:
		return p.array(size, depth)
	case nbitCompound:
		return p.compound(size, depth)
	case nbitNoOp:
		return 8 * size
	}
	p.fail(fmt.Sprintf("class %d", class), "1 to 4")
	return 0
}

func (p *nbitParameters) atomic(size uint64) uint64 {
	order, precision, offset := p.next(), p.next(), p.next()
	switch {
	case order > 1:
		p.fail(fmt.Sprintf("byte order %d", order), "0 or 1")
	case precision == 0 || precision+offset > 8*size:
		p.fail(fmt.Sprintf("%d bits from %d", precision, offset), fmt.Sprintf("bits inside %d bytes", size))
	}
	return precision
}

func (p *nbitParameters) array(size uint64, depth int) uint64 {
	if len(p.rest) < 2 {
		p.next()
		p.next()
		return 0
	}
	base := uint64(p.rest[1])
	if base == 0 || size%base != 0 {
		p.fail(fmt.Sprintf("elements of %d bytes", base), fmt.Sprintf("a divisor of %d", size))
		return 0
	}
	return size / base * p.element(base, depth+1)
}

func (p *nbitParameters) compound(size uint64, depth int) uint64 {
	members, used, bits := p.next(), uint64(0), uint64(0)
	for range members {
		offset := p.next()
		if p.err != nil || len(p.rest) < 2 {
			p.fail("the last parameter too early", "those of all members")
			return 0
		}
		member := uint64(p.rest[1])
		if used += member; member == 0 || used > size || offset+member > size {
			p.fail(fmt.Sprintf("a member of %d bytes at %d", member, offset), fmt.Sprintf("members inside %d bytes", size))
			return 0
		}
		bits += p.element(member, depth+1)
	}
	return bits
}

// Indexes of the parameters of scale-offset (H5Z_SCALEOFFSET_PARM_…). A chunk starts with a header
// of scaleOffsetHead bytes, which contains the number of bits of each value and the minimum.
const (
	scaleOffsetType     = 0
	scaleOffsetFactor   = 1
	scaleOffsetElements = 2
	scaleOffsetClass    = 3
	scaleOffsetSize     = 4
	scaleOffsetSign     = 5
	scaleOffsetOrder    = 6
	scaleOffsetFill     = 7
	scaleOffsetCount    = 20
	scaleOffsetHead     = 21

	scaleOffsetInt = 2
)

// untouched reports whether the values are integers that keep all their bits. The filter then does
// nothing.
func (f *Filter) untouched() bool {
	return f.Values[scaleOffsetType] == scaleOffsetInt && uint64(f.Values[scaleOffsetFactor]) == 8*uint64(f.Values[scaleOffsetSize])
}

func (f *Filter) scaleOffset(element, chunk uint64) error {
	v := f.Values
	if len(v) != scaleOffsetCount {
		return f.bad(fmt.Sprintf("%d parameters", len(v)), fmt.Sprint(scaleOffsetCount))
	}
	size := uint64(v[scaleOffsetSize])
	floats := v[scaleOffsetClass] == 1
	switch {
	case size != element || size != 4 && size != 8 && (floats || size != 1 && size != 2):
		return f.bad(fmt.Sprintf("numbers of %d bytes", size), fmt.Sprintf("those of C, in elements of %d bytes", element))
	case uint64(v[scaleOffsetElements])*size != chunk:
		return f.bad(fmt.Sprintf("%d elements of %d bytes", v[scaleOffsetElements], size), fmt.Sprintf("those of a chunk of %d bytes", chunk))
	case v[scaleOffsetClass] > 1 || !floats && v[scaleOffsetSign] > 1 || v[scaleOffsetOrder] > 1 || v[scaleOffsetFill] > 1:
		// libhdf5 does not read the sign of floats, and old versions store any number there.
		return f.bad(fmt.Sprintf("class, sign, order and fill value %d", v[scaleOffsetClass:scaleOffsetFill+1]), "0 or 1 each")
	case floats && v[scaleOffsetType] != 0 || !floats && v[scaleOffsetType] != scaleOffsetInt:
		return f.bad(fmt.Sprintf("scale type %d", v[scaleOffsetType]), "0 for floats, 2 for integers")
	case !floats && int32(v[scaleOffsetFactor]) > int32(8*size):
		return f.bad(fmt.Sprintf("%d bits", v[scaleOffsetFactor]), fmt.Sprintf("at most %d", 8*size))
	}
	return nil
}

// szip checks the parameters by which libaec divides, and the sizes of its buffers.
func (f *Filter) szip() error {
	v := f.Values
	switch {
	case len(v) != 4:
		return f.bad(fmt.Sprintf("%d parameters", len(v)), "4")
	case v[1] < 2 || v[1] > 32 || v[1]%2 != 0:
		return f.bad(fmt.Sprintf("blocks of %d numbers", v[1]), "2 to 32, and even")
	case v[2] < 1 || v[2] > 24 && v[2] != 32 && v[2] != 64:
		return f.bad(fmt.Sprintf("numbers of %d bits", v[2]), "1 to 24, 32 or 64")
	case v[3] < 1 || v[3] > 4096:
		return f.bad(fmt.Sprintf("lines of %d numbers", v[3]), "1 to 4096")
	}
	return nil
}

// last returns the last filter, except checksums, that was applied to a chunk with the mask, or
// nil. sums is the number of checksums after it.
func (l *Pipeline) last(mask uint32) (f *Filter, sums uint64) {
	for i := len(l.Filters) - 1; i >= 0; i-- {
		switch {
		case mask>>i&1 != 0:
		case l.Filters[i].ID != Fletcher32:
			return &l.Filters[i], sums
		default:
			sums++
		}
	}
	return nil, sums
}

// sums returns the number of checksums of a chunk with the mask.
func (l *Pipeline) sums(mask uint32) (n uint64) {
	for i := range l.Filters {
		if l.Filters[i].ID == Fletcher32 && mask>>i&1 == 0 {
			n++
		}
	}
	return n
}

// sumSize is the number of bytes that fletcher32 appends to a chunk.
const sumSize = 4

// endsLong returns an error if a chunk of size bytes is too short for its last checksums, or for
// the szip, n-bit or scale-offset decoder that runs after them. head returns the first bytes of the
// chunk.
func (l *Pipeline) endsLong(mask uint32, size uint64, head func(n int64) ([]byte, error), element, chunk uint64) error {
	f, sums := l.last(mask)
	if size < sumSize*sums {
		sum := Filter{ID: Fletcher32}
		return sum.bad(fmt.Sprintf("a chunk of %d bytes", size), fmt.Sprintf("at least %d", sumSize*sums))
	}
	if f == nil || f.ID != NBit && f.ID != ScaleOffset && f.ID != SZip {
		return nil
	}
	have := size - sumSize*sums
	b, err := head(int64(min(have, 4)))
	if err != nil {
		return err
	}
	n, err := f.Needs(b, element, chunk)
	if err == nil && have < n {
		err = f.bad(fmt.Sprintf("a chunk of %d bytes", have), fmt.Sprintf("at least %d", n))
	}
	return err
}

// LongEnough returns an error if a stored chunk is shorter than the bytes that its decoders read.
// It checks szip, n-bit and scale-offset if one of them is the last filter except checksums. It
// also checks fletcher32, even if deflate and shuffle follow it in the pipeline. Filters whose bit
// is set in mask are skipped. The error is format.ErrCorrupt and contains both sizes. element and
// chunk are the sizes in bytes of an element and of an unfiltered chunk.
func (l *Pipeline) LongEnough(mask uint32, stored []byte, element, chunk uint64) error {
	head := func(n int64) ([]byte, error) { return stored[:n], nil }
	if err := l.endsLong(mask, uint64(len(stored)), head, element, chunk); err != nil {
		return err
	}
	return l.longForSums(mask, stored, chunk)
}

// longForSums is LongForSums with only the filters that this package decodes.
func (l *Pipeline) longForSums(mask uint32, b []byte, chunk uint64) error {
	unknown := func(*Filter, []byte, uint64) ([]byte, error) { return nil, nil }
	return l.LongForSums(mask, b, chunk+chunk/8+sumSize*uint64(len(l.Filters)), unknown)
}

// LongForSums decodes the filters of a stored chunk, except those whose bit is set in mask, down to
// the first fletcher32 of the pipeline. It returns an error that is format.ErrCorrupt if a
// fletcher32 gets less than its 4 bytes. For such a chunk libhdf5's decoder would read all memory
// after it (CVE-2026-19028). LongForSums does not compare the checksums or modify the chunk. most
// is the maximum size of the chunk in bytes between two filters.
//
// undo decodes filters other than deflate, shuffle and fletcher32, and LongForSums returns its
// errors. If undo returns nil without an error, the remaining filters cannot be checked and
// LongForSums returns nil.
func (l *Pipeline) LongForSums(mask uint32, b []byte, most uint64, undo func(f *Filter, b []byte, most uint64) ([]byte, error)) error {
	left := l.sums(mask)
	for i := len(l.Filters) - 1; i >= 0 && left > 0; i-- {
		if mask>>i&1 != 0 {
			continue
		}
		var err error
		switch f := &l.Filters[i]; {
		case f.ID == Fletcher32 && len(b) < sumSize:
			return f.bad(fmt.Sprintf("a chunk of %d bytes", len(b)), fmt.Sprintf("at least %d", sumSize))
		case f.ID == Fletcher32:
			b = b[:len(b)-sumSize]
			left--
		case f.ID == Shuffle: // does not change the length
			b = unshuffle(b, f.Values)
		case f.ID == Deflate:
			b, err = inflate(b, most)
		default:
			if b, err = undo(f, b, most); b == nil {
				return err
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}
