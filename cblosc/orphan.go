// What happens to an owner that is dropped without Close: it is freed.

//go:build !invariants

package cblosc

// #include "shim.h"
import "C"

// orphan is what a cleanup knows of its dead handle.
type orphan struct{ c *C.goblosc2_handle_t }

func newOrphan(c *C.goblosc2_handle_t, _ string) orphan { return orphan{c} }

// dropped runs when a handle was collected. Handles of the library are independent
// of each other and no lock is needed, so it frees at once.
func dropped(o orphan) { C.goblosc2_free(o.c) }
