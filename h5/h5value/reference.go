// Plan of references.

package h5value

import (
	"fmt"
	"unsafe"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/h5elem"
)

func referencePlan(t *h5.Datatype) *plan {
	kind, size := t.Ref, t.Size
	return &plan{
		mem: *t,
		decode: func(x *transfer, src []byte, p unsafe.Pointer) error {
			*(*h5.Ref)(p) = h5elem.Ref(x.v.Block, src, kind)
			return nil
		},
		encode: func(x *transfer, at int, p unsafe.Pointer) error {
			r := (*h5.Ref)(p)
			if !r.IsNull() && r.Kind != kind {
				return fmt.Errorf("%w: %v for %v", h5.ErrType, *r, t)
			}
			x.v.Block = h5elem.PutRef(x.v.Block, at, size, *r)
			return nil
		},
	}
}
