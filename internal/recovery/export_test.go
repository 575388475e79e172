package recovery

import (
	"context"
	"testing"

	"github.com/hyperslab/hyperslab/internal/verify"
)

// SetVerify replaces the verification of the new file until the test ends.
func SetVerify(t testing.TB, f func(context.Context, string, *verify.Options) (*verify.Report, error)) {
	before := verifyFile
	verifyFile = f
	t.Cleanup(func() { verifyFile = before })
}

// SetMaxChunks sets the maximum number of chunks of a new frame until the test ends.
func SetMaxChunks(t testing.TB, n int64) {
	before := maxChunks
	maxChunks = n
	t.Cleanup(func() { maxChunks = before })
}

// SetMinWork sets the work that any frame may cost, in bytes, until the test ends.
func SetMinWork(t testing.TB, n int64) {
	before := minWork
	minWork = n
	t.Cleanup(func() { minWork = before })
}

// Work returns the number of chunk bytes that were read and decoded for a report.
func Work(r *Report) int64 { return r.work }
