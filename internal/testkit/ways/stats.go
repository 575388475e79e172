// Statistics, compared with exact ones.

package ways

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/big"

	"github.com/hyperslab/hyperslab/ndarray"
)

// CheckStats compares a document of the command stats, or of /stats without count and sum, with
// statistics of the values of the reference library. Integers must be exact. Statistics of floats
// are compared by minimum, maximum and count. Only types for which HasStats is true have them.
func CheckStats(a *Array, d ndarray.DType, document []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber()
	var got map[string]any
	if err := decoder.Decode(&got); err != nil {
		return err
	}
	if d.Kind == ndarray.Float {
		return checkFloats(a, d, got)
	}
	sum, low, high := new(big.Int), (*big.Int)(nil), (*big.Int)(nil)
	count := 0
	values := a.values()
	for i := 0; i+d.Size <= len(values); i += d.Size {
		x := integer(d, values[i:])
		sum.Add(sum, x)
		if low == nil || x.Cmp(low) < 0 {
			low = x
		}
		if high == nil || x.Cmp(high) > 0 {
			high = x
		}
		count++
	}
	if count == 0 {
		return nil
	}
	for key, want := range map[string]*big.Int{"min": low, "max": high, "sum": sum} {
		if x, ok := got[key]; ok && fmt.Sprint(x) != want.String() {
			return fmt.Errorf("%s: got %v, want %v", key, x, want)
		}
	}
	return nil
}

// HasStats reports whether CheckStats compares the statistics of a type.
func HasStats(d ndarray.DType) bool {
	return (d.Kind == ndarray.Int || d.Kind == ndarray.Uint || d.Kind == ndarray.Float && d.Size >= 4) && d.Tag == ""
}

func integer(d ndarray.DType, b []byte) *big.Int {
	var u uint64
	switch d.Size {
	case 1:
		u = uint64(b[0])
	case 2:
		u = uint64(binary.NativeEndian.Uint16(b))
	case 4:
		u = uint64(binary.NativeEndian.Uint32(b))
	default:
		u = binary.NativeEndian.Uint64(b)
	}
	if d.Kind == ndarray.Int {
		shift := 64 - 8*d.Size
		return big.NewInt(int64(u<<shift) >> shift)
	}
	return new(big.Int).SetUint64(u)
}

func checkFloats(a *Array, d ndarray.DType, got map[string]any) error {
	_, finite := got["positive_min"] // /stats counts finite elements only
	low, high, count := math.Inf(1), math.Inf(-1), 0
	values := a.values()
	for i := 0; i+d.Size <= len(values); i += d.Size {
		var x float64
		if d.Size == 4 {
			x = float64(math.Float32frombits(binary.NativeEndian.Uint32(values[i:])))
		} else {
			x = math.Float64frombits(binary.NativeEndian.Uint64(values[i:]))
		}
		if math.IsNaN(x) || finite && math.IsInf(x, 0) {
			continue
		}
		low, high = min(low, x), max(high, x)
		count++
	}
	if count == 0 {
		return nil
	}
	for key, want := range map[string]float64{"min": low, "max": high, "count": float64(count)} {
		x, ok := got[key]
		if !ok {
			continue
		}
		b := make([]byte, 8)
		if err := float(b, ndarray.DType{Kind: ndarray.Float, Size: 8}, fmt.Sprint(x)); err != nil {
			return err
		}
		value := math.Float64frombits(binary.NativeEndian.Uint64(b))
		if value != want && float32(value) != float32(want) {
			return fmt.Errorf("%s: got %v, want %v", key, x, want)
		}
	}
	return nil
}
