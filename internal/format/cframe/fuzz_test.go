// Fuzzing: any bytes, no panic, bounded work, and the views agree.

package cframe_test

import "testing"

func FuzzFrame(f *testing.F) {
	files, _ := golden(f)
	for _, b := range files {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) { checkBytes(t, b) })
}
