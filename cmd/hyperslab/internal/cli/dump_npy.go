// The .npy format (NumPy Enhancement Proposal 1): a header in Python's words, then
// the elements.

package cli

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/hyperslab/hyperslab/ndarray"
)

// dumpNPY writes what numpy.load reads: the elements in this machine's byte order.
func dumpNPY(ctx context.Context, w *bufio.Writer, arr *ndarray.Array) error {
	m := arr.Meta()
	head, err := npyHeader(m)
	if err != nil {
		return err
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	return eachBlock(ctx, arr, outputBlock, func(_ ndarray.Region, e *batch) error {
		_, err := w.Write(e.data)
		return err
	})
}

// npyHeader is everything before the elements: magic, version, length, and a dict
// that ends at a multiple of 64 bytes. Version 1 has 16 bits for the length, version
// 2 has 32, version 3 is version 2 in UTF-8.
func npyHeader(m ndarray.Meta) ([]byte, error) {
	if m.DType.Kind == ndarray.String || m.Null {
		what := "text of variable length"
		if m.Null {
			what = "an array without a shape"
		}
		return nil, fmt.Errorf("%w: .npy has no place for %s; --json has", errors.ErrUnsupported, what)
	}
	descr := m.DType.NumPy().Native().String()
	if !strings.HasPrefix(descr, "[") && !strings.HasPrefix(descr, "{") && !strings.HasPrefix(descr, "(") {
		descr = "'" + descr + "'"
	}
	shape := make([]string, len(m.Shape))
	for i, n := range m.Shape {
		shape[i] = fmt.Sprint(n)
	}
	tuple := "(" + strings.Join(shape, ", ") + ")"
	if len(shape) == 1 {
		tuple = "(" + shape[0] + ",)"
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
	head := append([]byte("\x93NUMPY"), version, 0)
	room := (len(head) + lengthBytes + len(dict) + 1 + 63) / 64 * 64
	length := room - len(head) - lengthBytes
	if lengthBytes == 2 {
		head = binary.LittleEndian.AppendUint16(head, uint16(length))
	} else {
		head = binary.LittleEndian.AppendUint32(head, uint32(length))
	}
	head = append(head, dict...)
	head = append(head, strings.Repeat(" ", length-len(dict)-1)...)
	return append(head, '\n'), nil
}
