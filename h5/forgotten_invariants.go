// With the tag invariants a file whose owner was forgotten is reported with the
// stack that opened it, and counted, so that a test run fails on it. A forgotten
// group or dataset is none: it is its file's to close.

//go:build cgo && invariants

package h5

import (
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sync"
)

var forgottenFiles struct {
	mu    sync.Mutex
	count int64
	log   io.Writer // nil: stderr
}

func whereOpened() string { return string(debug.Stack()) }

func reportForgotten(l left) {
	if l.id != l.ids.file {
		return
	}
	forgottenFiles.mu.Lock()
	defer forgottenFiles.mu.Unlock()
	forgottenFiles.count++
	var log io.Writer = os.Stderr
	if forgottenFiles.log != nil {
		log = forgottenFiles.log
	}
	fmt.Fprintf(log, "h5: file id %d was never closed; opened at:\n%s\n", l.id, l.opened)
}

func forgottenOwners() int64 {
	forgottenFiles.mu.Lock()
	defer forgottenFiles.mu.Unlock()
	return forgottenFiles.count
}
