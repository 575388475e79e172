// Meta, the properties of an array, and Spec, the properties of a new one.

package ndarray

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hyperslab/hyperslab/internal/grid"
)

// Unlimited in a MaxShape means that the dimension may grow without bound.
const Unlimited = -1

// Meta describes an open array.
type Meta struct {
	Format      string       // "mem", "b2nd", "caterva", "frame", "hdf5" or "bcolz"
	Path        string       // file or FILE:/object, for messages; "" in memory
	Shape       []int64      // length of each dimension; empty for a scalar
	Null        bool         // no elements and no shape (H5S_NULL): neither a scalar nor zero-length
	MaxShape    []int64      // maximum lengths, or Unlimited; nil: unspecified, fixed in HDF5
	AxisNames   []string     // one per dimension, "" if it has no name; nil if no dimension has a name, or if Attrs returns why the names are unreadable
	ChunkShape  []int64      // elements of a chunk in each dimension, 0 only where Shape is 0; nil if not chunked
	BlockShape  []int64      // elements of a block inside a chunk, 0 only where ChunkShape is 0; nil if there are no blocks
	DType       DType        // element type as stored
	Fill        []byte       // value of unwritten elements: one element, native order; nil: zero bytes
	Compression *Compression // nil if unknown
	Comment     string       // of an HDF5 object (H5Oset_comment), "" if absent
	ReadOnly    bool         // writes return ErrReadOnly
	Nullable    bool         // elements may be null (Array.ReadNulls): columns of tables of python-blosc2, and values of package cf
}

// Clone returns a copy that shares no memory with m.
func (m Meta) Clone() Meta {
	m.Shape = slices.Clone(m.Shape)
	m.MaxShape = slices.Clone(m.MaxShape)
	m.AxisNames = slices.Clone(m.AxisNames)
	m.ChunkShape = slices.Clone(m.ChunkShape)
	m.BlockShape = slices.Clone(m.BlockShape)
	m.Fill = slices.Clone(m.Fill)
	m.Compression = m.Compression.clone()
	return m
}

// NumElems returns the number of elements: 1 for a scalar, 0 for a null array.
func (m Meta) NumElems() int64 {
	if m.Null {
		return 0
	}
	n, _ := grid.Product(m.Shape)
	return n
}

// Spec returns the specification of an equal array: all fields except attributes, format and path.
// Chunk and block lengths of 0 become 1, because a new array with empty chunks could never grow.
func (m Meta) Spec() Spec {
	m = m.Clone()
	for _, lengths := range [][]int64{m.ChunkShape, m.BlockShape} {
		for i, n := range lengths {
			lengths[i] = max(n, 1)
		}
	}
	return Spec{
		Shape: m.Shape, Null: m.Null, MaxShape: m.MaxShape, AxisNames: m.AxisNames, ChunkShape: m.ChunkShape, BlockShape: m.BlockShape,
		DType: m.DType, Fill: m.Fill, Compression: m.Compression, Comment: m.Comment,
	}
}

// Compression describes the compression of chunks.
type Compression struct {
	Codec   string   // "none", "deflate", "blosclz", "lz4", "lz4hc", "zlib", "zstd", or the backend's own name
	Level   int      // 0 to 9, with the codec's meaning
	Filters []string // before the codec, in order: "shuffle", "bitshuffle", "delta", "fletcher32", …
}

// Clone returns a copy that shares no memory with c; nil stays nil.
func (c *Compression) clone() *Compression {
	if c == nil {
		return nil
	}
	return &Compression{Codec: c.Codec, Level: c.Level, Filters: slices.Clone(c.Filters)}
}

// String returns the filters and the codec with its level, for example "shuffle + zstd 5".
func (c *Compression) String() string {
	if c == nil {
		return "none"
	}
	s := ""
	for _, f := range c.Filters {
		s += f + " + "
	}
	if c.Codec == "none" || c.Codec == "" {
		return s + "none"
	}
	return fmt.Sprintf("%s%s %d", s, c.Codec, c.Level)
}

// Spec describes an array that a backend creates. The backend chooses fields that are nil, as
// documented at its Create.
type Spec struct {
	Shape       []int64      // length of each dimension; empty for a scalar
	Null        bool         // no elements and no shape (H5S_NULL); Shape must be empty
	MaxShape    []int64      // nil: unspecified; fixed in HDF5, unlimited in other formats
	AxisNames   []string     // one per dimension, "" if it has no name; nil if no dimension has a name
	ChunkShape  []int64      // nil: the backend chooses
	BlockShape  []int64      // nil: the backend chooses, if it has blocks
	DType       DType        // element type in storage
	Fill        []byte       // one element, native order; nil: zero bytes
	Compression *Compression // nil: the backend's default
	Comment     string       // without a zero byte; only for HDF5 and mem
	Attrs       []Attr       // in this order
}

// Validate reports all errors of s that do not depend on the backend. Each of them wraps ErrShape,
// ErrType, ErrSize or ErrParam.
func (s *Spec) Validate() error {
	errs := []error{s.DType.Validate(), grid.Check(s.Shape, s.DType.Size)}
	add := func(sentinel error, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%w: "+format, append([]any{sentinel}, args...)...))
	}
	rank := len(s.Shape)
	if s.Null && (rank > 0 || s.MaxShape != nil || s.ChunkShape != nil || s.BlockShape != nil) {
		add(ErrShape, "a null array has no shape, not %v", s.Shape)
	}
	if s.MaxShape != nil {
		if len(s.MaxShape) != rank {
			add(ErrShape, "maximum shape %v has %d axes, shape has %d", s.MaxShape, len(s.MaxShape), rank)
		} else {
			for i, n := range s.MaxShape {
				if n != Unlimited && n < s.Shape[i] {
					add(ErrShape, "axis %d: largest length %d, length %d", i, n, s.Shape[i])
				}
			}
		}
	}
	if s.AxisNames != nil && len(s.AxisNames) != rank {
		add(ErrShape, "%d axis names, shape has %d axes", len(s.AxisNames), rank)
	}
	for i, name := range s.AxisNames {
		if !utf8.ValidString(name) || strings.IndexByte(name, 0) >= 0 {
			add(ErrParam, "axis %d: name %q", i, name)
		}
	}
	if strings.IndexByte(s.Comment, 0) >= 0 {
		add(ErrParam, "comment %q", s.Comment)
	}
	if s.ChunkShape != nil {
		if i := slices.Index(s.ChunkShape, 0); i >= 0 {
			add(ErrShape, "axis %d: chunk length 0", i)
		} else if _, err := grid.New(s.Shape, s.ChunkShape); err != nil {
			errs = append(errs, err)
		} else if err := grid.Check(s.ChunkShape, s.DType.Size); err != nil {
			errs = append(errs, fmt.Errorf("chunk: %w", err))
		}
	}
	if s.BlockShape != nil {
		switch {
		case s.ChunkShape == nil:
			add(ErrShape, "block shape %v without a chunk shape", s.BlockShape)
		case len(s.BlockShape) != len(s.ChunkShape):
			add(ErrShape, "block shape %v has %d axes, chunk shape has %d", s.BlockShape, len(s.BlockShape), len(s.ChunkShape))
		default:
			for i, n := range s.BlockShape {
				if n < 1 || n > s.ChunkShape[i] {
					add(ErrShape, "axis %d: block length %d, chunk length %d", i, n, s.ChunkShape[i])
				}
			}
		}
	}
	if s.Fill != nil && len(s.Fill) != s.DType.Size {
		add(ErrSize, "fill value of %d bytes, element of %d", len(s.Fill), s.DType.Size)
	}
	type key struct {
		name  string
		fixed bool
	}
	seen := make(map[key]bool)
	for _, a := range s.Attrs {
		k := key{a.Name, a.Fixed && a.Raw != nil} // a frame may have both under one name
		if seen[k] {
			add(ErrParam, "duplicate attribute %q", a.Name)
		}
		seen[k] = true
		errs = append(errs, a.Validate())
	}
	return errors.Join(errs...)
}
