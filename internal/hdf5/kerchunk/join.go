// Arrays of several files joined along a dimension.

package kerchunk

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/ndarray"
)

// valueAttrs are the attributes that change the meaning of elements.
var valueAttrs = []string{"units", "calendar", "scale_factor", "add_offset", fillAttr, "missing_value", "_Unsigned"}

// join joins the members of the arrays, and determines the shape and the chunks of each.
func (w *writer) join(ctx context.Context, arrays []*array) ([]*array, error) {
	var problems []error
	kept, joined := arrays[:0], 0
	for _, a := range arrays {
		var err error
		if w.Combine != "" {
			err = w.joinArray(ctx, a)
		}
		a.embed = a.embed || a.members[0].embed
		if err == nil {
			err = a.lay()
		}
		switch {
		case errors.Is(err, ErrNotZarr) && w.Skip != nil:
			w.Skip(a.members[0].name, a.path, err)
		case errors.Is(err, ErrNotZarr):
			problems = append(problems, &Error{a.members[0].name, a.path, err})
		case err != nil:
			return nil, err
		default:
			kept = append(kept, a)
			if a.axis >= 0 {
				joined++
			}
		}
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	if w.Combine != "" && joined == 0 {
		return nil, fmt.Errorf("%w: no array has the dimension %q", errs.ErrNotFound, w.Combine)
	}
	return kept, nil
}

// joinArray checks that the members of an array can be joined. An array without the dimension must
// be equal in all files, and has then one member.
func (w *writer) joinArray(ctx context.Context, a *array) error {
	first := a.members[0]
	for i := range w.files.Len() {
		if i < len(a.members) && a.members[i].file == i {
			continue
		}
		s, err := w.source(ctx, i)
		if err != nil {
			return err
		}
		return fmt.Errorf("%w: %s: only one of %s and %s has this array", ErrDiffer, a.path, first.name, s.Name)
	}
	axis := slices.Index(first.dims[:len(first.shape)], w.Combine)
	for _, m := range a.members[1:] {
		if err := joinable(first, m, axis); err != nil {
			return err
		}
		if axis >= 0 {
			continue
		}
		if err := w.equal(ctx, first, m); err != nil {
			return err
		}
	}
	if axis < 0 {
		a.members = a.members[:1]
		return nil
	}
	a.axis = axis
	if path.Base(a.path) == w.Combine && len(first.shape) == 1 {
		if err := w.ordered(ctx, a); err != nil {
			return err
		}
	}
	return a.align()
}

// joinable compares the types, the dimensions and the units of two arrays.
func joinable(a, b *member, axis int) error {
	differ := func(property string, x, y any) error {
		return fmt.Errorf("%w: %s of %s: %v in %s, %v in %s", ErrDiffer, property, a.path, x, a.name, y, b.name)
	}
	switch {
	case !a.dtype.Equal(b.dtype):
		return differ("element type", a.dtype, b.dtype)
	case !slices.Equal(a.dims, b.dims):
		return differ("dimensions", a.dims, b.dims)
	}
	for i, n := range a.shape {
		if i != axis && n != b.shape[i] {
			return differ("shape", a.shape, b.shape)
		}
	}
	for _, d := range ndarray.CompareAttrs(a.attrs, b.attrs, nil) {
		if slices.Contains(valueAttrs, d.Name) {
			return differ("attribute "+d.Name, orAbsent(d.A), orAbsent(d.B))
		}
	}
	return nil
}

func orAbsent(text string) string {
	if text == "" {
		return "absent"
	}
	return text
}

// equal returns ErrDiffer if the elements of two arrays differ.
func (w *writer) equal(ctx context.Context, a, b *member) (err error) {
	x, err := w.open(ctx, a)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.Close()) }()
	y, err := w.open(ctx, b)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, y.Close()) }()
	c, err := ndarray.Compare(ctx, x, y, &ndarray.CompareOptions{IgnoreAttrs: true})
	if err != nil {
		return err
	}
	if !c.Equal() {
		return fmt.Errorf("%w: %s: %d elements of %s and %s differ, and the array does not have the dimension %q",
			ErrDiffer, a.path, c.NumDiffs, a.name, b.name, w.Combine)
	}
	return nil
}

// open opens the array of a member. The array keeps its file open.
func (w *writer) open(ctx context.Context, m *member) (*ndarray.Array, error) {
	s, err := w.source(ctx, m.file)
	if err != nil {
		return nil, err
	}
	return s.Arrays(ctx, m.path)
}

// ordered checks that the numbers of a coordinate increase or decrease from file to file if they do
// in each file.
func (w *writer) ordered(ctx context.Context, a *array) error {
	switch first := a.members[0].dtype; {
	case first.Kind == ndarray.Int:
		return ordered[int64](ctx, w, a)
	case first.Kind == ndarray.Uint:
		return ordered[uint64](ctx, w, a)
	case first.Kind == ndarray.Float && first.Size <= 8:
		return ordered[float64](ctx, w, a)
	}
	return nil
}

func ordered[T int64 | uint64 | float64](ctx context.Context, w *writer, a *array) error {
	up, down := true, true // within all files
	type ends struct{ first, last T }
	var files []ends
	var members []*member
	for _, m := range a.members {
		values, err := values[T](ctx, w, m)
		if err != nil {
			return err
		}
		for i := 1; i < len(values); i++ {
			up, down = up && values[i] > values[i-1], down && values[i] < values[i-1]
		}
		if n := len(values); n > 0 {
			files, members = append(files, ends{values[0], values[n-1]}), append(members, m)
		}
	}
	one := up && down // at most one value in each file: the first two files decide
	if one && len(files) > 1 {
		up, down = files[1].first > files[0].last, files[1].first < files[0].last
	}
	if !up && !down && !one {
		return nil
	}
	for i := 1; i < len(files); i++ {
		last, next := files[i-1].last, files[i].first
		if up && next > last || down && next < last {
			continue
		}
		return fmt.Errorf("%w: %s of %s ends with %v, and that of %s begins with %v: the files overlap or are not in order",
			ErrDiffer, a.path, members[i-1].name, last, members[i].name, next)
	}
	return nil
}

// values returns the elements of an array of one dimension.
func values[T any](ctx context.Context, w *writer, m *member) (_ []T, err error) {
	if n := m.bytes(); n > maxEmbed {
		return nil, fmt.Errorf("%w: coordinate %s of %s: got %d bytes, want at most %d", errs.ErrLimit, m.path, m.name, n, maxEmbed)
	}
	arr, err := w.open(ctx, m)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, arr.Close()) }()
	out := make([]T, m.stored[0])
	return out, ndarray.ReadAs(ctx, arr, out, ndarray.Whole(m.stored))
}

// align checks that the chunks of the members are chunks of one array, or embeds a small array.
func (a *array) align() error {
	first := a.members[0]
	reason := ""
	total := int64(0)
	for i, m := range a.members {
		total += min(m.bytes(), maxEmbed)
		switch {
		case reason != "":
		case !m.same(first):
			reason = fmt.Sprintf("layout, chunks or filters of %s and %s differ", first.name, m.name)
		case first.embed:
		case m.layout == h5.Chunked && i < len(a.members)-1 && m.shape[a.axis]%m.chunk[a.axis] != 0:
			reason = fmt.Sprintf("the %d elements along the dimension in %s are no multiple of the chunk length %d",
				m.shape[a.axis], m.name, m.chunk[a.axis])
		case m.layout == h5.Contiguous && m.bytes() < leastPiece:
			reason = "small"
		}
	}
	switch {
	case first.text() && a.axis != 0:
		return fmt.Errorf("%w: strings are joined along the first dimension only", ErrNotZarr)
	case reason == "":
		return nil
	case total > pieceBytes:
		return fmt.Errorf("%w: cannot be joined: %s", ErrNotZarr, reason)
	}
	a.embed = true
	return nil
}
