// Byte swapping, eight bytes at a time if the unit allows it.

package ndarray

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// ToNative converts b between d's byte order in storage and native byte order, in place. It is its
// own inverse. It does nothing if the two orders are the same.
func (d DType) ToNative(b []byte) {
	if !d.IsNative() {
		d.swap(b)
	}
}

// swap reverses the byte order of all parts that are not in native byte order. A complex number is
// swapped as its two parts, Unicode as code points of 4 bytes, a structure field by field.
func (d DType) swap(b []byte) {
	runs := mergeRuns(d.appendRuns(nil, 0))
	if len(runs) == 0 {
		return
	}
	if len(runs) == 1 && runs[0].bytes == d.Size {
		swapUnits(b, runs[0].unit)
		return
	}
	for ; len(b) > 0; b = b[d.Size:] {
		for _, r := range runs {
			swapUnits(b[r.at:r.at+r.bytes], r.unit)
		}
	}
}

// swapRun is a range of an element whose units are swapped.
type swapRun struct{ at, bytes, unit int }

func (d DType) appendRuns(runs []swapRun, at int) []swapRun {
	switch d.Kind {
	case Enum:
		return d.Base.appendRuns(runs, at)
	case Struct:
		for _, f := range d.byOffset() {
			runs = f.Type.appendRuns(runs, at+f.Offset)
		}
	case SubArray:
		one := mergeRuns(d.Base.appendRuns(nil, 0))
		if len(one) == 1 && one[0].bytes == d.Base.Size {
			return append(runs, swapRun{at, d.Size, one[0].unit})
		}
		for i := 0; i < d.Size && len(one) > 0; i += d.Base.Size {
			for _, r := range one {
				runs = append(runs, swapRun{at + i + r.at, r.bytes, r.unit})
			}
		}
	default:
		if d.ordered() && d.Order != NativeOrder {
			return append(runs, swapRun{at, d.Size, d.unit()})
		}
	}
	return runs
}

// mergeRuns joins adjacent runs with the same unit.
func mergeRuns(runs []swapRun) []swapRun {
	var out []swapRun
	for _, r := range runs {
		if n := len(out) - 1; n >= 0 && out[n].unit == r.unit && out[n].at+out[n].bytes == r.at {
			out[n].bytes += r.bytes
			continue
		}
		out = append(out, r)
	}
	return out
}

// swapUnits reverses each group of unit bytes in b.
func swapUnits(b []byte, unit int) {
	switch unit {
	case 2:
		swap2(b)
	case 4:
		swap4(b)
	case 8:
		swap8(b)
	default:
		for ; len(b) >= unit; b = b[unit:] {
			slices.Reverse(b[:unit])
		}
	}
}

func swap2(b []byte) {
	const low = 0x00ff00ff00ff00ff
	for ; len(b) >= 8; b = b[8:] {
		x := binary.NativeEndian.Uint64(b)
		binary.NativeEndian.PutUint64(b, x&low<<8|x>>8&low)
	}
	for ; len(b) >= 2; b = b[2:] {
		b[0], b[1] = b[1], b[0]
	}
}

func swap4(b []byte) {
	for ; len(b) >= 8; b = b[8:] {
		x := bits.ReverseBytes64(binary.NativeEndian.Uint64(b))
		binary.NativeEndian.PutUint64(b, bits.RotateLeft64(x, 32))
	}
	if len(b) >= 4 {
		slices.Reverse(b[:4])
	}
}

func swap8(b []byte) {
	for ; len(b) >= 8; b = b[8:] {
		binary.NativeEndian.PutUint64(b, bits.ReverseBytes64(binary.NativeEndian.Uint64(b)))
	}
}
