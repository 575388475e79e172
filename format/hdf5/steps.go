// What the library's decoders of n-bit, scale-offset, szip and checksums take on trust:
// their parameters, and that a chunk is as long as those make them read (H5Znbit.c,
// H5Zscaleoffset.c, H5Zszip.c, H5Zfletcher32.c).

package hdf5

import (
	"fmt"

	"github.com/hyperslab/hyperslab/format"
)

// A stepError says what is wrong with a filter's parameters, or with the bytes it is
// to decode.
type stepError struct {
	id        FilterID
	got, want string
}

func (e *stepError) Error() string { return fmt.Sprintf("%s: %s, want %s", e.id, e.got, e.want) }

func (e *stepError) Is(target error) bool { return target == format.ErrCorrupt }

func (f *Filter) bad(got, want string) error { return &stepError{f.ID, got, want} }

// Sound reports parameters with which the library's decoder of n-bit, scale-offset or
// szip would leave its buffers, divide by zero or make other bytes than the chunk has:
// an error that is format.ErrCorrupt. element and chunk are the bytes of an element
// and of a chunk without its filters. Of other filters nothing is said: nil.
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

// Needs returns how many bytes of a filtered chunk the library's decoder of n-bit,
// scale-offset or szip reads, however many there are; 0 of other filters, and if it does
// nothing. stored is the
// chunk, or its first 4 bytes, and element and chunk are as in Sound, whose errors it
// returns.
func (f *Filter) Needs(stored []byte, element, chunk uint64) (uint64, error) {
	if err := f.Sound(element, chunk); err != nil {
		return 0, err
	}
	switch f.ID {
	case NBit:
		return f.nbit(element, chunk)
	case SZip:
		return 4, nil // the size of the chunk; the rest is decoded by its length
	case ScaleOffset:
		if f.untouched() {
			return 0, nil
		}
		if len(stored) < 4 {
			return scaleOffsetHead, nil
		}
		bits := uint64(le32(stored))
		if bits > 8*element { // as many the library writes, and does not read
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

// mostNBit is the most parameters that the library writes (H5Z_NBIT_MAX_NPARMS), and
// deepestNBit how deep types may be in one another: the library's decoder calls itself.
const (
	mostNBit    = 4096
	deepestNBit = 64
)

// nbit checks the parameters of n-bit, and returns how many bytes the decoder reads.
func (f *Filter) nbit(element, chunk uint64) (uint64, error) {
	v := f.Values
	switch {
	case len(v) < 3 || len(v) > mostNBit || uint64(v[0]) != uint64(len(v)):
		return 0, f.bad(fmt.Sprintf("%d parameters", len(v)), fmt.Sprintf("3 to %d, and their number first", mostNBit))
	case v[1] != 0:
		return 0, nil // nothing is done
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
		p.fail(fmt.Sprintf("%d parameters behind the last", len(p.rest)), "none")
	}
	// The decoder goes over the parameters of every element.
	return (uint64(v[2])*bits + 7) / 8, p.err
}

// nbitParameters are read one after the other, as the decoder does.
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

// element reads the parameters of a type that must take room bytes, and returns the
// bits that it is stored in: at most those of room bytes.
func (p *nbitParameters) element(room uint64, depth int) uint64 {
	class, size := p.next(), p.next()
	switch {
	case p.err != nil:
		return 0
	case size != room:
		p.fail(fmt.Sprintf("a type of %d bytes", size), fmt.Sprint(room))
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

// Parameters of scale-offset (H5Z_SCALEOFFSET_PARM_…), and what is before the numbers
// of a chunk: how many bits each has, and the least of them.
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

// untouched reports integers of as many bits as they have: the filter does nothing.
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
	case v[scaleOffsetClass] > 1 || v[scaleOffsetSign] > 1 || v[scaleOffsetOrder] > 1 || v[scaleOffsetFill] > 1:
		return f.bad(fmt.Sprintf("class, sign, order and fill value %d", v[scaleOffsetClass:scaleOffsetFill+1]), "0 or 1 each")
	case floats && v[scaleOffsetType] != 0 || !floats && v[scaleOffsetType] != scaleOffsetInt:
		return f.bad(fmt.Sprintf("scale type %d", v[scaleOffsetType]), "0 for floats, 2 for integers")
	case !floats && int32(v[scaleOffsetFactor]) > int32(8*size):
		return f.bad(fmt.Sprintf("%d bits", v[scaleOffsetFactor]), fmt.Sprintf("at most %d", 8*size))
	}
	return nil
}

// szip checks what libaec divides by, and what it has room for.
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

// last returns the filter that was applied last to a chunk with the mask, but for
// checksums, and how many of those come after it; nil if there is none.
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

// sums is how many checksums a chunk with the mask has.
func (l *Pipeline) sums(mask uint32) (n uint64) {
	for i := range l.Filters {
		if l.Filters[i].ID == Fletcher32 && mask>>i&1 == 0 {
			n++
		}
	}
	return n
}

// sumSize is how many bytes fletcher32 puts behind a chunk.
const sumSize = 4

// endsLong reports a chunk of size bytes that is shorter than its last checksums, or than
// what szip, n-bit or scale-offset reads before those. head gives the first bytes of it.
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

// LongEnough reports a stored chunk, without the filters whose bit is set in mask, that is
// shorter than what their decoders read: szip, n-bit and scale-offset if one of them comes
// last but for checksums, and fletcher32, behind deflate and shuffle too. The error is
// format.ErrCorrupt and has both sizes. element and chunk are the bytes of an element and of
// a chunk without its filters.
func (l *Pipeline) LongEnough(mask uint32, stored []byte, element, chunk uint64) error {
	head := func(n int64) ([]byte, error) { return stored[:n], nil }
	if err := l.endsLong(mask, uint64(len(stored)), head, element, chunk); err != nil {
		return err
	}
	return l.longForSums(mask, stored, chunk)
}

// longForSums is LongForSums with the filters that are undone here.
func (l *Pipeline) longForSums(mask uint32, b []byte, chunk uint64) error {
	unknown := func(*Filter, []byte, uint64) ([]byte, error) { return nil, nil }
	return l.LongForSums(mask, b, chunk+chunk/8+sumSize*uint64(len(l.Filters)), unknown)
}

// LongForSums undoes the filters of a stored chunk, but those whose bit is set in mask,
// down to the first fletcher32, and reports one that finds less than its 4 bytes: an
// error that is format.ErrCorrupt. The library's decoder sums up all memory behind such a
// chunk (CVE-2026-19028). The sums themselves are not looked at, and the chunk is not
// changed. most is how many bytes a chunk may have on the way.
//
// undo is for filters other than deflate, shuffle and fletcher32, and its errors are
// returned; what it says is nil stays unknown, and all before it: no error.
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
		case f.ID == Shuffle: // as long as before
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
