//go:build race

package crosscheck

// raceBuild is true with the race detector. The tests then sample the vectors, because the
// complete set takes minutes and a sample is enough to find data races.
const raceBuild = true
