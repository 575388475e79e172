// Pictures on a terminal: heat maps of half blocks in colour, or of shades without colour, and
// lines of Braille dots.

package picture

import (
	"cmp"
	"image/color"
	"math"
	"slices"
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

// Cells draws a heat map, an image or a line, without its title, as lines of characters. A heat map
// has at most columns × rows pixels, two in each character; a line has columns × rows/2 characters.
// Labels take at least BesideCells columns and BelowCells lines more. Without colors the characters
// are shades.
func (p *Picture) Cells(columns, rows int, colors bool) [][]Cell {
	switch {
	case len(p.Panels) > 0:
		return p.panelCells(columns, rows, colors)
	case p.Kind != Line:
		return p.heatCells(columns, rows, colors)
	}
	return p.lineCells(columns, rows/2, colors)
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

// heatCells draws a raster with labels. A small grid is enlarged to the available space.
func (p *Picture) heatCells(width, height int, colors bool) (out [][]Cell) {
	block := p.heatBlock(width, height, colors)
	rows, columns := p.zoomed(width, height)
	first, last := p.Axes[0].ends(p.Shape[0])
	middle := p.Axes[0].middle(p.Shape[0])
	if !p.Axes[0].fromTop() {
		first, last = last, first
	}
	left := gutter
	if p.Axes[0].dates != nil {
		left = max(left, utf8.RuneCountInString(first), utf8.RuneCountInString(last))
	}
	if over := left - gutter; over > 0 && columns+over > width {
		return p.heatCells(width-over, height, colors)
	}
	for i, line := range block {
		text := ""
		switch {
		case i == 0:
			text = first
		case i == len(block)-1:
			text = last
		case i == (rows/cellsPerLine)/2:
			text = middle
		}
		out = append(out, append(padded(shorten(text, left), left), line...))
	}
	from, to := p.Axes[1].ends(p.Shape[1])
	if p.Axes[1].fromRight() {
		from, to = to, from
	}
	out = append(out, ends(left, from, p.Axes[1].title(), to, columns))
	if p.Kind == Image {
		return out
	}
	return append(out, p.scale(colors))
}

// cellsPerLine is the number of pixels above each other in a line of characters.
const cellsPerLine = 2

// middle returns the text of the coordinate in the middle.
func (x *Axis) middle(n int64) string {
	at := float64(n-1) / 2
	if x.points != nil {
		first, last := x.edges(n)
		at = x.index((first+last)/2, n) - 0.5
	}
	if x.dates != nil {
		k, _ := slices.BinarySearchFunc(x.dates, int64(at), func(d dated, i int64) int { return cmp.Compare(d.index, i) })
		return dateText(x.dates[min(k, len(x.dates)-1)].Date)
	}
	return NumberBetween(x.At(at, n), x.First, x.Last)
}

// zoomed returns the size of a raster on a terminal. Few cells are enlarged to the space, and the
// pixels of an image are squares.
func (p *Picture) zoomed(width, height int) (rows, columns int) {
	g := p.cells()
	if p.Kind == Image {
		scale := min(float64(width)/float64(p.Shape[1]), float64(height)/float64(p.Shape[0]))
		return max(int(float64(p.Shape[0])*scale), 1), max(int(float64(p.Shape[1])*scale), 1)
	}
	zoom := max(min(width/g.Columns, height/g.Rows), 1)
	return min(g.Rows*zoom, height), min(g.Columns*zoom, width)
}

// heatBlock draws a raster without labels: in colours, or the mean of two rows in shades.
func (p *Picture) heatBlock(width, height int, colors bool) (out [][]Cell) {
	rows, columns := p.zoomed(width, height)
	if !colors {
		return p.shaded(columns, rows)
	}
	img := p.Raster(columns, rows)
	for row := 0; row < rows; row += cellsPerLine {
		line := make([]Cell, columns)
		for column := range line {
			line[column] = Cell{Rune: '▀', Fore: img.RGBAAt(column, row), Back: img.RGBAAt(column, row+1)} // outside: no colour
		}
		out = append(out, line)
	}
	return out
}

// shaded draws a raster in shades.
func (p *Picture) shaded(columns, rows int) (out [][]Cell) {
	levels := p.levels(columns, rows)
	low, high := p.Low, p.High
	if p.Kind == Image {
		low, high = 0, 1
	}
	for row := 0; row < rows; row += cellsPerLine {
		line := make([]Cell, columns)
		for column := range line {
			top, bottom := levels[row*columns+column], math.NaN()
			if row+1 < rows {
				bottom = levels[(row+1)*columns+column]
			}
			line[column].Rune = shade(top, bottom, low, high)
		}
		out = append(out, line)
	}
	return out
}

// shade returns the shade of two cells, one above the other.
func shade(top, bottom, low, high float64) rune {
	if math.IsNaN(top) {
		top = bottom
	}
	if !math.IsNaN(bottom) {
		top = (top + bottom) / 2
	}
	if math.IsNaN(top) {
		return '·'
	}
	x := min(max((top-low)/(high-low), 0), 1)
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
func (p *Picture) scale(colors bool) []Cell {
	low, high := p.ends()
	out := padded("", gutter)
	out = append(out, plain(low+" ")...)
	if g := p.gradient(); colors {
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
	out = append(out, plain(line)...)
	switch {
	case p.Missing && colors:
		out = append(out, Cell{Rune: ' '}, Cell{Rune: ' '}, Cell{Rune: ' ', Back: missingColor}, Cell{Rune: ' ', Back: missingColor})
		out = append(out, plain(" missing")...)
	case p.Missing:
		out = append(out, plain("  · missing")...)
	}
	return out
}

// lineCells draws the curves with labels.
func (p *Picture) lineCells(columns, lines int, colors bool) (out [][]Cell) {
	least, most := p.ends()
	left := max(gutter, utf8.RuneCountInString(least), utf8.RuneCountInString(most))
	columns = max(columns-(left-gutter), 1)
	for i, row := range p.lineBlock(columns, lines, colors) {
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
	from, to := p.Axes[0].ends(p.Shape[0])
	if p.Axes[0].fromRight() {
		from, to = to, from
	}
	out = append(out, ends(left, from, p.Axes[0].title(), to, columns))
	return append(out, p.names(left, columns, colors)...)
}

// noDots is the Braille character without dots.
const noDots = 0x2800

// marks are the characters of several curves at their last points.
const marks = "1234567"

// names lists several curves with their marks and colours.
func (p *Picture) names(left, columns int, colors bool) (out [][]Cell) {
	if len(p.Lines) < 2 {
		return nil
	}
	line := padded("", left)
	for i, s := range p.Lines {
		name := plain(" " + shorten(s.Name, max(columns-2, 1)) + "  ")
		if len(line) > left+1 && len(line)+1+len(name) > left+1+columns {
			out, line = append(out, line), padded("", left)
		}
		line = append(append(line, Cell{Rune: rune(marks[i%len(marks)]), Fore: p.ink(i, colors)}), name...)
	}
	return append(out, line)
}

// ink returns the colour of a curve on a terminal: its own if there are several, and colours.
func (p *Picture) ink(i int, colors bool) color.RGBA {
	if !colors || len(p.Lines) < 2 {
		return color.RGBA{}
	}
	if i = i % len(inks); i == len(inks)-1 {
		return color.RGBA{} // dark grey is not visible on a dark terminal
	}
	return inks[i]
}

// lineBlock draws the curves with Braille characters, 2 × 4 dots each, without labels. Where curves
// meet, a character has the colour of the last one.
func (p *Picture) lineBlock(columns, lines int, colors bool) [][]Cell {
	out := make([][]Cell, lines)
	for i := range out {
		out[i] = make([]Cell, columns)
		for k := range out[i] {
			out[i][k].Rune = noDots
		}
	}
	for k, s := range p.Lines {
		x, y := p.drawDots(out, s.Envelope, p.ink(k, colors))
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
	before := -1
	for x, s := range p.Axes[0].spans(p.Shape[0], len(e.Low), dotsX, p.Axes[0].fromRight()) {
		low, high := e.between(s)
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

// panelCells draws small multiples next to each other, each below its title, and one scale.
func (p *Picture) panelCells(columns, rows int, colors bool) (out [][]Cell) {
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
			if x.Kind == Line {
				block = append(block, x.lineBlock(width, height/cellsPerLine, colors)...)
			} else {
				block = append(block, x.heatBlock(width, height, colors)...)
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
	switch p.Kind {
	case Heatmap:
		return append(out, p.scale(colors)[gutter+1:])
	case Image:
		return out
	}
	low, high := p.ends()
	return append(out, plain(strings.TrimSpace("from "+low+" to "+high+" "+p.Label)))
}
