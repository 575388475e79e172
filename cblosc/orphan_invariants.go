// With -tags invariants a value that is dropped without Close is a bug. The stack that created it
// is printed. Its C memory is not freed, so that the counters of package cmem make the test binary
// fail.

//go:build invariants

package cblosc

// #include "shim.h"
import "C"

import (
	"fmt"
	"os"
	"runtime/debug"
)

// orphan is the data that the cleanup of a handle needs.
type orphan struct {
	kind  string
	stack []byte
}

func newOrphan(_ *C.goblosc2_handle_t, kind string) orphan { return orphan{kind, debug.Stack()} }

// dropped runs after the garbage collector has freed a handle.
func dropped(o orphan) {
	fmt.Fprintf(os.Stderr, "cblosc: a %s was dropped without Close; it was made by\n%s\n", o.kind, o.stack)
}
