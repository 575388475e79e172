// Statistics of the selected elements of an array.

package serve

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"math/big"
	"net/http"
	"sync"

	"github.com/hyperslab/hyperslab/ndarray"
)

// statsDoc is the document of /stats. A value is null if there is no such element.
type statsDoc struct {
	StrictPositiveMin *number `json:"strict_positive_min"`
	PositiveMin       *number `json:"positive_min"`
	Min               *number `json:"min"`
	Max               *number `json:"max"`
	Mean              *number `json:"mean"`
	Std               *number `json:"std"`
}

// number is a float64, written as an integer if whole is set.
type number struct {
	value float64
	whole bool
}

// MarshalJSON implements json.Marshaler.
func (n *number) MarshalJSON() ([]byte, error) {
	if n.whole && math.Abs(n.value) < 1<<63 {
		i, _ := big.NewFloat(n.value).Int(nil)
		return i.Append(nil, 10), nil
	}
	return appendFloat(nil, n.value, 8), nil
}

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

// arrayStats answers a request for statistics. Elements that are not finite do not count.
func arrayStats(ctx context.Context, arr *ndarray.Array, q *request) (r response, err error) {
	d := arr.DType()
	switch d.Kind {
	case ndarray.Bool, ndarray.Int, ndarray.Uint, ndarray.Enum, ndarray.Float, ndarray.BFloat:
	default:
		return r, fail(http.StatusUnprocessableEntity, "elements of type %v have no statistics", d)
	}
	total := newMoments()
	if m := arr.Meta(); !m.Null {
		p, err := parsePart(q.Selection, m.Shape)
		if err != nil {
			return r, err
		}
		if total, err = momentsOf(ctx, arr, &p); err != nil {
			return r, err
		}
	}
	whole := d.Kind != ndarray.Float && d.Kind != ndarray.BFloat
	value := func(v float64) *number {
		if math.IsInf(v, 0) || total.count == 0 {
			return nil
		}
		return &number{v, whole}
	}
	return jsonBody(statsDoc{
		value(total.strict), value(total.positive), value(total.low), value(total.high),
		value(total.mean), value(math.Sqrt(total.squares / total.count)),
	}, q.Limit)
}

func momentsOf(ctx context.Context, arr *ndarray.Array, p *part) (total moments, err error) {
	view, err := ndarray.View(arr, p.selection)
	if err != nil {
		return total, err
	}
	defer func() { err = errors.Join(err, view.Close()) }()
	from, to := view.DType().Native(), ndarray.DTypeOf[float64]()
	if from.Kind == ndarray.Enum {
		from = from.Base.Native()
	}
	total = newMoments()
	var mu sync.Mutex
	err = ndarray.Each(ctx, view, nil, func(_ context.Context, _ ndarray.Region, b []byte) error {
		mine := newMoments()
		if from.Kind == ndarray.Bool {
			for _, x := range b {
				mine.add(float64(x))
			}
		} else {
			raw := make([]byte, len(b)/from.Size*8)
			if err := convert(raw, to, b, from); err != nil {
				return err
			}
			for ; len(raw) > 0; raw = raw[8:] {
				mine.add(math.Float64frombits(binary.NativeEndian.Uint64(raw)))
			}
		}
		mu.Lock()
		defer mu.Unlock()
		total.merge(&mine)
		return nil
	})
	return total, err
}
