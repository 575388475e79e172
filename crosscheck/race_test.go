//go:build race

package crosscheck

// raceBuild: misreading every vector takes minutes with the race detector, which looks
// for races and finds them in some.
const raceBuild = true
