//go:build !system_libs

package cblosc_test

const systemLibs = false
