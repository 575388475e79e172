// Pictures on the terminal: heat maps of half blocks in colour, or of shades without colour; lines
// of Braille dots; histograms of bars.

package cli

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/hyperslab/hyperslab/internal/picture"
)

// terminalRoom returns the number of cells of a picture. A line of text is two cells high.
func terminalRoom(columns int) (width, height int) {
	width = min(max(columns, 20), 160) - 12
	return width, max(width*2/5, 8)
}

// blocks draws the picture as text.
func (p *drawing) blocks(w io.Writer, ink paint, g picture.Gradient, columns, lines int) error {
	out := bufio.NewWriter(w)
	_, _ = fmt.Fprintln(out, ink.heading(p.Title)) // the writer keeps its first error
	switch p.Kind {
	case picture.Heatmap:
		p.heatBlocks(out, ink, g, columns, lines)
	case picture.Line:
		p.lineBlocks(out, columns, lines/2)
	default:
		if err := writeHistogram(out, ink, p.Bins, columns+12); err != nil {
			return err
		}
		if p.Label != "" {
			_, _ = fmt.Fprintln(out, "values in "+p.Label)
		}
	}
	return out.Flush()
}

// shades represent values without colours, from least to greatest.
var shades = []string{" ", "░", "▒", "▓", "█"}

// heatBlocks draws two rows of cells per line, in colours, or their mean in shades. A small grid is
// enlarged to the available space.
func (p *drawing) heatBlocks(w *bufio.Writer, ink paint, g picture.Gradient, width, height int) {
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
		return picture.NumberBetween(p.Axes[0].At(at, p.Shape[0]), p.Axes[0].First, p.Axes[0].Last)
	}
	step := 2
	for row := 0; row < rows; row += step {
		text := ""
		switch {
		case row == 0 || row/step == (rows/step)/2:
			text = shorten(label(row), 10)
		case row+step >= rows:
			text = shorten(label(rows-1), 10)
		}
		_, _ = w.WriteString(strings.Repeat(" ", max(10-textWidth(text), 0)) + text + " ")
		for column := range columns {
			top, bottom := cell(row, column), cell(row+1, column)
			if !ink {
				_, _ = w.WriteString(p.shade(top, bottom))
				continue
			}
			upper := g.At(top, p.Low, p.High)
			if row+1 >= rows {
				_, _ = fmt.Fprintf(w, "\x1b[38;2;%d;%d;%dm▀", upper.R, upper.G, upper.B)
				continue
			}
			lower := g.At(bottom, p.Low, p.High)
			_, _ = fmt.Fprintf(w, "\x1b[38;2;%d;%d;%d;48;2;%d;%d;%dm▀", upper.R, upper.G, upper.B, lower.R, lower.G, lower.B)
		}
		if ink {
			_, _ = w.WriteString("\x1b[0m")
		}
		_ = w.WriteByte('\n')
	}
	first, last := p.Axes[1].First, p.Axes[1].Last
	if !left {
		first, last = last, first
	}
	from, to := picture.Numbers(first, last)
	p.ends(w, 10, from, p.Axes[1].Label, to, columns)
	p.scale(w, ink, g)
}

// shade returns the shade of two cells, one above the other.
func (p *drawing) shade(top, bottom float64) string {
	if math.IsNaN(top) {
		top = bottom
	}
	if !math.IsNaN(bottom) {
		top = (top + bottom) / 2
	}
	if math.IsNaN(top) {
		return "·"
	}
	x := min(max((top-p.Low)/(p.High-p.Low), 0), 1)
	return shades[min(int(x*float64(len(shades))), len(shades)-1)]
}

// ends writes the labels below the left end, the middle and the right end.
func (p *drawing) ends(w *bufio.Writer, gutter int, first, middle, last string, columns int) {
	gap := max(columns-textWidth(first)-textWidth(middle)-textWidth(last), 2)
	_, _ = fmt.Fprintf(w, "%*s%s%s%s%s%s\n", gutter+1, "", first, strings.Repeat(" ", gap/2), middle, strings.Repeat(" ", gap-gap/2), last)
}

// scale writes the scale of the colours or shades.
func (p *drawing) scale(w *bufio.Writer, ink paint, g picture.Gradient) {
	low, high := picture.Numbers(p.Low, p.High)
	_, _ = fmt.Fprintf(w, "%11s%s ", "", low)
	if ink {
		for i := range 24 {
			c := g.At(float64(i)/23, 0, 1)
			_, _ = fmt.Fprintf(w, "\x1b[48;2;%d;%d;%dm ", c.R, c.G, c.B)
		}
		_, _ = w.WriteString("\x1b[0m")
	} else {
		for _, s := range shades {
			_, _ = w.WriteString(strings.Repeat(s, 4))
		}
	}
	line := " " + high
	if p.Label != "" {
		line += " " + p.Label
	}
	_, _ = w.WriteString(line + "\n")
}

// lineBlocks draws the envelope with Braille characters, 2 × 4 dots each.
func (p *drawing) lineBlocks(w *bufio.Writer, columns, lines int) {
	least, most := picture.Numbers(p.Low, p.High)
	gutter := max(10, textWidth(least), textWidth(most))
	columns -= gutter - 10
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
			text = shorten(p.Label, 10)
		}
		line := strings.Repeat(" ", max(gutter-textWidth(text), 0)) + text + " "
		for _, b := range row {
			line += string(rune(0x2800 + int(b)))
		}
		_, _ = w.WriteString(strings.TrimRight(line, "\u2800") + "\n")
	}
	first, last := p.Axes[0].First, p.Axes[0].Last
	if backwards {
		first, last = last, first
	}
	from, to := picture.Numbers(first, last)
	p.ends(w, gutter, from, p.Axes[0].Label, to, columns)
}
