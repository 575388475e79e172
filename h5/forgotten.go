// Without the build tag invariants, a file that was not closed before it became unreachable is
// closed silently.

//go:build cgo && !invariants

package h5

func whereOpened() string { return "" }

func reportForgotten(left) {}

func forgottenOwners() int64 { return 0 }
