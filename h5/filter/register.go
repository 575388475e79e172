// Registration of the filters with libhdf5 when the package is imported.

package filter

// #include "shim.h"
import "C"

import (
	"fmt"
	"unsafe"

	"github.com/hyperslab/hyperslab/h5"
)

func init() {
	for id, check := range checks {
		h5.RegisterFilterCheck(id, check)
	}
	if _, err := h5.Version(); err != nil {
		return // libhdf5 cannot be used; every call of h5 returns the error
	}
	for i := C.size_t(0); ; i++ {
		class := C.goh5z_class(i)
		if class == nil {
			return
		}
		if err := h5.RegisterFilterClass(class); err != nil {
			panic(fmt.Sprintf("filter: class %d: %v", i, err))
		}
	}
}

// goh5z_go_filter is called by libhdf5, under its lock. It replaces libhdf5's buffer *buf by
// another.
//
//export goh5z_go_filter
func goh5z_go_filter(id C.int32_t, flags C.uint32_t, values *C.uint32_t, count, n C.size_t, size *C.size_t, buf **C.uint8_t) (out C.size_t) {
	src := unsafe.Slice((*byte)(*buf), int(n))
	v := unsafe.Slice((*uint32)(values), int(count))
	w := take()
	defer put(w)
	reverse := flags&C.GOH5Z_REVERSE != 0
	var capacity int
	if !reverse {
		capacity = bound(int(id), v, len(src))
	} else if capacity = w.decodedSize(int(id), src); capacity <= 0 {
		return 0
	}
	to := C.goh5z_take(C.size_t(capacity))
	if to == nil {
		return 0
	}
	dst := unsafe.Slice((*byte)(to), capacity)
	var done int
	var err error
	if !reverse {
		done, err = w.encode(int(id), v, Options{Exact: true}, dst, src)
	} else {
		done, err = w.decode(int(id), v, dst, src)
	}
	// For results of the same length, see declined in shim_register.c.
	declined := !reverse && flags&C.GOH5Z_OPTIONAL != 0 && done == len(src)
	if err != nil || done == 0 || declined {
		C.goh5z_give(to)
		return 0
	}
	C.goh5z_give(*buf)
	*buf = to
	*size = C.size_t(capacity)
	return C.size_t(done)
}
