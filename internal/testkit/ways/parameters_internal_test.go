package ways

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/testkit/pairwise"
)

// TestAreas checks that the arrays of each format contain every pair of values that the rules
// allow, and that the sample contains every value.
func TestAreas(t *testing.T) {
	for _, a := range areas {
		t.Run(a.format, func(t *testing.T) {
			rows, pairs, impossible := pairwise.Choose(a.parameters, a.rules())
			require.Equal(t, pairs, pairwise.Covered(a.parameters, rows))
			values := make(map[[2]int]bool)
			for _, row := range eachValue(rows) {
				for p, v := range row {
					values[[2]int{p, v}] = true
				}
			}
			count := 0
			for _, p := range a.parameters {
				count += len(p.Values)
			}
			require.Len(t, values, count)
			for _, row := range rows {
				require.True(t, a.rules().Allowed(row), "%v", a.dims(row))
			}
			t.Logf("%d arrays, %d pairs, %d excluded", len(rows), pairs, impossible)
		})
	}
}
