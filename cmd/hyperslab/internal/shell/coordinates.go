package shell

import (
	"math"
	"strconv"
	"strings"
)

// ParseRange parses --range: two numbers, the lower one first.
func ParseRange(s string) (low, high float64, err error) {
	left, right, ok := strings.Cut(s, ",")
	low, err1 := strconv.ParseFloat(strings.TrimSpace(left), 64)
	high, err2 := strconv.ParseFloat(strings.TrimSpace(right), 64)
	if !ok || err1 != nil || err2 != nil || !(low < high) || math.IsInf(high-low, 0) {
		return 0, 0, Usagef("--range %s: want two numbers, the lower one first, for example --range=-10,10", s)
	}
	return low, high, nil
}

// CoordinatesBlock is the bytes of coordinates that are read at a time.
const CoordinatesBlock = 4 << 20
