// Pictures in files, PNG and SVG, drawn with gonum/plot.

package picture

import (
	"errors"
	"fmt"
	"image"
	"image/color"
	"io"
	"math"
	"os"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// pixelsPerInch is the resolution of PNG files.
const pixelsPerInch = 96

// Save draws the picture to a file. The format is "png" or "svg".
func (p *Picture) Save(file, format string, width, height int, g Gradient) error {
	return SavePlot(file, format, width, height, p.painter(format, g))
}

// Write draws the picture to w. The format is "png" or "svg".
func (p *Picture) Write(w io.Writer, format string, width, height int, g Gradient) error {
	return writePlot(w, format, width, height, p.painter(format, g))
}

func (p *Picture) painter(format string, g Gradient) func(c draw.Canvas) error {
	if format == "png" { // viewers of SVG have other fonts
		f := plot.New().Title.TextStyle.Font
		f.Typeface, f.Variant = "Liberation", "Sans"
		p.inFont(f)
	}
	return func(c draw.Canvas) error { return p.draw(c, g) }
}

// inFont replaces characters that a font does not have.
func (p *Picture) inFont(f font.Font) {
	p.Title, p.Label = inFont(f, p.Title), inFont(f, p.Label)
	for i := range p.Axes {
		p.Axes[i].Label = inFont(f, p.Axes[i].Label)
	}
	for i := range p.Lines {
		p.Lines[i].Name = inFont(f, p.Lines[i].Name)
	}
	for _, x := range p.Panels {
		x.inFont(f)
	}
}

// SavePlot draws to a PNG or SVG file.
func SavePlot(file, format string, width, height int, paint func(c draw.Canvas) error) (err error) {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return writePlot(f, format, width, height, paint)
}

func writePlot(to io.Writer, format string, width, height int, paint func(c draw.Canvas) error) error {
	w, h := vg.Length(width)*vg.Inch/pixelsPerInch, vg.Length(height)*vg.Inch/pixelsPerInch
	var canvas interface {
		vg.CanvasSizer
		io.WriterTo
	}
	if format == "svg" {
		canvas = vgsvg.New(w, h)
	} else {
		canvas = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(w, h), vgimg.UseDPI(pixelsPerInch))}
	}
	if err := paint(draw.New(canvas)); err != nil {
		return err
	}
	_, err := canvas.WriteTo(to)
	return err
}

func (p *Picture) draw(c draw.Canvas, g Gradient) error {
	c.SetColor(color.White)
	c.Fill(c.Rectangle.Path())
	if len(p.Panels) > 0 {
		return p.drawPanels(c, g)
	}
	fig := plot.New()
	StyleText(fig)
	fig.Title.Text = p.Title
	var err error
	switch p.Kind {
	case Heatmap:
		p.addHeat(fig, g)
		bar := p.newBar()
		inner := Margins(c, bar.space)
		drawWords(fig, inner, !p.Axes[1].Known, !p.Axes[0].Known)
		bar.draw(c, fig.DataCanvas(inner).Rectangle, g)
	case Line:
		if err = p.addLines(fig); err == nil {
			names := p.newLegend()
			inner := Margins(c, names.space)
			p.drawWords(fig, inner, !p.Axes[0].Known)
			names.draw(c, fig.DataCanvas(inner).Rectangle)
		}
	default:
		p.addHistogram(fig)
		drawWords(fig, Margins(c, 0), false, false)
	}
	return err
}

// Margins leaves space around a figure, and additional space at the right.
func Margins(c draw.Canvas, right vg.Length) draw.Canvas {
	return draw.Crop(c, vg.Points(8), -vg.Points(14)-right, vg.Points(8), -vg.Points(10))
}

// StyleText sets a sans-serif font, and the space between the parts.
func StyleText(p *plot.Plot) {
	for style, size := range map[*text.Style]vg.Length{
		&p.Title.TextStyle: 13, &p.X.Label.TextStyle: 11, &p.Y.Label.TextStyle: 11, &p.X.Tick.Label: 9.5, &p.Y.Tick.Label: 9.5,
	} {
		style.Font.Typeface, style.Font.Variant, style.Font.Size = "Liberation", "Sans", font.Length(size)
	}
	p.Title.Padding = vg.Points(8)
	p.X.Label.Padding, p.Y.Label.Padding = vg.Points(4), vg.Points(4)
	p.X.Padding, p.Y.Padding = 0, 0
	p.X.Tick.Marker, p.Y.Tick.Marker = evenTicks{}, evenTicks{}
}

// drawWords shortens the text around a figure to the available space, and draws the figure on the
// canvas.
func drawWords(fig *plot.Plot, c draw.Canvas, wholeX, wholeY bool) {
	width := c.Max.X - c.Min.X
	fig.Title.Text = fitText(&fig.Title.TextStyle, fig.Title.Text, width)
	fig.X.Label.Text = fitText(&fig.X.Label.TextStyle, fig.X.Label.Text, width)
	fig.Y.Label.Text = fitText(&fig.Y.Label.TextStyle, fig.Y.Label.Text, c.Max.Y-c.Min.Y)
	space := fig.DataCanvas(c).Size()
	fig.X.Tick.Marker = ticksBelow(&fig.X.Tick.Label, wholeX, space.X)
	fig.Y.Tick.Marker = ticksBeside(&fig.Y.Tick.Label, wholeY, space.Y)
	fig.Draw(c)
}

// drawWords is drawWords for a line, whose vertical axis may be logarithmic.
func (p *Picture) drawWords(fig *plot.Plot, c draw.Canvas, wholeX bool) {
	if !p.Log {
		drawWords(fig, c, wholeX, false)
		return
	}
	width := c.Max.X - c.Min.X
	fig.Title.Text = fitText(&fig.Title.TextStyle, fig.Title.Text, width)
	fig.X.Label.Text = fitText(&fig.X.Label.TextStyle, fig.X.Label.Text, width)
	fig.Y.Label.Text = fitText(&fig.Y.Label.TextStyle, fig.Y.Label.Text, c.Max.Y-c.Min.Y)
	fig.Y.Tick.Marker = powerTicks{}
	fig.X.Tick.Marker = ticksBelow(&fig.X.Tick.Label, wholeX, fig.DataCanvas(c).Size().X)
	fig.Draw(c)
}

// edges returns the coordinates of the outer edges of the first and the last element, half a step
// beyond their middles.
func (x *Axis) edges(n int64) (first, last float64) {
	half := 0.5
	if n > 1 {
		half = (x.Last - x.First) / float64(n-1) / 2
	}
	return x.First - half, x.Last + half
}

// addHeat adds the cells. The first row is at the top and the first column at
// the left, as in a printed matrix. Coordinates from the file increase to the right and up, as on a
// map.
func (p *Picture) addHeat(fig *plot.Plot, g Gradient) {
	x0, x1 := p.Axes[1].edges(p.Shape[1])
	y0, y1 := p.Axes[0].edges(p.Shape[0])
	fig.X.Label.Text, fig.Y.Label.Text = p.Axes[1].Label, p.Axes[0].Label
	fig.X.Min, fig.X.Max = min(x0, x1), max(x0, x1)
	fig.Y.Min, fig.Y.Max = min(y0, y1), max(y0, y1)
	var flipX, flipY bool
	if p.Axes[1].Known {
		flipX = x0 > x1
	} else if x0 > x1 {
		fig.X.Scale = plot.InvertedScale{Normalizer: plot.LinearScale{}}
	}
	if p.Axes[0].Known {
		flipY = y0 < y1
	} else if y0 < y1 {
		fig.Y.Scale = plot.InvertedScale{Normalizer: plot.LinearScale{}}
	}
	fig.Add(&cellImage{p.Grid, g, p.Low, p.High, flipX, flipY})
}

// cellImage draws cells as an image that fills the axes.
type cellImage struct {
	grid         *Grid
	colors       Gradient
	low, high    float64
	flipX, flipY bool
}

// Plot implements plot.Plotter. A cell has at least one whole pixel, so that its edges stay sharp.
func (m *cellImage) Plot(c draw.Canvas, _ *plot.Plot) {
	size := c.Size()
	scale := func(length vg.Length, n int) int {
		return max(int(math.Round(float64(length/vg.Inch)*pixelsPerInch)), n)
	}
	width, height := scale(size.X, m.grid.Columns), scale(size.Y, m.grid.Rows)
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		row := y * m.grid.Rows / height
		if m.flipY {
			row = m.grid.Rows - 1 - row
		}
		for x := range width {
			column := x * m.grid.Columns / width
			if m.flipX {
				column = m.grid.Columns - 1 - column
			}
			img.SetRGBA(x, y, m.colors.At(m.grid.At(row, column), m.low, m.high))
		}
	}
	c.DrawImage(c.Rectangle, img)
}

// colorBar shows the values of the colours at the right of a heat map.
type colorBar struct {
	low, high float64
	label     string
	style     text.Style
	space     vg.Length // space at the right of the data, beyond the margin
	along     bool      // the label is along the bar, not above it
	log       bool      // the values are logarithms
}

func (p *Picture) newBar() *colorBar {
	b := &colorBar{low: p.Low, high: p.High, log: p.Log, label: p.Label, style: plot.New().Y.Tick.Label}
	b.style.Font.Typeface, b.style.Font.Variant, b.style.Font.Size = "Liberation", "Sans", 9.5
	for _, t := range b.ticks(0) {
		b.space = max(b.space, b.style.Width(t.Label)+vg.Points(33))
	}
	b.space = max(b.space, vg.Points(74))
	if b.along = b.style.Width(b.label) > b.space; b.along {
		b.space += vg.Points(14)
	}
	return b
}

// ticks returns the ticks along a bar of that length; 0 means any length.
func (b *colorBar) ticks(length vg.Length) []plot.Tick {
	switch {
	case b.log:
		return powerTicks{}.Ticks(b.low, b.high)
	case length == 0:
		return evenTicks{}.Ticks(b.low, b.high)
	}
	return ticksBeside(&b.style, false, length).Ticks(b.low, b.high)
}

// draw draws the bar, as high as the data.
func (b *colorBar) draw(c draw.Canvas, data vg.Rectangle, g Gradient) {
	left := data.Max.X + vg.Points(14)
	bar := vg.Rectangle{Min: vg.Point{X: left, Y: data.Min.Y}, Max: vg.Point{X: left + vg.Points(14), Y: data.Max.Y}}
	const steps = 256
	img := image.NewRGBA(image.Rect(0, 0, 8, steps))
	for y := range steps {
		for x := range 8 {
			img.SetRGBA(x, y, g.At(float64(steps-1-y)/(steps-1), 0, 1))
		}
	}
	c.DrawImage(bar, img)
	line := draw.LineStyle{Color: color.Black, Width: vg.Points(0.5)}
	c.StrokeLines(line, []vg.Point{bar.Min, {X: bar.Max.X, Y: bar.Min.Y}, bar.Max, {X: bar.Min.X, Y: bar.Max.Y}, bar.Min})

	style := b.style
	style.XAlign, style.YAlign = text.XLeft, text.YCenter
	for _, t := range b.ticks(bar.Max.Y - bar.Min.Y) {
		y := bar.Min.Y + vg.Length((t.Value-b.low)/(b.high-b.low))*(bar.Max.Y-bar.Min.Y)
		c.StrokeLine2(line, bar.Max.X, y, bar.Max.X+vg.Points(3), y)
		c.FillText(style, vg.Point{X: bar.Max.X + vg.Points(5), Y: y}, t.Label)
	}
	if b.label == "" {
		return
	}
	style.XAlign, style.YAlign = text.XCenter, text.YBottom
	at := vg.Point{X: bar.Min.X + vg.Points(14), Y: bar.Max.Y + vg.Points(5)}
	if b.along {
		at = vg.Point{X: c.Max.X - vg.Points(6), Y: (bar.Min.Y + bar.Max.Y) / 2}
		style.Rotation = math.Pi / 2
	}
	c.FillText(style, at, fitText(&b.style, b.label, bar.Max.Y-bar.Min.Y))
}

// addLines adds the axes and the curves.
func (p *Picture) addLines(fig *plot.Plot) error {
	x := &p.Axes[0]
	fig.X.Label.Text, fig.Y.Label.Text = x.Label, p.Label
	fig.Y.Min, fig.Y.Max = p.Low, p.High
	if !p.Clipped {
		fig.Y.Padding = vg.Points(4)
	}
	fig.X.Min, fig.X.Max = min(x.First, x.Last), max(x.First, x.Last)
	if fig.X.Min == fig.X.Max {
		fig.X.Min, fig.X.Max = fig.X.Min-0.5, fig.X.Max+0.5
	}
	if !x.Known && x.First > x.Last {
		fig.X.Scale = plot.InvertedScale{Normalizer: plot.LinearScale{}}
	}
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = color.Gray{0xe0}, color.Gray{0xe0}
	fig.Add(grid)
	for i, s := range p.Lines {
		if err := p.addCurve(fig, s.Envelope, inks[i%len(inks)]); err != nil {
			return err
		}
	}
	return nil
}

// addCurve adds a curve, interrupted at missing values. If several elements share a point, the
// curve goes through the least and the greatest of them.
func (p *Picture) addCurve(fig *plot.Plot, e *Envelope, ink color.Color) error {
	var run plotter.XYs
	flush := func() error {
		defer func() { run = nil }()
		switch len(run) {
		case 0:
			return nil
		case 1:
			dots, err := plotter.NewScatter(run)
			if err != nil {
				return err
			}
			dots.GlyphStyle = draw.GlyphStyle{Color: ink, Radius: vg.Points(1.5), Shape: draw.CircleGlyph{}}
			fig.Add(dots)
			return nil
		}
		line, err := plotter.NewLine(run)
		if err != nil {
			return err
		}
		line.Color, line.Width = ink, vg.Points(1.2)
		fig.Add(&clippedLine{line})
		return nil
	}
	for i, low := range e.Low {
		if math.IsNaN(low) {
			if err := flush(); err != nil {
				return err
			}
			continue
		}
		at := p.Axes[0].At(float64(e.StretchStarts[i])+(e.PerStretch-1)/2, p.Shape[0])
		run = append(run, plotter.XY{X: at, Y: low})
		if high := e.High[i]; high != low {
			run = append(run, plotter.XY{X: at, Y: high})
		}
	}
	return flush()
}

// clippedLine clips a line at its axes, whose range may be given.
type clippedLine struct{ *plotter.Line }

// Plot implements plot.Plotter.
func (l *clippedLine) Plot(c draw.Canvas, fig *plot.Plot) {
	tx, ty := fig.Transforms(&c)
	points := make([]vg.Point, len(l.XYs))
	for i, xy := range l.XYs {
		points[i] = vg.Point{X: tx(xy.X), Y: ty(xy.Y)}
	}
	c.StrokeLines(l.LineStyle, c.ClipLinesXY(points)...)
}

// DataRange implements plot.DataRanger. It returns an empty range, because the range of the axes is
// set.
func (l *clippedLine) DataRange() (xmin, xmax, ymin, ymax float64) {
	return math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
}

// addHistogram adds a bar for each bin.
func (p *Picture) addHistogram(fig *plot.Plot) {
	fig.X.Label.Text, fig.Y.Label.Text = p.Label, "count"
	bins := make([]plotter.HistogramBin, len(p.Bins.Bins))
	for i, n := range p.Bins.Bins {
		bins[i] = plotter.HistogramBin{Min: p.Bins.Edge(i), Max: p.Bins.Edge(i + 1), Weight: float64(n)}
	}
	h := &plotter.Histogram{Bins: bins, Width: p.Bins.Edge(1) - p.Bins.Low, FillColor: inks[0]}
	h.LineStyle = draw.LineStyle{Color: color.White, Width: vg.Points(0.3)}
	fig.Add(h)
	fig.Y.Min = 0
	if outside := p.Bins.Below + p.Bins.Above; outside > 0 {
		fig.Y.Label.Text = fmt.Sprintf("count (%s outside)", elements(outside))
	}
}

func elements(n int64) string {
	if n == 1 {
		return "1 element"
	}
	return fmt.Sprintf("%d elements", n)
}
