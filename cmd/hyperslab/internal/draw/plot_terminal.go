// Pictures on the terminal. Package picture draws heat maps and lines; histograms are bars.

package draw

import (
	"bufio"
	"fmt"
	"image/color"
	"io"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/inspect"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/internal/picture"
)

// room returns the number of pixels of a picture. A line of text is two pixels high.
func room(columns int) (width, height int) {
	width = min(max(columns, 20), 160) - 12
	return width, max(width*2/5, 8)
}

// writeText draws a picture as text for a terminal with some columns.
func writeText(w io.Writer, ink term.Paint, p *picture.Picture, columns int) error {
	width, height := room(columns)
	out := bufio.NewWriter(w)
	_, _ = fmt.Fprintln(out, ink.Heading(p.Heading())) // the writer keeps its first error
	if p.Kind != picture.Histogram {
		writeCells(out, p.Cells(width, height, bool(ink)))
		return out.Flush()
	}
	if err := inspect.WriteHistogram(out, ink, p.Bins, width+12); err != nil {
		return err
	}
	switch p.Label {
	case "":
	case picture.StoredValues:
		_, _ = fmt.Fprintln(out, p.Label)
	default:
		_, _ = fmt.Fprintln(out, "values in "+p.Label)
	}
	return out.Flush()
}

// writeCells writes characters with the control sequences of their colours.
func writeCells(w *bufio.Writer, lines [][]picture.Cell) {
	for _, line := range lines {
		var fore, back color.RGBA
		for _, c := range line {
			if c.Fore != fore || c.Back != back {
				_, _ = w.WriteString("\x1b[0m")
				if fore = c.Fore; fore.A != 0 {
					_, _ = fmt.Fprintf(w, "\x1b[38;2;%d;%d;%dm", fore.R, fore.G, fore.B)
				}
				if back = c.Back; back.A != 0 {
					_, _ = fmt.Fprintf(w, "\x1b[48;2;%d;%d;%dm", back.R, back.G, back.B)
				}
			}
			_, _ = w.WriteRune(c.Rune)
		}
		if fore.A != 0 || back.A != 0 {
			_, _ = w.WriteString("\x1b[0m")
		}
		_ = w.WriteByte('\n')
	}
}
