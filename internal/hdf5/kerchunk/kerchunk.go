package kerchunk

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/filter"
	"github.com/hyperslab/hyperslab/internal/elements/jsonform"
	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/internal/hdf5/dimscale"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5prefetch"
	"github.com/hyperslab/hyperslab/ndarray"
)

// zarray is the metadata of an array in Zarr version 2.
type zarray struct {
	Format     int              `json:"zarr_format"`
	Shape      []int64          `json:"shape"`
	Chunks     []int64          `json:"chunks"`
	DType      string           `json:"dtype"`
	Fill       any              `json:"fill_value"`
	Order      string           `json:"order"`
	Filters    []map[string]any `json:"filters"`
	Compressor map[string]any   `json:"compressor"`
}

// ErrNotZarr means that Zarr or its codecs cannot represent an object. It matches
// errors.ErrUnsupported.
var ErrNotZarr = errs.New("unsupported operation in Zarr", errors.ErrUnsupported)

// references writes the references of a file.
type references interface {
	// document adds a JSON document, for example .zarray. It may contain NaN and infinities.
	document(key string, document []byte) error
	// begin begins an array. counts is the number of its chunks in each dimension.
	begin(key string, counts []int64) error
	// chunk adds the location of a chunk of the array. at counts chunks in each dimension.
	chunk(at []uint64, off, n uint64) error
	// content adds the contents of the only chunk of the array.
	content(b []byte) error
	// close writes the rest.
	close() error
}

// Format is the form of references.
type Format string

// Formats of references.
const (
	JSON    Format = "json"    // one file, version 1
	Parquet Format = "parquet" // a directory, of which readers read only some files
)

// Object is a group or an array of the file.
type Object struct {
	Path  string
	Group bool
	Err   error // the array cannot be represented
}

// Source is an open HDF5 file.
type Source struct {
	URL     string      // location in the references
	Objects []Object    // in the order in which they are written
	File    *h5.File    // metadata of the datasets
	Bytes   io.ReaderAt // indexes of the chunks
	Size    int64       // of Bytes
	Arrays  func(ctx context.Context, path string) (*ndarray.Array, error)
	Attrs   func(ctx context.Context, path string) (ndarray.Attrs, error) // of a group
}

// Error is an error about one object.
type Error struct {
	Path string
	Err  error
}

func (e *Error) Error() string { return e.Path + ": " + e.Err.Error() }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// writer writes the references of one file.
type writer struct {
	*Source
	out   references
	plain *h5file.File
}

// Write writes the references of a file to the new output name. It checks all objects first. An
// *Error that wraps ErrNotZarr is for the first object that Zarr cannot represent.
func Write(ctx context.Context, name string, format Format, s *Source) (err error) {
	for _, o := range s.Objects {
		problem := checkName(o.Path)
		if problem == nil && o.Err != nil {
			problem = fmt.Errorf("%w: %w", ErrNotZarr, o.Err)
		}
		if problem != nil {
			return &Error{o.Path, problem}
		}
	}
	r := writer{Source: s}
	switch format {
	case JSON:
		r.out, err = newJSONReferences(name, s.URL)
	case Parquet:
		r.out, err = newParquetReferences(name, s.URL)
	default:
		return fmt.Errorf("kerchunk: format: got %q, want %q or %q", format, JSON, Parquet)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.out.close()) }()
	if r.plain, err = h5file.Open(s.Bytes, s.Size, nil); err != nil {
		return err
	}
	for _, o := range s.Objects {
		if o.Group {
			err = r.group(ctx, o.Path)
		} else {
			err = r.array(ctx, o.Path)
		}
		if err != nil {
			return &Error{o.Path, err}
		}
	}
	return nil
}

// group writes the metadata of a group.
func (r *writer) group(ctx context.Context, object string) error {
	attrs, err := r.Attrs(ctx, object)
	if err != nil {
		return err
	}
	doc, err := appendAttributes(nil, zattrs(attrs))
	if err != nil {
		return err
	}
	at := strings.TrimPrefix(object, "/")
	return errors.Join(r.out.document(path.Join(at, ".zgroup"), []byte(`{"zarr_format":2}`)), r.out.document(path.Join(at, ".zattrs"), doc))
}

// array writes the metadata and the chunks of an array, unless netCDF created it for a dimension
// without a variable.
func (r *writer) array(ctx context.Context, object string) (err error) {
	arr, err := r.Arrays(ctx, object)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, arr.Close()) }()
	attrs, err := arr.Attrs(ctx)
	if err != nil || dimscale.IsPlaceholder(attrs.List) {
		return err
	}
	at := strings.TrimPrefix(object, "/")
	m := arr.Meta()
	d, err := r.File.Root().OpenDataset(object)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	info, err := d.Info()
	if err != nil {
		return err
	}
	full := info.Layout != h5.Chunked && (info.Layout != h5.Contiguous || info.Address != h5.NoAddress)
	grid, err := grid.New(m.Shape, m.ChunkShape)
	if err != nil {
		return err
	}
	if info.Layout == h5.Chunked {
		h5prefetch.Index(d)
		stored, err := d.NumChunks()
		if err != nil {
			return err
		}
		full = stored >= grid.NumChunks()
	}
	z, err := zarrayOf(&m, &info, full)
	if err != nil {
		return err
	}
	if err := r.describe(at, &m, z, attrs); err != nil {
		return err
	}
	if err := r.out.begin(at, grid.Counts); err != nil {
		return err
	}
	switch info.Layout {
	case h5.Contiguous:
		if info.Address == h5.NoAddress || m.NumElems() == 0 {
			return nil
		}
		return r.out.chunk(make([]uint64, len(m.Shape)), info.Address, uint64(m.NumElems())*uint64(m.DType.Size))
	case h5.Compact:
		b := make([]byte, m.NumElems()*int64(m.DType.Size))
		if err := d.ReadRegion(b, info.Datatype, h5.Region{Start: make([]int64, len(m.Shape)), Count: m.Shape}); err != nil {
			return err
		}
		return r.out.content(b)
	}
	return r.chunks(ctx, &m, d)
}

// chunks writes the locations of the chunks of a dataset.
func (r *writer) chunks(ctx context.Context, m *ndarray.Meta, d *h5.Dataset) error {
	stat, err := d.Stat()
	if err != nil {
		return err
	}
	o, err := r.plain.Object(h5file.Addr(stat.Address))
	if err != nil {
		return err
	}
	base := uint64(r.plain.UserBlock())
	number := make([]uint64, len(m.Shape))
	for c, err := range o.Chunks() {
		switch {
		case err != nil:
			return err
		case c.Unsure != nil:
			return c.Unsure
		case c.Mask != 0:
			return fmt.Errorf("%w: chunk %d without some of its filters", ErrNotZarr, c.Offset)
		case ctx.Err() != nil:
			return ctx.Err()
		}
		inside := true
		for i, n := range m.ChunkShape {
			inside = inside && c.Offset[i] < uint64(m.Shape[i])
			number[i] = c.Offset[i] / uint64(n)
		}
		if !inside {
			continue // left after the dataset shrank
		}
		if err := r.out.chunk(number, base+uint64(c.Addr), c.Size); err != nil {
			return err
		}
	}
	return nil
}

// describe writes the metadata of an array.
func (r *writer) describe(at string, m *ndarray.Meta, z *zarray, attrs ndarray.Attrs) error {
	doc := zattrs(attrs)
	names := make([]string, len(m.Shape))
	for i := range names {
		name := ""
		if m.AxisNames != nil {
			name = m.AxisNames[i]
		}
		if name = path.Base("/" + name); name == "/" {
			name = fmt.Sprintf("%s_dim_%d", path.Base(at), i)
			if len(names) == 1 && dimscale.IsScale(attrs.List) {
				name = path.Base(at)
			}
		}
		names[i] = name
	}
	doc["_ARRAY_DIMENSIONS"] = names
	array, err := json.Marshal(z)
	if err != nil {
		return err
	}
	document, err := appendAttributes(nil, doc)
	if err != nil {
		return err
	}
	return errors.Join(r.out.document(at+"/.zarray", array), r.out.document(at+"/.zattrs", document))
}

// zarrayOf returns the metadata of an array. With full, all chunks are stored and there is no fill
// value, because xarray regards elements with the fill value as missing. The error wraps
// ErrNotZarr.
func zarrayOf(m *ndarray.Meta, info *h5.DatasetInfo, full bool) (*zarray, error) {
	z := &zarray{Format: 2, Shape: m.Shape, Chunks: m.ChunkShape, DType: m.DType.NumPy().String(), Order: "C"}
	if z.Shape == nil {
		z.Shape = []int64{}
	}
	if z.Chunks == nil {
		z.Chunks = slices.Clone(z.Shape)
		for i := range z.Chunks {
			z.Chunks[i] = max(z.Chunks[i], 1)
		}
	}
	if z.Chunks == nil {
		z.Chunks = []int64{}
	}
	switch m.DType.Kind {
	case ndarray.Bool, ndarray.Int, ndarray.Uint, ndarray.Float, ndarray.Complex, ndarray.Bytes:
	default:
		return nil, fmt.Errorf("%w: elements of %v", ErrNotZarr, m.DType)
	}
	switch {
	case m.Null:
		return nil, fmt.Errorf("%w: a null dataspace", ErrNotZarr)
	case info.Layout != h5.Contiguous && info.Layout != h5.Compact && info.Layout != h5.Chunked, len(info.External) > 0:
		return nil, fmt.Errorf("%w: elements in other files", ErrNotZarr)
	case info.PlainEdges && len(info.Filters) > 0:
		return nil, fmt.Errorf("%w: chunks at the edges without filters", ErrNotZarr)
	}
	if !full {
		fill := make([]byte, m.DType.Size)
		copy(fill, m.Fill)
		switch m.DType.Kind {
		case ndarray.Bytes:
			z.Fill = base64.StdEncoding.EncodeToString(fill)
		case ndarray.Int, ndarray.Uint: // Python has no limit
			z.Fill = json.RawMessage(jsonform.Literal.Append(nil, m.DType, fill))
		default:
			z.Fill = json.RawMessage(jsonform.Document.Append(nil, m.DType, fill))
		}
	}
	for _, f := range info.Filters {
		value := func(i int) int64 {
			if i < len(f.Values) {
				return int64(f.Values[i])
			}
			return 0
		}
		switch f.ID {
		case h5.FilterShuffle:
			z.Filters = append(z.Filters, map[string]any{"id": "shuffle", "elementsize": m.DType.Size})
		case h5.FilterDeflate:
			z.Filters = append(z.Filters, map[string]any{"id": "zlib", "level": value(0)})
		case h5.FilterFletcher32:
			z.Filters = append(z.Filters, map[string]any{"id": "fletcher32"})
		case filter.IDZstd:
			z.Filters = append(z.Filters, map[string]any{"id": "zstd", "level": min(value(0), math.MaxInt8)})
		case filter.IDBlosc:
			z.Filters = append(z.Filters, map[string]any{"id": "blosc", "cname": "lz4", "clevel": min(value(4), 9), "shuffle": min(value(5), 2), "blocksize": 0})
		default:
			return nil, fmt.Errorf("%w: filter %d", ErrNotZarr, f.ID)
		}
	}
	if last := len(z.Filters) - 1; last >= 0 && slices.Contains([]any{"zlib", "zstd", "blosc"}, z.Filters[last]["id"]) {
		z.Compressor, z.Filters = z.Filters[last], z.Filters[:last]
	}
	if len(z.Filters) == 0 {
		z.Filters = nil
	}
	return z, nil
}
