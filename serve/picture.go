// Pictures: heat maps, lines and small multiples of the elements of an array, as PNG.

package serve

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/internal/picture"
	"github.com/hyperslab/hyperslab/ndarray"
)

// drawable returns the type of the elements in a response with dtype=safe if they are real numbers.
func drawable(t *typeDoc) (ndarray.DType, bool) {
	name, ok := "", false
	if t != nil {
		name, ok = t.DType.(string)
	}
	if !ok || t.Class != classInteger && t.Class != classFloat && t.Class != classEnum && t.Class != classBitfield {
		return ndarray.DType{}, false
	}
	d, err := ndarray.ParseDType(name)
	if err != nil {
		return d, false
	}
	switch d.Kind {
	case ndarray.Bool:
		return ndarray.DTypeOf[uint8](), true
	case ndarray.Float:
		switch {
		case d.Size < 4:
			d = ndarray.DTypeOf[float32]()
		case d.Size > 8:
			d = ndarray.DTypeOf[float64]()
		}
	case ndarray.Int, ndarray.Uint:
	default:
		return d, false
	}
	d.Order = ndarray.Little
	return d, true
}

// Sizes of pictures in pixels.
const (
	pictureWidth  = 900
	pictureHeight = 600
)

// picture draws the selected elements: two dimensions as a heat map, one as a line.
func (h *Handler) picture(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), h.options.Timeout)
	defer cancel()
	v := r.URL.Query()
	name, err := fileName(v.Get("file"))
	var out []byte
	if err == nil {
		out, err = h.draw(ctx, name, clean(v.Get("path")), v.Get("selection"), v)
	}
	if err != nil {
		h.problem(w, err)
		return
	}
	header := w.Header()
	header.Set("Content-Type", "image/png")
	header.Set("Cache-Control", "private, no-cache")
	header.Set("Content-Length", strconv.Itoa(len(out)))
	_, _ = w.Write(out)
}

// percentiles parses the parameter clip: two percentiles, or "" for all values.
func percentiles(clip string) (low, high float64, err error) {
	if clip == "" {
		return 0, 100, nil
	}
	from, to, _ := strings.Cut(clip, ",")
	low, err = strconv.ParseFloat(strings.TrimSpace(from), 64)
	if err == nil {
		high, err = strconv.ParseFloat(strings.TrimSpace(to), 64)
	}
	if err != nil || !(0 <= low && low < high && high <= 100) {
		return 0, 0, fail(http.StatusUnprocessableEntity, "clip %q: want two percentiles from 0 to 100, for example 1,99", clip)
	}
	return low, high, nil
}

// draw draws a selection. look has the parameters colors, log, clip, lines and panels.
func (h *Handler) draw(ctx context.Context, name, at, selection string, look url.Values) ([]byte, error) {
	colors := cmp.Or(look.Get("colors"), "viridis")
	from, to, err := percentiles(look.Get("clip"))
	if err != nil {
		return nil, err
	}
	gradient, ok := picture.Gradients[colors]
	if !ok {
		return nil, fail(http.StatusUnprocessableEntity, "colors %q: want one of %s", colors, strings.Join(picture.GradientNames, ", "))
	}
	panels, err := strconv.ParseInt(cmp.Or(look.Get("panels"), "1"), 10, 64)
	if err != nil || panels < 1 || panels > picture.MaxPanels {
		return nil, fail(http.StatusUnprocessableEntity, "panels %q: want a number from 1 to %d", look.Get("panels"), picture.MaxPanels)
	}
	var m metaDoc
	if err := h.askJSON(ctx, name, &request{Route: routeMeta, Path: at, Format: "json", Resolve: resolveValid}, &m); err != nil {
		return nil, err
	}
	d, ok := drawable(m.Type)
	if !ok || m.Shape == nil {
		return nil, fail(http.StatusUnprocessableEntity, "%s: its elements are not numbers that can be drawn", at)
	}
	part, err := parsePart(selection, m.Shape)
	if err != nil {
		return nil, err
	}
	s := &sketch{h: h, name: name, at: at, dtype: d, log: look.Get("log") == "true", lines: look.Get("lines") == "true"}
	s.title = at
	if selection != "" {
		s.title += " [" + selection + "]"
	}
	p, err := s.picture(ctx, &part, panels)
	if err != nil {
		return nil, err
	}
	p.Bound(from, to)
	if !(p.Low < p.High) || math.IsInf(p.High-p.Low, 0) {
		return nil, fail(http.StatusUnprocessableEntity, "no finite range of values to draw, from %v to %v", p.Low, p.High)
	}
	var out bytes.Buffer
	err = p.Write(&out, "png", pictureWidth, pictureHeight, gradient)
	return out.Bytes(), err
}

// sketch makes the picture of a part of an array.
type sketch struct {
	h          *Handler
	name, at   string // of the file, and of the array in it
	dtype      ndarray.DType
	title      string
	log, lines bool
}

// picture draws one dimension as a line, and two as a heat map or as lines. If there is one more
// dimension and panels is above 1, it draws small multiples through the first one.
func (s *sketch) picture(ctx context.Context, p *part, panels int64) (*picture.Picture, error) {
	shape := p.shape
	if panels > 1 && len(shape) > 1 {
		shape = shape[1:]
	} else {
		panels = 1
	}
	if rank := len(shape); rank < 1 || rank > 2 || p.elems() == 0 {
		return nil, fail(http.StatusUnprocessableEntity, "a selection of shape %v: a picture has one or two dimensions and at least one element", p.shape)
	}
	if s.lines && len(shape) == 2 && shape[0] > picture.MaxSeries {
		return nil, fail(http.StatusUnprocessableEntity, "%d rows: a picture has at most %d lines", shape[0], picture.MaxSeries)
	}
	if panels == 1 {
		return s.one(ctx, p, shape, pictureWidth, pictureHeight, s.title)
	}
	n := min(panels, p.shape[0])
	columns, rows := picture.PanelSize(int(n), pictureWidth, pictureHeight, false)
	out := &picture.Picture{Title: s.title, Log: s.log}
	for i := range n {
		at := i
		if n > 1 {
			at = i * (p.shape[0] - 1) / (n - 1)
		}
		x, err := s.one(ctx, p.index(at), shape, columns, rows, fmt.Sprintf("index %d", at))
		if err != nil {
			return nil, err
		}
		out.Panels = append(out.Panels, x)
	}
	out.Kind = out.Panels[0].Kind
	return out, nil
}

// one draws a picture without panels.
func (s *sketch) one(ctx context.Context, part *part, shape []int64, width, height int, title string) (*picture.Picture, error) {
	numbers, sampled, step, err := s.read(ctx, part, shape)
	if err != nil {
		return nil, err
	}
	if step > 1 {
		title += fmt.Sprintf(", every element number %d", step)
	}
	p := &picture.Picture{Log: s.log, Title: title, Shape: sampled, Axes: make([]picture.Axis, len(shape))}
	if s.log {
		picture.Logarithms(numbers)
	}
	for i, n := range shape {
		p.Axes[i].Last = float64(n - 1)
	}
	if len(shape) == 2 && !s.lines {
		p.Kind, p.Grid = picture.Heatmap, picture.NewGrid(sampled, height, width)
		p.Grid.Add(ndarray.Whole(sampled), numbers)
		p.Grid.Finish()
		return p, nil
	}
	rows, length := int64(1), sampled[len(sampled)-1]
	if len(shape) == 2 {
		rows = sampled[0]
	}
	p.Kind, p.Axes, p.Shape = picture.Line, p.Axes[len(shape)-1:], []int64{length}
	for i := range rows {
		e := picture.NewEnvelope(length, width)
		e.Add(ndarray.Whole([]int64{length}), numbers[i*length:(i+1)*length])
		p.Lines = append(p.Lines, picture.Series{Name: fmt.Sprintf("row %d", i), Envelope: e})
	}
	return p, nil
}

// read reads the elements of a part as numbers. Of a large part it reads every element number step
// along each dimension.
func (s *sketch) read(ctx context.Context, part *part, shape []int64) (numbers []float64, sampled []int64, step int64, err error) {
	step = 1
	for part.elems()/step/step > pageElements && len(shape) == 2 || part.elems()/step > pageElements && len(shape) == 1 {
		step++
	}
	if s.lines && len(shape) == 2 { // all rows
		step = 1
		if part.elems() > pageElements {
			return nil, nil, 0, tooLarge(pageElements)
		}
	}
	q := &request{Route: routeData, Path: s.at, Format: "bin", Safe: true, Selection: part.every(step)}
	x, err := s.h.ask(ctx, s.name, q)
	if err != nil {
		return nil, nil, 0, err
	}
	sampled = make([]int64, len(shape))
	for i, n := range shape {
		sampled[i] = grid.DivUp(n, step)
	}
	d := s.dtype
	if n, ok := grid.Product(sampled); !ok || int64(len(x.Body)) != n*int64(d.Size) {
		return nil, nil, 0, fmt.Errorf("%w: %d bytes for shape %v of %v", ndarray.ErrSize, len(x.Body), sampled, d)
	}
	raw := make([]byte, len(x.Body)/d.Size*8)
	src := slices.Clone(x.Body)
	d.ToNative(src)
	if err := convert(raw, ndarray.DTypeOf[float64](), src, d.Native()); err != nil {
		return nil, nil, 0, err
	}
	numbers = make([]float64, len(raw)/8)
	for i := range numbers {
		numbers[i] = math.Float64frombits(binary.NativeEndian.Uint64(raw[8*i:]))
	}
	return numbers, sampled, step, nil
}

// index returns the part at an index of its first dimension.
func (p *part) index(at int64) *part {
	x := part{start: slices.Clone(p.start), count: slices.Clone(p.count), step: p.step, shape: p.shape[1:]}
	i := max(slices.IndexFunc(p.count, func(n int64) bool { return n > 1 }), 0) // with one element, the first is the part itself
	if p.shape[0] > 1 {
		x.start[i] += at * p.step[i]
		x.count[i] = 1
	}
	return &x
}

// every returns a selection of every n-th selected element along each dimension. It keeps all
// dimensions.
func (p *part) every(n int64) string {
	parts := make([]string, len(p.start))
	for i := range parts {
		step := p.step[i] * n
		last := p.start[i] + (p.count[i]-1)*p.step[i]
		switch {
		case p.count[i] == 1:
			parts[i] = fmt.Sprintf("%d:%d", p.start[i], p.start[i]+1)
		case step > 0:
			parts[i] = fmt.Sprintf("%d:%d:%d", p.start[i], last+1, step)
		case last == 0:
			parts[i] = fmt.Sprintf("%d::%d", p.start[i], step)
		default:
			parts[i] = fmt.Sprintf("%d:%d:%d", p.start[i], last-1, step)
		}
	}
	return strings.Join(parts, ",")
}
