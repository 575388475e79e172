// Ranges of bytes that must not overlap.

package hdf5

import (
	"cmp"
	"slices"
)

// A spanSet holds ranges that do not overlap, in order.
type spanSet struct{ all []span }

type span struct{ start, end uint64 }

// add adds the range from start up to end and reports whether it overlaps none
// before. Ranges usually come in order, which is what makes it fast.
func (s *spanSet) add(start, end uint64) bool {
	if start >= end {
		return true
	}
	i, _ := slices.BinarySearchFunc(s.all, start, func(x span, v uint64) int { return cmp.Compare(x.start, v) })
	if i > 0 && s.all[i-1].end > start || i < len(s.all) && s.all[i].start < end {
		return false
	}
	s.all = slices.Insert(s.all, i, span{start, end})
	return true
}
