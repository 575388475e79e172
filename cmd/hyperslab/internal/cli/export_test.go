package cli

import (
	"context"
	"testing"
	"time"

	"github.com/hyperslab/hyperslab"
)

// ShowAtOnce makes jobs tell of their progress however short they are.
func ShowAtOnce(t testing.TB, delay time.Duration) {
	before := progressDelay
	progressDelay = delay
	t.Cleanup(func() { progressDelay = before })
}

// SetVerifyNew replaces the verification of a file before it replaces another one.
func SetVerifyNew(t testing.TB, f func(context.Context, string, *hyperslab.VerifyOptions) (*hyperslab.VerifyReport, error)) {
	before := verifyNew
	verifyNew = f
	t.Cleanup(func() { verifyNew = before })
}
