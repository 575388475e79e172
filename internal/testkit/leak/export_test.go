package leak

import (
	"testing"
	"time"
)

// SetPatience shortens the time that Find waits before it reports a leak, until the test ends.
func SetPatience(t *testing.T, d time.Duration) {
	long := patience
	patience = d
	t.Cleanup(func() { patience = long })
}
