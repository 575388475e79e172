// Sizes and shapes, as input and output.

package term

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// FormatBytes formats a byte count, for example "812 B" or "3.9 MiB".
func FormatBytes(n int64) string {
	if n < 1024 {
		return strconv.FormatInt(n, 10) + " B"
	}
	v, unit := float64(n), 0
	for v >= 1024 && unit < len("KMGTPE") {
		v /= 1024
		unit++
	}
	if v >= 1023.95 && unit < len("KMGTPE") { // it would be printed as 1024.0
		v /= 1024
		unit++
	}
	return fmt.Sprintf("%.1f %ciB", v, "KMGTPE"[unit-1])
}

// ParseBytes parses a byte count such as "65536", "64KiB", "64K", "1.5GiB" or "2GB". Single letters
// and the i-units are powers of 1024; KB, MB, … are powers of 1000.
func ParseBytes(s string) (int64, error) {
	bad := func() (int64, error) {
		return 0, fmt.Errorf("%q is not a size in bytes; write for example 512MiB, 4G or 1000000", s)
	}
	end := 0
	for end < len(s) && (s[end] >= '0' && s[end] <= '9' || s[end] == '.') {
		end++
	}
	number, unit := s[:end], strings.ToUpper(strings.TrimSpace(s[end:]))
	v, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return bad()
	}
	factor := 1.0
	if unit != "" && unit != "B" {
		power := strings.IndexByte("KMGTPE", unit[0]) + 1
		switch rest := unit[1:]; {
		case power == 0:
			return bad()
		case rest == "" || rest == "IB":
			factor = math.Pow(1024, float64(power))
		case rest == "B":
			factor = math.Pow(1000, float64(power))
		default:
			return bad()
		}
	}
	v *= factor
	if v != math.Trunc(v) && factor == 1 || v >= math.MaxInt64 {
		return bad()
	}
	return int64(v), nil
}

// ParseShape parses a shape of --chunks or --blocks: "64,64" or "64x64".
func ParseShape(s string) ([]int64, error) {
	if s == "" {
		return nil, nil
	}
	var shape []int64
	for _, part := range strings.Split(strings.ReplaceAll(s, "x", ","), ",") {
		n, err := strconv.ParseInt(strings.TrimSpace(part), 10, 64)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q is not a shape; write elements along each axis, for example 64,64", s)
		}
		shape = append(shape, n)
	}
	return shape, nil
}

// FormatShape formats a shape as "12x90x180". Unlimited dimensions (-1) are "*", rank 0 is
// "scalar".
func FormatShape(shape []int64) string {
	if len(shape) == 0 {
		return "scalar"
	}
	parts := make([]string, len(shape))
	for i, n := range shape {
		if n < 0 {
			parts[i] = "*"
		} else {
			parts[i] = strconv.FormatInt(n, 10)
		}
	}
	return strings.Join(parts, "x")
}
