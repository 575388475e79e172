// Animations: GIF files with a picture for each index of a dimension.

package picture

import (
	"errors"
	"image"
	"image/color"
	"image/gif"
	"os"
	"time"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// Animation collects frames of the same size.
type Animation struct {
	width, height int
	delay         int // hundredths of a second
	palette       color.Palette
	nearest       map[color.RGBA]uint8
	gif           gif.GIF
}

// NewAnimation returns an animation in the colours of g that shows each frame for delay.
func NewAnimation(width, height int, delay time.Duration, g Gradient) *Animation {
	a := &Animation{width: width, height: height, delay: int(delay / (10 * time.Millisecond)), nearest: map[color.RGBA]uint8{}}
	const ramp, grays = 216, 32
	for i := range ramp {
		a.palette = append(a.palette, g.At(float64(i)/(ramp-1), 0, 1))
	}
	for i := range grays {
		a.palette = append(a.palette, color.Gray{uint8(i * 255 / (grays - 1))})
	}
	a.palette = append(a.palette, missingColor)
	for _, ink := range inks {
		a.palette = append(a.palette, ink)
	}
	return a
}

// Add draws a picture as the next frame.
func (a *Animation) Add(p *Picture, g Gradient) error {
	w, h := vg.Length(a.width)*vg.Inch/pixelsPerInch, vg.Length(a.height)*vg.Inch/pixelsPerInch
	canvas := vgimg.NewWith(vgimg.UseWH(w, h), vgimg.UseDPI(pixelsPerInch))
	if err := p.painter("png", g)(draw.New(canvas)); err != nil {
		return err
	}
	src := canvas.Image()
	frame := image.NewPaletted(src.Bounds(), a.palette)
	for y := range src.Bounds().Dy() {
		for x := range src.Bounds().Dx() {
			c := color.RGBAModel.Convert(src.At(x, y)).(color.RGBA)
			i, ok := a.nearest[c]
			if !ok {
				i = uint8(a.palette.Index(c))
				a.nearest[c] = i
			}
			frame.Pix[y*frame.Stride+x] = i
		}
	}
	a.gif.Image = append(a.gif.Image, frame)
	a.gif.Delay = append(a.gif.Delay, a.delay)
	return nil
}

// Save writes the frames to a GIF file that repeats without end.
func (a *Animation) Save(file string) (err error) {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return gif.EncodeAll(f, &a.gif)
}
