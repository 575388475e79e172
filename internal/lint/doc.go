// Package lint contains the conventions of this module as tests: allowed imports between packages,
// directories with C code, names at the top level, and forbidden constructs. It has no code except
// tests; run `go test ./internal/lint`.
package lint
