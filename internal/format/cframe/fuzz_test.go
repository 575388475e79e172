// Fuzz tests: any input must be handled without a panic and with bounded work, and all views must
// agree.

package cframe_test

import "testing"

func FuzzFrame(f *testing.F) {
	files, _ := golden(f)
	for _, b := range files {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) { checkBytes(t, b) })
}
