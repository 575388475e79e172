//go:build invariants

package h5

// expectForgotten checks that something was reported.
func expectForgotten() func() {
	before := forgottenCount.Load()
	return func() {
		if forgottenCount.Swap(before) == before {
			panic("h5: nothing was reported as forgotten")
		}
	}
}
