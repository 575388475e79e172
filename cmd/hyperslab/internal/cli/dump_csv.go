// Values separated by commas (RFC 4180).

package cli

import (
	"bufio"
	"context"
	"encoding/csv"
	"fmt"
	"strconv"

	"github.com/hyperslab/hyperslab/ndarray"
)

// dumpCSV writes a line for each row of the last axis, of structures a line for each
// below the names of the fields. With index the place of the first value, a column
// for each axis that the line does not run along, goes in front.
func dumpCSV(ctx context.Context, w *bufio.Writer, arr *ndarray.Array, index bool) error {
	d, shape := arr.DType(), arr.Shape()
	records := d.Kind == ndarray.Struct
	axes := len(shape) // that a line has an index for
	if !records && len(shape) > 1 {
		axes--
	}
	out := csv.NewWriter(w)
	if records {
		var head []string
		for axis := range axes {
			if index {
				head = append(head, fmt.Sprintf("axis%d", axis))
			}
		}
		for _, f := range d.Fields {
			head = append(head, f.Name)
		}
		if err := out.Write(head); err != nil {
			return err
		}
	}
	p := newPlace(shape)
	var line []string
	err := eachBlock(ctx, arr, outputBlock, func(_ ndarray.Region, e *batch) error {
		for i := range e.n {
			if len(line) == 0 && index {
				for _, n := range p.index[:axes] {
					line = append(line, strconv.FormatInt(n, 10))
				}
			}
			if records {
				b := e.bytes(i)
				for _, f := range d.Fields {
					line = append(line, plainText(f.Type, b[f.Offset:][:f.Type.Size]))
				}
			} else {
				line = append(line, e.plain(i))
			}
			if records || len(shape) < 2 || p.ends() > 0 {
				if err := out.Write(line); err != nil {
					return err
				}
				line = line[:0]
			}
			p.next()
		}
		out.Flush()
		return out.Error()
	})
	if err != nil {
		return err
	}
	out.Flush()
	return out.Error()
}
