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
func (p *Picture) Save(file, format string, width, height int) error {
	return SavePlot(file, format, width, height, p.painter(format))
}

// Write draws the picture to w. The format is "png" or "svg".
func (p *Picture) Write(w io.Writer, format string, width, height int) error {
	return writePlot(w, format, width, height, p.painter(format))
}

func (p *Picture) painter(format string) func(c draw.Canvas) error {
	if format == "png" { // viewers of SVG have other fonts
		f := plot.New().Title.TextStyle.Font
		f.Typeface, f.Variant = "Liberation", "Sans"
		p.inFont(f)
	}
	return p.draw
}

// inFont replaces characters that a font does not have.
func (p *Picture) inFont(f font.Font) {
	p.Title, p.Slice, p.Label = inFont(f, p.Title), inFont(f, p.Slice), inFont(f, p.Label)
	for i := range p.Axes {
		p.Axes[i].Label, p.Axes[i].Units = inFont(f, p.Axes[i].Label), inFont(f, p.Axes[i].Units)
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

func (p *Picture) draw(c draw.Canvas) error {
	c.SetColor(color.White)
	c.Fill(c.Rectangle.Path())
	if len(p.Panels) > 0 {
		return p.drawPanels(c)
	}
	fig := plot.New()
	StyleText(fig)
	switch p.Kind {
	case Heatmap:
		bar := p.newBar()
		inner := Margins(c, bar.space)
		p.addCells(fig)
		p.drawFigure(fig, inner)
		bar.draw(c, fig.DataCanvas(inner).Rectangle)
	case Image:
		p.addCells(fig)
		p.drawFigure(fig, p.square(fig, Margins(c, 0)))
	case Line:
		if err := p.addLines(fig); err != nil {
			return err
		}
		names := p.newLegend()
		inner := Margins(c, names.space)
		p.drawFigure(fig, inner)
		names.draw(c, fig.DataCanvas(inner).Rectangle)
	default:
		p.addHistogram(fig)
		p.drawFigure(fig, Margins(c, 0))
	}
	return nil
}

// square returns the part of a canvas in which the pixels of an image are squares.
func (p *Picture) square(fig *plot.Plot, c draw.Canvas) draw.Canvas {
	data := fig.DataCanvas(c).Size()
	rows, columns := vg.Length(p.Shape[0]), vg.Length(p.Shape[1])
	scale := min(data.X/columns, data.Y/rows)
	x, y := (data.X-scale*columns)/2, (data.Y-scale*rows)/2
	return draw.Crop(c, x, -x, y, -y)
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

// heading returns the title and the slice, on two lines if one is too short for them.
func (p *Picture) heading(style *text.Style, space vg.Length) string {
	if one := p.Heading(); p.Slice == "" || p.Title == "" || style.Width(one) <= space {
		return fitText(style, one, space)
	}
	return fitText(style, p.Title, space) + "\n" + fitText(style, p.Slice, space)
}

// drawFigure shortens the text around a figure to the available space, sets the ticks, and draws
// the figure on the canvas.
func (p *Picture) drawFigure(fig *plot.Plot, c draw.Canvas) {
	width := c.Max.X - c.Min.X
	fig.Title.Text = p.heading(&fig.Title.TextStyle, width)
	fig.X.Label.Text = fitText(&fig.X.Label.TextStyle, fig.X.Label.Text, width)
	fig.Y.Label.Text = fitText(&fig.Y.Label.TextStyle, fig.Y.Label.Text, c.Max.Y-c.Min.Y)
	p.setTicks(fig, fig.DataCanvas(c).Size())
	p.setTicks(fig, fig.DataCanvas(c).Size()) // the labels have changed the space
	fig.Draw(c)
}

// setTicks sets the ticks of both axes for a size of the data.
func (p *Picture) setTicks(fig *plot.Plot, space vg.Point) {
	x, y := &fig.X.Tick.Label, &fig.Y.Tick.Label
	switch p.Kind {
	case Heatmap, Image:
		fig.X.Tick.Marker = p.Axes[1].ticksBelow(x, p.Shape[1], space.X)
		fig.Y.Tick.Marker = p.Axes[0].ticksBeside(y, p.Shape[0], space.Y)
	case Line:
		fig.X.Tick.Marker = p.Axes[0].ticksBelow(x, p.Shape[0], space.X)
		fig.Y.Tick.Marker = ticksBeside(y, false, space.Y)
		if p.Log {
			fig.Y.Tick.Marker = powerTicks{}
		}
	default:
		fig.X.Tick.Marker, fig.Y.Tick.Marker = ticksBelow(x, false, space.X), ticksBeside(y, false, space.Y)
	}
}

// ticksBelow returns the ticks of a horizontal axis, ticksBeside those of a vertical one: dates,
// coordinates, or whole indexes.
func (x *Axis) ticksBelow(style *text.Style, n int64, space vg.Length) plot.Ticker {
	even := ticksBelow(style, !x.Known, space)
	if x.dates != nil {
		return dateTicks{x, n, space, even.takes}
	}
	return even
}

func (x *Axis) ticksBeside(style *text.Style, n int64, space vg.Length) plot.Ticker {
	even := ticksBeside(style, !x.Known, space)
	if x.dates != nil {
		return dateTicks{x, n, space, even.takes}
	}
	return even
}

// addCells adds the cells of a heat map or an image. Indexes increase downwards, as in a printed
// matrix; coordinates increase upwards, as on a map, unless they are depths.
func (p *Picture) addCells(fig *plot.Plot) {
	x0, x1 := p.Axes[1].edges(p.Shape[1])
	y0, y1 := p.Axes[0].edges(p.Shape[0])
	fig.X.Label.Text, fig.Y.Label.Text = p.Axes[1].title(), p.Axes[0].title()
	fig.X.Min, fig.X.Max = min(x0, x1), max(x0, x1)
	fig.Y.Min, fig.Y.Max = min(y0, y1), max(y0, y1)
	if !p.Axes[1].Known && x0 > x1 {
		fig.X.Scale = plot.InvertedScale{Normalizer: plot.LinearScale{}}
	}
	if p.Axes[0].inverted() {
		fig.Y.Scale = plot.InvertedScale{Normalizer: plot.LinearScale{}}
	}
	fig.Add(cellImage{p})
}

// cellImage draws cells as an image that fills the axes.
type cellImage struct{ *Picture }

// Plot implements plot.Plotter. A cell has at least one whole pixel, so that its edges stay sharp.
func (m cellImage) Plot(c draw.Canvas, _ *plot.Plot) {
	size := c.Size()
	scale := func(length vg.Length, n int) int {
		return max(int(math.Round(float64(length/vg.Inch)*pixelsPerInch)), n)
	}
	g := m.cells()
	c.DrawImage(c.Rectangle, m.Raster(scale(size.X, g.Columns), scale(size.Y, g.Rows)))
}

// colorBar shows the values of the colours at the right of a heat map.
type colorBar struct {
	low, high float64
	label     string
	style     text.Style
	space     vg.Length // space at the right of the data, beyond the margin
	along     bool      // the label is along the bar, not above it
	log       bool      // the values are logarithms
	missing   bool      // cells without a value exist
	colors    Gradient
}

func (p *Picture) newBar() *colorBar {
	b := &colorBar{low: p.Low, high: p.High, log: p.Log, label: p.Label, missing: p.Missing, colors: p.gradient()}
	b.style = plot.New().Y.Tick.Label
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
func (b *colorBar) draw(c draw.Canvas, data vg.Rectangle) {
	left := data.Max.X + vg.Points(14)
	if b.missing {
		data.Min.Y = b.drawMissing(c, vg.Point{X: left, Y: data.Min.Y})
	}
	bar := vg.Rectangle{Min: vg.Point{X: left, Y: data.Min.Y}, Max: vg.Point{X: left + vg.Points(14), Y: data.Max.Y}}
	const steps = 256
	img := image.NewRGBA(image.Rect(0, 0, 8, steps))
	for y := range steps {
		for x := range 8 {
			img.SetRGBA(x, y, b.colors.At(float64(steps-1-y)/(steps-1), 0, 1))
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

// drawMissing draws the colour of missing values above a point. It returns the height at which the
// bar begins.
func (b *colorBar) drawMissing(c draw.Canvas, at vg.Point) vg.Length {
	const side = vg.Length(10)
	box := vg.Rectangle{Min: at, Max: vg.Point{X: at.X + vg.Points(14), Y: at.Y + side}}
	c.SetColor(missingColor)
	c.Fill(box.Path())
	line := draw.LineStyle{Color: color.Black, Width: vg.Points(0.5)}
	c.StrokeLines(line, []vg.Point{box.Min, {X: box.Max.X, Y: box.Min.Y}, box.Max, {X: box.Min.X, Y: box.Max.Y}, box.Min})
	style := b.style
	style.XAlign, style.YAlign = text.XLeft, text.YCenter
	c.FillText(style, vg.Point{X: box.Max.X + vg.Points(5), Y: (box.Min.Y + box.Max.Y) / 2}, "missing")
	return box.Max.Y + vg.Points(10)
}

// addLines adds the axes and the curves.
func (p *Picture) addLines(fig *plot.Plot) error {
	x := &p.Axes[0]
	fig.X.Label.Text, fig.Y.Label.Text = x.title(), p.Label
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
