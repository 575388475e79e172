// Reading and writing of the metadata files.

package bcolztree

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hyperslab/hyperslab/internal/format"
)

// Names of the files, relative to the root of a carray or ctable.
const (
	SizesFile    = "meta/sizes"
	StorageFile  = "meta/storage"
	AttrsFile    = "__attrs__"
	RootDirsFile = "__rootdirs__" // of a ctable
	DataDir      = "data"

	// The files with the properties that only this module knows.
	RecordFile      = "meta/hyperslab"
	TableRecordFile = "__hyperslab__" // of a ctable
)

// MaxDims is the maximum number of dimensions, which is that of NumPy.
const MaxDims = 64

// Shuffle is the filter that bcolz passes to Blosc.
type Shuffle int

// The filters. Old files contain false and true for the first two.
const (
	NoShuffle Shuffle = iota
	ByteShuffle
	BitShuffle
)

// Sizes is the content of meta/sizes.
type Sizes struct {
	Shape  []int64 // rows, then the shape of a row
	NBytes int64   // bytes of the elements
	CBytes int64   // bytes in memory as bcolz counts them: the last chunk counts as full and not compressed; after a trim it may be wrong, even negative
}

// CParams is the compression parameters that bcolz passes to Blosc.
type CParams struct {
	Level    int // 0 to 9
	Shuffle  Shuffle
	Codec    string // "blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"
	Quantize int    // decimal digits of floats to keep; 0: all
}

// CheckCodec returns format.ErrCorrupt if Codec is not the name of a codec of Blosc1. bcolz does
// not open such an array, although its chunks contain the number of their codec.
func (c CParams) CheckCodec() error {
	names := []string{"blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"}
	if slices.Contains(names, c.Codec) {
		return nil
	}
	return bad(StorageFile, "cname", 0, strconv.Quote(c.Codec), strings.Join(names, ", "), format.ErrCorrupt)
}

// Storage is the content of meta/storage.
type Storage struct {
	DType       DType
	CParams     CParams
	ChunkLen    int64 // rows of a full chunk
	ExpectedLen int64 // rows that the chunk length was chosen for
	Default     Value // fill value of new rows
}

// RootDirs is the content of a ctable's __rootdirs__.
type RootDirs struct {
	Names []string // columns; each is a directory of that name beside the file
}

// ParseSizes reads meta/sizes. A shape that is a single number has one dimension.
func ParseSizes(b []byte) (Sizes, error) { return parseSizes(SizesFile, b) }

func parseSizes(file string, b []byte) (Sizes, error) {
	v, err := parseJSON(file, b)
	if err != nil {
		return Sizes{}, err
	}
	r := reader{file: file, object: v}
	s := Sizes{NBytes: r.count("nbytes"), CBytes: r.integer("cbytes", r.get("cbytes"), math.MinInt64, math.MaxInt64)}
	shape := r.get("shape")
	if shape.Kind == Number {
		shape.List = []Value{shape}
	} else {
		r.want("shape", shape, List)
	}
	if n := len(shape.List); r.err == nil && (n < 1 || n > MaxDims) {
		r.fail("shape", shape, strconv.Itoa(n)+" dimensions", "1 to "+strconv.Itoa(MaxDims), errLimit)
	}
	total := int64(1)
	for i, x := range shape.List {
		n := r.integer("shape "+strconv.Itoa(i), x, 0, math.MaxInt64)
		if n > 0 && total > math.MaxInt64/n {
			r.fail("shape", shape, "more than 2^63-1 elements", "fewer", errLimit)
		}
		if n > 0 { // a dimension of 0 must not hide an overflow of the others
			total *= n
		}
		s.Shape = append(s.Shape, n)
	}
	if r.err != nil {
		return Sizes{}, r.err
	}
	return s, nil
}

// Append appends the file to dst and returns the extended slice.
func (s Sizes) Append(dst []byte) []byte {
	var shape []Value
	for _, n := range s.Shape {
		shape = append(shape, Int(n))
	}
	return append(appendMembers(dst, []Member{
		{"shape", Value{Kind: List, List: shape}}, {"nbytes", Int(s.NBytes)}, {"cbytes", Int(s.CBytes)},
	}), '\n')
}

// ParseStorage reads meta/storage. Without cname the codec is blosclz, because early versions of
// bcolz had no other. Without quantize it is 0.
func ParseStorage(b []byte) (Storage, error) { return parseStorage(StorageFile, b) }

func parseStorage(file string, b []byte) (Storage, error) {
	v, err := parseJSON(file, b)
	if err != nil {
		return Storage{}, err
	}
	r := reader{file: file, object: v}
	var s Storage
	text := r.get("dtype")
	r.want("dtype", text, String)
	params := r.get("cparams")
	r.want("cparams", params, Object)
	s.ChunkLen = r.integer("chunklen", r.get("chunklen"), 1, math.MaxInt64)
	s.ExpectedLen = r.count("expectedlen")
	s.Default = r.get("dflt")
	if r.err != nil {
		return Storage{}, r.err
	}
	if s.DType, err = parseDType(file, text.Offset, text.Text); err != nil {
		return Storage{}, err
	}
	c := reader{file: file, object: params}
	s.CParams = CParams{Level: int(c.integer("clevel", c.get("clevel"), 0, 9)), Shuffle: c.shuffle(), Codec: "blosclz"}
	if name, ok := params.Get("cname"); ok {
		c.want("cname", name, String)
		s.CParams.Codec = name.Text
	}
	if q, ok := params.Get("quantize"); ok && q.Kind != Null {
		s.CParams.Quantize = int(c.integer("quantize", q, 0, math.MaxInt32))
	}
	if c.err != nil {
		return Storage{}, c.err
	}
	return s, nil
}

// shuffle reads a filter: false, true, 0, 1 or 2.
func (r *reader) shuffle() Shuffle {
	v := r.get("shuffle")
	if v.Kind == Bool {
		if v.Bool {
			return ByteShuffle
		}
		return NoShuffle
	}
	return Shuffle(r.integer("shuffle", v, int64(NoShuffle), int64(BitShuffle)))
}

// Append appends the file to dst in the form of bcolz 1.1 and later, and returns the extended
// slice.
func (s Storage) Append(dst []byte) []byte {
	return append(appendMembers(dst, []Member{
		{"dtype", Text(s.DType.Text)},
		{"cparams", Value{Kind: Object, Members: []Member{
			{"clevel", Int(int64(s.CParams.Level))}, {"shuffle", Int(int64(s.CParams.Shuffle))},
			{"cname", Text(s.CParams.Codec)}, {"quantize", Int(int64(s.CParams.Quantize))},
		}}},
		{"chunklen", Int(s.ChunkLen)}, {"expectedlen", Int(s.ExpectedLen)}, {"dflt", s.Default},
	}), '\n')
}

// ParseRootDirs reads __rootdirs__. Files from before August 2014 also contain a map from names to
// absolute directories of the machine that wrote them. bcolz has ignored the map since then, and so
// does ParseRootDirs.
//
// It returns format.ErrCorrupt for a name that leads outside the directory.
func ParseRootDirs(b []byte) (RootDirs, error) { return parseRootDirs(RootDirsFile, b) }

func parseRootDirs(file string, b []byte) (RootDirs, error) {
	v, err := parseJSON(file, b)
	if err != nil {
		return RootDirs{}, err
	}
	r := reader{file: file, object: v}
	list := r.get("names")
	r.want("names", list, List)
	var d RootDirs
	seen := make(map[string]bool)
	for i, x := range list.List {
		what := "name " + strconv.Itoa(i)
		r.want(what, x, String)
		if r.err == nil && (!isElement(x.Text) || seen[x.Text]) {
			r.fail(what, x, strconv.Quote(x.Text), "the name of a directory beside this file, once", format.ErrCorrupt)
		}
		seen[x.Text] = true
		d.Names = append(d.Names, x.Text)
	}
	if r.err != nil {
		return RootDirs{}, r.err
	}
	return d, nil
}

// Append appends the file to dst and returns the extended slice.
func (d RootDirs) Append(dst []byte) []byte {
	var names []Value
	for _, n := range d.Names {
		names = append(names, Text(n))
	}
	return append(appendMembers(dst, []Member{{"names", Value{Kind: List, List: names}}}), '\n')
}

// Attrs is the content of __attrs__, in the order of the file.
type Attrs []Member

// ParseAttrs reads __attrs__. The result is nil for a file of white space, which old versions of
// bcolz wrote. bcolz opens no array with such a file, nor without the file.
func ParseAttrs(b []byte) (Attrs, error) { return parseAttrs(AttrsFile, b) }

func parseAttrs(file string, b []byte) (Attrs, error) {
	p := parser{file: file, b: b}
	if p.space(); p.at == len(b) {
		return nil, nil
	}
	v, err := parseJSON(file, b)
	if err != nil {
		return nil, err
	}
	r := reader{file: file}
	r.want("attributes", v, Object)
	if r.err != nil {
		return nil, r.err
	}
	return append(Attrs{}, v.Members...), nil
}

// Append appends the file to dst and returns the extended slice.
func (a Attrs) Append(dst []byte) []byte { return append(appendMembers(dst, a), '\n') }

// reader reads members of one object and keeps the first error.
type reader struct {
	file   string
	object Value
	err    error
}

func (r *reader) fail(what string, v Value, got, want string, err error) {
	if r.err == nil {
		r.err = bad(r.file, what, v.Offset, got, want, err)
	}
}

// get returns a member, which must exist.
func (r *reader) get(name string) Value {
	r.want("file", r.object, Object)
	v, ok := r.object.Get(name)
	if !ok {
		r.fail(name, r.object, "nothing", "a member of that name", format.ErrCorrupt)
	}
	return v
}

func (r *reader) want(what string, v Value, k ValueKind) {
	if v.Kind != k {
		r.fail(what, v, v.Kind.String(), k.String(), format.ErrCorrupt)
	}
}

// integer returns v, which must be a number from low to high.
func (r *reader) integer(what string, v Value, low, high int64) int64 {
	r.want(what, v, Number)
	n, ok := v.Int64()
	if !ok || n < low || n > high {
		r.fail(what, v, v.Text, strconv.FormatInt(low, 10)+" to "+strconv.FormatInt(high, 10), format.ErrCorrupt)
		return low
	}
	return n
}

// count returns a member that is a non-negative integer.
func (r *reader) count(name string) int64 { return r.integer(name, r.get(name), 0, math.MaxInt64) }
