// Picture of a measurement: ratio against speed.

package check

import (
	"image/color"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/convert"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/internal/picture"
)

// benchColors distinguish codecs, also for colour-blind readers (Okabe and Ito).
var benchColors = []color.RGBA{
	{0x00, 0x72, 0xb2, 255}, {0xd5, 0x5e, 0x00, 255}, {0x00, 0x9e, 0x73, 255}, {0xcc, 0x79, 0xa7, 255},
	{0xe6, 0x9f, 0x00, 255}, {0x56, 0xb4, 0xe9, 255}, {0x00, 0x00, 0x00, 255}, {0x80, 0x80, 0x80, 255},
}

// benchGlyphs distinguish shuffles.
var benchGlyphs = map[string]draw.GlyphDrawer{
	"none": draw.RingGlyph{}, "byte": draw.CircleGlyph{}, "bit": draw.TriangleGlyph{},
}

// benchDashes distinguish chunk shapes.
var benchDashes = [][]vg.Length{nil, {vg.Points(5), vg.Points(3)}, {vg.Points(1.5), vg.Points(2.5)},
	{vg.Points(8), vg.Points(3), vg.Points(1.5), vg.Points(3)}}

// speedTicks are ticks at powers of ten with labels, and marks between them. If fewer than two
// labels are visible, 2, 3 and 5 times a power of ten have labels, too. If these are still fewer
// than two, all ticks have labels.
type speedTicks struct{}

// Ticks implements plot.Ticker.
func (speedTicks) Ticks(low, high float64) []plot.Tick {
	ticks := plot.LogTicks{}.Ticks(low, high)
	for _, digits := range []string{"1", "1235", "123456789"} {
		named := 0
		for i, t := range ticks {
			ticks[i].Label = ""
			if strings.Contains(digits, strconv.FormatFloat(t.Value, 'e', 0, 64)[:1]) {
				ticks[i].Label = strconv.FormatFloat(t.Value, 'f', -1, 64)
				if t.Value >= low && t.Value <= high {
					named++
				}
			}
		}
		if named > 1 {
			break
		}
	}
	return ticks
}

// legendWidth is the space to the right of both panels.
const legendWidth = 120

// drawBench draws the ratio against the speed of writing and, in a second panel, of reading. A line
// connects the levels of a codec.
func drawBench(d *BenchDoc, file, format string, width, height int) error {
	return picture.SavePlot(file, format, width, height, func(c draw.Canvas) error {
		c.SetColor(color.White)
		c.Fill(c.Rectangle.Path())
		legend := plot.NewLegend()
		left, err := d.panel("Writing", func(r convert.BenchRow) float64 { return float64(r.Compress) }, &legend)
		if err != nil {
			return err
		}
		right, err := d.panel("Reading", func(r convert.BenchRow) float64 { return float64(r.Decompress) }, nil)
		if err != nil {
			return err
		}
		panels := [][]*plot.Plot{{left, right}}
		canvases := plot.Align(panels, draw.Tiles{Rows: 1, Cols: 2, PadX: vg.Points(14)}, picture.Margins(c, vg.Points(legendWidth)))
		for i, fig := range panels[0] {
			fig.Draw(canvases[0][i])
		}
		legend.Top, legend.YPosition = true, draw.PosCenter
		legend.Padding = vg.Points(8)
		legend.TextStyle = left.X.Tick.Label
		legend.TextStyle.XAlign, legend.TextStyle.YAlign = draw.XLeft, draw.YCenter
		legend.Left = true
		space := draw.Crop(c, c.Max.X-c.Min.X-vg.Points(legendWidth), 0, 0, -vg.Points(30))
		legend.Draw(space)
		return nil
	})
}

// panel returns one panel, and adds the meaning of its colours and glyphs to the legend.
func (d *BenchDoc) panel(title string, speed func(convert.BenchRow) float64, legend *plot.Legend) (*plot.Plot, error) {
	fig := plot.New()
	picture.StyleText(fig)
	fig.Title.Text = title
	fig.X.Label.Text, fig.Y.Label.Text = "MB/s", "times smaller"
	fig.X.Scale, fig.X.Tick.Marker = plot.LogScale{}, speedTicks{}
	fig.Add(plotter.NewGrid())
	type series struct{ codec, shuffle, chunks string }
	lines := make(map[series]plotter.XYs)
	var all []series
	var codecs, shuffles, grids []string
	note := func(list *[]string, word string) {
		if !slices.Contains(*list, word) {
			*list = append(*list, word)
		}
	}
	for _, r := range d.Rows {
		key := series{r.Codec, r.Shuffle(), shell.ShapeCell(r.Chunks)}
		if lines[key] == nil {
			all = append(all, key)
		}
		note(&codecs, key.codec)
		note(&shuffles, key.shuffle)
		note(&grids, key.chunks)
		lines[key] = append(lines[key], plotter.XY{X: max(speed(r), 0.01), Y: float64(r.Ratio)})
	}
	style := func(key series) draw.LineStyle {
		return draw.LineStyle{
			Color: benchColors[slices.Index(codecs, key.codec)%len(benchColors)], Width: vg.Points(1.2),
			Dashes: benchDashes[slices.Index(grids, key.chunks)%len(benchDashes)],
		}
	}
	glyph := func(key series) draw.GlyphStyle {
		return draw.GlyphStyle{Color: style(key).Color, Radius: vg.Points(3.5), Shape: benchGlyphs[key.shuffle]}
	}
	for _, key := range all {
		line, points, err := plotter.NewLinePoints(lines[key])
		if err != nil {
			return nil, err
		}
		line.LineStyle, points.GlyphStyle = style(key), glyph(key)
		fig.Add(line, points)
	}
	mark := draw.GlyphStyle{Color: color.Black, Radius: vg.Points(7), Shape: draw.RingGlyph{}}
	if d.Best != nil {
		r := d.Rows[*d.Best]
		ring, err := plotter.NewScatter(plotter.XYs{{X: max(speed(r), 0.01), Y: float64(r.Ratio)}})
		if err != nil {
			return nil, err
		}
		ring.GlyphStyle = mark
		fig.Add(ring)
	}
	fig.X.Min, fig.X.Max = fig.X.Min/1.3, fig.X.Max*1.3
	space := max((fig.Y.Max-fig.Y.Min)*0.05, 0.01)
	fig.Y.Min, fig.Y.Max = fig.Y.Min-space, fig.Y.Max+space
	if legend == nil {
		return fig, nil
	}
	grey := color.RGBA{0x50, 0x50, 0x50, 255}
	for _, codec := range codecs {
		s := style(series{codec: codec, chunks: grids[0]})
		s.Width = vg.Points(3)
		legend.Add(codec, &plotter.Line{LineStyle: s})
	}
	for _, shuffle := range shuffles {
		legend.Add("shuffle "+shuffle,
			&plotter.Scatter{GlyphStyle: draw.GlyphStyle{Color: grey, Radius: vg.Points(3.5), Shape: benchGlyphs[shuffle]}})
	}
	for i, grid := range grids {
		if len(grids) > 1 {
			legend.Add("chunks "+grid, &plotter.Line{LineStyle: draw.LineStyle{Color: grey, Width: vg.Points(1.2),
				Dashes: benchDashes[i%len(benchDashes)]}})
		}
	}
	if d.Best != nil {
		mark.Radius = vg.Points(5)
		legend.Add("for "+d.Goal, &plotter.Scatter{GlyphStyle: mark})
	}
	return fig, nil
}
