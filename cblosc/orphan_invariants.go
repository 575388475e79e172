// With -tags invariants an owner that is dropped without Close is a bug: the
// place that made it is printed, and its C memory stays, so that the count of
// package cmem ends the test binary with a failure.

//go:build invariants

package cblosc

// #include "shim.h"
import "C"

import (
	"fmt"
	"os"
	"runtime/debug"
)

// orphan is what a cleanup knows of its dead handle.
type orphan struct {
	kind  string
	stack []byte
}

func newOrphan(_ *C.goblosc2_handle_t, kind string) orphan { return orphan{kind, debug.Stack()} }

// dropped runs when a handle was collected.
func dropped(o orphan) {
	fmt.Fprintf(os.Stderr, "cblosc: a %s was dropped without Close; it was made by\n%s\n", o.kind, o.stack)
}
