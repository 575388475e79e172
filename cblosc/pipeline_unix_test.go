//go:build unix

package cblosc_test

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// readOnly returns a copy of src in memory that cannot be written. A write crashes.
func readOnly(t testing.TB, src []byte) []byte {
	t.Helper()
	if len(src) == 0 {
		return nil
	}
	b, err := syscall.Mmap(-1, 0, len(src), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, syscall.Munmap(b)) })
	copy(b, src)
	require.NoError(t, syscall.Mprotect(b, syscall.PROT_READ))
	return b
}
