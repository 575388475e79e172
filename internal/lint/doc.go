// Package lint holds the rules of the house as tests: which package may import
// which, where C may stand, what the top level looks like, and what must not be
// written at all. It has no code of its own; `go test ./internal/lint` is the
// whole of it.
package lint
