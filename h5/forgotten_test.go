//go:build !invariants

package h5

func expectForgotten() func() { return func() {} }
