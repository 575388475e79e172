// Aligned listings.

package term

import (
	"bufio"
	"encoding/binary"
	"io"
	"strings"
	"unicode/utf8"
)

// Table is an aligned listing. Columns are two spaces apart, and lines have no trailing spaces.
type Table struct {
	Head  []string // nil: no heading line
	Keys  bool     // the first column is headings
	Right []bool   // columns with numbers; nil: none
	Rows  []Row
}

// Row contains the cells of a line in one string, because a listing may have a million lines.
type Row string

// NewRow returns a row with these cells.
func NewRow(cells ...string) Row {
	var b []byte
	for _, c := range cells {
		b = append(binary.AppendUvarint(b, uint64(len(c))), c...)
	}
	return Row(b)
}

// Cells returns the cells, in the memory of buffer if its capacity suffices.
func (r Row) Cells(buffer []string) []string {
	cells := buffer[:0]
	for len(r) > 0 {
		n, size := binary.Uvarint([]byte(r[:min(len(r), binary.MaxVarintLen64)]))
		end := size + int(n)
		cells, r = append(cells, string(r[size:end])), r[end:]
	}
	return cells
}

func (t *Table) Add(cells ...string) { t.Rows = append(t.Rows, NewRow(cells...)) }

// WithoutEmpty removes columns, except the first one, that are empty in all rows, so that wide
// listings fit the screen.
func (t *Table) WithoutEmpty() *Table {
	kept := Table{Keys: t.Keys}
	used := make([]bool, len(t.Head))
	var cells []string
	for _, row := range t.Rows {
		cells = row.Cells(cells)
		for i := range used {
			used[i] = used[i] || i == 0 || cells[i] != ""
		}
	}
	only := func(cells []string) (out []string) {
		for i, c := range cells {
			if used[i] {
				out = append(out, c)
			}
		}
		return out
	}
	kept.Head = only(t.Head)
	for i := range t.Head {
		if used[i] {
			kept.Right = append(kept.Right, i < len(t.Right) && t.Right[i])
		}
	}
	for _, row := range t.Rows {
		cells = row.Cells(cells)
		kept.Add(only(cells)...)
	}
	return &kept
}

func (t *Table) Write(w io.Writer, p Paint) error {
	var width []int
	measure := func(cells []string) {
		for i, c := range cells {
			if i == len(width) {
				width = append(width, 0)
			}
			width[i] = max(width[i], utf8.RuneCountInString(c))
		}
	}
	measure(t.Head)
	var cells []string
	for _, row := range t.Rows {
		cells = row.Cells(cells)
		measure(cells)
	}
	out := bufio.NewWriterSize(w, 64<<10)
	line := func(cells []string, heading func(column int) bool) {
		last := len(cells)
		for last > 0 && cells[last-1] == "" {
			last--
		}
		for i, c := range cells[:last] {
			if i > 0 {
				out.WriteString("  ")
			}
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(c))
			if i < len(t.Right) && t.Right[i] {
				out.WriteString(pad)
				pad = ""
			}
			if heading(i) {
				c = p.Heading(c)
			}
			out.WriteString(c)
			if i < last-1 {
				out.WriteString(pad)
			}
		}
		out.WriteByte('\n')
	}
	if t.Head != nil {
		line(t.Head, func(int) bool { return true })
	}
	for _, row := range t.Rows {
		cells = row.Cells(cells)
		line(cells, func(column int) bool { return t.Keys && column == 0 })
	}
	return out.Flush()
}
