//go:build system_libs

package cblosc_test

// systemLibs reports that the tests run on the library of the system, without the patch of
// scripts/deps/build-c-blosc2.sh.
const systemLibs = true
