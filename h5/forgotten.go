// Without the tag invariants a file whose owner was forgotten is closed silently.

//go:build cgo && !invariants

package h5

func whereOpened() string { return "" }

func reportForgotten(left) {}

func forgottenOwners() int64 { return 0 }
