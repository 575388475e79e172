// Small multiples in files, and the names of curves.

package picture

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/hyperslab/hyperslab/internal/grid"
)

// arrange returns the numbers of rows and columns of n panels, so that panels in an area have about
// the shape of the area.
func arrange(n int, width, height float64) (rows, columns int) {
	columns = min(max(int(math.Round(math.Sqrt(float64(n)*width/height/1.3))), 1), n)
	return grid.DivUp(n, columns), columns
}

// drawPanels draws the panels below the title. The outer ones have labels at the axes. Heat maps
// share the colour bar.
func (p *Picture) drawPanels(c draw.Canvas, g Gradient) error {
	var bar *colorBar
	right := vg.Length(0)
	if p.Kind == Heatmap {
		bar = p.newBar()
		right = bar.space
	}
	inner := Margins(c, right)
	title := plot.New()
	StyleText(title)
	style := title.Title.TextStyle
	c.FillText(style, vg.Point{X: (inner.Min.X + inner.Max.X) / 2, Y: inner.Max.Y}, fitText(&style, p.Title, inner.Max.X-inner.Min.X))
	names := style // of the panels
	names.Font.Size = 10
	above := names.Font.Size + vg.Points(5)
	inner.Max.Y -= style.Font.Size + vg.Points(8) + above

	size := inner.Size()
	rows, columns := arrange(len(p.Panels), float64(size.X), float64(size.Y))
	figs := make([][]*plot.Plot, rows)
	for i := range figs {
		figs[i] = make([]*plot.Plot, columns)
	}
	for i, x := range p.Panels {
		fig := plot.New()
		StyleText(fig)
		space := vg.Point{X: size.X / vg.Length(columns) * 0.7, Y: size.Y / vg.Length(rows) * 0.7}
		wholeX, wholeY := !x.Axes[len(x.Axes)-1].Known, false
		if p.Kind == Heatmap {
			x.addHeat(fig, g)
			wholeY = !x.Axes[0].Known
		} else if err := x.addLines(fig); err != nil {
			return err
		}
		fig.X.Label.Text = fitText(&fig.X.Label.TextStyle, fig.X.Label.Text, space.X)
		fig.Y.Label.Text = fitText(&fig.Y.Label.TextStyle, fig.Y.Label.Text, space.Y)
		fig.X.Tick.Marker = ticksBelow(&fig.X.Tick.Label, wholeX, space.X)
		fig.Y.Tick.Marker = ticksBeside(&fig.Y.Tick.Label, wholeY, space.Y)
		if p.Log && p.Kind == Line {
			fig.Y.Tick.Marker = powerTicks{}
		}
		if i%columns > 0 {
			fig.Y.Label.Text, fig.Y.Tick.Marker = "", bare{fig.Y.Tick.Marker}
		}
		if i+columns < len(p.Panels) {
			fig.X.Label.Text, fig.X.Tick.Marker = "", bare{fig.X.Tick.Marker}
		}
		figs[i/columns][i%columns] = fig
	}
	data := vg.Rectangle{}
	tiles := plot.Align(figs, draw.Tiles{Rows: rows, Cols: columns, PadX: vg.Points(10), PadY: vg.Points(6) + above}, inner)
	for i := range p.Panels {
		fig, tile := figs[i/columns][i%columns], tiles[i/columns][i%columns]
		fig.Draw(tile)
		at := fig.DataCanvas(tile).Rectangle
		c.FillText(names, vg.Point{X: (at.Min.X + at.Max.X) / 2, Y: at.Max.Y + above}, fitText(&names, p.Panels[i].Title, at.Max.X-at.Min.X))
		if i == 0 {
			data = at
		}
		data = vg.Rectangle{
			Min: vg.Point{X: min(data.Min.X, at.Min.X), Y: min(data.Min.Y, at.Min.Y)},
			Max: vg.Point{X: max(data.Max.X, at.Max.X), Y: max(data.Max.Y, at.Max.Y)},
		}
	}
	if bar != nil {
		bar.draw(c, data, g)
	}
	return nil
}

// bare are ticks without labels.
type bare struct{ plot.Ticker }

// Ticks implements plot.Ticker.
func (b bare) Ticks(low, high float64) []plot.Tick {
	ticks := b.Ticker.Ticks(low, high)
	for i := range ticks {
		ticks[i].Label = ""
	}
	return ticks
}

// legend shows the names of several curves at the right of a picture.
type legend struct {
	names []string
	style text.Style
	space vg.Length // space at the right of the data
}

// maxName is the maximum width of a name.
const maxName = vg.Length(150)

func (p *Picture) newLegend() *legend {
	l := &legend{style: plot.New().Y.Tick.Label}
	if len(p.Lines) < 2 {
		return l
	}
	l.style.Font.Typeface, l.style.Font.Variant, l.style.Font.Size = "Liberation", "Sans", 9.5
	for _, s := range p.Lines {
		name := fitText(&l.style, s.Name, maxName)
		l.names = append(l.names, name)
		l.space = max(l.space, l.style.Width(name)+vg.Points(28))
	}
	return l
}

// draw draws the names from the top of the data.
func (l *legend) draw(c draw.Canvas, data vg.Rectangle) {
	style := l.style
	style.XAlign, style.YAlign = text.XLeft, text.YCenter
	for i, name := range l.names {
		x, y := data.Max.X+vg.Points(10), data.Max.Y-style.Font.Size*(0.7+1.7*vg.Length(i))
		c.StrokeLine2(draw.LineStyle{Color: inks[i%len(inks)], Width: vg.Points(2)}, x, y, x+vg.Points(14), y)
		c.FillText(style, vg.Point{X: x + vg.Points(19), Y: y}, name)
	}
}
