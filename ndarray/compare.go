// Compare finds differing elements of two arrays, in parallel and in bounded memory.

package ndarray

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/cmplx"
	"slices"
	"strconv"
	"sync"
)

// CompareOptions define the differences that Compare reports. nil means the zero value.
type CompareOptions struct {
	Tolerance    *Tolerance // for floats and complex numbers; nil: compare the bits
	IgnoreOrder  bool       // a different byte order in storage is no difference
	IgnoreAttrs  bool       // do not compare attributes
	ExcludeAttrs []string   // names of attributes that are not compared
	MaxDiffs     int        // elements listed in Comparison.Diffs; 0 means 1

	Workers  int            // goroutines; 0 means GOMAXPROCS
	Memory   int64          // bytes of buffers, all workers together; 0 means 128 MiB
	Progress func(Progress) // called after each unit, never concurrently; must return soon
}

// Tolerance lets floats differ. As in NumPy's isclose, a and b are equal if |a-b| ≤ Atol +
// Rtol×|b|; infinities only if they are the same. Complex numbers are measured by modulus, extended
// precision after rounding to float64. All other types, also structures, are always compared bit
// for bit.
type Tolerance struct {
	Rtol, Atol float64 // ≥ 0; Rtol finite
	ULP        uint64  // floats of 2, 4 or 8 bytes: also equal if at most that many representable values apart
	EqualNaN   bool    // two NaN are equal
}

// Comparison is the result of Compare.
type Comparison struct {
	A, B Meta // of the two arrays

	SameShape bool // null, scalar and zero-length are three different shapes
	SameDType bool // byte order counts unless CompareOptions.IgnoreOrder is set

	ValuesCompared bool         // false if the shapes differ, or if the types differ and are not all numbers or all strings
	NumElems       int64        // elements compared
	NumDiffs       int64        // elements that differ
	Diffs          []Difference // the first of them in row-major order
	Attrs          []AttrDifference
}

// Equal reports whether no difference was found.
func (c *Comparison) Equal() bool {
	return c.SameShape && c.SameDType && c.NumDiffs == 0 && len(c.Attrs) == 0
}

// MarshalJSON implements json.Marshaler with the keys of hyperslab.diff/1 (docs/json.md), without
// those of the command: schema, a, b, excluded_attributes, encoding_a, encoding_b and seconds.
func (c Comparison) MarshalJSON() ([]byte, error) {
	shape := func(m Meta) []int64 {
		if m.Null {
			return nil
		}
		return append([]int64{}, m.Shape...)
	}
	return json.Marshal(struct {
		Same           bool             `json:"same"`
		ShapeA         []int64          `json:"shape_a"`
		ShapeB         []int64          `json:"shape_b"`
		SameShape      bool             `json:"same_shape"`
		DTypeA         string           `json:"dtype_a"`
		DTypeB         string           `json:"dtype_b"`
		SameDType      bool             `json:"same_dtype"`
		ValuesCompared bool             `json:"values_compared"`
		NumElems       int64            `json:"elements"`
		NumDiffs       int64            `json:"different"`
		Diffs          []Difference     `json:"first"`
		Attrs          []AttrDifference `json:"attributes"`
	}{c.Equal(), shape(c.A), shape(c.B), c.SameShape, c.A.DType.String(), c.B.DType.String(), c.SameDType, c.ValuesCompared, c.NumElems,
		c.NumDiffs, append([]Difference{}, c.Diffs...), append([]AttrDifference{}, c.Attrs...)})
}

// Difference is one element that differs.
type Difference struct {
	Index []int64 `json:"index"`
	A     string  `json:"a"` // by FormatElement
	B     string  `json:"b"`
}

// AttrDifference is one attribute that differs. Attributes of an object that cannot be listed have
// the name "", and A and B are the reasons.
type AttrDifference struct {
	Name        string `json:"name"`
	Unsupported bool   `json:"unsupported"` // both have it, in types that cannot be compared, or it cannot be read
	A           string `json:"a,omitempty"` // type and value, "" where missing
	B           string `json:"b,omitempty"`
}

// Compare compares a with b: shape, element type, every element, and attributes. It does not
// compare chunks, compression, fill value and the order of attributes. An attribute that a backend
// cannot represent is a difference, unless it is excluded by name or both backends can compare it
// ([attrDigester]). A backend without attributes counts as an empty list.
//
// Numbers of different types are compared by value, exactly unless there is a tolerance. This
// applies to integers, bools, enumerations, and floats and complex numbers up to double precision.
// Between types 0 equals -0, and NaN equals NaN unless a Tolerance without EqualNaN is given. A ULP
// does not apply between types. Strings of different types are compared without their padding. The
// types themselves remain a difference.
//
// An element that is null in both arrays is equal, and one that is null in one of them differs. So
// do the fields of structures.
//
// Where both arrays report without reading that all elements of a region are equal, Compare
// compares one element for all of them.
//
// It returns ErrParam for a tolerance out of range, the context's error, or an error of a read.
// Differences are not an error.
func Compare(ctx context.Context, a, b *Array, o *CompareOptions) (Comparison, error) {
	if o == nil {
		o = &CompareOptions{}
	}
	fail := func(err error) (Comparison, error) { return Comparison{}, a.wrap("compare", err) }
	if t := o.Tolerance; t != nil && !(t.Rtol >= 0 && t.Atol >= 0 && t.Rtol <= math.MaxFloat64) {
		return fail(fmt.Errorf("%w: relative tolerance %v, absolute %v", ErrParam, t.Rtol, t.Atol))
	}
	if o.MaxDiffs < 0 {
		return fail(fmt.Errorf("%w: at most %d differences", ErrParam, o.MaxDiffs))
	}
	da, db := a.m().DType, b.m().DType
	c := Comparison{
		A: a.Meta(), B: b.Meta(),
		SameShape: a.m().Null == b.m().Null && slices.Equal(a.m().Shape, b.m().Shape),
		SameDType: da.Equal(db) || o.IgnoreOrder && da.EqualValues(db),
	}
	if !o.IgnoreAttrs {
		var err error
		if c.Attrs, err = compareAttrs(ctx, a, b, o.ExcludeAttrs); err != nil {
			return fail(err)
		}
	}
	if !c.SameShape {
		return c, nil
	}
	differ, larger, smaller, progress := o.Tolerance.differ(da), a.m(), b.m(), o.Progress
	strs := da.Size == 0 && db.Size == 0
	if da.Kind != db.Kind || da.Size != db.Size {
		strs = isText(da) && isText(db)
		if differ = o.Tolerance.differNumbers(da, db); differ == nil && !strs {
			return c, nil
		}
		if larger.DType.Size < smaller.DType.Size { // units depend on the larger element size
			larger, smaller = smaller, larger
		}
		if progress != nil {
			progress = func(p Progress) {
				size, unit := int64(da.Size), int64(larger.DType.Size)
				p.DoneBytes, p.TotalBytes = p.DoneBytes/unit*size, p.TotalBytes/unit*size
				o.Progress(p)
			}
		}
	} else if (len(da.Fields)+len(da.Dims) > 0 || da.Kind == VLen || da.Kind == Reference) && !da.EqualValues(db) {
		return c, nil
	}
	p, err := newPlan(*larger, *smaller, o.Workers, o.Memory, 2)
	if err != nil {
		return fail(err)
	}
	p.sources = []*Array{a, b}
	found := collector{a: da, b: db, keep: max(o.MaxDiffs, 1)}
	buffers := 2
	if strs {
		buffers = 0
	}
	compare := func(ctx context.Context, c *collector, r Region, buf [][]byte) error {
		if buffers == 0 {
			return c.strings(ctx, a, b, r)
		}
		n := int(r.NumElems())
		x, y := buf[0][:n*da.Size], buf[1][:n*db.Size]
		if err := a.ReadRegion(ctx, x, r, p.each); err != nil {
			return err
		}
		if err := b.ReadRegion(ctx, y, r, p.each); err != nil {
			return err
		}
		nulls, err := nullsOfBoth(ctx, a, b, r)
		if err != nil {
			return err
		}
		c.unit(r, x, y, differ, nulls)
		return nil
	}
	if !a.m().Nullable && !b.m().Nullable { // equal elements may be null or not
		if p.uniform, err = p.uniformIn(ctx, a, b); err != nil {
			return fail(err)
		}
	}
	p.once = func(ctx context.Context, r Region) error {
		one := collector{a: da, b: db, keep: 1}
		if err := compare(ctx, &one, r.first(), [][]byte{make([]byte, da.Size), make([]byte, db.Size)}); err != nil {
			return err
		}
		found.everywhere(r, &one)
		return nil
	}
	err = p.run(ctx, buffers, progress, func(ctx context.Context, _ int64, r Region, buf [][]byte) error {
		return compare(ctx, &found, r, buf)
	})
	if err != nil {
		return fail(err)
	}
	c.ValuesCompared, c.NumElems = true, a.m().NumElems()
	c.NumDiffs, c.Diffs = found.count, found.first
	return c, nil
}

// differ returns the function that reports whether two elements differ. nil means that their bits
// are compared.
func (t *Tolerance) differ(d DType) func(a, b []byte) bool {
	if t == nil {
		return nil
	}
	switch d.Kind {
	case Float, BFloat:
		return func(a, b []byte) bool {
			if t.EqualNaN && bytes.Equal(a, b) {
				return false
			}
			x, y := loadFloat(d, a), loadFloat(d, b)
			if math.IsNaN(x) || math.IsNaN(y) {
				return !t.EqualNaN || math.IsNaN(x) != math.IsNaN(y)
			}
			if x == y || math.Abs(x-y) <= t.bound(math.Abs(y)) {
				return false
			}
			return t.ULP == 0 || len(a) > 8 || math.IsInf(x, 0) || math.IsInf(y, 0) || steps(a, b) > t.ULP
		}
	case Complex:
		half := d.Size / 2
		part := DType{Kind: Float, Size: half}
		load := func(b []byte) complex128 { return complex(loadFloat(part, b[:half]), loadFloat(part, b[half:])) }
		return func(a, b []byte) bool {
			if t.EqualNaN && bytes.Equal(a, b) {
				return false
			}
			x, y := load(a), load(b)
			if cmplx.IsNaN(x) || cmplx.IsNaN(y) {
				return !t.EqualNaN || cmplx.IsNaN(x) != cmplx.IsNaN(y)
			}
			return x != y && !(cmplx.Abs(x-y) <= t.bound(cmplx.Abs(y)))
		}
	}
	return nil
}

// steps returns the distance of two finite floats in representable values of their type. +0 and -0
// count as one value.
func steps(a, b []byte) uint64 {
	order := func(b []byte) int64 {
		bits, sign := loadUint(b), uint64(1)<<(8*len(b)-1)
		if bits&sign != 0 {
			return -int64(bits &^ sign)
		}
		return int64(bits)
	}
	x, y := order(a), order(b)
	if x < y {
		x, y = y, x
	}
	return uint64(x) - uint64(y)
}

// bound returns the largest allowed distance from a value of that size. It is NaN for an infinite
// value, so that only the same infinity is equal to it.
func (t *Tolerance) bound(size float64) float64 {
	if math.IsInf(size, 0) {
		return math.NaN()
	}
	return t.Atol + t.Rtol*size
}

// collector counts differences and keeps the first ones.
type collector struct {
	a, b DType // of the elements of the two arrays
	keep int

	mu    sync.Mutex
	count int64
	first []Difference // sorted by index, at most keep
}

// unit compares the elements of r.
func (c *collector) unit(r Region, a, b []byte, differ func(a, b []byte) bool, nulls nullPair) {
	size, other := c.a.Size, c.b.Size
	exact := differ == nil // the types, and so the sizes, are equal
	if exact {
		differ = func(a, b []byte) bool { return !bytes.Equal(a, b) }
	}
	step, n := max(1<<12/size, 1), len(a)/size // elements
	var count int64
	var own []Difference
	for at := 0; at < n; at += step {
		end := min(at+step, n)
		if exact && !nulls.any() && bytes.Equal(a[at*size:end*size], b[at*size:end*size]) {
			continue
		}
		for i := at; i < end; i++ {
			x, y := a[i*size:(i+1)*size], b[i*other:(i+1)*other]
			if same, null := nulls.compare(c.a, i, x, y); same || !null && !differ(x, y) {
				continue
			}
			count++
			if len(own) < c.keep {
				own = append(own, Difference{
					Index: elementAt(r, int64(i)), A: formatNulls(c.a, x, nulls.a, i), B: formatNulls(c.b, y, nulls.b, i),
				})
			}
		}
	}
	c.add(count, own)
}

// everywhere adds the result of comparing one element of r for all elements of r.
func (c *collector) everywhere(r Region, one *collector) {
	if one.count == 0 {
		return
	}
	count := r.NumElems()
	own := make([]Difference, min(count, int64(c.keep)))
	for i := range own {
		own[i] = Difference{Index: elementAt(r, int64(i)), A: one.first[0].A, B: one.first[0].B}
	}
	c.add(count, own)
}

func (c *collector) add(count int64, own []Difference) {
	if count == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count += count
	c.first = append(c.first, own...)
	slices.SortFunc(c.first, func(x, y Difference) int { return slices.Compare(x.Index, y.Index) })
	c.first = slices.Clip(c.first[:min(len(c.first), c.keep)])
}

// isText reports whether elements of d are strings, which are compared by value with those of
// another type.
func isText(d DType) bool { return d.Kind == Bytes || d.Kind == Unicode || d.Kind == String }

// readTexts reads strings of any type, and other elements of variable size.
func readTexts(ctx context.Context, a *Array, dst []string, r Region) error {
	if a.m().DType.Size == 0 {
		return a.ReadStrings(ctx, dst, r)
	}
	return Read(ctx, a, dst, r)
}

// formatText formats a result of readTexts.
func formatText(d DType, s string) string {
	if isText(d) {
		return strconv.Quote(s)
	}
	return FormatElement(d, []byte(s))
}

// strings compares strings, or other elements of variable size, of r.
func (c *collector) strings(ctx context.Context, a, b *Array, r Region) error {
	x, y := make([]string, r.NumElems()), make([]string, r.NumElems())
	if err := readTexts(ctx, a, x, r); err != nil {
		return err
	}
	if err := readTexts(ctx, b, y, r); err != nil {
		return err
	}
	nulls, err := nullsOfBoth(ctx, a, b, r)
	if err != nil {
		return err
	}
	var count int64
	var own []Difference
	for i := range x {
		na, nb := nulls.a != nil && nulls.a[i], nulls.b != nil && nulls.b[i]
		if na == nb && (na || x[i] == y[i]) {
			continue
		}
		if count++; len(own) < c.keep {
			own = append(own, Difference{Index: elementAt(r, int64(i)), A: nullOr(na, formatText(c.a, x[i])), B: nullOr(nb, formatText(c.b, y[i]))})
		}
	}
	c.add(count, own)
	return nil
}

// elementAt returns the index in the array of the n-th element of r.
func elementAt(r Region, n int64) []int64 {
	index := make([]int64, len(r.Shape))
	for i := len(index) - 1; i >= 0; i-- {
		index[i] = r.Start[i] + n%r.Shape[i]
		n /= r.Shape[i]
	}
	return index
}

func compareAttrs(ctx context.Context, a, b *Array, exclude []string) ([]AttrDifference, error) {
	x, xerr := attrsOrNone(ctx, a)
	y, yerr := attrsOrNone(ctx, b)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	for _, err := range []error{xerr, yerr} {
		if err != nil && !errors.Is(err, ErrCorrupt) {
			return nil, err
		}
	}
	list, err := judged(ctx, a, b, CompareAttrs(x, y, exclude))
	return append(list, unlisted(x, y, xerr, yerr)...), err
}

// unlisted returns the difference that stands for the attributes that two objects may have in
// addition to x and y, because reading them failed with xerr and yerr. Attributes that cannot be
// read and whose names are known are in x and y.
func unlisted(x, y Attrs, xerr, yerr error) []AttrDifference {
	reason := func(attrs Attrs, err error) string {
		if err == nil || len(attrs.Unsupported) > 0 {
			return ""
		}
		return err.Error()
	}
	d := AttrDifference{Unsupported: true, A: reason(x, xerr), B: reason(y, yerr)}
	if d.A == "" && d.B == "" {
		return nil
	}
	return []AttrDifference{d}
}

// judged compares, by their digests, attributes of one type that cannot be represented.
func judged(ctx context.Context, a, b *Array, all []AttrDifference) ([]AttrDifference, error) {
	var out []AttrDifference
	for _, d := range all {
		if d.Unsupported && d.A == d.B {
			x, err := a.attrDigest(ctx, d.Name)
			var y [32]byte
			if err == nil {
				y, err = b.attrDigest(ctx, d.Name)
			}
			switch {
			case ctx.Err() != nil:
				return nil, context.Cause(ctx)
			case err != nil: // a broken attribute is not compared; it does not hide the others
			case x == y:
				continue
			default:
				d.Unsupported = false
			}
		}
		out = append(out, d)
	}
	return out, nil
}

// CompareAttrs returns the attributes that differ, except those in exclude.
func CompareAttrs(x, y Attrs, exclude []string) []AttrDifference {
	var out []AttrDifference
	byX, byY := attrsByName(x), attrsByName(y)
	for _, name := range attrNames(x, y) {
		if slices.Contains(exclude, name) {
			continue
		}
		a, b := byX[name], byY[name]
		switch {
		case a.value != nil && b.value != nil && a.value.Equal(*b.value), a.sameRaw(b):
			continue
		}
		d := AttrDifference{Name: name, A: a.text(), B: b.text()}
		d.Unsupported = d.A != "" && d.B != "" && (a.value == nil || b.value == nil)
		out = append(out, d)
	}
	return out
}

// namedAttr is an attribute with a value or an unsupported one, or the zero value for none.
type namedAttr struct {
	value       *Value
	unsupported *UnsupportedAttr
}

// attrsByName returns the attributes by name, the first one of each.
func attrsByName(attrs Attrs) map[string]namedAttr {
	m := make(map[string]namedAttr, len(attrs.List)+len(attrs.Unsupported))
	add := func(name string, a namedAttr) {
		if _, again := m[name]; !again {
			m[name] = a
		}
	}
	for i := range attrs.List {
		add(attrs.List[i].Name, namedAttr{value: &attrs.List[i].Value})
	}
	for i := range attrs.Unsupported {
		add(attrs.Unsupported[i].Name, namedAttr{unsupported: &attrs.Unsupported[i]})
	}
	return m
}

// sameRaw reports whether both sides store the same bytes for an attribute without a Value.
func (a namedAttr) sameRaw(b namedAttr) bool {
	if a.unsupported == nil || b.unsupported == nil {
		return false
	}
	x, y := a.unsupported.Raw, b.unsupported.Raw
	return x != nil && y != nil && bytes.Equal(x, y)
}

// text returns the type and value of an attribute, or "" if it does not exist.
func (a namedAttr) text() string {
	switch {
	case a.value != nil && len(a.value.Shape) > 0:
		return fmt.Sprintf("%v %v %v", a.value.DType, a.value.Shape, *a.value)
	case a.value != nil:
		return fmt.Sprintf("%v %v", a.value.DType, *a.value)
	case a.unsupported != nil:
		return a.unsupported.Type
	}
	return ""
}

// attrsOrNone reads the attributes of a. The result is empty for a backend without attributes.
func attrsOrNone(ctx context.Context, a *Array) (Attrs, error) {
	attrs, err := a.Attrs(ctx)
	if errors.Is(err, errors.ErrUnsupported) {
		if _, has := As[AttrReader](a.backend); !has {
			return Attrs{}, nil
		}
	}
	return attrs, err
}

// attrNames returns the names of x in storage order, then the names that only y has.
func attrNames(x, y Attrs) []string {
	var names []string
	for _, attrs := range []Attrs{x, y} {
		for _, a := range attrs.List {
			names = append(names, a.Name)
		}
		for _, u := range attrs.Unsupported {
			names = append(names, u.Name)
		}
	}
	seen := make(map[string]bool)
	return slices.DeleteFunc(names, func(n string) bool {
		if seen[n] {
			return true
		}
		seen[n] = true
		return false
	})
}
