//go:build unix

package hdf5_test

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// highWater returns the maximum memory of the process in bytes.
func highWater(t *testing.T) int64 {
	t.Helper()
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return u.Maxrss << 10
}
