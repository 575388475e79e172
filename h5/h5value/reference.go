// References: their plan, and the replacement of all references of a block.

package h5value

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/hyperslab/hyperslab/h5"
)

func referencePlan(t *h5.Datatype) *plan {
	kind, size := t.Ref, t.Size
	return &plan{
		mem: *t,
		decode: func(x *transfer, src []byte, p unsafe.Pointer) error {
			r := h5.Ref{Kind: kind}
			switch {
			case kind == h5.StandardReference:
				if place := wordOf(src); place != 0 {
					r.Data = string(bytesAt(x.v.Block, place))
				}
			case !zero(src):
				r.Data = string(src)
			}
			*(*h5.Ref)(p) = r
			return nil
		},
		encode: func(x *transfer, at int, p unsafe.Pointer) error {
			r := (*h5.Ref)(p)
			switch {
			case r.IsNull():
				clear(x.v.Block[at : at+size])
			case r.Kind != kind:
				return fmt.Errorf("%w: %v for %v", h5.ErrType, *r, t)
			case kind == h5.StandardReference:
				place := len(x.v.Block)
				x.v.Block = appendBytes(x.v.Block, r.Data, false)
				putWord(x.v.Block[at:], uint64(place))
			default:
				copy(x.v.Block[at:at+size], r.Data)
			}
			return nil
		},
	}
}

func zero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// MapRefs returns v with every reference replaced by the result of f. f is called once for each
// reference, null ones included. If f returns an error, MapRefs stops and returns it.
func MapRefs(v h5.Values, f func(h5.Ref) (h5.Ref, error)) (h5.Values, error) {
	x := transfer{v: v}
	x.v.Block = slices.Clone(v.Block)
	size := v.Datatype.InMemory()
	for i := range v.N {
		if err := x.mapRefs(&v.Datatype, i*size, f); err != nil {
			return h5.Values{}, err
		}
	}
	return x.v, nil
}

// mapRefs replaces the references of the element of type t at an offset of the block.
func (x *transfer) mapRefs(t *h5.Datatype, at int, f func(h5.Ref) (h5.Ref, error)) error {
	switch {
	case t.Plain() || t.Class == h5.String:
		return nil
	case t.Class == h5.Reference:
		p := referencePlan(t)
		var r h5.Ref
		if err := p.decode(x, x.v.Block[at:at+t.Size], unsafe.Pointer(&r)); err != nil {
			return err
		}
		to, err := f(r)
		if err != nil || to == r {
			return err
		}
		return p.encode(x, at, unsafe.Pointer(&to))
	case t.Class == h5.Compound:
		for i := range t.Members {
			if err := x.mapRefs(t.Members[i].Type, at+t.Members[i].Offset, f); err != nil {
				return err
			}
		}
		return nil
	}
	n, first := 0, at
	switch t.Class {
	case h5.Array:
		n = length(t)
	case h5.Sequence:
		n, first = int(wordOf(x.v.Block[at:])), int(wordOf(x.v.Block[at+wordSize:]))
	}
	size := t.Base.InMemory()
	for i := range n {
		if err := x.mapRefs(t.Base, first+i*size, f); err != nil {
			return err
		}
	}
	return nil
}
