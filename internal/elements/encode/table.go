// Comma-separated values (RFC 4180).

package encode

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hyperslab/hyperslab/internal/elements/jsonform"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Table selects the columns of CSV. By default there is a header line with the names of the
// columns, and one line for each structure, or for each row of the last axis.
type Table struct {
	NoHeader bool
	Index    bool    // columns with the index of the first value, one for each axis except the one along the line
	Safe     bool    // an apostrophe precedes strings that a spreadsheet would read as a formula
	Name     string  // of the column of an array without fields and with at most one axis
	Columns  Columns // before the value, in one line for each element; nil: none
	Quoted   bool    // as serve writes it: strings and structures as JSON in quotes, no header line
}

// Columns are further columns with a cell for each element.
type Columns interface {
	// Names returns the names of the columns.
	Names() []string
	// Block is called for each block, before Append is called for its elements.
	Block(ctx context.Context, r ndarray.Region) error
	// Append appends the cells of element i of the block.
	Append(line []string, i int) []string
}

// table is the form of CSV. An empty cell is a NaT or a null.
type table struct {
	Table
	meta  ndarray.Meta
	form  jsonform.Form // of cells with structures, if quoted
	place *Place
	axes  int         // number of index columns
	names []string    // of the header line, of which those of the columns follow
	wide  int64       // number of columns of values of an array of several axes
	cells int         // in the line
	empty bool        // the cells in the line are empty
	line  []string    // of Columns
	quote *csv.Writer // writes to field
	field bytes.Buffer
}

func newTable(m ndarray.Meta, o *Options) *table {
	t := &table{Table: o.Table, meta: m, form: o.Form, place: NewPlace(m.Shape), axes: len(m.Shape)}
	t.quote = csv.NewWriter(&t.field)
	if m.DType.Kind != ndarray.Struct && len(m.Shape) > 1 {
		t.axes--
	}
	if t.NoHeader = t.NoHeader || t.Quoted || m.Null; !t.NoHeader {
		t.names = t.header()
	}
	return t
}

// limit returns the bytes of a block of an array whose blocks have limit bytes. The indexes of the
// elements of a block are in memory too.
func (t *table) limit(limit int64) int64 {
	if t.Columns == nil {
		return limit
	}
	size := int64(max(t.meta.DType.Size, 1))
	return max(limit/(size+8*int64(len(t.meta.Shape)))*size, 1)
}

// Header returns a string that is equal for two arrays if their header lines are.
func Header(m ndarray.Meta, o *Table) string {
	t := newTable(m, &Options{Table: *o})
	return fmt.Sprintf("%q %d", t.names, t.wide)
}

// header returns the names of the columns: those of the fields for structures, "column0", "column1"
// and so on for several dimensions, as DuckDB does, because programs would take a line of numbers
// for data. Index columns have the names of their dimensions, or "axis0", "axis1" and so on.
func (t *table) header() (names []string) {
	m := t.meta
	if t.Index {
		for axis := range t.axes {
			names = append(names, axisName(m, axis))
		}
	}
	if t.Columns != nil {
		names = append(names, t.Columns.Names()...)
	}
	switch {
	case m.DType.Kind == ndarray.Struct:
		for _, f := range m.DType.Fields {
			names = append(names, f.Name)
		}
	case len(m.Shape) > 1 && t.Columns == nil:
		t.wide = m.Shape[len(m.Shape)-1]
	default:
		names = append(names, t.Name)
	}
	return names
}

func axisName(m ndarray.Meta, axis int) string {
	if m.AxisNames != nil && m.AxisNames[axis] != "" {
		return m.AxisNames[axis]
	}
	return "axis" + strconv.Itoa(axis)
}

// head appends a part of the header line.
func (t *table) head(out []byte) (_ []byte, done bool) {
	if t.NoHeader {
		return out, true
	}
	text := ndarray.DType{Kind: ndarray.String}
	for ; t.cells < len(t.names) && len(out) < chunkBytes; t.cells++ {
		out = t.cell(out, text, t.names[t.cells], t.cells)
	}
	all := len(t.names) + int(t.wide)
	for ; t.cells >= len(t.names) && t.cells < all && len(out) < chunkBytes; t.cells++ {
		out = t.cell(out, text, "column"+strconv.Itoa(t.cells-len(t.names)), t.cells)
	}
	if t.cells < all {
		return out, false
	}
	if all == 0 || all == 1 && len(t.names) == 1 && t.names[0] == "" { // as in element
		out = append(out, `""`...)
	}
	t.cells = 0
	return append(out, '\n'), true
}

func (t *table) block(ctx context.Context, r ndarray.Region) error {
	if t.Columns == nil {
		return nil
	}
	return t.Columns.Block(ctx, r)
}

// element appends the cells of an element, and the end of the line after the last one.
func (t *table) element(out []byte, e *Batch, i int) (_ []byte, err error) {
	text := ndarray.DType{Kind: ndarray.Int}
	if t.cells == 0 {
		t.empty = true
	}
	if t.Columns != nil {
		t.line = t.Columns.Append(t.line[:0], i)
		for _, cell := range t.line {
			out = t.add(out, text, cell)
		}
	}
	if t.cells == 0 && t.Index {
		for _, n := range t.place.Index[:t.axes] {
			out = t.add(out, text, strconv.FormatInt(n, 10))
		}
	}
	d := t.meta.DType
	switch {
	case t.Quoted:
		out = t.quoted(out, e, i)
	case d.Kind == ndarray.Struct:
		if out, err = t.fields(out, e, i); err != nil {
			return out, err
		}
	default:
		out = t.add(out, d, e.Plain(i))
	}
	ends := d.Kind == ndarray.Struct || t.Columns != nil || len(t.meta.Shape) < 2 || t.place.Ends() > 0
	if t.Quoted {
		ends = t.place.Ends() > 0
	}
	if ends {
		if t.cells == 1 && t.empty {
			out = append(out, `""`...) // readers skip empty lines
		}
		out, t.cells = append(out, '\n'), 0
	}
	t.place.Next()
	return out, nil
}

// fields appends the fields of structure i of a batch.
func (t *table) fields(out []byte, e *Batch, i int) ([]byte, error) {
	d := t.meta.DType
	parts, err := d.Split(e.Bytes(i))
	if err != nil {
		return out, err
	}
	nulls := e.Fields(i)
	for k, f := range d.Fields {
		if nulls != nil && nulls[k] {
			out = t.add(out, f.Type, "")
			continue
		}
		out = t.add(out, f.Type, jsonform.Plain(f.Type, parts[k]))
	}
	return out, nil
}

// quoted appends an element as serve does.
func (t *table) quoted(out []byte, e *Batch, i int) []byte {
	if t.cells > 0 {
		out = append(out, ',')
	}
	t.cells++
	if e.Null(i) {
		return out
	}
	t.empty = false
	d := e.Dtype
	switch d.Kind {
	case ndarray.Bytes, ndarray.Unicode, ndarray.Struct:
		return append(append(append(out, '"'), bytes.ReplaceAll(e.AppendJSON(nil, t.form, i), []byte{'"'}, []byte(`""`))...), '"')
	case ndarray.Float, ndarray.BFloat:
		return append(out, jsonform.Plain(d, e.Bytes(i))...)
	}
	return append(out, ndarray.FormatElement(d, e.Bytes(i))...)
}

// add appends a cell to the line.
func (t *table) add(out []byte, d ndarray.DType, value string) []byte {
	start := len(out)
	out = t.cell(out, d, value, t.cells)
	t.empty = t.empty && len(out) == start
	t.cells++
	return out
}

// cell appends a value of type d as a cell after n others.
func (t *table) cell(out []byte, d ndarray.DType, value string, n int) []byte {
	if n > 0 {
		out = append(out, ',')
	}
	if value = Cell(d, value, t.Safe); isPlain(value) {
		return append(out, value...)
	}
	t.field.Reset()
	_ = t.quote.Write([]string{value}) // a bytes.Buffer has no errors
	t.quote.Flush()
	return append(out, bytes.TrimSuffix(t.field.Bytes(), []byte{'\n'})...)
}

// isPlain reports whether a cell certainly needs no quotes.
func isPlain(cell string) bool {
	for i := range len(cell) {
		switch c := cell[i]; {
		case c >= '0' && c <= '9', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '.', c == '-', c == '+', c == ':', c == '_':
		default:
			return false
		}
	}
	return true
}

// Cell returns the text of a value of type d in a cell. If safe is set, a string that a spreadsheet
// would read as a formula is preceded by an apostrophe. NaT is an empty cell, because pandas and
// DuckDB find dates only in columns without other text.
func Cell(d ndarray.DType, value string, safe bool) string {
	switch {
	case value == "NaT" && (d.Kind == ndarray.DateTime || d.Kind == ndarray.TimeDelta):
		return ""
	case safe && isText(d) && isFormula(value):
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
