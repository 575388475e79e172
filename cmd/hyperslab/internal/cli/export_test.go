package cli

import (
	"context"
	"testing"
	"time"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/convert"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
)

// ShowAtOnce sets the delay before jobs report progress. With 0, short jobs report it too.
func ShowAtOnce(t testing.TB, delay time.Duration) {
	before := term.ProgressDelay
	term.ProgressDelay = delay
	t.Cleanup(func() { term.ProgressDelay = before })
}

// SetVerifyNew replaces the function that verifies a new file before it replaces an old one.
func SetVerifyNew(t testing.TB, f func(context.Context, string, *hyperslab.VerifyOptions) (*hyperslab.VerifyReport, error)) {
	before := convert.VerifyNew
	convert.VerifyNew = f
	t.Cleanup(func() { convert.VerifyNew = before })
}
