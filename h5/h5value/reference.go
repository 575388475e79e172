// Plan of references.

package h5value

import (
	"fmt"
	"unsafe"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5elem"
)

func referencePlan(t *h5.Datatype) *plan {
	kind, size := t.Ref, t.Size
	return newPlan(t, func(x *state, src []byte, p unsafe.Pointer) error {
		*(*h5.Ref)(p) = h5elem.Ref(x.Block, src, kind)
		return nil
	}, func(x *state, at int, p unsafe.Pointer) error {
		r := (*h5.Ref)(p)
		if !r.IsNull() && r.Kind != kind {
			return fmt.Errorf("%w: %v for %v", h5.ErrType, *r, t)
		}
		x.Block = h5elem.PutRef(x.Block, at, size, *r)
		return nil
	})
}
