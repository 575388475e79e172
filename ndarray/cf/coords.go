// Coordinates of a variable.

package cf

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/ndarray"
)

// Coordinate is a coordinate of a variable.
type Coordinate struct {
	*Variable

	// Dims are the dimensions of the variable along which the dimensions of the coordinate run, in
	// the order of the latter. A scalar coordinate has none. Labels that are stored as characters
	// have one dimension more (section 6.1).
	Dims []int

	// Dimension reports whether the coordinate is that of the dimension Dims[0] (a coordinate
	// variable of NUG), and not an auxiliary one. It can be longer than the dimension.
	Dimension bool
}

// Coords returns the coordinates of the variable: first those of its dimensions in their order,
// then those of the attribute coordinates (chapter 5). A dimension without coordinates has none in
// the list. Close closes them. A second call returns the same list.
//
// The coordinate of a dimension is its dimension scale in HDF5, and otherwise the array of one
// dimension of the same length that has the name of the dimension, in the group of the variable or
// the nearest group above it (section 2.7.1, search by proximity). In a netCDF-4 file an array of
// that name along the same dimension in a group between them has priority. The array that netCDF
// stores for a dimension without a variable is not a coordinate.
//
// A name in the attribute coordinates is a path from the root with a slash at its beginning, a path
// relative to the group of the variable with a slash inside, or a name that is searched by
// proximity. A name without an array, and an array with a dimension that the variable does not
// have, are Warnings. The discouraged lateral search of section 2.7.1.3 is not performed.
//
// It returns the errors of Tree.Open except ErrNotFound, and those of Open.
func (v *Variable) Coords(ctx context.Context) ([]Coordinate, error) {
	v.mu.Lock()
	found, coords := v.found, v.coords
	v.mu.Unlock()
	if found || v.tree == nil {
		return coords, ctx.Err()
	}
	s := &search{v: v, ctx: ctx}
	err := s.run()
	if err != nil {
		for _, c := range s.found {
			err = errors.Join(err, s.close(c.Variable))
		}
		return nil, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.found { // by another goroutine
		for _, c := range s.found {
			err = errors.Join(err, s.close(c.Variable))
		}
		return v.coords, err
	}
	v.found, v.coords, v.warnings = true, s.found, append(v.warnings, s.warnings...)
	for _, c := range s.found {
		if c.Variable != v {
			v.opened = append(v.opened, c.Variable)
		}
	}
	return v.coords, nil
}

// maxNames is the maximum number of names in the attribute coordinates that Coords searches,
// because each of them can open an array in each group above the variable.
const maxNames = 1000

// search is a search of the coordinates of a variable.
type search struct {
	v        *Variable
	ctx      context.Context
	names    []string // of the dimensions
	scales   []string // paths of the dimension scales; nil if unknown
	found    []Coordinate
	warnings []Warning
}

func (s *search) run() (err error) {
	v := s.v
	s.names, s.scales, err = v.dimensions(s.ctx)
	if err != nil {
		return err
	}
	for k, n := range v.Array.Shape() {
		c, err := s.dimension(k, n)
		if err != nil {
			return err
		}
		if c != nil {
			s.found = append(s.found, Coordinate{Variable: c, Dims: []int{k}, Dimension: true})
		}
	}
	names := strings.Fields(text(v.Attrs, "coordinates"))
	if n := len(names); n > maxNames {
		names = names[:maxNames]
		s.warnings = append(s.warnings, Warning{"coordinates", fmt.Sprintf("got %d names, the first %d apply", n, maxNames)})
	}
	for _, name := range names {
		if err := s.auxiliary(name); err != nil {
			return err
		}
	}
	return nil
}

// dimensions returns the names of the dimensions and the paths of their scales, nil if these are
// unknown. A scale is the coordinate of its own dimension.
func (v *Variable) dimensions(ctx context.Context) (names, scales []string, err error) {
	m := v.Array.Meta()
	names = make([]string, len(m.Shape))
	copy(names, m.AxisNames)
	if r, ok := ndarray.As[ndarray.ScaleReader](v.Array.Backend()); ok {
		if scales, err = r.Scales(ctx); err != nil {
			return nil, nil, err
		}
	}
	if len(m.Shape) == 1 && names[0] == "" && isScale(v.Attrs) {
		names[0] = path.Base(v.Path)
		if scales != nil {
			scales = []string{v.Path}
		}
	}
	return names, scales, nil
}

// dimension returns the coordinate of dimension k, or nil if it has none.
func (s *search) dimension(k int, n int64) (*Variable, error) {
	name, scale := s.names[k], ""
	if s.scales != nil {
		scale = s.scales[k]
	}
	var list []string
	switch {
	case scale == "" && name == "":
		return nil, nil
	case scale == "":
		list = proximity(s.v.Path, name)
	default:
		base := path.Base(scale)
		for _, p := range proximity(s.v.Path, base) {
			if list = append(list, p); p == scale {
				break
			}
		}
		if list[len(list)-1] != scale { // a scale outside of the groups above
			list = []string{scale}
		}
	}
	for _, p := range list {
		c, err := s.open(p)
		if err != nil {
			return nil, err
		}
		if c == nil {
			continue
		}
		good, end, err := s.isCoordinate(c, scale, n)
		if err == nil && good {
			return c, nil
		}
		if err := errors.Join(err, s.close(c)); err != nil || end {
			return nil, err
		}
	}
	return nil, nil
}

// isCoordinate reports whether c is the coordinate of a dimension of length n with a scale, or ""
// without one. end reports that the dimension has no coordinate.
func (s *search) isCoordinate(c *Variable, scale string, n int64) (good, end bool, err error) {
	if isPlaceholder(c.Attrs) {
		return false, true, nil
	}
	shape := c.Array.Shape()
	if len(shape) != 1 || c.Array.Meta().Null {
		return false, c.Path == scale, nil
	}
	if scale == "" {
		unknown := s.scales == nil && c.Array.Meta().Format == "hdf5"
		return shape[0] == n && (!unknown || isScale(c.Attrs)), false, nil
	}
	if c.Path == scale {
		return shape[0] >= n, true, nil
	}
	_, scales, err := c.dimensions(s.ctx)
	return err == nil && len(scales) == 1 && scales[0] == scale && shape[0] == n, false, err
}

// open opens the array at a path. It returns nil for a missing one.
func (s *search) open(where string) (*Variable, error) {
	if where == s.v.Path {
		return s.v, nil
	}
	c, err := open(s.ctx, s.v.tree, where, nil)
	if isAbsent(err) {
		return nil, nil
	}
	return c, err
}

// close closes a coordinate that is not used.
func (s *search) close(c *Variable) error {
	if c == s.v {
		return nil
	}
	return c.Close()
}

// isAbsent reports whether an error of opening means that there is no array at a path, or one that
// cannot be a coordinate.
func isAbsent(err error) bool {
	return slices.ContainsFunc([]error{ndarray.ErrNotFound, ndarray.ErrParam, ndarray.ErrFormat, ndarray.ErrType, errors.ErrUnsupported},
		func(reason error) bool { return errors.Is(err, reason) })
}

// auxiliary adds the coordinate of a name in the attribute coordinates.
func (s *search) auxiliary(name string) error {
	warn := func(format string, args ...any) {
		s.warnings = append(s.warnings, Warning{"coordinates", fmt.Sprintf(format, args...)})
	}
	c, err := s.resolve(name)
	if err != nil {
		return err
	}
	if c == nil {
		warn("there is no array %q", name)
		return nil
	}
	if slices.ContainsFunc(s.found, func(x Coordinate) bool { return x.Path == c.Path }) {
		return s.close(c)
	}
	dims, ok, err := s.along(c)
	if err == nil && ok {
		s.found = append(s.found, Coordinate{Variable: c, Dims: dims})
		return nil
	}
	if err == nil {
		warn("%s has the shape %v, which is not that of dimensions of %s", c.Path, c.Array.Shape(), s.v.Path)
	}
	return errors.Join(err, s.close(c))
}

// resolve opens the array of a name in an attribute. It returns nil if there is none.
func (s *search) resolve(name string) (*Variable, error) {
	for _, p := range candidates(s.v.Path, name) {
		c, err := s.open(p)
		if c != nil || err != nil {
			return c, err
		}
	}
	return nil, nil
}

// candidates returns the paths that a name in an attribute of the variable at a path can mean
// (section 2.7.1), in the order of the search.
func candidates(from, name string) []string {
	switch {
	case strings.HasPrefix(name, "/"):
		return []string{path.Clean(name)}
	case strings.Contains(name, "/"):
		return []string{path.Join(path.Dir(from), name)}
	}
	return proximity(from, name)
}

// proximity returns the paths of a name in the group of a variable and in the groups above it.
func proximity(from, name string) []string {
	var out []string
	for dir := path.Dir(from); ; dir = path.Dir(dir) {
		out = append(out, path.Join(dir, name))
		if dir == "/" || dir == "." {
			return out
		}
	}
}

// along returns the dimensions of the variable that the dimensions of c run along. Dimensions match
// by scale or by name, and without names by length, if only one dimension has it.
func (s *search) along(c *Variable) (dims []int, ok bool, err error) {
	shape, own := c.Array.Shape(), s.v.Array.Shape()
	names, scales, err := c.dimensions(s.ctx)
	if err != nil {
		return nil, false, err
	}
	if c.Array.DType().Kind == ndarray.Bytes && c.Array.DType().Size == 1 && len(shape) > 0 && (names[len(shape)-1] == "" || !slices.Contains(s.names, names[len(shape)-1])) {
		shape = shape[:len(shape)-1] // the characters of labels
	}
	for i, n := range shape {
		at := -1
		for k := range own {
			switch {
			case own[k] != n || slices.Contains(dims, k):
				continue
			case scales != nil && s.scales != nil && scales[i] != "" && s.scales[k] != "":
				if scales[i] == s.scales[k] && at < 0 {
					at = k
				}
				continue
			case names[i] != "" && s.names[k] != "":
				if names[i] == s.names[k] && at < 0 {
					at = k
				}
				continue
			case len(shape) == len(own) && slices.Equal(shape, own):
				if i == k {
					at = k
				}
				continue
			}
			if at >= 0 {
				return nil, false, nil // more than one has the length
			}
			at = k
		}
		if at < 0 {
			return nil, false, nil
		}
		dims = append(dims, at)
	}
	return dims, true, nil
}

// Bounds returns the boundaries of the cells of a coordinate: the array that the attribute bounds
// (section 7.1) or climatology (7.4) names, or nil without one. The array has one dimension more
// than the coordinate: that of the vertices. It has the units, the calendar, the standard name and
// the axis of the coordinate unless it has its own. Close of v closes it. A name without an array
// is a Warning.
func (v *Variable) Bounds(ctx context.Context) (*Variable, error) {
	for _, attribute := range []string{"bounds", "climatology"} {
		name := strings.TrimSpace(text(v.Attrs, attribute))
		if name == "" || v.tree == nil {
			continue
		}
		for _, p := range candidates(v.Path, name) {
			b, err := open(ctx, v.tree, p, v)
			if isAbsent(err) {
				continue
			}
			if err != nil {
				return nil, err
			}
			shape, own := b.Array.Shape(), v.Array.Shape()
			if len(shape) != len(own)+1 || !slices.Equal(shape[:len(own)], own) {
				v.warn(attribute, "%s has the shape %v, want that of %s and one dimension more", b.Path, shape, v.Path)
				return nil, b.Close()
			}
			v.mu.Lock()
			defer v.mu.Unlock()
			v.opened = append(v.opened, b)
			return b, nil
		}
		v.warn(attribute, "there is no array %q", name)
	}
	return nil, ctx.Err()
}

// The attributes of dimension scales in HDF5 (appendix of the HDF5 dimension scale specification),
// and the beginning of NAME of a scale of netCDF for a dimension without a variable.
const (
	scaleClass  = "DIMENSION_SCALE"
	placeholder = "This is a netCDF dimension but not a netCDF variable."
)

func isScale(attrs ndarray.Attrs) bool { return text(attrs, "CLASS") == scaleClass }

func isPlaceholder(attrs ndarray.Attrs) bool {
	return isScale(attrs) && strings.HasPrefix(text(attrs, "NAME"), placeholder)
}
