package ndarraytest_test

import (
	"testing"

	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/mem"
	"github.com/hyperslab/hyperslab/ndarray/ndarraytest"
)

// This example tests a backend with the whole suite. The function is the body of a test.
func ExampleTestBackend() {
	test := func(t *testing.T) {
		ndarraytest.TestBackend(t, ndarraytest.Factory{
			Create: func(_ ndarraytest.TB, spec ndarray.Spec) (ndarray.Backend, error) { return mem.New(spec) },
		})
	}
	_ = testing.InternalTest{Name: "TestConformance", F: test}
	// Output:
}
