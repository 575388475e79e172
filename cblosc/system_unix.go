//go:build unix

package cblosc

// pathsAreUTF8 reports whether functions of C interpret the bytes of a path as UTF-8. Here they do
// not interpret them.
func pathsAreUTF8() bool { return true }
