// Package lint contains the conventions of this module as tests: allowed imports between packages,
// directories with C code, names at the top level, forbidden constructs, and rates of words; run
// `go test ./internal/lint`. Its code reads the source tree and measures it, because command
// metrics prints the same figures.
package lint
