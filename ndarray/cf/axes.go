// Axes: the direction in space and time of a coordinate.

package cf

import (
	"context"
	"encoding/binary"
	"math"
	"strings"

	"github.com/hyperslab/hyperslab/ndarray"
)

// Units of latitude (section 4.1), longitude (4.2) and of vertical coordinates (4.3). Pressure
// increases downwards.
var (
	unitsOfLatitude  = wordSet("degrees_north degree_north degree_N degrees_N degreeN degreesN")
	unitsOfLongitude = wordSet("degrees_east degree_east degree_E degrees_E degreeE degreesE")
	unitsOfPressure  = wordSet("bar millibar decibar atmosphere atm pascal Pa hPa mbar mb dbar kPa bars millibars decibars pascals")
	unitsOfLevels    = wordSet("level layer sigma_level")
)

// axisOfName are axes and the direction of vertical coordinates by standard name: those of the
// table of standard names that only coordinates of that axis have (section 4.3.3 and appendix D).
var axisOfName = map[string]struct{ axis, positive string }{
	"latitude": {"Y", ""}, "grid_latitude": {"Y", ""}, "projection_y_coordinate": {"Y", ""}, "projection_y_angular_coordinate": {"Y", ""},
	"longitude": {"X", ""}, "grid_longitude": {"X", ""}, "projection_x_coordinate": {"X", ""}, "projection_x_angular_coordinate": {"X", ""},
	"time": {"T", ""}, "forecast_reference_time": {"T", ""},
	"height": {"Z", "up"}, "altitude": {"Z", "up"}, "depth": {"Z", "down"}, "air_pressure": {"Z", "down"}, "geopotential_height": {"Z", "up"},
	"height_above_geopotential_datum": {"Z", "up"}, "height_above_reference_ellipsoid": {"Z", "up"}, "height_above_mean_sea_level": {"Z", "up"},
	"depth_below_geoid": {"Z", "down"}, "model_level_number": {"Z", ""},
	"atmosphere_ln_pressure_coordinate": {"Z", ""}, "atmosphere_sigma_coordinate": {"Z", "down"}, "atmosphere_hybrid_sigma_pressure_coordinate": {"Z", "down"},
	"atmosphere_hybrid_height_coordinate": {"Z", "up"}, "atmosphere_sleve_coordinate": {"Z", "up"}, "ocean_sigma_coordinate": {"Z", "up"},
	"ocean_s_coordinate": {"Z", "up"}, "ocean_s_coordinate_g1": {"Z", "up"}, "ocean_s_coordinate_g2": {"Z", "up"},
	"ocean_sigma_z_coordinate": {"Z", "up"}, "ocean_double_sigma_coordinate": {"Z", "up"},
}

func wordSet(words string) map[string]bool {
	out := make(map[string]bool)
	for _, word := range strings.Fields(words) {
		out[word] = true
	}
	return out
}

// setAxis determines the axis and the direction of a coordinate: by the attribute axis, by units,
// by the attribute positive, or by standard_name, in this order (chapter 4).
func (v *Variable) setAxis() {
	units, name := strings.TrimSpace(v.Units), axisOfName[v.StandardName]
	switch word := strings.ToLower(text(v.Attrs, "positive")); word {
	case "up", "down":
		v.Positive = word
	case "":
	default:
		v.warn("positive", "got %q, want up or down", word)
	}
	given := strings.ToUpper(strings.TrimSpace(text(v.Attrs, "axis")))
	switch {
	case given == "X" || given == "Y" || given == "Z" || given == "T":
		v.Axis = given
	case v.times != nil:
		v.Axis = "T"
	case unitsOfLatitude[units]:
		v.Axis = "Y"
	case unitsOfLongitude[units]:
		v.Axis = "X"
	case v.Positive != "":
		v.Axis = "Z"
	case name.axis != "":
		v.Axis = name.axis
	case unitsOfPressure[units], unitsOfLevels[units]:
		v.Axis = "Z"
	}
	if given != "" && given != v.Axis {
		v.warn("axis", "got %q, want X, Y, Z or T", given)
	}
	if v.Positive == "" && v.Axis == "Z" {
		if v.Positive = name.positive; v.Positive == "" && unitsOfPressure[units] {
			v.Positive = "down"
		}
	}
}

// Direction reports whether the values of a variable of one dimension increase (1) or decrease (-1)
// from each element to the next (chapter 5). It returns 0 if they do neither, and for a missing
// value, fewer than two elements, and another number of dimensions. For example, a latitude with
// -1 begins in the north.
func (v *Variable) Direction(ctx context.Context) (int, error) {
	shape := v.Array.Shape()
	if v.packing == nil || len(shape) != 1 || shape[0] < 2 {
		return 0, ctx.Err()
	}
	direction, previous := 0, uint64(0)
	for at := int64(0); at < shape[0]; at += directionBlock {
		words, err := v.words(ctx, ndarray.Region{Start: []int64{at}, Shape: []int64{min(directionBlock, shape[0]-at)}})
		if err != nil {
			return 0, err
		}
		for i := range len(words) / 8 {
			word := binary.NativeEndian.Uint64(words[8*i:])
			if v.packing.isMissing(word) {
				return 0, nil
			}
			if at > 0 || i > 0 {
				now := v.packing.order(previous, word)
				if now == 0 || direction != 0 && now != direction {
					return 0, nil
				}
				direction = now
			}
			previous = word
		}
	}
	return direction, nil
}

// directionBlock is the number of elements that Direction reads at a time.
const directionBlock = 1 << 16

// order returns 1 if the value of the element b is greater than that of a, -1 if it is less, and
// otherwise 0.
func (p *packing) order(a, b uint64) int {
	if p.integral() {
		return p.exactBig(b).Cmp(p.exactBig(a))
	}
	x, y := p.scaledValue(a), p.scaledValue(b)
	switch {
	case math.IsNaN(x) || math.IsNaN(y):
		return 0
	case y > x:
		return 1
	case y < x:
		return -1
	}
	return 0
}
