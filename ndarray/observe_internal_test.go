package ndarray

import (
	"testing"

	"github.com/hyperslab/hyperslab/internal/meter"
)

// BenchmarkObserved measures the cost that counters and traces add to each read.
func BenchmarkObserved(b *testing.B) {
	a := &Array{count: meter.Next()}
	for b.Loop() {
		o := a.begin(b.Context(), meter.Read)
		if err := a.didRead(o, "read", 80, nil); err != nil {
			b.Fatal(err)
		}
	}
}
