package cblosc

import "golang.org/x/sys/windows"

// pathsAreUTF8 reports whether functions of C interpret the bytes of a path as UTF-8.
func pathsAreUTF8() bool {
	const utf8 = 65001
	return windows.GetACP() == utf8
}
