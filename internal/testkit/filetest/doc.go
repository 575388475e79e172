// Package filetest has the helpers of tests that use the module root: it writes, lists and compares
// files with arrays.
package filetest
