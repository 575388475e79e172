// Pairwise coverage: a small number of cases with every pair of values of any two parameters, and a
// count that verifies it.

package crosscheck

import "slices"

// parameter is a parameter and its values.
type parameter struct {
	name   string
	values []string
}

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
	if full {
		each(ps, nil, func(row []int) {
			if allowed(row) {
				rows = append(rows, slices.Clone(row))
			}
		})
	}
	type pair struct{ p, v, q, w int }
	open := make(map[pair]bool)
	var order []pair
	for p := range ps {
		for q := p + 1; q < len(ps); q++ {
			for v := range ps[p].values {
				for w := range ps[q].values {
					k := pair{p, v, q, w}
					open[k] = true
					order = append(order, k)
				}
			}
		}
	}
	total := len(order)
	cover := func(row []int) {
		for p := range row {
			for q := p + 1; q < len(row); q++ {
				delete(open, pair{p, row[p], q, row[q]})
			}
		}
	}
	gain := func(row []int, upTo int) int { // number of open pairs among the values chosen so far
		n := 0
		for p := range row {
			for q := p + 1; q < len(row); q++ {
				if row[p] >= 0 && row[q] >= 0 && (p == upTo || q == upTo) && open[pair{p, row[p], q, row[q]}] {
					n++
				}
			}
		}
		return n
	}
	for _, row := range rows {
		cover(row)
	}
	g := generator(1)
	for _, k := range order {
		if !open[k] {
			continue
		}
		// Extend the open pair to a row. Each parameter gets the value that covers most open pairs.
		// If the row is not allowed, try again with other starting values.
		found := false
		for try := range 64 {
			row := make([]int, len(ps))
			for i := range row {
				row[i] = -1
			}
			row[k.p], row[k.q] = k.v, k.w
			for p := range ps {
				if row[p] >= 0 {
					continue
				}
				best, most := 0, -1
				first := int(g.next() >> 33 % uint64(len(ps[p].values)))
				for i := range ps[p].values {
					v := (first + i) % len(ps[p].values)
					row[p] = v
					n := gain(row, p)
					if try > 8 { // the greedy choice has failed: choose randomly
						n = int(g.next() >> 60)
					}
					if n > most {
						best, most = v, n
					}
				}
				row[p] = best
			}
			if allowed(row) {
				rows = append(rows, row)
				cover(row)
				found = true
				break
			}
		}
		if !found {
			// Random choices may miss the only allowed row, so try all rows.
			each(ps, map[int]int{k.p: k.v, k.q: k.w}, func(row []int) {
				if !found && allowed(row) {
					rows = append(rows, slices.Clone(row))
					cover(row)
					found = true
				}
			})
		}
		if !found {
			delete(open, k)
			impossible++
		}
	}
	return rows, total - impossible, impossible
}

// each calls f with every row that has the fixed values. f must not keep the row.
func each(ps []parameter, fixed map[int]int, f func(row []int)) {
	row := make([]int, len(ps))
	for i, v := range fixed {
		row[i] = v
	}
	for {
		f(row)
		i := len(row) - 1
		for ; i >= 0; i-- {
			if _, is := fixed[i]; is {
				continue
			}
			if row[i]++; row[i] < len(ps[i].values) {
				break
			}
			row[i] = 0
		}
		if i < 0 {
			return
		}
	}
}

// covered counts the pairs of values in rows, independently of choose.
func covered(ps []parameter, rows [][]int) int {
	seen := make(map[[4]int]bool)
	for _, row := range rows {
		for p := range ps {
			for q := p + 1; q < len(ps); q++ {
				seen[[4]int{p, row[p], q, row[q]}] = true
			}
		}
	}
	return len(seen)
}
