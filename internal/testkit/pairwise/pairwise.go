// Choice of the cases, and a count that verifies it.

package pairwise

import "slices"

// Parameter is a parameter and its values.
type Parameter struct {
	Name   string
	Values []string
}

// Rules exclude combinations that cannot exist. Both functions must be deterministic. A nil
// function excludes no combination.
type Rules struct {
	// Allowed reports whether a complete row can exist.
	Allowed func(row []int) bool
	// Possible reports whether some completion of a row can exist; -1 is a parameter without a
	// value. It may return true in doubt. It shortens the search for rows if few of them can exist.
	Possible func(row []int) bool
}

func (r Rules) allowed(row []int) bool  { return r.Allowed == nil || r.Allowed(row) }
func (r Rules) possible(row []int) bool { return r.Possible == nil || r.Possible(row) }

// pair is a pair of values: value v of parameter p, and value w of parameter q.
type pair struct{ p, v, q, w int }

// chooser has the pairs that no chosen row contains yet.
type chooser struct {
	ps     []Parameter
	rules  Rules
	open   map[pair]bool
	random generator
}

// Choose returns rows, each with one index into each parameter's values. Every pair of values that
// an allowed row contains is in at least one returned row. It also returns the number of these
// pairs, and the number of pairs that no allowed row contains. The result depends only on the
// arguments.
func Choose(ps []Parameter, rules Rules) (rows [][]int, pairs, impossible int) {
	c := &chooser{ps, rules, make(map[pair]bool), 1}
	var order []pair
	for p := range ps {
		for q := p + 1; q < len(ps); q++ {
			for v := range ps[p].Values {
				for w := range ps[q].Values {
					k := pair{p, v, q, w}
					c.open[k] = true
					order = append(order, k)
				}
			}
		}
	}
	for _, k := range order {
		if !c.open[k] {
			continue
		}
		if row := c.row(k); row != nil {
			rows = append(rows, row)
			c.cover(row)
		} else {
			delete(c.open, k)
			impossible++
		}
	}
	return rows, len(order) - impossible, impossible
}

func (c *chooser) cover(row []int) {
	for p := range row {
		for q := p + 1; q < len(row); q++ {
			delete(c.open, pair{p, row[p], q, row[q]})
		}
	}
}

// gain returns the number of open pairs of parameter i and the other values chosen so far.
func (c *chooser) gain(row []int, i int) int {
	n := 0
	for p, v := range row {
		switch {
		case v < 0 || p == i:
		case p < i && c.open[pair{p, v, i, row[i]}], p > i && c.open[pair{i, row[i], p, v}]:
			n++
		}
	}
	return n
}

// row returns an allowed row with the pair k, or nil if there is none.
func (c *chooser) row(k pair) []int {
	for try := range 64 {
		if row := c.greedy(k, try); row != nil && c.rules.allowed(row) {
			return row
		}
	}
	// Random choices may miss the only allowed row, so try all rows.
	row := c.start(k)
	if c.search(row, 0) {
		return row
	}
	return nil
}

func (c *chooser) start(k pair) []int {
	row := slices.Repeat([]int{-1}, len(c.ps))
	row[k.p], row[k.q] = k.v, k.w
	return row
}

// greedy extends the pair to a row. Each parameter gets the value that covers most open pairs.
// Later tries choose randomly, because the greedy choice has failed. It returns nil if a parameter
// has no possible value.
func (c *chooser) greedy(k pair, try int) []int {
	row := c.start(k)
	for p := range c.ps {
		if row[p] >= 0 {
			continue
		}
		best, most := -1, -1
		count := len(c.ps[p].Values)
		first := int(c.random.next() >> 33 % uint64(count))
		for i := range count {
			row[p] = (first + i) % count
			n := c.gain(row, p)
			if try > 8 {
				n = int(c.random.next() >> 60)
			}
			if n > most && c.rules.possible(row) {
				best, most = row[p], n
			}
		}
		if row[p] = best; best < 0 {
			return nil
		}
	}
	return row
}

// search sets the parameters from p on to the first values of an allowed row.
func (c *chooser) search(row []int, p int) bool {
	if !c.rules.possible(row) || !c.completable(row) {
		return false
	}
	for p < len(row) && row[p] >= 0 {
		p++
	}
	if p == len(row) {
		return c.rules.allowed(row)
	}
	for v := range c.ps[p].Values {
		row[p] = v
		if c.search(row, p+1) {
			return true
		}
	}
	row[p] = -1
	return false
}

// completable reports whether each parameter without a value has a possible one.
func (c *chooser) completable(row []int) bool {
	if c.rules.Possible == nil {
		return true
	}
	for p, v := range row {
		if v >= 0 {
			continue
		}
		found := false
		for v := 0; v < len(c.ps[p].Values) && !found; v++ {
			row[p] = v
			found = c.rules.Possible(row)
		}
		if row[p] = -1; !found {
			return false
		}
	}
	return true
}

// Each calls f with every row. f must not keep the row.
func Each(ps []Parameter, f func(row []int)) {
	row := make([]int, len(ps))
	for {
		f(row)
		i := len(row) - 1
		for ; i >= 0; i-- {
			if row[i]++; row[i] < len(ps[i].Values) {
				break
			}
			row[i] = 0
		}
		if i < 0 {
			return
		}
	}
}

// Covered counts the pairs of values in rows, independently of Choose.
func Covered(ps []Parameter, rows [][]int) int {
	seen := make(map[pair]bool)
	for _, row := range rows {
		for p := range ps {
			for q := p + 1; q < len(ps); q++ {
				seen[pair{p, row[p], q, row[q]}] = true
			}
		}
	}
	return len(seen)
}

// generator is SplitMix64.
type generator uint64

func (g *generator) next() uint64 {
	*g += 0x9E3779B97F4A7C15
	z := uint64(*g)
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}
