// With the build tag invariants, a file that was not closed before it became unreachable is
// counted, so that a test run fails. It is reported with the stack that opened it. Groups and
// datasets are not reported, because their file closes them.

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
