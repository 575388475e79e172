// Colours of heat maps.

package picture

import (
	"image/color"
	"math"
)

// Gradient interpolates between colours at equal distances.
type Gradient []color.RGBA

// Gradients are the values of --colors. The brightness of viridis, by van der Walt and Smith,
// increases with the value, also in print and for colour-blind readers. The middle of diverging is
// white.
var Gradients = map[string]Gradient{
	"viridis": {
		{0x44, 0x01, 0x54, 255}, {0x48, 0x28, 0x78, 255}, {0x3e, 0x49, 0x89, 255}, {0x31, 0x68, 0x8e, 255}, {0x26, 0x82, 0x8e, 255},
		{0x1f, 0x9e, 0x89, 255}, {0x35, 0xb7, 0x79, 255}, {0x6e, 0xce, 0x58, 255}, {0xb5, 0xde, 0x2b, 255}, {0xfd, 0xe7, 0x25, 255},
	},
	"gray":      {{0, 0, 0, 255}, {255, 255, 255, 255}},
	"diverging": {{0x21, 0x66, 0xac, 255}, {0x92, 0xc5, 0xde, 255}, {0xf7, 0xf7, 0xf7, 255}, {0xf4, 0xa5, 0x82, 255}, {0xb2, 0x18, 0x2b, 255}},
}

// missingColor is the colour of cells without a value: a warm grey, which does not occur in
// Gradients and text.
var missingColor = color.RGBA{0xc2, 0xbd, 0xb4, 255}

// At returns the colour of v in the range from low to high. Values outside have the colours of the
// ends.
func (g Gradient) At(v, low, high float64) color.RGBA {
	if math.IsNaN(v) {
		return missingColor
	}
	x := min(max((v-low)/(high-low), 0), 1) * float64(len(g)-1)
	i := min(int(x), len(g)-2)
	rest := x - float64(i)
	mix := func(a, b uint8) uint8 { return uint8(math.Round(float64(a) + (float64(b)-float64(a))*rest)) }
	return color.RGBA{mix(g[i].R, g[i+1].R), mix(g[i].G, g[i+1].G), mix(g[i].B, g[i+1].B), 255}
}
