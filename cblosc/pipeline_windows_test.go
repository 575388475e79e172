package cblosc_test

import (
	"bytes"
	"testing"
)

// readOnly returns a copy of src. On Unix the copy cannot be written.
func readOnly(_ testing.TB, src []byte) []byte { return bytes.Clone(src) }
