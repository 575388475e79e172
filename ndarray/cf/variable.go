// Variables: arrays with their attributes of the CF conventions.

package cf

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"sync"

	"github.com/hyperslab/hyperslab/ndarray"
)

// Tree opens the arrays of a file. *hyperslab.Tree is a Tree.
type Tree interface {
	// Open opens the array at a path. It returns ndarray.ErrNotFound for a missing path.
	Open(ctx context.Context, path string) (*ndarray.Array, error)
	// GroupAttrs returns the attributes of the group at a path.
	GroupAttrs(ctx context.Context, path string) (ndarray.Attrs, error)
}

// Variable is an array with the meaning of its elements. Its fields must not be changed. Any number
// of goroutines may use a Variable.
type Variable struct {
	Path  string         // in the tree, for example "/g/t2m"
	Array *ndarray.Array // the stored elements
	Attrs ndarray.Attrs

	Units        string // section 3.1; "" without the attribute
	LongName     string // section 3.2
	StandardName string // section 3.3
	Calendar     string // section 4.4.1, as stored
	Flags        []Flag // section 3.5; nil without flag_meanings
	Axis         string // chapter 4: "X", "Y", "Z", "T", or "" if the attributes determine none
	Positive     string // section 4.3: "up" or "down", the direction in which a vertical coordinate increases; ""

	tree    *file    // nil: no tree
	packing *packing // nil: the elements are no numbers
	times   *times   // nil: no times
	refused error    // of times whose reference time does not exist

	mu       sync.Mutex
	warnings []Warning
	undated  Undated
	found    bool // coords is set
	coords   []Coordinate
	opened   []*Variable // closed by Close
	own      bool        // Close closes Array
}

// Warning is an attribute without effect, because its value is broken or contradicts another one.
type Warning struct {
	Attribute string `json:"attribute"`
	Problem   string `json:"problem"` // for example "got a string, want a number"
}

func (w Warning) Error() string { return "attribute " + w.Attribute + ": " + w.Problem }

// Open opens the array at a path of a tree. It returns the errors of t.Open, and of reading the
// attributes.
func Open(ctx context.Context, t Tree, path string) (*Variable, error) {
	return open(ctx, &file{Tree: t}, path, nil)
}

func open(ctx context.Context, t *file, path string, parent *Variable) (*Variable, error) {
	a, err := t.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	v, err := newVariable(ctx, a, t, path, parent)
	if err != nil {
		return nil, errors.Join(err, a.Close())
	}
	v.own = true
	return v, nil
}

// New returns the variable of an open array or a view of one. path is the path of the array in t. t
// is nil for an array without a tree, which has no coordinates. Close leaves the array open.
func New(ctx context.Context, a *ndarray.Array, t Tree, path string) (*Variable, error) {
	if t == nil {
		return newVariable(ctx, a, nil, path, nil)
	}
	return newVariable(ctx, a, &file{Tree: t}, path, nil)
}

// newVariable returns the variable of an array. Attributes that it lacks are those of the parent of
// boundaries.
func newVariable(ctx context.Context, a *ndarray.Array, t *file, where string, parent *Variable) (*Variable, error) {
	attrs, err := a.Attrs(ctx)
	if hasNone(err) {
		attrs, err = ndarray.Attrs{}, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	if parent != nil {
		attrs = inherit(attrs, parent.Attrs)
	}
	v := &Variable{
		Path: path.Join("/", where), Array: a, Attrs: attrs, tree: t,
		Units: text(attrs, "units"), LongName: text(attrs, "long_name"), StandardName: text(attrs, "standard_name"), Calendar: text(attrs, "calendar"),
	}
	v.checkTexts("units", "long_name", "standard_name", "calendar", "axis", "positive", "coordinates", "bounds", "flag_meanings", "_Unsigned")
	meta := a.Meta()
	if d := meta.DType; isNumber(d) {
		v.packing = packingOf(attrs, d, v.warn)
		if err := v.setDefaultFill(ctx, meta); err != nil {
			return nil, err
		}
		v.setTimes()
		v.setFlags()
	}
	v.setAxis()
	return v, nil
}

// hasNone reports whether an error of reading attributes means that the format has none. Errors of
// a library, which can match ErrUnsupported too, do not end with it.
func hasNone(err error) bool {
	for err != nil && err != errors.ErrUnsupported { //nolint:errorlint // the last error of the chain
		err = errors.Unwrap(err)
	}
	return err != nil
}

// setTimes interprets the attributes units and calendar (sections 4.4 and 4.4.1).
func (v *Variable) setTimes() {
	t, bad := parseTimes(v.Units, v.Calendar)
	v.times = t
	if bad == nil {
		return
	}
	w := Warning{bad.attribute, bad.problem}
	v.warnings = append(v.warnings, w)
	if bad.unreal {
		v.refused = fmt.Errorf("%w: %w", errors.ErrUnsupported, w)
	}
}

// warn adds a warning.
func (v *Variable) warn(attribute, format string, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.warnings = append(v.warnings, Warning{attribute, fmt.Sprintf(format, args...)})
}

// checkTexts adds a warning for each attribute that is not one string.
func (v *Variable) checkTexts(names ...string) {
	for _, name := range names {
		x, ok := v.Attrs.Get(name)
		if ok && !isText(x) {
			v.warn(name, "got %s, want a string", kindOf(x))
		}
	}
}

// Warnings returns the attributes that have no effect, because they are broken or contradict
// others. Coords and Bounds add those that they find.
func (v *Variable) Warnings() []Warning {
	v.mu.Lock()
	defer v.mu.Unlock()
	return append([]Warning(nil), v.warnings...)
}

// Close closes the coordinates and the boundaries that were opened, and the array if Open opened
// it.
func (v *Variable) Close() error {
	v.mu.Lock()
	opened := v.opened
	v.opened, v.coords, v.found = nil, nil, false
	v.mu.Unlock()
	var err error
	for _, x := range opened {
		err = errors.Join(err, x.Close())
	}
	if v.own {
		err = errors.Join(err, v.Array.Close())
	}
	return err
}

// IsTime reports whether the values are times since a date (section 4.4): Dates and Times return
// them.
func (v *Variable) IsTime() bool { return v.times != nil }

// Describe describes the attributes that apply to Values(o), for example "element × 0.01
// (scale_factor)". It returns "" if the values are the stored elements.
func (v *Variable) Describe(o *ValueOptions) string {
	if v.packing == nil {
		return ""
	}
	words := v.packing.words
	if v.times != nil && o != nil && o.Dates {
		words = append(words[:len(words):len(words)], v.times.String())
	}
	return strings.Join(words, "; ")
}

// isText reports whether a value is one string.
func isText(v ndarray.Value) bool {
	if v.Null || elements(v) != 1 {
		return false
	}
	switch v.DType.Kind {
	case ndarray.String, ndarray.Bytes, ndarray.Unicode:
		return true
	}
	return false
}

// elements returns the number of elements of an attribute.
func elements(v ndarray.Value) int64 {
	n := int64(1)
	for _, k := range v.Shape {
		n *= k
	}
	return n
}

// text returns the text of an attribute with one string, or "" without one.
func text(attrs ndarray.Attrs, name string) string {
	v, ok := attrs.Get(name)
	switch {
	case !ok || !isText(v):
		return ""
	case v.DType.Kind == ndarray.String:
		return v.Strings[0]
	case v.DType.Kind == ndarray.Bytes && v.DType.Pad == ndarray.SpacePad:
		return strings.TrimRight(string(v.Data), "\x00 ")
	}
	quoted := ndarray.FormatElement(v.DType, v.Data)
	if s, err := strconv.Unquote(quoted); err == nil {
		return s
	}
	return strings.Trim(quoted, `"`)
}

// kindOf describes the value of an attribute, for a warning.
func kindOf(v ndarray.Value) string {
	switch n := elements(v); {
	case v.Null:
		return "no value"
	case n != 1:
		return fmt.Sprintf("%d elements of type %v", n, v.DType)
	case isText(v):
		return "a string"
	}
	return fmt.Sprintf("a value of type %v", v.DType)
}
