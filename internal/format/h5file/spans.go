// Sets of byte ranges that must not overlap.

package h5file

import (
	"cmp"
	"slices"
)

// A spanSet contains sorted ranges that do not overlap.
type spanSet struct{ all []span }

type span struct{ start, end uint64 }

// add adds the range [start, end). It returns false if the range overlaps another one. It is fast
// if ranges are added in ascending order, which is usual.
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
