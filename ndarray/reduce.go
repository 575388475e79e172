// Each and Map, which process all chunks of an array, and the statistics built on them.

package ndarray

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"slices"
	"sync"
)

// WorkOptions are the options of Each and Summarize. nil means the zero value.
type WorkOptions struct {
	Workers  int            // goroutines; 0 means GOMAXPROCS
	Memory   int64          // bytes of buffers, all workers together; 0 means 128 MiB
	Progress func(Progress) // called after each unit, never concurrently; must return soon

	// Uniform is called by Each instead of its function f for a region of n elements that are known
	// to be equal without reading them, for example because no chunk is stored. element is one of
	// them in native byte order. Several goroutines may call it at once. nil means that f receives
	// all elements. Summarize ignores it.
	Uniform func(element []byte, n int64)
}

// Each reads all elements in units of whole chunks and calls f for each unit, from several
// goroutines at once and in no particular order. b contains the elements of r in row-major order
// and native byte order. f may use b only until it returns.
//
// It returns the first error of f, the context's error, ErrParam, ErrType for an array of Kind
// String, or an error of a read. It returns when all goroutines have ended.
func Each(ctx context.Context, a *Array, o *WorkOptions, f func(ctx context.Context, r Region, b []byte) error) error {
	if o == nil {
		o = &WorkOptions{}
	}
	return eachOrMany(ctx, a, o, f, o.Uniform)
}

// eachOrMany is Each with an optional function many. It is called with one element and n for a
// region whose n elements are known to be equal to it.
func eachOrMany(ctx context.Context, a *Array, o *WorkOptions, f func(ctx context.Context, r Region, b []byte) error, many func(b []byte, n int64)) error {
	if o == nil {
		o = &WorkOptions{}
	}
	m := a.Meta()
	if m.DType.Size == 0 {
		return a.wrap("work on", fmt.Errorf("%w: elements of variable size have no bytes", ErrType))
	}
	p, err := newPlan(m, m, o.Workers, o.Memory, 1)
	if err != nil {
		return a.wrap("work on", err)
	}
	p.sources = []*Array{a}
	_, told := a.teller()
	if many != nil && (told || !m.Nullable) { // otherwise equal elements may be null or not
		if p.uniform, err = p.uniformIn(ctx, a); err != nil {
			return a.wrap("work on", err)
		}
		p.once = func(ctx context.Context, r Region) error {
			one := make([]byte, m.DType.Size)
			if err := a.ReadRegion(ctx, one, r.first(), p.each); err != nil {
				return err
			}
			many(one, r.NumElems())
			return nil
		}
	}
	return a.wrap("work on", p.run(ctx, 1, o.Progress, func(ctx context.Context, _ int64, r Region, b [][]byte) error {
		if err := a.ReadRegion(ctx, b[0], r, p.each); err != nil {
			return err
		}
		return f(ctx, r, b[0])
	}))
}

// Map writes elements computed by f to dst, which must have the same shape as src. It calls f like
// Each, with in for the elements of r in src, and out for those in dst, in dst's element type and
// native byte order. Chunks are written to the file in the same order as by Copy.
//
// It returns ErrShape, and the errors of Each and Write.
func Map(ctx context.Context, dst, src *Array, o *WorkOptions, f func(ctx context.Context, r Region, out, in []byte) error) (err error) {
	if o == nil {
		o = &WorkOptions{}
	}
	to, from := dst.Meta(), src.Meta()
	switch {
	case !slices.Equal(to.Shape, from.Shape) || to.Null != from.Null:
		return dst.wrap("map to", fmt.Errorf("%w: %s, source %s is %s", ErrShape, shapeText(to), from.Path, shapeText(from)))
	case to.DType.Size == 0 || from.DType.Size == 0:
		return dst.wrap("map to", fmt.Errorf("%w: elements of variable size have no bytes", ErrType))
	}
	wide := to // the metadata of dst with the larger of the two types, which bounds the bytes of a unit
	if from.DType.Size > wide.DType.Size {
		wide.DType = from.DType
	}
	in, err := inOrder(ctx, dst, o.Workers, o.Memory, "")
	if err != nil {
		return dst.wrap("map to", err)
	}
	defer in.end(&err)
	p, err := newPlan(wide, from, in.workers, in.memory, 2)
	if err == nil {
		err = in.shape(&p)
	}
	if err != nil {
		return dst.wrap("map to", err)
	}
	p.sources = []*Array{src}
	return dst.wrap("map to", p.run(ctx, 2, o.Progress, func(ctx context.Context, _ int64, r Region, b [][]byte) error {
		in := b[0][:r.NumElems()*int64(from.DType.Size)]
		out := b[1][:r.NumElems()*int64(to.DType.Size)]
		if err := src.ReadRegion(ctx, in, r, p.each); err != nil {
			return err
		}
		if err := f(ctx, r, out, in); err != nil {
			return err
		}
		return dst.write(ctx, out, r, p.each)
	}))
}

// MissingTeller is implemented by backends with null elements that the bytes of an element mark,
// for example integers some of which an attribute calls missing. Summarize and CountBins then read
// no marks.
type MissingTeller interface {
	// DropMissing removes the null elements from b, in native byte order, and returns the others
	// in the same order. Null floats may stay if they are NaN. It may overwrite b. Any number of
	// goroutines may call it at once.
	DropMissing(b []byte) []byte
}

// teller returns the MissingTeller of an array, of which a may be a view.
func (a *Array) teller() (MissingTeller, bool) {
	for {
		v, ok := a.backend.(*view)
		if !ok {
			return As[MissingTeller](a.backend)
		}
		a = v.a
	}
}

// dropMissing removes the missing elements from b. It may overwrite b.
func (a *Array) dropMissing(b []byte) []byte {
	if m, ok := a.teller(); ok {
		return m.DropMissing(b)
	}
	return b
}

// present removes the null elements from the bytes of a region. It may overwrite b.
func (a *Array) present(ctx context.Context, r Region, b []byte) ([]byte, error) {
	if m, ok := a.teller(); ok {
		return m.DropMissing(b), nil
	}
	return DropNulls(ctx, a, r, b)
}

// Summary is the result of Summarize. NaN elements count only in NaNs, and so do null elements
// (Meta.Nullable). Infinities count as numbers.
//
// All sums are exact, whatever the number of elements, and rounded once. Therefore sum, mean and
// standard deviation do not depend on the order of chunks or the number of workers. A sum beyond
// float64 is infinite, but the mean is still correct. If there are infinite elements, Std is NaN
// and Mean equals Sum.
type Summary struct {
	DType DType
	Count int64 // elements that are not NaN
	NaNs  int64

	Min, Max float64 // NaN if Count is 0; rounded for integers
	Sum      float64 // for integers ExactSum, rounded once
	Mean     float64 // NaN if Count is 0
	Std      float64 // standard deviation of all elements (divided by Count); NaN if Count is 0

	MinInt, MaxInt, ExactSum *big.Int // integers, Bool and Enum; else nil; no elements: only ExactSum

	totals string // exact, for Merge: the result of MarshalBinary
}

// Summarize computes count, minimum, maximum, sum, mean and standard deviation of an array of Bool,
// Int, Uint, Enum, Float or BFloat. Floats of extended precision are rounded to float64 first.
// Chunks that store no more than one repeated element are not read element by element, so any
// number of them is cheap.
//
// It returns ErrType for other elements, and the errors of Each.
func Summarize(ctx context.Context, a *Array, o *WorkOptions) (Summary, error) {
	d := a.DType()
	base := d
	if d.Kind == Enum {
		base = *d.Base
	}
	var mu sync.Mutex
	ints, floats := newIntTotals(base.Kind != Int), newFloatTotals()
	var f func(context.Context, Region, []byte) error
	var many func([]byte, int64)
	switch base.Kind {
	case Bool, Int, Uint:
		f = func(ctx context.Context, r Region, b []byte) error {
			own := newIntTotals(base.Kind != Int)
			kept, err := a.present(ctx, r, b)
			if err != nil {
				return err
			}
			own.add(base, kept)
			own.missing = int64((len(b) - len(kept)) / base.Size)
			mu.Lock()
			defer mu.Unlock()
			ints.join(&own)
			return nil
		}
		many = func(b []byte, n int64) {
			mu.Lock()
			defer mu.Unlock()
			if len(a.dropMissing(b)) == 0 {
				ints.missing += n
				return
			}
			ints.addMany(base, b, n)
		}
	case Float, BFloat:
		f = func(ctx context.Context, r Region, b []byte) error {
			own := newFloatTotals()
			kept, err := a.present(ctx, r, b)
			if err != nil {
				return err
			}
			own.add(base, kept)
			own.nans += int64((len(b) - len(kept)) / base.Size)
			mu.Lock()
			defer mu.Unlock()
			floats.join(&own)
			return nil
		}
		many = func(b []byte, n int64) {
			mu.Lock()
			defer mu.Unlock()
			floats.addMany(base, b, n)
		}
	default:
		return Summary{}, a.wrap("summarize", fmt.Errorf("%w: %v has no sum", ErrType, d))
	}
	if err := eachOrMany(ctx, a, o, f, many); err != nil {
		return Summary{}, err
	}
	if base.Kind == Float || base.Kind == BFloat {
		return floats.summary(d), nil
	}
	return ints.summary(d), nil
}

// Merge adds the summary of other elements of the same type, for example of another part of an
// array. The result is the same as that of Summarize for all elements.
//
// It returns ErrType for another element type, and ErrParam for a Summary that Summarize or
// UnmarshalBinary did not make.
func (s *Summary) Merge(o Summary) error {
	fail := func(err error) error { return Wrap("merge summaries", "", err) }
	switch {
	case !s.DType.EqualValues(o.DType):
		return fail(fmt.Errorf("%w: %v, want %v", ErrType, o.DType, s.DType))
	case s.totals == "" || o.totals == "":
		return fail(fmt.Errorf("%w: a summary without totals", ErrParam))
	}
	ints, floats, err := s.decode(s.totals)
	if err != nil {
		return fail(err)
	}
	moreInts, moreFloats, err := s.decode(o.totals)
	if err != nil {
		return fail(err)
	}
	if ints != nil {
		ints.join(moreInts)
		*s = ints.summary(s.DType)
		return nil
	}
	floats.join(moreFloats)
	*s = floats.summary(s.DType)
	return nil
}

// MarshalBinary returns the exact totals of a summary, without its DType. The bytes are the same
// for the same elements, whatever their order.
func (s Summary) MarshalBinary() ([]byte, error) {
	if s.totals == "" {
		return nil, Wrap("encode summary", "", fmt.Errorf("%w: a summary without totals", ErrParam))
	}
	return []byte(s.totals), nil
}

// UnmarshalBinary sets all fields of s except DType, which must be set before, from the result of
// MarshalBinary.
//
// It returns ErrCorrupt for other bytes, and ErrType for a DType without a sum.
func (s *Summary) UnmarshalBinary(b []byte) error {
	ints, floats, err := s.decode(string(b))
	switch {
	case err != nil:
		return Wrap("decode summary", "", err)
	case ints != nil:
		*s = ints.summary(s.DType)
	default:
		*s = floats.summary(s.DType)
	}
	return nil
}

func (t *intTotals) encode() string {
	b := []byte{'i'}
	for _, v := range append([]uint64{uint64(t.count), uint64(t.min), uint64(t.max)}, append(t.sum[:], t.squares[:]...)...) {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	if t.missing > 0 {
		b[0] = 'm'
		b = binary.LittleEndian.AppendUint64(b, uint64(t.missing))
	}
	return string(b)
}

func (t *floatTotals) encode() string {
	b := []byte{'f'}
	for _, v := range []uint64{uint64(t.count), uint64(t.nans), math.Float64bits(t.min), math.Float64bits(t.max), math.Float64bits(t.infinite)} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	for _, sum := range []*exactSum{&t.finite.sum, &t.finite.squares} {
		whole := sum.big()
		b = binary.LittleEndian.AppendUint64(b, uint64(whole.Sign()))
		b = append(b, whole.FillBytes(make([]byte, 4*len(sum.words)+8))...)
	}
	return string(b)
}

// decode decodes the totals of elements of s.DType. One of the results is nil.
func (s *Summary) decode(totals string) (*intTotals, *floatTotals, error) {
	base := s.DType
	if base.Kind == Enum {
		base = *base.Base
	}
	b := []byte(totals)
	bad := func(what string) (*intTotals, *floatTotals, error) {
		return nil, nil, fmt.Errorf("%w: %s of a summary of %v in %d bytes", ErrCorrupt, what, s.DType, len(totals))
	}
	words := func(n int) (v []uint64) {
		for range n {
			v, b = append(v, binary.LittleEndian.Uint64(b)), b[8:]
		}
		return v
	}
	switch base.Kind {
	case Bool, Int, Uint:
		missing := len(b) == 1+10*8 && b[0] == 'm'
		if !missing && (len(b) != 1+9*8 || b[0] != 'i') {
			return bad("form")
		}
		b = b[1:]
		t := newIntTotals(base.Kind != Int)
		v := words(9)
		if missing {
			t.missing = int64(words(1)[0])
		}
		if int64(v[0]) < 0 || missing && t.missing <= 0 {
			return bad("count")
		}
		t.count, t.min, t.max = int64(v[0]), int64(v[1]), int64(v[2])
		copy(t.sum[:], v[3:6])
		copy(t.squares[:], v[6:])
		return &t, nil, nil
	case Float, BFloat:
		t := newFloatTotals()
		sums := []*exactSum{&t.finite.sum, &t.finite.squares}
		want := 1 + 5*8
		for _, sum := range sums {
			want += 8 + 4*len(sum.words) + 8
		}
		if len(b) != want || b[0] != 'f' {
			return bad("form")
		}
		b = b[1:]
		v := words(5)
		if int64(v[0]) < 0 || int64(v[1]) < 0 {
			return bad("count")
		}
		t.count, t.nans = int64(v[0]), int64(v[1])
		t.min, t.max, t.infinite = math.Float64frombits(v[2]), math.Float64frombits(v[3]), math.Float64frombits(v[4])
		for _, sum := range sums {
			sign := int64(words(1)[0])
			n := 4*len(sum.words) + 8
			whole := new(big.Int).SetBytes(b[:n])
			b = b[n:]
			if sign < 0 {
				whole.Neg(whole)
			}
			if whole.BitLen() > 32*len(sum.words) {
				return bad("sum")
			}
			sum.set(whole)
		}
		return nil, &t, nil
	}
	return nil, nil, fmt.Errorf("%w: %v has no sum", ErrType, s.DType)
}

// wide is an integer of 192 bits in two's complement. The sum of 2^63 squares of 64-bit numbers
// fits.
type wide [3]uint64

func (w *wide) add(x wide) {
	var c uint64
	for i := range w {
		w[i], c = bits.Add64(w[i], x[i], c)
	}
}

// times returns w × n, which must fit.
func (w wide) times(n uint64) (out wide) {
	var over uint64
	for i := range w {
		high, low := bits.Mul64(w[i], n)
		var c uint64
		out[i], c = bits.Add64(low, over, 0)
		over = high + c
	}
	return out
}

func (w wide) big() *big.Int {
	n := new(big.Int)
	for i := len(w) - 1; i >= 0; i-- {
		n.Lsh(n, 64).Or(n, new(big.Int).SetUint64(w[i]))
	}
	if w[2]>>63 != 0 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), 192))
	}
	return n
}

// intTotals are exact totals of integers.
type intTotals struct {
	unsigned     bool
	count        int64
	missing      int64
	min, max     int64 // the bits of a uint64, if unsigned
	sum, squares wide
}

func newIntTotals(unsigned bool) intTotals {
	t := intTotals{unsigned: unsigned, min: math.MaxInt64, max: math.MinInt64}
	if unsigned {
		t.min, t.max = -1, 0 // the largest and the smallest uint64
	}
	return t
}

func (t *intTotals) less(a, b int64) bool {
	if t.unsigned {
		return uint64(a) < uint64(b)
	}
	return a < b
}

func (t *intTotals) add(d DType, b []byte) {
	t.count += int64(len(b) / d.Size)
	for ; len(b) > 0; b = b[d.Size:] {
		var v int64
		switch d.Kind {
		case Bool:
			if b[0] != 0 {
				v = 1
			}
		case Int:
			v = loadInt(b[:d.Size])
		default:
			v = int64(loadUint(b[:d.Size]))
		}
		if t.less(v, t.min) {
			t.min = v
		}
		if t.less(t.max, v) {
			t.max = v
		}
		size := uint64(v)
		high := uint64(0)
		if !t.unsigned && v < 0 {
			high, size = math.MaxUint64, -size
		}
		t.sum.add(wide{uint64(v), high, high})
		hi, lo := bits.Mul64(size, size)
		t.squares.add(wide{lo, hi, 0})
	}
}

// addMany adds the element b n times.
func (t *intTotals) addMany(d DType, b []byte, n int64) {
	one := newIntTotals(t.unsigned)
	one.add(d, b)
	one.count, one.sum, one.squares = n, one.sum.times(uint64(n)), one.squares.times(uint64(n))
	t.join(&one)
}

func (t *intTotals) join(o *intTotals) {
	t.missing += o.missing
	if o.count == 0 {
		return
	}
	t.count += o.count
	if t.less(o.min, t.min) {
		t.min = o.min
	}
	if t.less(t.max, o.max) {
		t.max = o.max
	}
	t.sum.add(o.sum)
	t.squares.add(o.squares)
}

func (t *intTotals) summary(d DType) Summary {
	s := Summary{totals: t.encode(), DType: d, Count: t.count, NaNs: t.missing, ExactSum: t.sum.big(), Min: math.NaN(), Max: math.NaN(), Mean: math.NaN(), Std: math.NaN()}
	s.Sum, _ = new(big.Float).SetInt(s.ExactSum).Float64()
	if t.count == 0 {
		return s
	}
	number := func(v int64) *big.Int {
		if t.unsigned {
			return new(big.Int).SetUint64(uint64(v))
		}
		return big.NewInt(v)
	}
	s.MinInt, s.MaxInt = number(t.min), number(t.max)
	s.Min, _ = new(big.Float).SetInt(s.MinInt).Float64()
	s.Max, _ = new(big.Float).SetInt(s.MaxInt).Float64()
	n := big.NewInt(t.count)
	s.Mean, _ = new(big.Rat).SetFrac(s.ExactSum, n).Float64()
	// The variance is (n Σx² - (Σx)²) / n², exact until it is rounded.
	v := new(big.Int).Mul(n, t.squares.big())
	v.Sub(v, new(big.Int).Mul(s.ExactSum, s.ExactSum))
	variance, _ := new(big.Rat).SetFrac(v, new(big.Int).Mul(n, n)).Float64()
	s.Std = math.Sqrt(variance)
	return s
}

// floatTotals are exact totals of floats.
type floatTotals struct {
	count, nans int64
	min, max    float64
	infinite    float64 // the sum of the infinite elements
	finite      moments // moments of the finite elements
}

func newFloatTotals() floatTotals {
	return floatTotals{min: math.NaN(), max: math.NaN(), finite: newMoments()}
}

func (t *floatTotals) add(d DType, b []byte) {
	for ; len(b) > 0; b = b[d.Size:] {
		x := loadFloat(d, b[:d.Size])
		if math.IsNaN(x) {
			t.nans++
			continue
		}
		t.count++
		t.bounds(x, x)
		if math.IsInf(x, 0) {
			t.infinite += x
			continue
		}
		t.finite.add(x)
	}
}

// addMany adds the element b n times.
func (t *floatTotals) addMany(d DType, b []byte, n int64) {
	x := loadFloat(d, b)
	if math.IsNaN(x) {
		t.nans += n
		return
	}
	t.count += n
	t.bounds(x, x)
	if math.IsInf(x, 0) {
		t.infinite += x
		return
	}
	t.finite.addMany(x, uint64(n))
}

// bounds extends min and max. NaN means that they are not set yet.
func (t *floatTotals) bounds(low, high float64) {
	if !(t.min <= low) {
		t.min = low
	}
	if !(t.max >= high) {
		t.max = high
	}
}

func (t *floatTotals) join(o *floatTotals) {
	t.nans += o.nans
	if o.count == 0 {
		return
	}
	t.bounds(o.min, o.max)
	t.infinite += o.infinite
	t.finite.join(&o.finite)
	t.count += o.count
}

func (t *floatTotals) summary(d DType) Summary {
	s := Summary{totals: t.encode(), DType: d, Count: t.count, NaNs: t.nans, Min: t.min, Max: t.max, Mean: math.NaN(), Std: math.NaN()}
	switch {
	case t.count == 0:
	case t.infinite != 0: // NaN if both infinities occur
		s.Sum, s.Mean = t.infinite, t.infinite
	default:
		s.Sum, s.Mean, s.Std = t.finite.summary(t.count)
	}
	return s
}

// Histogram counts the elements of an array in bins of equal width from low to high. A bin includes
// its lower edge, and the last bin also its upper edge. Elements below and above the bins, and NaN,
// are counted separately.
type Histogram struct {
	Low, High          float64
	Bins               []int64
	Below, Above, NaNs int64
}

// Edge returns the lower edge of bin i. For i == len(Bins) it is the upper edge of the last bin.
func (h *Histogram) Edge(i int) float64 {
	if i == len(h.Bins) {
		return h.High
	}
	return h.Low + (h.High-h.Low)*(float64(i)/float64(len(h.Bins)))
}

// CountBins counts the elements of a in bins from low to high. Integers are compared with the edges
// exactly, also beyond 2^53.
//
// It returns ErrParam unless there are 1 to 2^24 bins and the bounds are finite and ascending,
// ErrType for elements that Summarize does not support, and the errors of Each.
func CountBins(ctx context.Context, a *Array, low, high float64, bins int, o *WorkOptions) (Histogram, error) {
	d := a.DType()
	if d.Kind == Enum {
		d = *d.Base
	}
	fail := func(err error) (Histogram, error) { return Histogram{}, a.wrap("count", err) }
	if bins < 1 || bins > 1<<24 || !(low < high) || math.IsInf(high-low, 0) {
		return fail(fmt.Errorf("%w: %d bins from %v to %v", ErrParam, bins, low, high))
	}
	var add func(h *Histogram, b []byte, n int64)
	switch d.Kind {
	case Bool, Uint:
		add = func(h *Histogram, b []byte, n int64) { h.countUint(loadUint(b), n) }
	case Int:
		add = func(h *Histogram, b []byte, n int64) { h.countInt(loadInt(b), n) }
	case Float, BFloat:
		add = func(h *Histogram, b []byte, n int64) { h.count(loadFloat(d, b), n) }
	default:
		return fail(fmt.Errorf("%w: %v has no bins", ErrType, a.DType()))
	}
	h := Histogram{Low: low, High: high, Bins: make([]int64, bins)}
	var mu sync.Mutex
	err := eachOrMany(ctx, a, o, func(ctx context.Context, r Region, b []byte) error {
		own := Histogram{Low: low, High: high, Bins: make([]int64, bins)}
		kept, err := a.present(ctx, r, b)
		if err != nil {
			return err
		}
		own.NaNs = int64((len(b) - len(kept)) / d.Size)
		for b = kept; len(b) > 0; b = b[d.Size:] {
			add(&own, b[:d.Size], 1)
		}
		mu.Lock()
		defer mu.Unlock()
		h.Below, h.Above, h.NaNs = h.Below+own.Below, h.Above+own.Above, h.NaNs+own.NaNs
		for i, n := range own.Bins {
			h.Bins[i] += n
		}
		return nil
	}, func(b []byte, n int64) {
		mu.Lock()
		defer mu.Unlock()
		if len(a.dropMissing(b)) == 0 {
			h.NaNs += n
			return
		}
		add(&h, b, n)
	})
	return h, err
}

// count counts x n times.
func (h *Histogram) count(x float64, n int64) {
	if math.IsNaN(x) {
		h.NaNs += n
		return
	}
	h.place(x, n, func(edge float64) int { return cmp.Compare(x, edge) })
}

// countInt counts x n times.
func (h *Histogram) countInt(x, n int64) {
	if x >= -exactFloat && x <= exactFloat {
		h.count(float64(x), n)
		return
	}
	h.place(float64(x), n, func(edge float64) int {
		switch {
		case edge >= 1<<63:
			return -1
		case edge < -1<<63:
			return 1
		}
		whole := math.Floor(edge)
		return cmp.Or(cmp.Compare(x, int64(whole)), cmp.Compare(whole, edge))
	})
}

// countUint counts x n times.
func (h *Histogram) countUint(x uint64, n int64) {
	if x <= exactFloat {
		h.count(float64(x), n)
		return
	}
	h.place(float64(x), n, func(edge float64) int {
		switch {
		case edge >= 1<<64:
			return -1
		case edge < 0:
			return 1
		}
		whole := math.Floor(edge)
		return cmp.Or(cmp.Compare(x, uint64(whole)), cmp.Compare(whole, edge))
	})
}

// exactFloat is the largest integer up to which every integer is a float64.
const exactFloat = 1 << 53

// place counts an element near x n times. compare compares it with a number.
func (h *Histogram) place(x float64, n int64, compare func(edge float64) int) {
	switch {
	case compare(h.Low) < 0:
		h.Below += n
	case compare(h.High) > 0:
		h.Above += n
	default:
		i := min(int((x-h.Low)/(h.High-h.Low)*float64(len(h.Bins))), len(h.Bins)-1)
		// Correct the rounding error, so that the edges decide.
		for i > 0 && compare(h.Edge(i)) < 0 {
			i--
		}
		for i < len(h.Bins)-1 && compare(h.Edge(i+1)) >= 0 {
			i++
		}
		h.Bins[i] += n
	}
}
