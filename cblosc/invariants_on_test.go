//go:build invariants

package cblosc_test

const invariants = true
