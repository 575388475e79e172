package picture

import (
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"pgregory.net/rapid"
)

// TestTicks_distinct checks that ticks are inside the range and increasing, and that their labels
// are distinct and contain their values.
func TestTicks_distinct(t *testing.T) {
	check := func(t require.TestingT, low, high float64) {
		ticks := evenTicks{}.Ticks(low, high)
		require.LessOrEqual(t, len(ticks), 13, "%v to %v", low, high)
		seen := make(map[string]bool)
		for i, tick := range ticks {
			require.True(t, tick.Value >= low && tick.Value <= high, "%v to %v: %v", low, high, tick.Value)
			require.False(t, seen[tick.Label], "%v to %v: %s twice", low, high, tick.Label)
			seen[tick.Label] = true
			if i > 0 {
				require.Greater(t, tick.Value, ticks[i-1].Value)
			}
			said, err := strconv.ParseFloat(tick.Label, 64)
			require.NoError(t, err)
			last := math.Abs(tick.Value) - math.Nextafter(math.Abs(tick.Value), 0)
			require.InDelta(t, tick.Value, said, max((high-low)/50, 2*last), "%v to %v: %s", low, high, tick.Label)
		}
	}
	for _, r := range [][2]float64{
		{101324.997, 101325.003}, {1.7e9, 1.7e9 + 599}, {1, 1 + 8e-15}, {1 << 53, 1<<53 + 8}, {-1e-7, -9.99e-8},
		{-math.Ldexp(1, 63), math.Ldexp(1, 63)}, {1e300, 1.0000001e300}, {-1e300, 1e300}, {1e-300, 1.0001e-300}, {0, 5e-324}, {-0.4, 0.3},
		{4.1943039999999977e+06, 4.194304000000007e+06},
	} {
		check(t, r[0], r[1])
	}
	require.Len(t, evenTicks{}.Ticks(1<<53, 1<<53+8), 5, "not one, drawn 64 times")
	rapid.Check(t, func(t *rapid.T) {
		low := rapid.Float64Range(-1e12, 1e12).Draw(t, "low")
		high := low + math.Pow(10, rapid.Float64Range(-9, 13).Draw(t, "log of the width"))
		if high > low {
			check(t, low, high)
		}
	})
}

// TestTicks_Indexes checks that ticks of indexes are whole numbers.
func TestTicks_Indexes(t *testing.T) {
	for want, high := range map[int]float64{1: 0.5, 2: 1.5, 3: 2.5, 5: 4.5} {
		ticks := evenTicks{whole: true}.Ticks(-0.5, high)
		require.Len(t, ticks, want)
		for i, tick := range ticks {
			require.Equal(t, strconv.Itoa(i), tick.Label)
		}
	}
}

// TestTicks_Spacing checks that adjacent labels do not overlap. Ticks without enough space have no
// label.
func TestTicks_Spacing(t *testing.T) {
	style := plot.New().X.Tick.Label
	low, high := 1.7e9, 1.7e9+599
	for _, space := range []vg.Length{60, 150, 400, 1000} {
		var taken vg.Length
		labels := 0
		for _, tick := range ticksBelow(&style, false, space).Ticks(low, high) {
			if tick.Label != "" {
				taken += style.Width(tick.Label)
				labels++
			}
		}
		require.Positive(t, labels)
		require.True(t, labels == 1 || taken < space, "%v of %v", taken, space)
	}
}

func TestTicks_range(t *testing.T) {
	for _, tt := range []struct {
		low, high   float64
		first, last string
	}{
		{0, 1, "0", "1"}, {101324.9969, 101325.0031, "101324.9969", "101325.0031"}, {5, 5, "5", "5"},
		{1 << 53, 1<<53 + 8, "9007199254740992", "9007199254741000"}, {1700000599, 1.7e9, "1700000599", "1700000000"},
	} {
		first, last := Numbers(tt.low, tt.high)
		require.Equal(t, []string{tt.first, tt.last}, []string{first, last})
	}
}

func TestFitText(t *testing.T) {
	style := plot.New().Title.TextStyle
	require.Equal(t, "short", fitText(&style, "short", 1000))
	long := "file.h5:/a/very/long/path/to/an/array"
	got := fitText(&style, long, 100)
	require.Regexp(t, `^file.*….*array$`, got)
	require.LessOrEqual(t, style.Width(got), vg.Length(100))
}

// TestFont_Glyphs checks that characters that are missing in the font of PNG pictures are replaced
// and not omitted.
func TestFont_Glyphs(t *testing.T) {
	f := plot.New().Title.TextStyle.Font
	f.Typeface, f.Variant = "Liberation", "Sans"
	for s, want := range map[string]string{
		"m s-1": "m s-1", "m²": "m²", "µmol m⁻² s⁻¹": "µmol m^-2 s^-1", "Größe 温度": "Größe □□", "10⁻¹²W": "10^-12W", "": "",
	} {
		require.Equal(t, want, inFont(f, s))
	}
}
