// Pairwise coverage: a small number of cases with every pair of values of any two parameters, and a
// count that verifies it.

package crosscheck

import (
	"slices"

	"github.com/hyperslab/hyperslab/internal/testkit/pairwise"
)

// parameter is a parameter and its values.
type parameter = pairwise.Parameter

// Coverage counts the pairs of parameter values of an area.
type Coverage struct {
	Area       string   `json:"area"`
	Parameters []string `json:"parameters"`
	Pairs      int      `json:"pairs"`      // pairs that are possible
	Covered    int      `json:"covered"`    // pairs that occur in a case
	Impossible int      `json:"impossible"` // pairs that the format or the library excludes
	Cases      int      `json:"cases"`

	Features map[string]int `json:"features,omitempty"` // number of files that contain each feature of the format
}

// choose returns rows, each with one index into each parameter's values. Every pair of values that
// an allowed row contains is in at least one returned row. With full, every allowed row is
// returned. The result depends only on the arguments.
func choose(ps []parameter, allowed func(row []int) bool, full bool) (rows [][]int, pairs, impossible int) {
	rows, pairs, impossible = pairwise.Choose(ps, pairwise.Rules{Allowed: allowed})
	if full {
		rows = nil
		pairwise.Each(ps, func(row []int) {
			if allowed(row) {
				rows = append(rows, slices.Clone(row))
			}
		})
	}
	return rows, pairs, impossible
}
