// Arrays of one file, and their form in Zarr.

package kerchunk

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/filter"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/internal/hdf5/dimscale"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5prefetch"
	"github.com/hyperslab/hyperslab/ndarray"
)

// member is an array of one file.
type member struct {
	file       int
	name, path string

	shape, chunk []int64  // chunk is nil unless the layout is Chunked
	stored       []int64  // shape in the file
	scales       []string // paths of the scales of dimensions of unlimited length, "" for other ones
	dtype        ndarray.DType
	fill         []byte // one element
	dims         []string
	attrs        ndarray.Attrs
	codecs       []codec
	embed        bool // the elements are in the references
	full         bool // all chunks are stored
	layout       h5.LayoutKind
	address      uint64 // Contiguous: of the elements, or h5.NoAddress
	object       h5file.Addr
	size         int64 // of the file
}

// unlimited returns the paths of the scales of the dimensions of unlimited length. The array itself
// is the scale of its first dimension if it is one.
func unlimited(d *h5.Dataset, object string, m *ndarray.Meta, attrs ndarray.Attrs) ([]string, error) {
	scales, err := dimscale.First(d, len(m.Shape))
	if err != nil {
		return nil, err
	}
	if scales == nil {
		scales = make([]string, len(m.Shape))
	}
	if scales[0] == "" && dimscale.IsScale(attrs.List) {
		scales[0] = object
	}
	for i, n := range m.MaxShape {
		if n != ndarray.Unlimited {
			scales[i] = ""
		}
	}
	return scales, nil
}

// extend gives the arrays with one scale of unlimited length the same length, as netCDF does:
// elements that a shorter array does not have are its fill value.
func extend(members []*member) {
	lengths := make(map[string]int64)
	for _, m := range members {
		for i, scale := range m.scales {
			lengths[scale] = max(lengths[scale], m.shape[i])
		}
	}
	for _, m := range members {
		for i, scale := range m.scales {
			if n := lengths[scale]; scale != "" && m.shape[i] < n {
				m.shape[i], m.full = n, false
			}
		}
	}
}

// codec is the configuration of a codec of numcodecs.
type codec map[string]any

// member examines an array. It returns nil for an array that netCDF created for a dimension without
// a variable, and an error that wraps ErrNotZarr if Zarr cannot represent the array.
func (s *Source) member(ctx context.Context, object string) (m *member, err error) {
	arr, err := s.Arrays(ctx, object)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, arr.Close()) }()
	attrs, err := arr.Attrs(ctx)
	if err != nil || dimscale.IsPlaceholder(attrs.List) {
		return nil, err
	}
	meta := arr.Meta()
	d, err := s.File.Root().OpenDataset(object)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	info, err := d.Info()
	if err != nil {
		return nil, err
	}
	switch {
	case meta.Null:
		return nil, fmt.Errorf("%w: a null dataspace", ErrNotZarr)
	case info.Layout != h5.Contiguous && info.Layout != h5.Compact && info.Layout != h5.Chunked, len(info.External) > 0:
		return nil, fmt.Errorf("%w: elements in other files", ErrNotZarr)
	}
	m = &member{
		path: object, shape: append([]int64{}, meta.Shape...), stored: append([]int64{}, meta.Shape...), dtype: meta.DType, fill: meta.Fill, attrs: attrs,
		layout: info.Layout, address: info.Address, size: s.Size,
	}
	m.dims = dimensions(object, &meta, attrs)
	if m.embed, err = embedded(meta.DType); err != nil {
		return nil, err
	}
	m.embed = m.embed || info.Layout == h5.Compact
	m.full = m.embed || info.Layout == h5.Contiguous && info.Address != h5.NoAddress
	if m.embed || info.Layout != h5.Chunked {
		return m, nil
	}
	m.chunk = meta.ChunkShape
	if slices.Contains(meta.MaxShape, ndarray.Unlimited) && info.FillTime != h5.FillNever {
		if m.scales, err = unlimited(d, object, &meta, attrs); err != nil {
			return nil, err
		}
	}
	return m, s.filters(ctx, m, d, &info)
}

// filters finds the codecs of a chunked dataset. It reads its chunk index.
func (s *Source) filters(ctx context.Context, m *member, d *h5.Dataset, info *h5.DatasetInfo) error {
	if info.PlainEdges && len(info.Filters) > 0 {
		return fmt.Errorf("%w: chunks at the edges without filters", ErrNotZarr)
	}
	stat, err := d.Stat()
	if err != nil {
		return err
	}
	m.object = h5file.Addr(stat.Address)
	h5prefetch.Index(d)
	o, err := s.plain.Object(m.object)
	if err != nil {
		return err
	}
	stored, mask := int64(0), uint32(0)
	for c, err := range o.Chunks() {
		switch {
		case err != nil:
			return err
		case c.Unsure != nil:
			return c.Unsure
		case ctx.Err() != nil:
			return ctx.Err()
		case !m.inside(c.Offset):
			continue
		case stored > 0 && c.Mask != mask:
			return fmt.Errorf("%w: chunk %d has another filter mask than the first: got %#x, want %#x", ErrNotZarr, c.Offset, c.Mask, mask)
		}
		stored, mask = stored+1, c.Mask
	}
	g, err := grid.New(m.shape, m.chunk)
	if err != nil {
		return err
	}
	m.full = stored >= g.NumChunks()
	for i, f := range info.Filters {
		if mask>>i&1 != 0 {
			continue
		}
		c, err := codecOf(&f, m.dtype.Size)
		if err != nil {
			return err
		}
		m.codecs = append(m.codecs, c)
	}
	return nil
}

// codecOf returns the codec of numcodecs that decodes a filter.
func codecOf(f *h5.Filter, size int) (codec, error) {
	value := func(i int) int64 {
		if i < len(f.Values) {
			return int64(f.Values[i])
		}
		return 0
	}
	switch f.ID {
	case h5.FilterShuffle:
		return codec{"id": "shuffle", "elementsize": size}, nil
	case h5.FilterDeflate:
		return codec{"id": "zlib", "level": value(0)}, nil
	case h5.FilterFletcher32:
		return codec{"id": "fletcher32"}, nil
	case filter.IDBZip2:
		return codec{"id": "bz2", "level": min(max(value(0), 1), 9)}, nil
	case filter.IDZstd:
		return codec{"id": "zstd", "level": min(value(0), math.MaxInt8)}, nil
	case filter.IDBlosc:
		return codec{"id": "blosc", "cname": "lz4", "clevel": min(value(4), 9), "shuffle": min(value(5), 2), "blocksize": 0}, nil
	}
	return nil, &NoCodec{filterName(f)}
}

// NoCodec is the error of a filter that numcodecs cannot decode. It matches ErrNotZarr.
type NoCodec struct {
	Filter string // name and number
}

func (e *NoCodec) Error() string {
	return fmt.Sprintf("%v: no codec for the filter %s", ErrNotZarr, e.Filter)
}

// Unwrap returns ErrNotZarr.
func (e *NoCodec) Unwrap() error { return ErrNotZarr }

// filterName returns the name of a filter with its number.
func filterName(f *h5.Filter) string {
	name := h5file.FilterID(f.ID).String()
	if number := fmt.Sprintf("filter %d", f.ID); name != number {
		return fmt.Sprintf("%s (%d)", name, f.ID)
	}
	if f.Name != "" && utf8.ValidString(f.Name) {
		return fmt.Sprintf("%q (%d)", f.Name, f.ID)
	}
	return fmt.Sprint(f.ID)
}

// dimensions returns the names of the dimensions for xarray. A dimension without a name gets one of
// the array's, because xarray compares the lengths of dimensions of one name.
func dimensions(object string, m *ndarray.Meta, attrs ndarray.Attrs) []string {
	names := make([]string, len(m.Shape), len(m.Shape)+len(m.DType.Dims))
	for i := range names {
		if m.AxisNames != nil {
			names[i] = strings.TrimPrefix(path.Base("/"+m.AxisNames[i]), "/")
		}
	}
	if m.DType.Kind == ndarray.SubArray {
		names = append(names, make([]string, len(m.DType.Dims))...)
	}
	for i := range names {
		switch {
		case names[i] != "":
		case len(names) == 1 && dimscale.IsScale(attrs.List):
			names[i] = path.Base(object)
		default:
			names[i] = fmt.Sprintf("%s_dim_%d", path.Base(object), i)
		}
	}
	return names
}

// embedded reports whether elements have no bytes in the file that Zarr could read. The error wraps
// ErrNotZarr.
func embedded(d ndarray.DType) (bool, error) {
	switch d.Kind {
	case ndarray.String:
		return true, nil
	case ndarray.Reference:
		if d.Tag != "object" {
			return false, fmt.Errorf("%w: references to regions", ErrNotZarr)
		}
		return true, nil
	case ndarray.SubArray:
		embed, err := embedded(*d.Base)
		switch d.Base.Kind {
		case ndarray.String, ndarray.Reference, ndarray.SubArray:
			return false, notZarr(d)
		case ndarray.Struct:
			if embed { // encode does not remove the gaps
				return false, notZarr(d)
			}
		}
		return embed, err
	case ndarray.Int, ndarray.Uint, ndarray.Float:
		_, err := zarrType(d)
		return d.Tag != "", err
	case ndarray.Struct:
		_, err := zarrType(d)
		return err == nil && !packed(d), err
	}
	_, err := zarrType(d)
	return false, err
}

// packed reports whether the fields of structures follow each other without gaps, and have no tags.
func packed(d ndarray.DType) bool {
	if d.Kind != ndarray.Struct {
		return d.Tag == ""
	}
	at := 0
	for _, f := range d.Fields {
		if f.Offset != at || !packed(f.Type) {
			return false
		}
		at += f.Type.Size
	}
	return at == d.Size
}

// zarrType returns the "dtype" of .zarray: a string, or a list of the fields of a structure. The
// error wraps ErrNotZarr.
func zarrType(d ndarray.DType) (any, error) {
	ok := true
	switch d.Kind {
	case ndarray.String, ndarray.Reference:
		return "|O", nil
	case ndarray.SubArray, ndarray.Enum:
		return zarrType(*d.Base)
	case ndarray.Struct:
		return structType(d)
	case ndarray.Bool, ndarray.Int, ndarray.Uint, ndarray.Bytes, ndarray.Unicode, ndarray.DateTime, ndarray.TimeDelta:
	case ndarray.Float:
		ok = d.Size <= 8
	case ndarray.Complex:
		ok = d.Size <= 16
	case ndarray.Void:
		ok = !strings.HasPrefix(d.Tag, "HDF5:") // numbers of another layout
	default:
		ok = false
	}
	if !ok {
		return nil, notZarr(d)
	}
	return d.NumPy().String(), nil
}

// notZarr returns the error for elements that Zarr cannot represent.
func notZarr(d ndarray.DType) error { return fmt.Errorf("%w: elements of %v", ErrNotZarr, d) }

// structType returns the list of the names and types of fields.
func structType(d ndarray.DType) (any, error) {
	if d.Size == 0 {
		return nil, fmt.Errorf("%w: structures with elements of variable size", ErrNotZarr)
	}
	fields := make([][2]any, len(d.Fields))
	for i, f := range d.Fields {
		if f.Type.Kind == ndarray.SubArray || f.Type.Kind == ndarray.Struct || !utf8.ValidString(f.Name) {
			return nil, fmt.Errorf("%w: structures with a field %q of %v", ErrNotZarr, f.Name, f.Type)
		}
		t, err := zarrType(f.Type)
		if err != nil {
			return nil, err
		}
		fields[i] = [2]any{f.Name, t}
	}
	return fields, nil
}

// text reports whether the elements are strings of variable length.
func (m *member) text() bool {
	return m.dtype.Kind == ndarray.String || m.dtype.Kind == ndarray.Reference
}

// inner returns the dimensions of a sub-array, which follow those of the array in Zarr.
func (m *member) inner() []int64 {
	if m.dtype.Kind == ndarray.SubArray {
		return m.dtype.Dims
	}
	return nil
}

// whole returns the shape of the array in Zarr.
func (m *member) whole() []int64 { return append(slices.Clone(m.shape), m.inner()...) }

// itemSize returns the number of bytes of an element in Zarr, for example of a sub-array's element.
// It is 1 for elements of variable size.
func (m *member) itemSize() int64 {
	d := &m.dtype
	if d.Kind == ndarray.SubArray {
		d = d.Base
	}
	return int64(max(d.Size, 1))
}

// bytes returns the number of bytes of n elements, for the limits.
func (m *member) bytes() int64 {
	n, ok := grid.Product(m.shape)
	size := int64(max(m.dtype.Size, 8))
	if !ok || n > math.MaxInt64/size {
		return math.MaxInt64
	}
	return n * size
}

// same reports whether two arrays have the same type, codecs, dimensions and chunks, so that their
// chunks are chunks of one array.
func (m *member) same(o *member) bool {
	return m.dtype.Equal(o.dtype) && slices.Equal(m.dims, o.dims) && m.layout == o.layout && m.embed == o.embed &&
		slices.Equal(m.chunk, o.chunk) && fmt.Sprint(m.codecs) == fmt.Sprint(o.codecs)
}
