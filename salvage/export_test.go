package salvage

import "testing"

// SetMaxChunks lets a new frame have so many chunks until the test ends.
func SetMaxChunks(t testing.TB, n int64) {
	before := maxChunks
	maxChunks = n
	t.Cleanup(func() { maxChunks = before })
}

// SetPatience lets any frame be worth n bytes of work until the test ends.
func SetPatience(t testing.TB, n int64) {
	before := patience
	patience = n
	t.Cleanup(func() { patience = before })
}

// Work is how many bytes of chunks were read and decoded for a report.
func Work(r *Report) int64 { return r.work }
