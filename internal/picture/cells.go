// Pictures on a terminal: heat maps of half blocks in colour, or of shades without colour, and
// lines of Braille dots.

package picture

import (
	"image/color"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/hyperslab/hyperslab/internal/grid"
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
	switch {
	case len(p.Panels) > 0:
		return p.panelCells(columns, rows, g)
	case p.Kind == Heatmap:
		return p.heatCells(columns, rows, g)
	}
	return p.lineCells(columns, rows/2, g)
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
	block := p.heatBlock(width, height, g)
	rows, columns, zoom := p.zoomed(width, height)
	label := func(row int) string {
		at := (float64(row/zoom)+0.5)/float64(p.Grid.Rows)*float64(p.Shape[0]) - 0.5
		if !p.fromTop() {
			at = float64(p.Shape[0]-1) - at
		}
		return NumberBetween(p.Axes[0].At(at, p.Shape[0]), p.Axes[0].First, p.Axes[0].Last)
	}
	for row := 0; row < rows; row += cellsPerLine {
		text := ""
		switch {
		case row == 0 || row/cellsPerLine == (rows/cellsPerLine)/2:
			text = shorten(label(row), gutter)
		case row+cellsPerLine >= rows:
			text = shorten(label(rows-1), gutter)
		}
		out = append(out, append(padded(text, gutter), block[row/cellsPerLine]...))
	}
	first, last := p.Axes[1].First, p.Axes[1].Last
	if p.fromRight() {
		first, last = last, first
	}
	from, to := Numbers(first, last)
	return append(out, ends(gutter, from, p.Axes[1].Label, to, columns), p.scale(g))
}

// cellsPerLine is the number of cells of a heat map above each other in a line of characters.
const cellsPerLine = 2

// fromTop reports whether the first row of a heat map is at the top, and fromRight whether its
// first column is at the right.
func (p *Picture) fromTop() bool {
	return !p.Axes[0].Known || p.Axes[0].First > p.Axes[0].Last
}

func (p *Picture) fromRight() bool {
	return p.Axes[1].Known && p.Axes[1].First > p.Axes[1].Last
}

// zoomed returns the size of a heat map on a terminal. A small grid is enlarged to the space.
func (p *Picture) zoomed(width, height int) (rows, columns, zoom int) {
	zoom = max(min(width/p.Grid.Columns, height/p.Grid.Rows), 1)
	return p.Grid.Rows * zoom, p.Grid.Columns * zoom, zoom
}

// heatBlock draws the cells of a heat map without labels.
func (p *Picture) heatBlock(width, height int, g Gradient) (out [][]Cell) {
	rows, columns, zoom := p.zoomed(width, height)
	cell := func(row, column int) float64 {
		if row >= rows {
			return math.NaN()
		}
		row, column = row/zoom, column/zoom
		if !p.fromTop() {
			row = p.Grid.Rows - 1 - row
		}
		if p.fromRight() {
			column = p.Grid.Columns - 1 - column
		}
		return p.Grid.At(row, column)
	}
	for row := 0; row < rows; row += cellsPerLine {
		var line []Cell
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
	return out
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

// lineCells draws the curves with labels.
func (p *Picture) lineCells(columns, lines int, g Gradient) (out [][]Cell) {
	least, most := p.ends()
	left := max(gutter, utf8.RuneCountInString(least), utf8.RuneCountInString(most))
	columns = max(columns-(left-gutter), 1)
	for i, row := range p.lineBlock(columns, lines, g) {
		text := ""
		switch i {
		case 0:
			text = most
		case lines - 1:
			text = least
		case lines / 2:
			text = shorten(p.Label, gutter)
		}
		line := append(padded(text, left), row...)
		for len(line) > 0 && line[len(line)-1].Rune == noDots {
			line = line[:len(line)-1]
		}
		out = append(out, line)
	}
	first, last := p.Axes[0].First, p.Axes[0].Last
	if p.backwards() {
		first, last = last, first
	}
	from, to := Numbers(first, last)
	out = append(out, ends(left, from, p.Axes[0].Label, to, columns))
	return append(out, p.names(left, columns, g)...)
}

// noDots is the Braille character without dots.
const noDots = 0x2800

// marks are the characters of several curves at their last points.
const marks = "1234567"

// names lists several curves with their marks and colours.
func (p *Picture) names(left, columns int, g Gradient) (out [][]Cell) {
	if len(p.Lines) < 2 {
		return nil
	}
	line := padded("", left)
	for i, s := range p.Lines {
		name := plain(" " + shorten(s.Name, max(columns-2, 1)) + "  ")
		if len(line) > left+1 && len(line)+1+len(name) > left+1+columns {
			out, line = append(out, line), padded("", left)
		}
		line = append(append(line, Cell{Rune: rune(marks[i%len(marks)]), Fore: p.ink(i, g)}), name...)
	}
	return append(out, line)
}

// ink returns the colour of a curve on a terminal: its own if there are several, and colours.
func (p *Picture) ink(i int, g Gradient) color.RGBA {
	if g == nil || len(p.Lines) < 2 {
		return color.RGBA{}
	}
	if i = i % len(inks); i == len(inks)-1 {
		return color.RGBA{} // dark grey is not visible on a dark terminal
	}
	return inks[i]
}

func (p *Picture) backwards() bool { return p.Axes[0].Known && p.Axes[0].First > p.Axes[0].Last }

// lineBlock draws the curves with Braille characters, 2 × 4 dots each, without labels. Where curves
// meet, a character has the colour of the last one.
func (p *Picture) lineBlock(columns, lines int, g Gradient) [][]Cell {
	out := make([][]Cell, lines)
	for i := range out {
		out[i] = make([]Cell, columns)
		for k := range out[i] {
			out[i][k].Rune = noDots
		}
	}
	for k, s := range p.Lines {
		x, y := p.drawDots(out, s.Envelope, p.ink(k, g))
		if len(p.Lines) > 1 && y >= 0 {
			out[y][x].Rune = rune(marks[k%len(marks)])
		}
	}
	return out
}

// drawDots adds a curve to characters, and returns the character of its last point, or -1.
func (p *Picture) drawDots(out [][]Cell, e *Envelope, ink color.RGBA) (lastX, lastY int) {
	lastX, lastY = -1, -1
	dotsX, dotsY := 2*len(out[0]), 4*len(out)
	// Bits of the dots of a Braille character (Unicode 2800), by row and column.
	bit := [4][2]byte{{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}
	height := func(v float64) int {
		return int(math.Round((v - p.Low) / (p.High - p.Low) * float64(dotsY-1)))
	}
	n := len(e.Low)
	before := -1
	for x := range dotsX {
		i := x * n / dotsX
		if p.backwards() {
			i = n - 1 - i
		}
		low, high := e.Low[i], e.High[i]
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
			c := &out[row/4][x/2]
			if c.Rune < noDots { // the mark of another curve
				continue
			}
			c.Rune |= rune(bit[row%4][x%2])
			c.Fore = ink
			lastX, lastY = x/2, row/4
		}
	}
	return lastX, lastY
}

// panelGap is the number of columns between panels on a terminal.
const panelGap = 2

// panelLayout arranges n panels on a terminal.
func panelLayout(n, columns, rows int) (down, across, width, height int) {
	const narrowest = 14
	total := columns + gutter
	down, across = arrange(n, float64(total), float64(rows))
	for across > 1 && total/across < narrowest {
		across--
		down = grid.DivUp(n, across)
	}
	return down, across, total/across - panelGap, max(rows/down-2*cellsPerLine, 3*cellsPerLine) // a title and an empty line
}

// PanelSize returns the size of each of n panels: in cells for Cells, or for a file in at least the
// pixels that it has there.
func PanelSize(n, width, height int, terminal bool) (columns, rows int) {
	if terminal {
		_, _, columns, rows = panelLayout(n, width, height)
		return columns, rows
	}
	rows, columns = arrange(n, float64(width), float64(height))
	return grid.DivUp(width, columns), grid.DivUp(height, rows)
}

// panelCells draws small multiples next to each other, each below its title, and one scale.
func (p *Picture) panelCells(columns, rows int, g Gradient) (out [][]Cell) {
	down, across, width, height := panelLayout(len(p.Panels), columns, rows)
	for row := range down {
		var lines [][]Cell
		if row > 0 {
			out = append(out, nil)
		}
		for i := range across {
			k := row*across + i
			if k >= len(p.Panels) {
				break
			}
			x := p.Panels[k]
			block := [][]Cell{plain(shorten(x.Title, width))}
			if x.Kind == Heatmap {
				block = append(block, x.heatBlock(width, height, g)...)
			} else {
				block = append(block, x.lineBlock(width, height/cellsPerLine, g)...)
			}
			for n, line := range block {
				if n == len(lines) {
					lines = append(lines, nil)
				}
				for len(lines[n]) < i*(width+panelGap) {
					lines[n] = append(lines[n], Cell{Rune: ' '})
				}
				lines[n] = append(lines[n], line...)
			}
		}
		out = append(out, lines...)
	}
	if p.Kind == Heatmap {
		return append(out, p.scale(g)[gutter+1:])
	}
	low, high := p.ends()
	return append(out, plain(strings.TrimSpace("from "+low+" to "+high+" "+p.Label)))
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
