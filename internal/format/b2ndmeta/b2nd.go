// Reading and writing of the b2nd and Caterva metalayers.

package b2ndmeta

import (
	"fmt"
	"strconv"

	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/msgpack"
)

// Names of the metalayers.
const (
	Name        = "b2nd"
	CatervaName = "caterva"
)

// Limits of the formats.
const (
	MaxDims        = 16 // limit of b2nd; C-Blosc2 before 2.21.3 reads at most 8
	MaxCatervaDims = 8
	Version        = 0 // the only version of both metalayers
)

// Meta is the content of a b2nd or Caterva metalayer.
//
// With 16 dimensions the three arrays begin with the byte 0xA0 (0x90 + 16). In msgpack this byte is
// an empty string, because a fixarray has at most 15 elements. C-Blosc2 writes and reads it
// nevertheless, and so does this package.
type Meta struct {
	Version     int8
	Shape       []int64 // elements per dimension; the last changes fastest
	Chunks      []int32 // elements of a chunk per dimension
	Blocks      []int32 // elements of a block per dimension
	DTypeFormat int8    // 0: DType is a NumPy dtype; other values are not defined
	DType       string  // in NumPy's notation: "<f8", "|S4", "[('a', '<i4'), …]"; "" for Caterva
	Caterva     bool    // the metalayer is "caterva", which has no dtype
}

// errName returns the metalayer's name for errors.
func errName(name string) string { return name + " metalayer" }

func (m Meta) name() string {
	if m.Caterva {
		return CatervaName
	}
	return Name
}

// Parse reads the content b of the metalayer called name, "b2nd" or "caterva".
//
// Parse accepts only the encoding that the libraries write. The libraries read by position and
// check no markers, so they would misread any other encoding, even correct msgpack.
//
// The error is format.ErrUnsupported for another name, format.ErrVersion, format.ErrTruncated,
// format.ErrLimit for more than 16 dimensions, or format.ErrCorrupt. Parse does not check the
// shapes; see Check.
func Parse(name string, b []byte) (Meta, error) {
	return parse(name, b, nil)
}

// Names of the fields of each dimension, for errors. They are formatted once, because that takes
// longer than parsing.
var shapeFields, chunkFields, blockFields = numbered("shape"), numbered("chunkshape"), numbered("blockshape")

func numbered(name string) (names [MaxDims]string) {
	for i := range names {
		names[i] = name + " " + strconv.Itoa(i)
	}
	return names
}

func parse(name string, b []byte, record *[]format.Field) (Meta, error) {
	if name != Name && name != CatervaName {
		return Meta{}, &format.Error{Format: "metalayer", What: "name", Got: strconv.Quote(name), Want: `"b2nd" or "caterva"`, Err: format.ErrUnsupported}
	}
	m := Meta{Caterva: name == CatervaName}
	r := msgpack.NewReader(errName(name), b)
	r.Record = record
	if m.Caterva {
		r.FixArray("metalayer", 5)
	} else {
		r.FixArray("metalayer", 7)
	}
	m.Version = r.FixInt("version")
	if m.Version != Version {
		r.Fail("version", r.Offset()-1, strconv.Itoa(int(m.Version)), "0", format.ErrVersion)
	}
	n := int(r.FixInt("ndim"))
	r.Explain("dimensions")
	if n > MaxDims {
		r.Fail("ndim", r.Offset()-1, strconv.Itoa(n), "at most "+strconv.Itoa(MaxDims), format.ErrLimit)
	}
	if err := r.Err(); err != nil {
		return Meta{}, err
	}
	m.Shape, m.Chunks, m.Blocks = make([]int64, n), make([]int32, n), make([]int32, n)
	r.FixArray("shape", n)
	for i := range m.Shape {
		m.Shape[i] = r.Int64(shapeFields[i])
	}
	r.FixArray("chunkshape", n)
	for i := range m.Chunks {
		m.Chunks[i] = r.Int32(chunkFields[i])
	}
	r.FixArray("blockshape", n)
	for i := range m.Blocks {
		m.Blocks[i] = r.Int32(blockFields[i])
	}
	if !m.Caterva {
		m.DTypeFormat = r.FixInt("dtype_format")
		if m.DTypeFormat == 0 {
			r.Explain("NumPy")
		}
		m.DType = r.Str32("dtype")
	}
	if r.Err() == nil && r.Left() > 0 {
		r.Fail("end", r.Offset(), strconv.Itoa(r.Left())+" bytes more", "none", format.ErrCorrupt)
	}
	if err := r.Err(); err != nil {
		return Meta{}, err
	}
	return m, nil
}

// Append appends the content of the metalayer to dst and returns the extended slice. The bytes
// equal those of b2nd_serialize_meta and of Caterva. Append does not check m; the caller should
// call Check first. It panics if the three shapes differ in length or are longer than MaxDims,
// because the format cannot represent them.
func (m Meta) Append(dst []byte) []byte {
	n := len(m.Shape)
	if len(m.Chunks) != n || len(m.Blocks) != n || n > MaxDims {
		panic(fmt.Sprintf("b2nd: shape, chunks and blocks of %d, %d and %d dimensions", n, len(m.Chunks), len(m.Blocks)))
	}
	count := 7
	if m.Caterva {
		count = 5
	}
	dst = msgpack.AppendFixArray(dst, count)
	dst = append(dst, byte(m.Version), byte(n))
	dst = msgpack.AppendFixArray(dst, n)
	for _, v := range m.Shape {
		dst = msgpack.AppendInt64(dst, v)
	}
	for _, s := range [][]int32{m.Chunks, m.Blocks} {
		dst = msgpack.AppendFixArray(dst, n)
		for _, v := range s {
			dst = msgpack.AppendInt32(dst, v)
		}
	}
	if m.Caterva {
		return dst
	}
	return msgpack.AppendStr32(append(dst, byte(m.DTypeFormat)), m.DType)
}

// Describe annotates the content b of the metalayer called name, as far as it can be read. It adds
// the errors of Parse and Check as complaints. Offsets count from the start of b. It never fails.
func Describe(name string, b []byte) format.Field {
	root := format.Field{Name: name, Length: int64(len(b))}
	m, err := parse(name, b, &root.Fields)
	if err != nil {
		root.Complaint = err.Error()
		return root
	}
	root.Value = m.String()
	if err := m.Check(); err != nil {
		root.Complaint = err.Error()
	}
	return root
}

// String returns the shapes and the dtype.
func (m Meta) String() string {
	s := fmt.Sprintf("shape %v, chunks %v, blocks %v", m.Shape, m.Chunks, m.Blocks)
	if m.Caterva {
		return s
	}
	return s + fmt.Sprintf(", dtype %q", m.DType)
}
