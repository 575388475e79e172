// Rasters: the pixels of heat maps and images, the same for files and terminals.

package picture

import (
	"image"
	"image/color"
	"math"
)

// gradient returns the colours of the picture.
func (p *Picture) gradient() Gradient {
	if g, ok := Gradients[p.Colors]; ok {
		return g
	}
	return Gradients[GradientNames[0]]
}

// Raster returns the pixels of a heat map or an image without its axes. North, and the first row of
// a matrix, are at the top.
func (p *Picture) Raster(width, height int) *image.RGBA {
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	g := p.gradient()
	p.eachPixel(width, height, func(x, y int, rows, columns span) {
		if p.Kind == Image {
			img.SetRGBA(x, y, p.blend(rows, columns))
		} else {
			img.SetRGBA(x, y, g.At(p.Grid.mean(rows, columns), p.Low, p.High))
		}
	})
	return img
}

// eachPixel calls f with the cells of each pixel.
func (p *Picture) eachPixel(width, height int, f func(x, y int, rows, columns span)) {
	g := p.cells()
	rows := p.Axes[0].spans(p.Shape[0], g.Rows, height, !p.Axes[0].fromTop())
	columns := p.Axes[1].spans(p.Shape[1], g.Columns, width, p.Axes[1].fromRight())
	for y, r := range rows {
		for x, c := range columns {
			f(x, y, r, c)
		}
	}
}

// cells returns the grid of the cells, or the first one of an image.
func (p *Picture) cells() *Grid {
	if p.Kind == Image {
		return p.Channels[0]
	}
	return p.Grid
}

// blend returns the colour of some pixels of an image, in front of white.
func (p *Picture) blend(rows, columns span) color.RGBA {
	opacity := 1.0
	if len(p.Channels) == 4 {
		opacity = unit(p.Channels[3].mean(rows, columns))
	}
	var out [3]uint8
	for i := range out {
		v := unit(p.Channels[i].mean(rows, columns))
		out[i] = uint8(math.Round(255 * (v*opacity + 1 - opacity)))
	}
	return color.RGBA{out[0], out[1], out[2], 255}
}

// unit limits a value to the range from 0 to 1. NaN becomes 0.
func unit(v float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return min(max(v, 0), 1)
}

// levels returns the values of the pixels of a heat map, or the brightness of those of an image.
func (p *Picture) levels(width, height int) []float64 {
	out := make([]float64, width*height)
	p.eachPixel(width, height, func(x, y int, rows, columns span) {
		if p.Kind != Image {
			out[y*width+x] = p.Grid.mean(rows, columns)
			return
		}
		c := p.blend(rows, columns)
		out[y*width+x] = (0.299*float64(c.R) + 0.587*float64(c.G) + 0.114*float64(c.B)) / 255
	})
	return out
}

// transpose exchanges the dimensions of a heat map or an image.
func (p *Picture) transpose() {
	turn := func(g *Grid) *Grid {
		t := &Grid{Rows: g.Columns, Columns: g.Rows, Low: g.Low, High: g.High, shape: []int64{g.shape[1], g.shape[0]}}
		t.Cells, t.counts = make([]float64, len(g.Cells)), make([]float64, len(g.counts))
		for row := range t.Rows {
			for column := range t.Columns {
				t.Cells[row*t.Columns+column] = g.Cells[column*g.Columns+row]
				t.counts[row*t.Columns+column] = g.counts[column*g.Columns+row]
			}
		}
		return t
	}
	if p.Grid != nil {
		p.Grid = turn(p.Grid)
	}
	for i, g := range p.Channels {
		p.Channels[i] = turn(g)
	}
	p.Axes[0], p.Axes[1] = p.Axes[1], p.Axes[0]
	p.Shape = append([]int64{p.Shape[1], p.Shape[0]}, p.Shape[2:]...)
	for _, x := range p.Panels {
		x.transpose()
	}
}
