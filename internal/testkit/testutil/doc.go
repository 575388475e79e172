// Package testutil has the helpers that tests of several packages share. Package testenv finds the
// programs and files that tests need.
package testutil
