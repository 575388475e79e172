package salvage

import "testing"

// SetMaxChunks lets a new frame have so many chunks until the test ends.
func SetMaxChunks(t testing.TB, n int64) {
	before := maxChunks
	maxChunks = n
	t.Cleanup(func() { maxChunks = before })
}
