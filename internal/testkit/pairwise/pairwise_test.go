package pairwise_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/testkit/pairwise"
)

var parameters = []pairwise.Parameter{
	{Name: "a", Values: []string{"0", "1", "2", "3"}},
	{Name: "b", Values: []string{"0", "1", "2"}},
	{Name: "c", Values: []string{"0", "1", "2", "3", "4"}},
	{Name: "d", Values: []string{"0", "1"}},
}

// odd excludes rows with an even sum. With the sum of a and b even, d decides whether c can be 0.
func odd(row []int) bool { return (row[0]+row[1]+row[2]+row[3])%2 == 1 && row[0] != row[1]+1 }

func TestChoose(t *testing.T) {
	possible := make(map[[4]int]bool)
	pairwise.Each(parameters, func(row []int) {
		if odd(row) {
			for p := range row {
				for q := p + 1; q < len(row); q++ {
					possible[[4]int{p, row[p], q, row[q]}] = true
				}
			}
		}
	})
	for name, rules := range map[string]pairwise.Rules{
		"complete rows": {Allowed: odd},
		"partial rows":  {Allowed: odd, Possible: func(row []int) bool { return row[0] < 0 || row[1] < 0 || row[0] != row[1]+1 }},
	} {
		t.Run(name, func(t *testing.T) {
			rows, pairs, impossible := pairwise.Choose(parameters, rules)
			for _, row := range rows {
				require.True(t, odd(row), "%v", row)
			}
			require.Equal(t, len(possible), pairs)
			require.Equal(t, len(possible), pairwise.Covered(parameters, rows))
			require.Equal(t, 4*3+4*5+4*2+3*5+3*2+5*2, pairs+impossible)
			require.Less(t, len(rows), 40, "all allowed rows: 45")
			again, _, _ := pairwise.Choose(parameters, rules)
			require.Equal(t, rows, again)
		})
	}
	rows, pairs, impossible := pairwise.Choose(parameters, pairwise.Rules{})
	require.Zero(t, impossible)
	require.Equal(t, pairs, pairwise.Covered(parameters, rows))
}
