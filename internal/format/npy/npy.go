// Header of a new .npy file.

package npy

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/ndarray"
)

// Magic begins each file.
const Magic = "\x93NUMPY"

// Header returns everything before the elements of an array in row-major order and d's byte
// order: magic, version, length, and a dict that ends at a multiple of 64 bytes. Version 1 has 16
// bits for the length, version 2 has 32, version 3 is version 2 in UTF-8. The dimensions of a
// SubArray are further axes, as in numpy.save. Its errors are those of Descr.
func Header(d ndarray.DType, shape []int64) ([]byte, error) {
	for shape = slices.Clone(shape); d.Kind == ndarray.SubArray; d = *d.Base {
		shape = append(shape, d.Dims...)
	}
	descr, err := Descr(d)
	if err != nil {
		return nil, err
	}
	parts := make([]string, len(shape))
	for i, n := range shape {
		parts[i] = fmt.Sprint(n)
	}
	tuple := "(" + strings.Join(parts, ", ") + ")"
	if len(parts) == 1 {
		tuple = "(" + parts[0] + ",)"
	}
	dict := fmt.Sprintf("{'descr': %s, 'fortran_order': False, 'shape': %s, }", descr, tuple)
	version, lengthBytes := byte(1), 2
	for _, r := range dict {
		if r > 127 {
			version, lengthBytes = 3, 4
		}
	}
	if version == 1 && len(dict)+64 > math.MaxUint16 {
		version, lengthBytes = 2, 4
	}
	head := append([]byte(Magic), version, 0)
	padded := (len(head) + lengthBytes + len(dict) + 1 + 63) / 64 * 64
	length := padded - len(head) - lengthBytes
	if lengthBytes == 2 {
		head = binary.LittleEndian.AppendUint16(head, uint16(length))
	} else {
		head = binary.LittleEndian.AppendUint32(head, uint32(length))
	}
	head = append(head, dict...)
	head = append(head, strings.Repeat(" ", length-len(dict)-1)...)
	return append(head, '\n'), nil
}
