// Comma-separated values (RFC 4180).

package inspect

import (
	"bufio"
	"context"
	"encoding/csv"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/internal/elements/jsonform"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/ndarray"
)

// dumpCSV writes a header line, unless noHeader is set, and one line for each row of the last axis.
// For structures it writes one line for each structure. With index, columns with the index of the
// first value come first, one for each axis except the one along the line. With coords, each line
// has one element after its coordinates. An empty cell is a NaT or a null.
func (j *dumpJob) dumpCSV(ctx context.Context, w *bufio.Writer, address string, arr *ndarray.Array, progress func(bytes int64)) error {
	d, shape := arr.DType(), arr.Shape()
	records := d.Kind == ndarray.Struct
	axes := len(shape) // number of index columns
	if !records && len(shape) > 1 {
		axes--
	}
	out := csv.NewWriter(w)
	if !j.noHeader && !arr.Meta().Null {
		if err := j.writeHeader(out, w, address, arr, axes); err != nil {
			return err
		}
	}
	p := shell.NewPlace(shape)
	var line []string
	limit := int64(shell.OutputBlock)
	if j.columns != nil { // the indexes of a block are in memory, too
		size := int64(max(d.Size, 1))
		limit = max(limit/(size+8*int64(len(shape)))*size, 1)
	}
	err := shell.EachText(ctx, arr, limit, progress, func(r ndarray.Region, e *shell.Batch) error {
		if j.columns != nil {
			if err := j.columns.block(ctx, r); err != nil {
				return err
			}
		}
		for i := range e.N {
			if j.columns != nil {
				line = j.columns.append(line, i)
			}
			if len(line) == 0 && j.index {
				for _, n := range p.Index[:axes] {
					line = append(line, strconv.FormatInt(n, 10))
				}
			}
			if records {
				var err error
				if line, err = j.appendFields(line, d, e, i); err != nil {
					return err
				}
			} else {
				line = append(line, j.cell(d, e.Plain(i)))
			}
			if records || j.columns != nil || len(shape) < 2 || p.Ends() > 0 {
				if err := writeLine(out, w, line); err != nil {
					return err
				}
				line = line[:0]
			}
			p.Next()
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

// appendFields adds the fields of structure i of a batch to a line.
func (j *dumpJob) appendFields(line []string, d ndarray.DType, e *shell.Batch, i int) ([]string, error) {
	parts, err := d.Split(e.Bytes(i))
	if err != nil {
		return line, err
	}
	nulls := e.Fields(i)
	for k, f := range d.Fields {
		if nulls != nil && nulls[k] {
			line = append(line, "")
			continue
		}
		line = append(line, j.cell(f.Type, jsonform.Plain(f.Type, parts[k])))
	}
	return line, nil
}

// writeHeader writes the names of the columns: those of the fields for structures, "column0",
// "column1" and so on for several dimensions, as DuckDB does, because programs would take a line of
// numbers for data. The column of other arrays has the name of the array. Index columns have the
// names of their dimensions, or "axis0", "axis1" and so on. An array after another one has no
// header line if it is the same.
func (j *dumpJob) writeHeader(out *csv.Writer, w *bufio.Writer, address string, arr *ndarray.Array, axes int) error {
	m := arr.Meta()
	var head []string
	text := ndarray.DType{Kind: ndarray.String}
	if j.index {
		for axis := range axes {
			name := fmt.Sprintf("axis%d", axis)
			if m.AxisNames != nil && m.AxisNames[axis] != "" {
				name = m.AxisNames[axis]
			}
			head = append(head, j.cell(text, name))
		}
	}
	if j.columns != nil {
		for _, name := range j.columns.names {
			head = append(head, j.cell(text, name))
		}
	}
	switch {
	case m.DType.Kind == ndarray.Struct:
		for _, f := range m.DType.Fields {
			head = append(head, j.cell(text, f.Name))
		}
	case len(m.Shape) > 1 && j.columns == nil:
		for i := range m.Shape[len(m.Shape)-1] {
			head = append(head, "column"+strconv.FormatInt(i, 10))
		}
	default:
		head = append(head, j.cell(text, columnName(address)))
	}
	if slices.Equal(head, j.before) {
		return nil
	}
	j.before = head
	return writeLine(out, w, head)
}

// columnName returns the name of an array with one column: its field, its name in the file, or
// "value".
func columnName(address string) string {
	location, text := shell.SplitSelection(address)
	if _, field := shell.CutField(text); field != "" {
		return field
	}
	if loc, err := locate.Parse(location); err == nil && strings.Trim(loc.Object, "/") != "" {
		return path.Base(loc.Object)
	}
	return "value"
}

// writeLine writes a line. A single empty cell is quoted, because readers skip empty lines.
func writeLine(out *csv.Writer, w *bufio.Writer, line []string) error {
	if len(line) > 1 || len(line) == 1 && line[0] != "" {
		return out.Write(line)
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return err
	}
	_, err := w.WriteString("\"\"\n")
	return err
}

// cell formats a value of type d as a cell. With --csv-safe a string that a spreadsheet would read
// as a formula is preceded by an apostrophe. NaT is an empty cell, because pandas and DuckDB find
// dates only in columns without other text.
func (j *dumpJob) cell(d ndarray.DType, value string) string {
	switch {
	case value == "NaT" && (d.Kind == ndarray.DateTime || d.Kind == ndarray.TimeDelta):
		return ""
	case j.csvSafe && isText(d) && isFormula(value):
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
