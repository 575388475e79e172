package cblosc_test

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"

	"github.com/hyperslab/hyperslab/cblosc"
)

// errBelowFile is the error of a path whose parent is a file.
var errBelowFile = cblosc.ErrParam

// virtual returns n bytes of memory without access permission. Any access crashes.
func virtual(t testing.TB, n int) []byte {
	t.Helper()
	at, err := windows.VirtualAlloc(0, uintptr(n), windows.MEM_RESERVE, windows.PAGE_NOACCESS)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, windows.VirtualFree(at, 0, windows.MEM_RELEASE)) })
	return unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&at))), n)
}
