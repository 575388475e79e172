// Flags: names of numbers and of bits.

package cf

import (
	"math"
	"strings"

	"github.com/hyperslab/hyperslab/ndarray"
)

// Flag is a word of the attribute flag_meanings (section 3.5). It applies to an element whose bits
// of Mask equal Value. Both are integers of 64 bits, in two's complement.
type Flag struct {
	Meaning     string
	Mask, Value uint64
}

// setFlags reads flag_meanings, flag_values and flag_masks. A mask without values applies to
// elements with all of its bits.
func (v *Variable) setFlags() {
	meanings := strings.Fields(text(v.Attrs, "flag_meanings"))
	if len(meanings) == 0 {
		return
	}
	if !v.packing.integer() {
		v.warn("flag_meanings", "the elements are %v, want integers", v.packing.element)
		return
	}
	read := func(name string) (words []uint64, ok bool) {
		numbers, _, given := numbersOf(v.Attrs, name)
		for _, n := range numbers {
			word, exact := v.packing.word(n)
			given = given && exact
			words = append(words, word)
		}
		x, there := v.Attrs.Get(name)
		switch {
		case !there:
			return nil, true
		case !given:
			v.warn(name, "got %s, want numbers of the type of the elements", kindOf(x))
			return nil, false
		case len(words) != len(meanings):
			v.warn(name, "got %d numbers, want %d as in flag_meanings", len(words), len(meanings))
			return nil, false
		}
		return words, true
	}
	values, ok1 := read("flag_values")
	masks, ok2 := read("flag_masks")
	if !ok1 || !ok2 {
		return
	}
	if values == nil && masks == nil {
		v.warn("flag_meanings", "flag_values and flag_masks are missing")
		return
	}
	for i, meaning := range meanings {
		f := Flag{Meaning: meaning, Mask: math.MaxUint64}
		if masks != nil {
			f.Mask, f.Value = masks[i], masks[i]
		}
		if values != nil {
			f.Value = values[i]
		}
		v.Flags = append(v.Flags, f)
	}
}

// Meanings returns the flags that apply to a stored element, in native byte order: in the absence
// of masks at most one.
func (v *Variable) Meanings(element []byte) []string {
	if v.Flags == nil || len(element) != v.packing.element.Size {
		return nil
	}
	word := load(v.packing.element, element)
	var out []string
	for _, f := range v.Flags {
		if word&f.Mask == f.Value {
			out = append(out, f.Meaning)
		}
	}
	return out
}

// inherit returns attributes with those of a parent that they lack: boundaries have the units and
// the calendar of their coordinate (section 7.1).
func inherit(attrs, parent ndarray.Attrs) ndarray.Attrs {
	out := ndarray.Attrs{List: append([]ndarray.Attr(nil), attrs.List...), Unsupported: attrs.Unsupported}
	for _, name := range []string{"units", "calendar", "standard_name", "axis", "positive", "month_lengths", "leap_year", "leap_month"} {
		if _, ok := attrs.Get(name); ok {
			continue
		}
		if x, ok := parent.Get(name); ok {
			out.List = append(out.List, ndarray.Attr{Name: name, Value: x})
		}
	}
	return out
}
