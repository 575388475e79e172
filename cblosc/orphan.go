// Cleanup of a value that is dropped without Close: its C memory is freed.

//go:build !invariants

package cblosc

// #include "shim.h"
import "C"

// orphan is the data that the cleanup of a handle needs.
type orphan struct{ c *C.goblosc2_handle_t }

func newOrphan(c *C.goblosc2_handle_t, _ string) orphan { return orphan{c} }

// dropped runs after the garbage collector has freed a handle. It can free the C object at once,
// because library handles are independent and need no lock.
func dropped(o orphan) { C.goblosc2_free(o.c) }
