// Statistics of the selected elements of an array.

package serve

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"net/http"
	"sync"

	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/cf"
)

// statsDoc is the document of /stats. A value is null if there is no such element. The values of
// integers are integers, as in h5grove: mean and standard deviation are truncated.
type statsDoc struct {
	StrictPositiveMin json.Marshaler `json:"strict_positive_min"`
	PositiveMin       json.Marshaler `json:"positive_min"`
	Min               json.Marshaler `json:"min"`
	Max               json.Marshaler `json:"max"`
	Mean              json.Marshaler `json:"mean"`
	Std               json.Marshaler `json:"std"`
}

// real is a float64 in JSON, with the digits of a float.
type real float64

// MarshalJSON implements json.Marshaler.
func (r real) MarshalJSON() ([]byte, error) { return appendFloat(nil, float64(r), 8), nil }

// moments are the statistics of finite elements.
type moments struct {
	strict, positive, low, high float64 // infinite without such elements
	count, mean, squares        float64 // squares: sum of squared differences from the mean
}

func newMoments() moments {
	inf := math.Inf(1)
	return moments{strict: inf, positive: inf, low: inf, high: -inf}
}

func (m *moments) add(v float64) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return
	}
	m.low, m.high = min(m.low, v), max(m.high, v)
	if v >= 0 {
		m.positive = min(m.positive, v)
	}
	if v > 0 {
		m.strict = min(m.strict, v)
	}
	m.count++
	d := v - m.mean
	m.mean += d / m.count
	m.squares += d * (v - m.mean)
}

// merge adds the elements of o (Chan, Golub, LeVeque).
func (m *moments) merge(o *moments) {
	if o.count == 0 {
		return
	}
	m.low, m.high = min(m.low, o.low), max(m.high, o.high)
	m.positive, m.strict = min(m.positive, o.positive), min(m.strict, o.strict)
	n := m.count + o.count
	d := o.mean - m.mean
	m.squares += o.squares + d*d*m.count*o.count/n
	m.mean += d * o.count / n
	m.count = n
}

// stats answers a request for statistics. Elements that are not finite, and missing values, do not
// count.
func (v *variable) stats(ctx context.Context, q *request) (r response, err error) {
	arr := v.array
	if q.Unpack {
		var x *cf.Variable
		if x, err = cf.New(ctx, arr, v.tree, v.path); err != nil {
			return r, err
		}
		defer func() { err = errors.Join(err, x.Close()) }()
		if arr, err = x.Values(&cf.ValueOptions{Wide: true}); err != nil {
			return r, err
		}
		defer func() { err = errors.Join(err, arr.Close()) }()
	}
	d := arr.DType()
	switch d.Kind {
	case ndarray.Bool, ndarray.Int, ndarray.Uint, ndarray.Enum, ndarray.Float, ndarray.BFloat:
	default:
		return r, fail(http.StatusUnprocessableEntity, "elements of type %v have no statistics", d)
	}
	var doc statsDoc
	if m := arr.Meta(); !m.Null {
		var p part
		if p, err = parsePart(q.Selection, m.Shape); err != nil {
			return r, err
		}
		if doc, err = partStats(ctx, arr, &p); err != nil {
			return r, err
		}
	}
	return jsonBody(doc, q.Limit)
}

// partStats returns the statistics of a part of an array.
func partStats(ctx context.Context, arr *ndarray.Array, p *part) (doc statsDoc, err error) {
	view, err := ndarray.View(arr, p.selection)
	if err != nil {
		return doc, err
	}
	defer func() { err = errors.Join(err, view.Close()) }()
	if k := arr.DType().Kind; k == ndarray.Float || k == ndarray.BFloat {
		return realStats(ctx, view)
	}
	return integerStats(ctx, view)
}

// realStats returns the statistics of floats.
func realStats(ctx context.Context, view *ndarray.Array) (doc statsDoc, err error) {
	total, err := momentsOf(ctx, view)
	if err != nil || total.count == 0 {
		return doc, err
	}
	value := func(v float64) json.Marshaler {
		if math.IsInf(v, 0) {
			return nil
		}
		return real(v)
	}
	return statsDoc{
		value(total.strict), value(total.positive), value(total.low), value(total.high),
		value(total.mean), value(math.Sqrt(total.squares / total.count)),
	}, nil
}

// integerStats returns the statistics of integers, exactly.
func integerStats(ctx context.Context, view *ndarray.Array) (doc statsDoc, err error) {
	s, err := ndarray.Summarize(ctx, view, nil)
	if err != nil || s.Count == 0 {
		return doc, err
	}
	std, _ := big.NewFloat(s.Std).Int(nil)
	doc = statsDoc{Min: s.MinInt, Max: s.MaxInt, Mean: new(big.Int).Quo(s.ExactSum, big.NewInt(s.Count)), Std: std}
	switch {
	case s.MinInt.Sign() > 0:
		doc.StrictPositiveMin, doc.PositiveMin = s.MinInt, s.MinInt
	case s.MaxInt.Sign() == 0:
		doc.PositiveMin = s.MaxInt
	case s.MaxInt.Sign() > 0:
		least, zero, err := leastPositive(ctx, view)
		if err != nil {
			return statsDoc{}, err
		}
		doc.StrictPositiveMin = new(big.Int).SetUint64(least)
		if doc.PositiveMin = doc.StrictPositiveMin; zero {
			doc.PositiveMin = new(big.Int)
		}
	}
	return doc, nil
}

// leastPositive returns the least integer above 0, and whether there is a 0.
func leastPositive(ctx context.Context, view *ndarray.Array) (least uint64, zero bool, err error) {
	from, to := view.DType().Native(), ndarray.DTypeOf[int64]()
	if from.Kind == ndarray.Enum {
		from = from.Base.Native()
	}
	if from.Kind != ndarray.Int {
		to = ndarray.DTypeOf[uint64]()
	}
	least = math.MaxUint64
	var mu sync.Mutex
	err = ndarray.Each(ctx, view, nil, func(ctx context.Context, r ndarray.Region, b []byte) error {
		b, err := ndarray.DropNulls(ctx, view, r, b)
		if err != nil {
			return err
		}
		raw := make([]byte, len(b)/from.Size*8)
		if err := convert(raw, to, b, from); err != nil {
			return err
		}
		mine, found := uint64(math.MaxUint64), false
		for ; len(raw) > 0; raw = raw[8:] {
			switch v := binary.NativeEndian.Uint64(raw); {
			case v == 0:
				found = true
			case to.Kind == ndarray.Uint || int64(v) > 0:
				mine = min(mine, v)
			}
		}
		mu.Lock()
		defer mu.Unlock()
		least, zero = min(least, mine), zero || found
		return nil
	})
	return least, zero, err
}

// momentsOf returns the statistics of floats.
func momentsOf(ctx context.Context, view *ndarray.Array) (total moments, err error) {
	from, to := view.DType().Native(), ndarray.DTypeOf[float64]()
	total = newMoments()
	var mu sync.Mutex
	merge := func(b []byte, n int64) error {
		mine := newMoments()
		raw := make([]byte, len(b)/from.Size*8)
		if err := convert(raw, to, b, from); err != nil {
			return err
		}
		for ; len(raw) > 0; raw = raw[8:] {
			mine.add(math.Float64frombits(binary.NativeEndian.Uint64(raw)))
		}
		mine.count *= float64(n)
		mu.Lock()
		defer mu.Unlock()
		total.merge(&mine)
		return nil
	}
	var failed error // of a uniform region
	uniform := func(element []byte, n int64) {
		if err := merge(element, n); err != nil {
			mu.Lock()
			defer mu.Unlock()
			failed = errors.Join(failed, err)
		}
	}
	err = ndarray.Each(ctx, view, &ndarray.WorkOptions{Uniform: uniform}, func(ctx context.Context, r ndarray.Region, b []byte) error {
		b, err := ndarray.DropNulls(ctx, view, r, b)
		if err != nil {
			return err
		}
		return merge(b, 1)
	})
	return total, errors.Join(err, failed)
}
