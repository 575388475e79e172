// Package writers tests that concurrent writers of one file lose no acknowledged change: every kind
// of change, made by two handles, by 20 goroutines, by two processes, and by two processes that are
// killed again and again.
//
// The package contains tests only. HYPERSLAB_ALL runs 200 changes of each kind in each case.
package writers
