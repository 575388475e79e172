// Attributes, versions 1 to 3 (File Format, IV.A.2.m).

package h5file

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/grid"
)

// Attribute is an attribute of an object.
type Attribute struct {
	Version  uint8
	Name     string
	CharSet  uint8 // of the name: 0 ASCII, 1 UTF-8
	Type     *Datatype
	TypeRef  *SharedRef // location of a shared datatype, or nil
	Space    *Dataspace
	SpaceRef *SharedRef // location of a shared dataspace, or nil
	Value    []byte     // the elements as stored
	ValueAt  int64      // bytes from the start of the file to Value
	Order    uint32     // creation order, if the object tracks it
}

// String returns name, datatype and shape.
func (a *Attribute) String() string { return fmt.Sprintf("%q, %v, %v", a.Name, a.Type, a.Space) }

func (p *part) attribute() *Attribute {
	a := &Attribute{Type: &Datatype{}, Space: &Dataspace{}}
	a.Version = p.u8("version")
	if !p.version(a.Version, 1, 3) {
		return a
	}
	var flags uint8
	if a.Version >= 2 {
		flags = p.u8("flags")
		p.flags(flags, 3)
	} else {
		p.reserved(1)
	}
	nameSize := int(p.u16("name size"))
	p.check(nameSize > 0, nameSize, "at least 1, for the zero")
	typeSize := int(p.u16("datatype size"))
	spaceSize := int(p.u16("dataspace size"))
	if a.Version >= 3 {
		a.CharSet = p.u8("name character set encoding")
		p.check(a.CharSet <= 1, a.CharSet, "0 or 1")
	}
	pad := 1
	if a.Version == 1 {
		pad = 8
	}
	name := p.text("name", nameSize)
	a.Name = zeroTerminated([]byte(name))
	if p.ok() && len(a.Name)+1 != nameSize {
		p.bad(fmt.Sprintf("a name of %d bytes", len(a.Name)), fmt.Sprintf("%d and a zero", nameSize-1))
	}
	p.align(nameSize, pad)
	if b, ref := p.inner("datatype", typeSize, flags&1 != 0, DatatypeType); b != nil {
		a.Type, a.TypeRef = b.(*Datatype), ref
	}
	p.align(typeSize, pad)
	if b, ref := p.inner("dataspace", spaceSize, flags&2 != 0, DataspaceType); b != nil {
		a.Space, a.SpaceRef = b.(*Dataspace), ref
	}
	p.align(spaceSize, pad)
	p.value(a)
	return a
}

// align skips the padding after n bytes up to a multiple of pad.
func (p *part) align(n, pad int) {
	if k := grid.RoundUp(n, pad, math.MaxInt) - n; k > 0 {
		p.reserved(k)
	}
}

// inner reads a message of n bytes inside this one. A shared message contains only a reference,
// which inner resolves.
func (p *part) inner(name string, n int, shared bool, t MessageType) (Body, *SharedRef) {
	if p.ended || n > p.rest() {
		p.take(name, n)
		return nil, nil
	}
	q := p.within(name, n)
	var (
		b   Body
		ref *SharedRef
	)
	if shared {
		r := q.sharedRef()
		ref = &r
		if q.err == nil {
			var err error
			b, err = q.r.resolve(r, t, q.summed)
			q.fail(err)
		}
	} else {
		// The stored size may exceed the encoding, for example in files of netCDF-C with HDF5 1.8.
		// libhdf5 skips the rest too.
		b = q.unshared(nil, t)
	}
	if f := p.put(q); f != nil && b != nil {
		f.Meaning = bodyText(b)
	}
	return b, ref
}

// value reads the elements. Dataspace and datatype determine their size.
func (p *part) value(a *Attribute) {
	n, ok := a.Space.Elements()
	hi, size := bits.Mul64(n, uint64(a.Type.Size))
	if !p.ok() || p.err != nil {
		return
	}
	a.ValueAt = p.offset(p.pos)
	if !ok || hi != 0 || size > uint64(p.rest()) {
		p.last, p.start = nil, p.pos
		p.complain(format.ErrTruncated, "data", fmt.Sprintf("%d bytes", p.rest()), fmt.Sprintf("%v elements of %d bytes", a.Space, a.Type.Size))
		p.ended = true
		return
	}
	a.Value = p.bytes("data", int(size))
}
