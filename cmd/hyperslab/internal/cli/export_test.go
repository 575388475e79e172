package cli

import (
	"testing"
	"time"
)

// ShowAtOnce makes jobs tell of their progress however short they are.
func ShowAtOnce(t testing.TB, delay time.Duration) {
	before := progressDelay
	progressDelay = delay
	t.Cleanup(func() { progressDelay = before })
}
