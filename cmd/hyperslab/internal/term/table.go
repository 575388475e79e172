// Aligned listings.

package term

import (
	"bufio"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// Table is an aligned listing. Columns are two spaces apart, and lines have no trailing spaces.
type Table struct {
	Head  []string // nil: no heading line
	Keys  bool     // the first column is headings
	Right []bool   // columns with numbers; nil: none
	Rows  [][]string
}

func (t *Table) Add(cells ...string) { t.Rows = append(t.Rows, cells) }

// WithoutEmpty removes columns, except the first one, that are empty in all rows, so that wide
// listings fit the screen.
func (t *Table) WithoutEmpty() *Table {
	var kept Table
	kept.Keys = t.Keys
	kept.Rows = make([][]string, len(t.Rows))
	for i, head := range t.Head {
		if i > 0 && !slices.ContainsFunc(t.Rows, func(row []string) bool { return row[i] != "" }) {
			continue
		}
		kept.Head = append(kept.Head, head)
		kept.Right = append(kept.Right, i < len(t.Right) && t.Right[i])
		for k, row := range t.Rows {
			kept.Rows[k] = append(kept.Rows[k], row[i])
		}
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
	for _, row := range t.Rows {
		measure(row)
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
		line(row, func(column int) bool { return t.Keys && column == 0 })
	}
	return out.Flush()
}
