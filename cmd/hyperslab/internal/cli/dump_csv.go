// Comma-separated values (RFC 4180).

package cli

import (
	"bufio"
	"context"
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hyperslab/hyperslab/ndarray"
)

// dumpCSV writes one line for each row of the last axis. For structures it writes the names of the
// fields and one line for each structure. With index, columns with the index of the first value
// come first, one for each axis except the one along the line.
func dumpCSV(ctx context.Context, w *bufio.Writer, arr *ndarray.Array, o *dumpFlags, progress func(bytes int64)) error {
	d, shape := arr.DType(), arr.Shape()
	records := d.Kind == ndarray.Struct
	axes := len(shape) // number of index columns
	if !records && len(shape) > 1 {
		axes--
	}
	out := csv.NewWriter(w)
	if records {
		var head []string
		for axis := range axes {
			if o.index {
				head = append(head, fmt.Sprintf("axis%d", axis))
			}
		}
		for _, f := range d.Fields {
			head = append(head, o.cell(f.Name, true))
		}
		if err := out.Write(head); err != nil {
			return err
		}
	}
	p := newPlace(shape)
	var line []string
	err := eachBlock(ctx, arr, outputBlock, progress, func(_ ndarray.Region, e *batch) error {
		for i := range e.n {
			if len(line) == 0 && o.index {
				for _, n := range p.index[:axes] {
					line = append(line, strconv.FormatInt(n, 10))
				}
			}
			if records {
				parts, err := d.Split(e.bytes(i))
				if err != nil {
					return err
				}
				for i, f := range d.Fields {
					line = append(line, o.cell(plainText(f.Type, parts[i]), isText(f.Type)))
				}
			} else {
				line = append(line, o.cell(e.plain(i), isText(d)))
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

// cell formats a value as a cell. With --csv-safe a string that a spreadsheet would read as a
// formula is preceded by an apostrophe.
func (o *dumpFlags) cell(value string, text bool) string {
	if o.csvSafe && text && isFormula(value) {
		return "'" + value
	}
	return value
}

// isFormula reports whether a spreadsheet may read a string as a formula: it begins with one of the
// characters that OWASP lists, perhaps after spaces and quotes, which some spreadsheets remove.
func isFormula(value string) bool {
	value = strings.TrimLeft(value, " \u00a0\"'")
	first, _ := utf8.DecodeRuneInString(value)
	return value != "" && strings.ContainsRune("=+-@\t\r\n＝＋－＠", first)
}

// isText reports whether the text of an element of type d comes from the file.
func isText(d ndarray.DType) bool {
	switch d.Kind {
	case ndarray.Bytes, ndarray.Unicode, ndarray.String, ndarray.Reference, ndarray.Enum:
		return true
	case ndarray.SubArray, ndarray.VLen:
		return isText(*d.Base)
	case ndarray.Struct:
		return slices.ContainsFunc(d.Fields, func(f ndarray.Field) bool { return isText(f.Type) })
	}
	return false
}
