package h5elem

import (
	"fmt"
	"slices"

	"github.com/hyperslab/hyperslab/h5"
)

// Ref returns the reference of a kind in the element src of a block.
func Ref(block, src []byte, kind h5.ReferenceKind) h5.Ref {
	r := h5.Ref{Kind: kind}
	switch {
	case kind == h5.StandardReference:
		if place := Word(src); place != 0 {
			r.Data = string(BytesAt(block, place))
		}
	case !zero(src):
		r.Data = string(src)
	}
	return r
}

// PutRef stores a reference in the element of size bytes at an offset of a block, and returns the
// block.
func PutRef(block []byte, at, size int, r h5.Ref) []byte {
	switch {
	case r.IsNull():
		clear(block[at : at+size])
	case r.Kind == h5.StandardReference:
		PutWord(block[at:], uint64(len(block)))
		block = AppendBytes(block, r.Data, false)
	default:
		copy(block[at:at+size], r.Data)
	}
	return block
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
// reference, null ones included. If f returns an error, MapRefs stops and returns it. It returns
// ErrType if f returns a reference of another kind.
func MapRefs(v h5.Values, f func(h5.Ref) (h5.Ref, error)) (h5.Values, error) {
	v.Block = slices.Clone(v.Block)
	size := v.Datatype.InMemory()
	for i := range v.N {
		if err := mapRefs(&v, &v.Datatype, i*size, f); err != nil {
			return h5.Values{}, err
		}
	}
	return v, nil
}

// mapRefs replaces the references of the element of type t at an offset of the block.
func mapRefs(v *h5.Values, t *h5.Datatype, at int, f func(h5.Ref) (h5.Ref, error)) error {
	switch {
	case t.Plain() || t.Class == h5.String:
		return nil
	case t.Class == h5.Reference:
		r := Ref(v.Block, v.Block[at:at+t.Size], t.Ref)
		to, err := f(r)
		if err != nil || to == r {
			return err
		}
		if !to.IsNull() && to.Kind != t.Ref {
			return fmt.Errorf("%w: %v for %v", h5.ErrType, to, t)
		}
		v.Block = PutRef(v.Block, at, t.Size, to)
		return nil
	case t.Class == h5.Compound:
		for i := range t.Members {
			if err := mapRefs(v, t.Members[i].Type, at+t.Members[i].Offset, f); err != nil {
				return err
			}
		}
		return nil
	}
	n, first := 0, at
	switch t.Class {
	case h5.Array:
		n = Length(t)
	case h5.Sequence:
		n, first = int(Word(v.Block[at:])), int(Word(v.Block[at+WordSize:]))
	}
	size := t.Base.InMemory()
	for i := range n {
		if err := mapRefs(v, t.Base, first+i*size, f); err != nil {
			return err
		}
	}
	return nil
}
