// Pictures on a terminal: heat maps of half blocks in colour, or of shades without colour, and
// lines of Braille dots.

package picture

import (
	"image/color"
	"math"
	"unicode/utf8"
)

// Cell is one character on a terminal.
type Cell struct {
	Rune       rune
	Fore, Back color.RGBA // alpha 0: the colour of the terminal
}

// gutter is the minimum number of columns for labels at the left of a picture on a terminal.
const gutter = 10

// BesideCells is the number of columns and BelowCells the number of lines that a heat map needs on
// a terminal in addition to its cells.
const (
	BesideCells = gutter + 1
	BelowCells  = 2
)

// Cells draws a heat map or a line, without its title, as lines of characters. A heat map has
// columns × rows cells, two in each character; a line has columns × rows/2 characters. Labels take
// at least BesideCells columns and BelowCells lines more. Without a gradient the characters are
// shades.
func (p *Picture) Cells(columns, rows int, g Gradient) [][]Cell {
	if p.Kind == Heatmap {
		return p.heatCells(columns, rows, g)
	}
	return p.lineCells(columns, rows/2)
}

// shades represent values without colours, from least to greatest.
var shades = []rune(" ░▒▓█")

// plain returns a text in the colours of the terminal.
func plain(s string) []Cell {
	out := make([]Cell, 0, len(s))
	for _, r := range s {
		out = append(out, Cell{Rune: r})
	}
	return out
}

// padded returns a text at the right of width columns, and a space.
func padded(s string, width int) []Cell {
	var out []Cell
	for range width - utf8.RuneCountInString(s) {
		out = append(out, Cell{Rune: ' '})
	}
	return append(out, plain(s+" ")...)
}

// shorten truncates a text to most characters.
func shorten(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-1]) + "…"
}

// heatCells draws two rows of cells per line, in colours, or their mean in shades. A small grid is
// enlarged to the available space.
func (p *Picture) heatCells(width, height int, g Gradient) (out [][]Cell) {
	zoom := max(min(width/p.Grid.Columns, height/p.Grid.Rows), 1)
	rows, columns := p.Grid.Rows*zoom, p.Grid.Columns*zoom
	down := !p.Axes[0].Known || p.Axes[0].First > p.Axes[0].Last // the first row is at the top
	left := !p.Axes[1].Known || p.Axes[1].First <= p.Axes[1].Last
	cell := func(row, column int) float64 {
		if row >= rows {
			return math.NaN()
		}
		row, column = row/zoom, column/zoom
		if !down {
			row = p.Grid.Rows - 1 - row
		}
		if !left {
			column = p.Grid.Columns - 1 - column
		}
		return p.Grid.At(row, column)
	}
	label := func(row int) string {
		at := (float64(row/zoom)+0.5)/float64(p.Grid.Rows)*float64(p.Shape[0]) - 0.5
		if !down {
			at = float64(p.Shape[0]-1) - at
		}
		return NumberBetween(p.Axes[0].At(at, p.Shape[0]), p.Axes[0].First, p.Axes[0].Last)
	}
	const step = 2
	for row := 0; row < rows; row += step {
		text := ""
		switch {
		case row == 0 || row/step == (rows/step)/2:
			text = shorten(label(row), gutter)
		case row+step >= rows:
			text = shorten(label(rows-1), gutter)
		}
		line := padded(text, gutter)
		for column := range columns {
			top, bottom := cell(row, column), cell(row+1, column)
			switch {
			case g == nil:
				line = append(line, Cell{Rune: p.shade(top, bottom)})
			case row+1 >= rows:
				line = append(line, Cell{Rune: '▀', Fore: g.At(top, p.Low, p.High)})
			default:
				line = append(line, Cell{Rune: '▀', Fore: g.At(top, p.Low, p.High), Back: g.At(bottom, p.Low, p.High)})
			}
		}
		out = append(out, line)
	}
	first, last := p.Axes[1].First, p.Axes[1].Last
	if !left {
		first, last = last, first
	}
	from, to := Numbers(first, last)
	return append(out, ends(gutter, from, p.Axes[1].Label, to, columns), p.scale(g))
}

// shade returns the shade of two cells, one above the other.
func (p *Picture) shade(top, bottom float64) rune {
	if math.IsNaN(top) {
		top = bottom
	}
	if !math.IsNaN(bottom) {
		top = (top + bottom) / 2
	}
	if math.IsNaN(top) {
		return '·'
	}
	x := min(max((top-p.Low)/(p.High-p.Low), 0), 1)
	return shades[min(int(x*float64(len(shades))), len(shades)-1)]
}

// ends returns the labels below the left end, the middle and the right end.
func ends(gutter int, first, middle, last string, columns int) []Cell {
	gap := max(columns-utf8.RuneCountInString(first+middle+last), 2)
	out := padded(first, gutter+1+utf8.RuneCountInString(first))[:gutter+1+utf8.RuneCountInString(first)]
	out = append(out, padded(middle, gap/2+utf8.RuneCountInString(middle))...)
	out = out[:len(out)-1]
	out = append(out, padded(last, gap-gap/2+utf8.RuneCountInString(last))...)
	return out[:len(out)-1]
}

// scale returns the scale of the colours or shades.
func (p *Picture) scale(g Gradient) []Cell {
	low, high := p.ends()
	out := padded("", gutter)
	out = append(out, plain(low+" ")...)
	if g != nil {
		for i := range 24 {
			out = append(out, Cell{Rune: ' ', Back: g.At(float64(i)/23, 0, 1)})
		}
	} else {
		for _, s := range shades {
			for range 4 {
				out = append(out, Cell{Rune: s})
			}
		}
	}
	line := " " + high
	if p.Label != "" {
		line += " " + p.Label
	}
	return append(out, plain(line)...)
}

// lineCells draws the envelope with Braille characters, 2 × 4 dots each.
func (p *Picture) lineCells(columns, lines int) (out [][]Cell) {
	least, most := p.ends()
	left := max(gutter, utf8.RuneCountInString(least), utf8.RuneCountInString(most))
	columns = max(columns-(left-gutter), 1)
	dotsX, dotsY := 2*columns, 4*lines
	dots := make([][]byte, lines)
	for i := range dots {
		dots[i] = make([]byte, columns)
	}
	// Bits of the dots of a Braille character (Unicode 2800), by row and column.
	bit := [4][2]byte{{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}
	height := func(v float64) int {
		return int(math.Round((v - p.Low) / (p.High - p.Low) * float64(dotsY-1)))
	}
	n := len(p.Line.Low)
	backwards := p.Axes[0].Known && p.Axes[0].First > p.Axes[0].Last
	before := -1
	for x := range dotsX {
		i := x * n / dotsX
		if backwards {
			i = n - 1 - i
		}
		low, high := p.Line.Low[i], p.Line.High[i]
		if math.IsNaN(low) {
			before = -1
			continue
		}
		from, to := height(low), height(high)
		if before >= 0 && before < from { // the curve continues from its last point
			from = before + 1
		} else if before > to {
			to = before - 1
		}
		before = height((low + high) / 2)
		for y := max(from, 0); y <= min(to, dotsY-1); y++ {
			row := dotsY - 1 - y
			dots[row/4][x/2] |= bit[row%4][x%2]
		}
	}
	for i, row := range dots {
		text := ""
		switch i {
		case 0:
			text = most
		case lines - 1:
			text = least
		case lines / 2:
			text = shorten(p.Label, gutter)
		}
		line := padded(text, left)
		for _, b := range row {
			line = append(line, Cell{Rune: 0x2800 + rune(b)})
		}
		for len(line) > 0 && line[len(line)-1].Rune == 0x2800 {
			line = line[:len(line)-1]
		}
		out = append(out, line)
	}
	first, last := p.Axes[0].First, p.Axes[0].Last
	if backwards {
		first, last = last, first
	}
	from, to := Numbers(first, last)
	return append(out, ends(left, from, p.Axes[0].Label, to, columns))
}

// Transpose exchanges the dimensions of a heat map.
func (p *Picture) Transpose() {
	t := &Grid{Rows: p.Grid.Columns, Columns: p.Grid.Rows, Cells: make([]float64, len(p.Grid.Cells)), Low: p.Grid.Low, High: p.Grid.High}
	for row := range t.Rows {
		for column := range t.Columns {
			t.Cells[row*t.Columns+column] = p.Grid.At(column, row)
		}
	}
	p.Grid = t
	p.Axes = []Axis{p.Axes[1], p.Axes[0]}
	p.Shape = []int64{p.Shape[1], p.Shape[0]}
}
