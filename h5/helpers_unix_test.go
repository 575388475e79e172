//go:build unix

package h5_test

import (
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// flock locks a file as libhdf5 does, in place of another process.
func flock(t testing.TB, f *os.File, exclusive bool) {
	t.Helper()
	how := syscall.LOCK_SH
	if exclusive {
		how = syscall.LOCK_EX
	}
	require.NoError(t, syscall.Flock(int(f.Fd()), how))
}
