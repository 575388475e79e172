// Aligned listings.

package cli

import (
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// table is an aligned listing. Columns are two spaces apart, and lines have no trailing spaces.
type table struct {
	head  []string // nil: no heading line
	keys  bool     // the first column is headings
	right []bool   // columns with numbers; nil: none
	rows  [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// withoutEmpty removes columns, except the first one, that are empty in all rows, so that wide
// listings fit the screen.
func (t *table) withoutEmpty() *table {
	var kept table
	kept.keys = t.keys
	kept.rows = make([][]string, len(t.rows))
	for i, head := range t.head {
		if i > 0 && !slices.ContainsFunc(t.rows, func(row []string) bool { return row[i] != "" }) {
			continue
		}
		kept.head = append(kept.head, head)
		kept.right = append(kept.right, i < len(t.right) && t.right[i])
		for k, row := range t.rows {
			kept.rows[k] = append(kept.rows[k], row[i])
		}
	}
	return &kept
}

func (t *table) write(w io.Writer, p paint) error {
	var width []int
	measure := func(cells []string) {
		for i, c := range cells {
			if i == len(width) {
				width = append(width, 0)
			}
			width[i] = max(width[i], utf8.RuneCountInString(c))
		}
	}
	measure(t.head)
	for _, row := range t.rows {
		measure(row)
	}
	var out strings.Builder
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
			if i < len(t.right) && t.right[i] {
				out.WriteString(pad)
				pad = ""
			}
			if heading(i) {
				c = p.heading(c)
			}
			out.WriteString(c)
			if i < last-1 {
				out.WriteString(pad)
			}
		}
		out.WriteByte('\n')
	}
	if t.head != nil {
		line(t.head, func(int) bool { return true })
	}
	for _, row := range t.rows {
		line(row, func(column int) bool { return t.keys && column == 0 })
	}
	_, err := io.WriteString(w, out.String())
	return err
}
