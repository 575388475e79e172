// With the tag invariants an id whose owner was forgotten is reported with the
// stack that opened it, and counted, so that a test run fails on it.

//go:build invariants

package h5

import (
	"fmt"
	"os"
	"runtime/debug"
	"sync/atomic"
)

var forgottenCount atomic.Int64

func whereOpened() string { return string(debug.Stack()) }

func reportForgotten(l left) {
	if l.ids.closed.Load() {
		return // closed with its file
	}
	forgottenCount.Add(1)
	fmt.Fprintf(os.Stderr, "h5: id %d was never closed; opened at:\n%s\n", l.id, l.opened)
}

func forgottenOwners() int64 { return forgottenCount.Load() }
