//go:build system_libs

package cblosc_test

// systemLibs reports whether the tests use the system's C-Blosc2, which lacks the patch of
// scripts/deps/build-c-blosc2.sh.
const systemLibs = true
