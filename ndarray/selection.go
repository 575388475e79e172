// Selections of elements in NumPy's notation. A selection is a value that does not depend on an
// array; its bounds are checked against a shape when it is used.

package ndarray

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hyperslab/hyperslab/internal/grid"
)

// Selection selects elements: by one Index per axis, by points, or by a mask over the whole array.
// The zero value selects all.
type Selection struct {
	items  []Index
	points [][]int64
	mask   []bool
	kind   selectionKind
}

type selectionKind uint8

const (
	byAxis selectionKind = iota
	byPoints
	byMask
)

// Index selects indexes of one axis.
type Index struct {
	kind              indexKind
	start, stop, step int64
	from, to          bool // whether start and stop are given
	list              []int64
	mask              []bool
}

type indexKind uint8

const (
	spanIndex indexKind = iota
	atIndex
	listIndex
	maskIndex
	ellipsisIndex
	newAxisIndex
)

// Select returns the selection of the given indexes, one per axis. Axes without an index are
// selected completely. Lists and masks are orthogonal: each applies to its own axis, as in NumPy's
// ix_.
func Select(items ...Index) Selection { return Selection{items: slices.Clone(items)} }

// Points selects single elements. Each point must have one coordinate per axis of the array. The
// result has one axis.
func Points(coordinates ...[]int64) Selection {
	return Selection{kind: byPoints, points: coordinates}
}

// Where selects the elements at which mask is true. mask is in row-major order, and must have one
// value per element of the array. The result has one axis.
func Where(mask []bool) Selection { return Selection{kind: byMask, mask: mask} }

// At selects one index and drops the axis. A negative index counts from the end.
func At(i int64) Index { return Index{kind: atIndex, start: i} }

// All selects a whole axis.
func All() Index { return Index{step: 1} }

// Span selects the indexes from start up to, but not including, stop. Negative values count from
// the end, and values beyond the end are clipped.
func Span(start, stop int64) Index { return From(start).To(stop) }

// From selects the indexes from start on.
func From(start int64) Index { return Index{start: start, from: true, step: 1} }

// To returns i with the given end.
func (i Index) To(stop int64) Index {
	i.stop, i.to = stop, true
	return i
}

// By returns i with a step. A negative step goes backwards. Step 0 is an error when the selection
// is used.
func (i Index) By(step int64) Index {
	i.step = step
	return i
}

// List selects indexes in the given order. They may repeat, and negative ones count from the end.
func List(indexes ...int64) Index { return Index{kind: listIndex, list: slices.Clone(indexes)} }

// Mask selects the indexes at which mask is true. mask must be as long as the axis.
func Mask(mask ...bool) Index { return Index{kind: maskIndex, mask: slices.Clone(mask)} }

// Ellipsis stands for all axes that have no other index.
func Ellipsis() Index { return Index{kind: ellipsisIndex} }

// NewAxis adds an axis of length 1 to the result.
func NewAxis() Index { return Index{kind: newAxisIndex} }

// String returns the selection in the notation of ParseSelection. Points and masks over the array
// have no such notation and are described by their number.
func (s Selection) String() string {
	switch s.kind {
	case byPoints:
		return fmt.Sprintf("%d points", len(s.points))
	case byMask:
		return fmt.Sprintf("mask of %d", len(s.mask))
	}
	parts := make([]string, len(s.items))
	for i, x := range s.items {
		parts[i] = x.text()
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// text returns the index in NumPy's notation.
func (i Index) text() string {
	switch i.kind {
	case atIndex:
		return strconv.FormatInt(i.start, 10)
	case ellipsisIndex:
		return "..."
	case newAxisIndex:
		return "None"
	case maskIndex:
		words := make([]string, len(i.mask))
		for k, on := range i.mask {
			words[k] = map[bool]string{true: "True", false: "False"}[on]
		}
		return "[" + strings.Join(words, ", ") + "]"
	case listIndex:
		words := make([]string, len(i.list))
		for k, n := range i.list {
			words[k] = strconv.FormatInt(n, 10)
		}
		return "[" + strings.Join(words, ", ") + "]"
	}
	text := ":"
	if i.from {
		text = strconv.FormatInt(i.start, 10) + text
	}
	if i.to {
		text += strconv.FormatInt(i.stop, 10)
	}
	if i.step != 1 {
		text += ":" + strconv.FormatInt(i.step, 10)
	}
	return text
}

// Shape returns the shape of the elements that s selects from an array of the given shape.
//
// It returns ErrRegion, with axis, index and length, for an index out of range, a mask of the wrong
// length, or more indexes than axes. It returns ErrParam for a step of 0 or a second ellipsis.
func (s Selection) Shape(of []int64) ([]int64, error) {
	p, err := s.resolve(of)
	if err != nil {
		return nil, err
	}
	return p.shape, nil
}

// Steps returns the indexes that s selects along each axis of an array of the given shape: count[i]
// indexes, starting at start[i], at a distance of step[i]. An axis that s drops has one index.
//
// It returns the errors of Shape, and errors.ErrUnsupported for lists, masks, points and new axes.
func (s Selection) Steps(shape []int64) (start, count, step []int64, err error) {
	p, err := s.resolve(shape)
	if err != nil {
		return nil, nil, nil, err
	}
	if p.axes == nil || slices.Contains(p.from, -1) || slices.ContainsFunc(p.axes, func(x pick) bool { return x.list != nil }) {
		return nil, nil, nil, fmt.Errorf("%w: %v is not one slice or index an axis", errors.ErrUnsupported, s)
	}
	for _, x := range p.axes {
		start, count, step = append(start, x.start), append(count, x.count), append(step, x.step)
	}
	return start, count, step, nil
}

// picked is a selection that was resolved against a shape.
type picked struct {
	shape  []int64 // shape of the result
	axes   []pick  // one per axis of the array; nil for points
	from   []int   // the array's axis for each axis of the result, -1 for a new axis; nil for points
	points []int64 // rank coordinates for each point, all ≥ 0
	count  int64
}

// pick is the selection along one axis, count indexes: a list, or start + i×step.
type pick struct {
	start, step, count int64
	list               []int64
}

func (p pick) at(i int64) int64 {
	if p.list != nil {
		return p.list[i]
	}
	return p.start + i*p.step
}

// isSpan reports whether the indexes are consecutive.
func (p pick) isSpan() bool { return p.list == nil && (p.step == 1 || p.count <= 1) }

func (s Selection) resolve(shape []int64) (picked, error) {
	switch s.kind {
	case byPoints:
		return s.resolvePoints(shape)
	case byMask:
		return s.resolveMask(shape)
	}
	named, ellipses := 0, 0
	for _, x := range s.items {
		switch x.kind {
		case ellipsisIndex:
			ellipses++
		case newAxisIndex:
		default:
			named++
		}
	}
	if ellipses > 1 {
		return picked{}, fmt.Errorf("%w: %v: got %d ellipses, want at most 1", ErrParam, s, ellipses)
	}
	if named > len(shape) {
		return picked{}, fmt.Errorf("%w: %v has %d indexes, array has %d axes", ErrRegion, s, named, len(shape))
	}
	items := s.items
	if ellipses == 0 {
		items = append(slices.Clone(items), Ellipsis())
	}
	p := picked{shape: []int64{}, axes: make([]pick, 0, len(shape)), from: []int{}, count: 1}
	for _, x := range items {
		switch x.kind {
		case newAxisIndex:
			p.shape, p.from = append(p.shape, 1), append(p.from, -1)
			continue
		case ellipsisIndex:
			for range len(shape) - named {
				n := shape[len(p.axes)]
				p.shape, p.from = append(p.shape, n), append(p.from, len(p.axes))
				p.axes = append(p.axes, pick{step: 1, count: n})
			}
			continue
		}
		axis := len(p.axes)
		one, err := x.resolve(axis, shape[axis])
		if err != nil {
			return picked{}, err
		}
		p.axes = append(p.axes, one)
		if x.kind != atIndex {
			p.shape, p.from = append(p.shape, one.count), append(p.from, axis)
		}
	}
	if len(p.shape) > grid.MaxRank {
		return picked{}, fmt.Errorf("%w: %v gives %d axes, at most %d", ErrShape, s, len(p.shape), grid.MaxRank)
	}
	var ok bool
	if p.count, ok = grid.Product(p.shape); !ok {
		return picked{}, fmt.Errorf("%w: %v takes more than 2^63-1 elements", ErrShape, s)
	}
	return p, nil
}

// wrapIndex returns the index for i, which counts from the end if it is negative.
func wrapIndex(axis int, i, n int64) (int64, error) {
	at := i
	if at < 0 {
		at += n
	}
	if at < 0 || at >= n {
		return 0, fmt.Errorf("%w: axis %d: index %d, axis has %d", ErrRegion, axis, i, n)
	}
	return at, nil
}

func (i Index) resolve(axis int, n int64) (pick, error) {
	switch i.kind {
	case atIndex:
		at, err := wrapIndex(axis, i.start, n)
		return pick{start: at, step: 1, count: 1}, err
	case listIndex:
		list := make([]int64, len(i.list))
		for k, x := range i.list {
			var err error
			if list[k], err = wrapIndex(axis, x, n); err != nil {
				return pick{}, err
			}
		}
		return pick{list: list, count: int64(len(list))}, nil
	case maskIndex:
		if int64(len(i.mask)) != n {
			return pick{}, fmt.Errorf("%w: axis %d: mask of %d, axis has %d", ErrRegion, axis, len(i.mask), n)
		}
		list := []int64{}
		for k, on := range i.mask {
			if on {
				list = append(list, int64(k))
			}
		}
		return pick{list: list, count: int64(len(list))}, nil
	}
	return i.span(axis, n)
}

// span clips a slice to an axis of n elements, as Python's slice.indices does.
func (i Index) span(axis int, n int64) (pick, error) {
	step := i.step
	if step == 0 {
		return pick{}, fmt.Errorf("%w: axis %d: step 0", ErrParam, axis)
	}
	step = max(step, -math.MaxInt64) // so that it can be negated
	low, high := int64(0), n
	start, stop := int64(0), n
	if step < 0 {
		low, high = -1, n-1
		start, stop = n-1, -1
	}
	clip := func(x int64) int64 {
		if x < 0 {
			x += n
		}
		return min(max(x, low), high)
	}
	if i.from {
		start = clip(i.start)
	}
	if i.to {
		stop = clip(i.stop)
	}
	p := pick{start: start, step: step}
	switch {
	case step > 0 && start < stop:
		p.count = grid.DivUp(stop-start, step)
	case step < 0 && stop < start:
		p.count = grid.DivUp(start-stop, -step)
	}
	return p, nil
}

func (s Selection) resolvePoints(shape []int64) (picked, error) {
	n := int64(len(s.points))
	p := picked{shape: []int64{n}, count: n, points: make([]int64, 0, len(s.points)*len(shape))}
	for k, point := range s.points {
		if len(point) != len(shape) {
			return picked{}, fmt.Errorf("%w: point %d has %d coordinates, array has %d axes", ErrRegion, k, len(point), len(shape))
		}
		for axis, i := range point {
			at, err := wrapIndex(axis, i, shape[axis])
			if err != nil {
				return picked{}, fmt.Errorf("point %d: %w", k, err)
			}
			p.points = append(p.points, at)
		}
	}
	return p, nil
}

func (s Selection) resolveMask(shape []int64) (picked, error) {
	if n, ok := grid.Product(shape); !ok || n != int64(len(s.mask)) {
		return picked{}, fmt.Errorf("%w: mask of %d, array %v has %d elements", ErrRegion, len(s.mask), shape, n)
	}
	p := picked{}
	whole := Whole(shape)
	for i, on := range s.mask {
		if on {
			p.points = append(p.points, elementAt(whole, int64(i))...)
			p.count++
		}
	}
	p.shape = []int64{p.count}
	return p, nil
}

// ParseSelection parses a selection in NumPy's notation, with or without the brackets, for example
// "[0, 10:20, ::-1, ..., None, [1, 5, 7]]". An index is a number, a slice, "...", "None" or
// "newaxis" for a new axis, or a list of numbers or of True and False. Empty brackets select all.
//
// It returns ErrParam, with the input and the position.
func ParseSelection(text string) (Selection, error) {
	p := selectionParser{text: text, rest: strings.TrimSpace(text)}
	if inner, ok := strings.CutPrefix(p.rest, "["); ok && p.outer() {
		p.rest = strings.TrimSpace(inner[:len(inner)-1])
	}
	var s Selection
	for p.rest != "" {
		item, err := p.item()
		if err != nil {
			return Selection{}, err
		}
		s.items = append(s.items, item)
		if p.rest == "" {
			break
		}
		if p.rest[0] != ',' {
			return Selection{}, p.fail("a comma is missing")
		}
		if p.rest = strings.TrimSpace(p.rest[1:]); p.rest == "" && len(s.items) == 0 {
			return Selection{}, p.fail("an index is missing")
		}
	}
	return s, nil
}

type selectionParser struct{ text, rest string }

func (p *selectionParser) fail(why string) error {
	return fmt.Errorf("%w: selection %q, before %q: %s", ErrParam, p.text, p.rest, why)
}

// outer reports whether the first bracket closes with the last, so that they enclose the whole
// input.
func (p *selectionParser) outer() bool {
	depth := 0
	for i, c := range p.rest {
		switch c {
		case '[':
			depth++
		case ']':
			if depth--; depth == 0 {
				return i == len(p.rest)-1
			}
		}
	}
	return false
}

// token removes and returns the input before the next comma outside brackets.
func (p *selectionParser) token() string {
	depth, end := 0, len(p.rest)
	for i, c := range p.rest {
		if c == '[' {
			depth++
		} else if c == ']' {
			depth--
		}
		if c == ',' && depth == 0 {
			end = i
			break
		}
	}
	t := strings.TrimSpace(p.rest[:end])
	p.rest = p.rest[end:]
	return t
}

func (p *selectionParser) item() (Index, error) {
	whole := *p
	t := p.token()
	switch t {
	case "":
		return Index{}, whole.fail("an index is missing")
	case "...", "Ellipsis":
		return Ellipsis(), nil
	case "None", "newaxis":
		return NewAxis(), nil
	}
	if inner, ok := strings.CutPrefix(t, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		if list, good := parseList(inner); ok && good {
			return list, nil
		}
		return Index{}, whole.fail("not a list of numbers or truth values")
	}
	parts := strings.Split(t, ":")
	if len(parts) > 3 {
		return Index{}, whole.fail("a slice has at most three numbers")
	}
	var numbers [3]int64
	var given [3]bool
	for i, part := range parts {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		n, err := strconv.ParseInt(part, 10, 64)
		if err != nil {
			return Index{}, whole.fail(strconv.Quote(part) + " is not a 64-bit integer")
		}
		numbers[i], given[i] = n, true
	}
	if len(parts) == 1 {
		return At(numbers[0]), nil
	}
	x := Index{start: numbers[0], from: given[0], stop: numbers[1], to: given[1], step: 1}
	if given[2] {
		if x.step = numbers[2]; x.step == 0 {
			return Index{}, whole.fail("step 0")
		}
	}
	return x, nil
}

func parseList(text string) (Index, bool) {
	if strings.TrimSpace(text) == "" {
		return List(), true
	}
	var list []int64
	var mask []bool
	for word := range strings.SplitSeq(text, ",") {
		switch word = strings.TrimSpace(word); word {
		case "True", "False":
			mask = append(mask, word == "True")
		default:
			n, err := strconv.ParseInt(word, 10, 64)
			if err != nil {
				return Index{}, false
			}
			list = append(list, n)
		}
	}
	if mask != nil {
		return Mask(mask...), list == nil
	}
	return List(list...), true
}
