// Arrays of the references: one array of a file, or the arrays of several files joined along a
// dimension.

package kerchunk

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/elements/jsonform"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
)

// array is an array of the references.
type array struct {
	path    string
	members []*member
	axis    int // along which the members are joined; -1: there is one member
	full    bool
	embed   bool

	shape, chunks []int64 // with the dimensions of a sub-array
}

// zarray is the metadata of an array in Zarr version 2.
type zarray struct {
	Format     int     `json:"zarr_format"`
	Shape      []int64 `json:"shape"`
	Chunks     []int64 `json:"chunks"`
	DType      any     `json:"dtype"`
	Fill       any     `json:"fill_value"`
	Order      string  `json:"order"`
	Filters    []codec `json:"filters"`
	Compressor any     `json:"compressor"`
}

// Sizes of pieces.
const (
	pieceBytes = 4 << 20  // of a contiguous array or of embedded elements
	leastPiece = 64 << 10 // of a contiguous array whose length has few divisors
	maxEmbed   = 64 << 20 // of the elements of an array that are embedded
)

// lay determines the shape and the chunks of an array.
func (a *array) lay() error {
	m := a.members[0]
	a.full = true
	a.shape = m.whole()
	for i, x := range a.members {
		a.full = a.full && x.full
		if a.axis >= 0 && i > 0 {
			a.shape[a.axis] += x.shape[a.axis]
		}
	}
	if err := grid.Check(a.shape, max(m.dtype.Size, 1)); err != nil {
		return err
	}
	switch {
	case a.embed:
		a.full = true
		return a.layEmbedded(m.itemSize())
	case m.layout == h5.Chunked:
		a.chunks = append(slices.Clone(m.chunk), m.inner()...)
	default:
		a.chunks = a.divide(m.itemSize())
	}
	for i := range a.chunks {
		a.chunks[i] = max(a.chunks[i], 1)
	}
	return nil
}

// layEmbedded divides embedded elements along the first dimension.
func (a *array) layEmbedded(size int64) error {
	total := int64(0)
	for _, m := range a.members {
		if total += m.bytes(); total > maxEmbed || total < 0 {
			return fmt.Errorf("%w: its elements would be embedded, and have more than %d MiB", ErrNotZarr, maxEmbed>>20)
		}
	}
	a.chunks = make([]int64, len(a.shape))
	row := size // bytes of one index of the first dimension
	for i, n := range a.shape {
		a.chunks[i] = max(n, 1)
		if i > 0 && !slices.Contains(a.shape, 0) {
			row *= a.chunks[i]
		}
	}
	if len(a.chunks) > 0 {
		a.chunks[0] = min(a.chunks[0], max(pieceBytes/row, 1))
	}
	return nil
}

// divide divides contiguous elements into pieces of a few MiB along the first dimensions.
func (a *array) divide(size int64) []int64 {
	out := make([]int64, len(a.shape))
	for i, n := range a.shape {
		out[i] = max(n, 1)
	}
	if slices.Contains(a.shape, 0) {
		return out
	}
	row, _ := grid.Product(a.shape) // grid.Check accepted the shape
	row *= size                     // bytes of one index of the dimension above
	for i, n := range a.shape {
		row /= out[i]
		lengths := []int64{n}
		if i == a.axis {
			lengths = lengths[:0]
			for _, m := range a.members {
				lengths = append(lengths, m.shape[i])
			}
		}
		if i >= a.axis && row <= pieceBytes {
			out[i] = a.cut(out, i, row, lengths)
			break
		}
		out[i] = 1
	}
	return out
}

// cut returns the length of pieces along dimension i. Each length is a multiple of it, unless the
// last piece of the last length may contain other bytes of the file after the array.
func (a *array) cut(chunks []int64, i int, row int64, lengths []int64) int64 {
	common := int64(0)
	for _, n := range lengths {
		common = grid.GCD(common, n)
	}
	if common == 0 {
		return 1
	}
	if len(lengths) == 1 && common*row <= 2*pieceBytes {
		return common
	}
	want := max(pieceBytes/row, 1)
	for d := range want {
		for _, n := range []int64{want - d, want + d} {
			if n >= want/4 && n <= 2*want && n >= 1 && common%n == 0 {
				return n
			}
		}
	}
	if len(lengths) == 1 {
		try := slices.Clone(chunks)
		try[i] = want
		if a.room(try, row*want) {
			return want
		}
	}
	n := min(want, common)
	for common%n != 0 {
		n--
	}
	if len(lengths) == 1 && n*row < leastPiece {
		return common
	}
	return n
}

// room reports whether the last piece of each member ends in its file.
func (a *array) room(chunks []int64, piece int64) bool {
	for _, m := range a.members {
		if m.address == h5.NoAddress {
			continue
		}
		last := uint64(0)
		for i, n := range m.whole() {
			last = last*uint64(n) + uint64((n-1)/chunks[i]*chunks[i])
		}
		if end := m.address + last*uint64(m.itemSize()) + uint64(piece); end > uint64(m.size) || end < m.address {
			return false
		}
	}
	return true
}

// pieces writes the locations of the pieces of a contiguous dataset.
func (w *writer) pieces(s *Source, a *array, m *member, first int64) error {
	shape := m.whole()
	elements, _ := grid.Product(shape) // grid.Check accepted the shape
	if m.address == h5.NoAddress || elements == 0 {
		return nil
	}
	size := uint64(m.itemSize())
	n, _ := grid.Product(a.chunks)
	number := make([]uint64, len(shape))
	for box := range grid.Of(shape, a.chunks).All() {
		at := uint64(0)
		for i, start := range box.Start {
			at = at*uint64(shape[i]) + uint64(start)
			number[i] = uint64(start / a.chunks[i])
		}
		if a.axis >= 0 {
			number[a.axis] += uint64(first)
		}
		w.stats.Chunks++
		if err := w.out.chunk(number, s.URL, m.address+at*size, uint64(n)*size); err != nil {
			return err
		}
	}
	return nil
}

// documents returns .zarray and .zattrs.
func (a *array) documents() (out [2][]byte, err error) {
	m := a.members[0]
	z := &zarray{Format: 2, Shape: a.shape, Chunks: a.chunks, Order: "C", Filters: m.codecs}
	d := m.dtype
	if a.embed {
		d, z.Filters = plainType(d), nil
	}
	if m.text() {
		z.Filters = []codec{{"id": "vlen-utf8"}}
	}
	if z.DType, err = zarrType(d); err != nil {
		return out, err
	}
	attrs := zattrs(m.attrs)
	attrs["_ARRAY_DIMENSIONS"] = m.dims
	missing, known := missingValue(m)
	switch {
	case !a.full && d.Kind == ndarray.SubArray:
		z.Fill, err = uniformFill(&d, m.fill)
	case !a.full:
		z.Fill = fillValue(&d, m.fill)
	case known:
		z.Fill = fillValue(&d, missing)
	}
	if err != nil {
		return out, &Error{m.name, m.path, err}
	}
	if known {
		delete(attrs, fillAttr)
		if raw := xarrayFill(&d, missing); raw != nil {
			attrs[fillAttr] = raw
		}
	}
	if out[0], err = json.Marshal(z); err == nil {
		out[1], err = appendAttributes(nil, attrs)
	}
	return out, err
}

const fillAttr = "_FillValue"

// missingValue returns the value of the attribute _FillValue, if it has the type of the elements.
func missingValue(m *member) ([]byte, bool) {
	v, ok := m.attrs.Get(fillAttr)
	n, whole := grid.Product(v.Shape)
	if !ok || v.Null || !whole || n != 1 || v.Data == nil || !v.DType.NumPy().EqualValues(plainType(m.dtype)) {
		return nil, false
	}
	return v.Data, true
}

// fillValue returns an element in the form of "fill_value". It has the native byte order.
func fillValue(d *ndarray.DType, fill []byte) any {
	b := make([]byte, d.Size)
	copy(b, fill)
	switch d.Kind {
	case ndarray.Bytes, ndarray.Void, ndarray.Struct:
		return base64.StdEncoding.EncodeToString(b)
	case ndarray.Enum:
		return fillValue(d.Base, b)
	case ndarray.DateTime, ndarray.TimeDelta:
		return int64(binary.NativeEndian.Uint64(b))
	case ndarray.Int, ndarray.Uint: // Python has no limit
		return json.RawMessage(jsonform.Literal.Append(nil, *d, b))
	}
	return json.RawMessage(jsonform.Document.Append(nil, *d, b))
}

// uniformFill returns the fill value of a sub-array whose elements are equal.
func uniformFill(d *ndarray.DType, fill []byte) (any, error) {
	b := make([]byte, d.Size)
	copy(b, fill)
	size := d.Base.Size
	for i := size; i < len(b); i++ {
		if b[i] != b[i-size] {
			return nil, fmt.Errorf("%w: a fill value of several numbers", ErrNotZarr)
		}
	}
	return fillValue(d.Base, b[:size]), nil
}

// xarrayFill returns _FillValue as xarray writes it to attributes of Zarr version 3, which
// VirtualiZarr passes to xarray: floats in base64. In version 2 xarray uses "fill_value" instead.
// It returns nil for types for which xarray has no form.
func xarrayFill(d *ndarray.DType, b []byte) any {
	switch d.Kind {
	case ndarray.Int, ndarray.Uint:
		return json.RawMessage(jsonform.Literal.Append(nil, *d, b))
	case ndarray.Float:
		var x float64
		switch d.Size {
		case 4:
			x = float64(math.Float32frombits(binary.NativeEndian.Uint32(b)))
		case 8:
			x = math.Float64frombits(binary.NativeEndian.Uint64(b))
		default:
			return nil
		}
		return base64.StdEncoding.EncodeToString(binary.LittleEndian.AppendUint64(nil, math.Float64bits(x)))
	}
	return nil
}

// plainType returns the type of embedded elements: that of the bytes in memory, without gaps.
func plainType(d ndarray.DType) ndarray.DType {
	d = d.NumPy().Native()
	if d.Kind != ndarray.Struct {
		return d
	}
	fields := slices.Clone(d.Fields)
	for i := range fields {
		fields[i].Type = plainType(fields[i].Type)
	}
	return ndarray.StructOf(false, fields...)
}
