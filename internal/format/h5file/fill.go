// Fill values, old and new (File Format, IV.A.2.e and IV.A.2.f).

package h5file

import "fmt"

// FillValue is the value of elements that were never written.
type FillValue struct {
	Version   uint8 // 1 to 3; 0 is the old message
	AllocTime uint8 // when storage is allocated: 1 early, 2 late, 3 incremental
	WriteTime uint8 // when it is filled: 0 on allocation, 1 never, 2 if a value is set
	Defined   bool  // a fill value exists; zeros if Value is nil
	Value     []byte
}

func (p *part) oldFill() *FillValue {
	f := &FillValue{AllocTime: 2, WriteTime: 2}
	p.fillValue(f)
	f.Defined = f.Value != nil
	return f
}

// fillValue reads size and value. Only versions 1 and 2 have a signed size: -1 means no value. With
// any other negative size H5Pget_fill_value dereferences a NULL pointer.
func (p *part) fillValue(f *FillValue) {
	size := p.u32("size")
	n := int(size)
	if f.Version == 1 || f.Version == 2 {
		n = int(int32(size))
		p.check(n >= -1, n, "at least -1 (undefined)")
	}
	if n <= 0 || !p.ok() {
		return
	}
	if !p.check(n <= p.rest(), n, fmt.Sprintf("at most %d, the bytes there are", p.rest())) {
		p.ended = true
		return
	}
	f.Value = p.bytes("fill value", n)
}

func (p *part) fill() *FillValue {
	f := &FillValue{Version: p.u8("version")}
	if !p.version(f.Version, 1, 3) {
		return f
	}
	if f.Version < 3 {
		f.AllocTime = p.u8("space allocation time")
		f.WriteTime = p.u8("fill value write time")
		defined := p.u8("fill value defined")
		if f.Defined = defined != 0; f.Defined {
			p.fillValue(f)
		}
		return f
	}
	flags := p.u8("flags")
	p.flags(flags, 0x3F)
	f.AllocTime, f.WriteTime = flags&3, flags>>2&3
	undefined, have := flags&0x10 != 0, flags&0x20 != 0
	if undefined && have {
		p.bad("a value that is also marked as undefined", "one of them")
	}
	f.Defined = !undefined
	if have {
		p.fillValue(f)
	}
	return f
}
