// Text in pictures: numbers with enough digits to distinguish them, and strings that fit.

package picture

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
)

// evenTicks are five to thirteen ticks at multiples of 1, 2 or 5 times a power of ten.
type evenTicks struct {
	whole bool                         // at whole numbers only, for indexes of an axis
	space vg.Length                    // space along the axis; labels that do not fit are left out
	takes func(label string) vg.Length // the space that a label needs
}

// ticksBelow are the ticks of a horizontal axis, ticksBeside those of a vertical one.
func ticksBelow(style *text.Style, whole bool, space vg.Length) evenTicks {
	return evenTicks{whole, space, func(label string) vg.Length { return style.Width(label) + style.Font.Size }}
}

func ticksBeside(style *text.Style, whole bool, space vg.Length) evenTicks {
	return evenTicks{whole, space, func(string) vg.Length { return style.Font.Size * 1.2 }}
}

// Ticks implements plot.Ticker.
func (e evenTicks) Ticks(low, high float64) []plot.Tick {
	if !(low < high) || math.IsInf(high-low, 0) {
		return nil
	}
	step := math.Pow(10, math.Floor(math.Log10((high-low)/5)))
	for _, times := range []float64{5, 2} {
		if (high-low)/(step*times) >= 5 {
			step *= times
			break
		}
	}
	if step == 0 { // there is no number between the two smallest numbers
		return []plot.Tick{{Value: low, Label: Number(low)}, {Value: high, Label: Number(high)}}
	}
	if e.whole {
		step = max(step, 1)
	}
	for high+step == high || low-step == low { // two values without a number between them
		step *= 2
	}
	var ticks []plot.Tick
	for i := range 64 {
		v := (math.Ceil(low/step) + float64(i)) * step
		if v > high {
			break
		}
		// Rounding may give a value or a label twice, or a value below low.
		label := numberAmong(v, low, high, step)
		if n := len(ticks); v >= low && (n == 0 || v > ticks[n-1].Value && label != ticks[n-1].Label) {
			ticks = append(ticks, plot.Tick{Value: v, Label: label})
		}
	}
	if e.space <= 0 {
		return ticks
	}
	widest := vg.Length(0)
	for _, t := range ticks {
		widest = max(widest, e.takes(t.Label))
	}
	apart := max(int(math.Ceil(float64(widest/e.space)*(high-low)/step)), 1)
	for i := range ticks {
		if i%apart != 0 {
			ticks[i].Label = ""
		}
	}
	return ticks
}

// numberAmong formats a value with enough digits to distinguish it from those one step away, in the
// range from low to high.
func numberAmong(v, low, high, step float64) string {
	largest := max(math.Abs(low), math.Abs(high))
	if !(step > 0) || !(largest > 0) {
		return Number(v)
	}
	step = max(step, math.Nextafter(largest, math.Inf(1))-largest) // the smallest possible step
	before, after := int(math.Floor(math.Log10(largest))), int(math.Floor(math.Log10(step)))
	digits := min(before-after+1, 17)
	switch {
	case digits <= 6:
		return Number(v)
	case before < 17 && before-digits+1 > -18:
		return strconv.FormatFloat(v+0, 'f', max(digits-before-1, 0), 64)
	}
	return strconv.FormatFloat(v+0, 'g', digits, 64)
}

// Numbers formats the two ends of a range so that they differ.
func Numbers(low, high float64) (first, last string) {
	return NumberBetween(low, low, high), NumberBetween(high, low, high)
}

// NumberBetween formats a value in the range from low to high so that the ends differ.
func NumberBetween(v, low, high float64) string {
	if low != high && Number(low) == Number(high) {
		return numberAmong(v, low, high, math.Abs(high-low)/10)
	}
	return Number(v)
}

// fitText removes characters from the middle of s until it fits.
func fitText(style *text.Style, s string, space vg.Length) string {
	runes := []rune(s)
	for n := len(runes) - 1; n > 0 && style.Width(s) > space; n-- {
		s = string(runes[:(n+1)/2]) + "…" + string(runes[len(runes)-n/2:])
	}
	return s
}

// superscripts maps the superscript characters of units to plain ones.
var superscripts = map[rune]rune{
	'⁺': '+', '⁻': '-', '⁰': '0', '¹': '1', '²': '2', '³': '3', '⁴': '4', '⁵': '5', '⁶': '6', '⁷': '7', '⁸': '8', '⁹': '9',
}

// inFont replaces characters that a font does not have, because they would not be drawn: m⁻² would
// become m². Superscripts become ^-2, others a box.
func inFont(f font.Font, s string) string {
	face := font.DefaultCache.Lookup(f, f.Size)
	has := func(r rune) bool {
		g, err := face.Face.GlyphIndex(nil, r)
		return err == nil && g != 0
	}
	var out strings.Builder
	runes := []rune(s)
	for i := 0; i < len(runes); {
		end, drawn := i, true
		for ; end < len(runes) && superscripts[runes[end]] != 0; end++ {
			drawn = drawn && has(runes[end])
		}
		switch {
		case end == i && has(runes[i]), end > i && drawn:
			end = max(end, i+1)
			out.WriteString(string(runes[i:end]))
		case end == i:
			end++
			out.WriteRune('□')
		default:
			out.WriteByte('^')
			for _, r := range runes[i:end] {
				out.WriteRune(superscripts[r])
			}
		}
		i = end
	}
	return out.String()
}

// Number formats a value at a tick or in a corner.
func Number(v float64) string {
	return fmt.Sprintf("%.6g", v+0) // no minus sign before a zero
}
