//go:build invariants

package h5

import (
	"bytes"
	"strings"
)

// expectForgotten returns a function that checks that unclosed files were reported with the stack
// that opened them, and that removes them from the count.
func expectForgotten() func() {
	var log bytes.Buffer
	forgottenFiles.mu.Lock()
	before := forgottenFiles.count
	forgottenFiles.log = &log
	forgottenFiles.mu.Unlock()
	return func() {
		forgottenFiles.mu.Lock()
		defer forgottenFiles.mu.Unlock()
		if forgottenFiles.count == before || !strings.Contains(log.String(), "h5.Open(") && !strings.Contains(log.String(), "h5.Create(") {
			panic("h5: no forgotten file was reported")
		}
		forgottenFiles.count, forgottenFiles.log = before, nil
	}
}
