// Looks as text: options of command lines and parameters of requests.

package picture

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hyperslab/hyperslab/internal/location/shellword"
)

// Command returns the command line that draws the same picture of an array at a location, with a
// selection in brackets or "".
func Command(location, selection string, l *Look) string {
	words := []string{"hyperslab", "plot", location + selection}
	if l.Kind != "" && l.Kind != Auto {
		words = append(words, "--kind", l.Kind)
	}
	if l.Colors != "" && l.Colors != GradientNames[0] {
		words = append(words, "--colors", l.Colors)
	}
	if l.Clip != (Clip{}) {
		words = append(words, "--clip", fmt.Sprintf("%v,%v", l.Clip.Low, l.Clip.High))
	}
	if l.Panels > 1 {
		words = append(words, "--panels", strconv.Itoa(l.Panels))
	}
	if l.Part != "" {
		words = append(words, "--part", l.Part)
	}
	for _, flag := range []struct {
		name string
		is   bool
	}{{"--log", l.Log}, {"--raw", l.Raw}, {"--transpose", l.Transpose}} {
		if flag.is {
			words = append(words, flag.name)
		}
	}
	for i, word := range words {
		if !strings.HasPrefix(word, "--") && strings.Trim(word, "0123456789,.") != "" {
			words[i] = shellword.Quote(word)
		}
	}
	return strings.Join(words, " ")
}

// Heading returns the title and the slice.
func (p *Picture) Heading() string {
	if p.Title == "" || p.Slice == "" {
		return p.Title + p.Slice
	}
	return p.Title + ", " + p.Slice
}

// ParseClip parses two percentiles, for example "1,99". "" is the zero value.
func ParseClip(text string) (clip Clip, err error) {
	if text == "" {
		return clip, nil
	}
	from, to, _ := strings.Cut(text, ",")
	clip.Low, err = strconv.ParseFloat(strings.TrimSpace(from), 64)
	if err == nil {
		clip.High, err = strconv.ParseFloat(strings.TrimSpace(to), 64)
	}
	if err != nil || !(0 <= clip.Low && clip.Low < clip.High && clip.High <= 100) {
		return clip, unfit("percentiles %q: want two from 0 to 100, for example 1,99", text)
	}
	return clip, nil
}

// Check checks names and numbers.
func (l *Look) Check() error {
	for _, x := range []struct {
		what, name string
		names      []string
	}{{"kind", l.Kind, Kinds}, {"colors", l.Colors, GradientNames}, {"part", l.Part, Parts}} {
		if x.name != "" && !slices.Contains(x.names, x.name) {
			return unfit("%s %q: want one of %s", x.what, x.name, strings.Join(x.names, ", "))
		}
	}
	if l.Panels < 0 || l.Panels > MaxPanels {
		return unfit("panels %d: want a number from 1 to %d", l.Panels, MaxPanels)
	}
	return nil
}
