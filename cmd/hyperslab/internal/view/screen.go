// Drawing of text.

package view

import (
	"unicode"

	"github.com/gdamore/tcell/v3"
	"github.com/gdamore/tcell/v3/color"

	"github.com/hyperslab/hyperslab/internal/picture"
)

// area is a rectangle of the screen.
type area struct {
	s          tcell.Screen
	x, y, w, h int
}

// row returns a line of the area.
func (a area) row(i int) area { return area{a.s, a.x, a.y + i, a.w, 1} }

// from returns the area without its first i lines.
func (a area) from(i int) area { return area{a.s, a.x, a.y + i, a.w, max(a.h-i, 0)} }

// text writes a text from column x on and returns the column after it. It replaces characters that
// a terminal would interpret.
func (a area) text(x int, s string, style tcell.Style) int {
	s = printable(s)
	for s != "" && a.h > 0 {
		width := 0
		if x >= a.w {
			break
		}
		rest, w := a.s.Put(a.x+x, a.y, s, style)
		if width = w; x+width > a.w { // a wide character that does not fit
			a.s.Put(a.x+x, a.y, " ", style)
			break
		}
		if len(rest) >= len(s) {
			break
		}
		s, x = rest, x+width
	}
	return x
}

// fill fills the area.
func (a area) fill(style tcell.Style) { a.s.FillArea(a.x, a.y, a.w, a.h, ' ', style) }

// cells draws the lines of a picture.
func (a area) cells(lines [][]picture.Cell) {
	for i, line := range lines {
		if i >= a.h {
			break
		}
		for x, c := range line {
			if x >= a.w {
				break
			}
			style := tcell.StyleDefault.Foreground(color.FromImageColor(c.Fore)).Background(color.FromImageColor(c.Back))
			a.s.Put(a.x+x, a.y+i, printable(string(c.Rune)), style)
		}
	}
}

// printable replaces control characters and other characters without a glyph.
func printable(s string) string {
	for _, r := range s {
		if !unicode.IsPrint(r) {
			out := make([]rune, 0, len(s))
			for _, r := range s {
				if !unicode.IsPrint(r) {
					r = unicode.ReplacementChar
				}
				out = append(out, r)
			}
			return string(out)
		}
	}
	return s
}
