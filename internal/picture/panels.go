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
func (p *Picture) drawPanels(c draw.Canvas) error {
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
	heading := p.heading(&style, inner.Max.X-inner.Min.X)
	c.FillText(style, vg.Point{X: (inner.Min.X + inner.Max.X) / 2, Y: inner.Max.Y}, heading)
	names := style // of the panels
	names.Font.Size = 10
	above := names.Font.Size + vg.Points(5)
	inner.Max.Y -= style.Height(heading) + vg.Points(8) + above

	g, err := p.newGallery(inner, above)
	if err != nil {
		return err
	}
	for i := range p.Panels {
		at := g.draw(i)
		c.FillText(names, vg.Point{X: (at.Min.X + at.Max.X) / 2, Y: at.Max.Y + above}, fitText(&names, p.Panels[i].Title, at.Max.X-at.Min.X))
	}
	if bar != nil {
		bar.draw(c, g.data)
	}
	return nil
}

// gallery arranges panels whose data has the same size.
type gallery struct {
	canvas        draw.Canvas
	figures       []*plot.Plot
	columns       int
	width, height vg.Length    // of the data of a panel
	gapX, gapY    vg.Length    // between the data of panels
	data          vg.Rectangle // around all data
}

// newGallery returns the figures of the panels in an area. The outer ones have labels. Each has a
// line of text above it.
func (p *Picture) newGallery(c draw.Canvas, above vg.Length) (*gallery, error) {
	g := &gallery{canvas: c, gapX: vg.Points(10), gapY: vg.Points(8) + above}
	rows, columns := arrange(len(p.Panels), float64(c.Max.X-c.Min.X), float64(c.Max.Y-c.Min.Y))
	g.columns = columns
	size := c.Size()
	space := vg.Point{X: size.X / vg.Length(columns) * 0.75, Y: size.Y / vg.Length(rows) * 0.75}
	for i, x := range p.Panels {
		fig := plot.New()
		StyleText(fig)
		if p.Kind != Line {
			x.addCells(fig)
		} else if err := x.addLines(fig); err != nil {
			return nil, err
		}
		fig.X.Label.Text = fitText(&fig.X.Label.TextStyle, fig.X.Label.Text, space.X)
		fig.Y.Label.Text = fitText(&fig.Y.Label.TextStyle, fig.Y.Label.Text, space.Y)
		x.setTicks(fig, space)
		if i%columns > 0 {
			fig.Y.Label.Text, fig.Y.Tick.Marker = "", bare{fig.Y.Tick.Marker}
		}
		if i+columns < len(p.Panels) {
			fig.X.Label.Text, fig.X.Tick.Marker = "", bare{fig.X.Tick.Marker}
		}
		g.figures = append(g.figures, fig)
	}
	var left, below, right vg.Length
	for _, fig := range g.figures {
		data := fig.DataCanvas(c).Rectangle
		left, right = max(left, data.Min.X-c.Min.X), max(right, c.Max.X-data.Max.X)
		below = max(below, data.Min.Y-c.Min.Y)
	}
	g.data = vg.Rectangle{Min: vg.Point{X: c.Min.X + left, Y: c.Min.Y + below}, Max: vg.Point{X: c.Max.X - right, Y: c.Max.Y}}
	g.width = (g.data.Size().X - g.gapX*vg.Length(columns-1)) / vg.Length(columns)
	g.height = (g.data.Size().Y - g.gapY*vg.Length(rows-1)) / vg.Length(rows)
	if p.Kind == Image { // pixels are squares
		scale := min(g.width/vg.Length(p.Shape[1]), g.height/vg.Length(p.Shape[0]))
		g.width, g.height = scale*vg.Length(p.Shape[1]), scale*vg.Length(p.Shape[0])
	}
	return g, nil
}

// draw draws panel i, and returns the area of its data.
func (g *gallery) draw(i int) vg.Rectangle {
	left := g.data.Min.X + vg.Length(i%g.columns)*(g.width+g.gapX)
	top := g.data.Max.Y - vg.Length(i/g.columns)*(g.height+g.gapY)
	want := vg.Rectangle{Min: vg.Point{X: left, Y: top - g.height}, Max: vg.Point{X: left + g.width, Y: top}}
	c := g.canvas
	c.Rectangle = want
	for range 4 { // the space around the data depends a little on its size
		got := g.figures[i].DataCanvas(c).Rectangle
		c.Min.X, c.Min.Y = c.Min.X+want.Min.X-got.Min.X, c.Min.Y+want.Min.Y-got.Min.Y
		c.Max.X, c.Max.Y = c.Max.X+want.Max.X-got.Max.X, c.Max.Y+want.Max.Y-got.Max.Y
	}
	g.figures[i].Draw(c)
	return want
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
