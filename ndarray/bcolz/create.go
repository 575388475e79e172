// Create, and the conversion of a Spec to bcolz's metadata.

package bcolz

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/elements/numbers"
	"github.com/hyperslab/hyperslab/internal/format/bcolztree"
	"github.com/hyperslab/hyperslab/ndarray"
)

// CreateOptions are properties of bcolz arrays that a Spec does not contain. nil means the zero
// value.
type CreateOptions struct {
	Name        string // of the array in errors; "": the path
	ExpectedLen int64  // number of rows for which the chunk length is chosen; 0: that of the Spec
	Quantize    int    // decimal digits to which floats are rounded before compression; 0: no rounding

	// Skeleton leaves out chunk files without written elements, instead of filling them, because
	// other processes write them. Until all files exist, the array is corrupt for readers that open
	// it without OpenOptions.ChunkRange.
	Skeleton bool

	// Nested makes CreateRecords write the ctable form of bcolz's format document, with the columns
	// under data/ and one meta/ for all, instead of the form that bcolz writes. bcolz does not read
	// it. Fields may be structures.
	Nested bool
}

// DefaultCompression returns the compression that Create uses if the Spec contains no Compression.
// It is bcolz's default.
func DefaultCompression() *ndarray.Compression {
	return &ndarray.Compression{Codec: "lz4", Level: 5, Filters: []string{"shuffle"}}
}

// Create creates a carray in the directory path, which must not exist. The array is filled with the
// fill value and open for writing. Chunks are whole rows: spec.ChunkShape is {rows, shape[1:]...}.
// If it is nil, bcolz's rule determines the number of rows.
//
// Writes of regions write chunk files. Close writes the other chunk files and the final sizes.
// Until then the directory must not be opened as a carray. After an error Create deletes its files,
// unless deleting fails too.
//
// It returns the errors of spec.Validate, ndarray.ErrExists, ErrNotFound if the parent directory is
// missing, and ErrShape for chunks above 2 GiB. It returns errors.ErrUnsupported for scalars, null
// arrays, chunks that divide rows, codecs and filters that Blosc1 does not have, and element types
// that bcolz does not have.
func Create(path string, spec ndarray.Spec, o *CreateOptions) (ndarray.Backend, error) {
	if o == nil {
		o = &CreateOptions{}
	}
	name := o.Name
	if name == "" {
		name = path
	}
	b, err := create(path, name, spec, o)
	if err != nil {
		return nil, ndarray.Wrap("create", name, err)
	}
	return b, nil
}

// Check returns the errors that Create would return for spec, without creating anything.
func Check(spec ndarray.Spec) error {
	_, _, err := plan(&spec, &CreateOptions{})
	return err
}

func create(path, name string, spec ndarray.Spec, o *CreateOptions) (_ *backend, err error) {
	storage, rec, err := plan(&spec, o)
	if err != nil {
		return nil, err
	}
	if err := os.Mkdir(path, 0o777); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(path))
		}
	}()
	for _, sub := range []string{bcolztree.DataDir, filepath.Dir(bcolztree.StorageFile)} {
		if err := os.Mkdir(filepath.Join(path, sub), 0o777); err != nil {
			return nil, err
		}
	}
	row := int64(spec.DType.Size)
	for _, n := range spec.Shape[1:] {
		row *= n
	}
	files := map[string][]byte{
		bcolztree.StorageFile: storage.Append(nil),
		bcolztree.SizesFile:   bcolztree.Sizes{Shape: spec.Shape, NBytes: spec.Shape[0] * row, CBytes: storage.ChunkLen * row}.Append(nil),
		bcolztree.AttrsFile:   bcolztree.Attrs{}.Append(nil),
	}
	for file, b := range files {
		if err := os.WriteFile(filepath.Join(path, filepath.FromSlash(file)), b, 0o666); err != nil {
			return nil, err
		}
	}
	p, err := openPlace(path)
	if err != nil {
		return nil, err
	}
	b, err := newBackend(name, p, &OpenOptions{Write: true}) // takes ownership of p
	if err != nil {
		return nil, err
	}
	b.fresh, b.skeleton = make(map[int64]bool), o.Skeleton
	b.dir.durable, b.attrs.dir.durable = false, false
	b.meta.DType, b.meta.Fill, b.meta.MaxShape, b.meta.AxisNames, b.attrs.record = spec.DType, bytes.Clone(spec.Fill), rec.MaxShape, rec.AxisNames, rec
	if err := b.attrs.setAll(spec.Attrs); err != nil {
		return nil, errors.Join(err, b.abandon())
	}
	return b, nil
}

// errComment is the error for comments, which only HDF5 has.
var errComment = fmt.Errorf("%w: bcolz has no comments", errors.ErrUnsupported)

// plan converts a Spec to the content of meta/storage and the record.
func plan(spec *ndarray.Spec, o *CreateOptions) (bcolztree.Storage, *record, error) {
	var s bcolztree.Storage
	if err := checkAttrs(spec); err != nil {
		return s, nil, err
	}
	switch {
	case spec.Null:
		return s, nil, fmt.Errorf("%w: bcolz has no null arrays", errors.ErrUnsupported)
	case len(spec.Shape) == 0:
		return s, nil, fmt.Errorf("%w: bcolz has no scalars, its arrays have a first axis", errors.ErrUnsupported)
	case spec.BlockShape != nil:
		return s, nil, fmt.Errorf("%w: bcolz chunks have no blocks of a shape", errors.ErrUnsupported)
	case spec.Comment != "":
		return s, nil, errComment
	}
	for i, n := range spec.MaxShape {
		if i > 0 && n != spec.Shape[i] || i == 0 && n != ndarray.Unlimited && n < spec.Shape[0] {
			return s, nil, fmt.Errorf("%w: bcolz arrays grow along the first axis only, without bound; axis %d is %d of %d", errors.ErrUnsupported, i, spec.Shape[i], n)
		}
	}
	var err error
	if s.DType, err = textOf(spec.DType); err != nil {
		return s, nil, err
	}
	if s.CParams, err = cparamsOf(spec.Compression, o.Quantize); err != nil {
		return s, nil, err
	}
	row := int64(spec.DType.Size)
	for _, n := range spec.Shape[1:] {
		row *= n
	}
	s.ExpectedLen = o.ExpectedLen
	if s.ExpectedLen == 0 {
		s.ExpectedLen = spec.Shape[0]
	}
	if spec.ChunkShape != nil {
		s.ChunkLen = spec.ChunkShape[0]
		for i, n := range spec.ChunkShape[1:] {
			if n < spec.Shape[i+1] {
				return s, nil, fmt.Errorf("%w: chunks of %v, bcolz keeps rows whole: axis %d has %d", errors.ErrUnsupported, spec.ChunkShape, i+1, spec.Shape[i+1])
			}
		}
	} else {
		s.ChunkLen = bcolztree.AutoChunkLen(s.ExpectedLen, row)
	}
	if most := bcolztree.DefaultLimits().Chunk; row > 0 && s.ChunkLen > most/row {
		return s, nil, fmt.Errorf("%w: chunks of %d rows of %d bytes, at most %d bytes", ndarray.ErrShape, s.ChunkLen, row, most)
	}
	r := &record{MaxShape: slices.Clone(spec.MaxShape), AxisNames: slices.Clone(spec.AxisNames)}
	s.Default, r.Fill = dfltOf(spec.Fill, spec.DType)
	if back, err := dtypeOf(s.DType); err != nil || !sameType(back, spec.DType) {
		r.DType = &recordType{spec.DType}
	}
	return s, r, nil
}

// sameType reports whether two types are equal and have the same string.
func sameType(a, b ndarray.DType) bool { return a.Equal(b) && a.String() == b.String() }

// nativeNames are the types that NumPy prints by name instead of type string.
var nativeNames = map[string]string{
	"|b1": "bool", "|i1": "int8", "<i2": "int16", "<i4": "int32", "<i8": "int64", "|u1": "uint8", "<u2": "uint16", "<u4": "uint32", "<u8": "uint64",
	"<f2": "float16", "<f4": "float32", "<f8": "float64", "<c8": "complex64", "<c16": "complex128",
}

// textOf formats a type as str(dtype) does on a little-endian machine. It returns
// errors.ErrUnsupported for types that bcolz cannot store or NumPy cannot represent.
func textOf(d ndarray.DType) (bcolztree.DType, error) {
	refuse := func(why string) (bcolztree.DType, error) {
		return bcolztree.DType{}, fmt.Errorf("%w: elements of %v in a bcolz array: %s", errors.ErrUnsupported, d, why)
	}
	n := d.NumPy()
	if d.Size == 0 && d.Kind != ndarray.String {
		return refuse("elements of variable size")
	}
	switch d.Kind {
	case ndarray.String:
		return refuse("bcolz stores text of variable length only as pickled objects")
	case ndarray.Float, ndarray.Complex:
		if d.Size > 8 && (d.Kind == ndarray.Float || d.Size > 16) {
			return refuse("the type has no machine-independent name")
		}
	case ndarray.SubArray:
		return refuse("use another axis")
	case ndarray.Struct:
		return refuse("bcolz cannot open its own arrays of them; use a ctable")
	}
	text := n.String()
	if name, ok := nativeNames[text]; ok {
		text = name
	}
	for code, name := range map[string]string{"<M8": "datetime64", "<m8": "timedelta64"} {
		if rest, ok := strings.CutPrefix(text, code); ok {
			text = name + rest
		}
	}
	t, err := bcolztree.ParseDType(text)
	if err != nil {
		return refuse(err.Error())
	}
	return t, nil
}

var shuffles = map[string]bcolztree.Shuffle{"shuffle": bcolztree.ByteShuffle, "bitshuffle": bcolztree.BitShuffle}

// cparamsOf is the inverse of compression.
func cparamsOf(c *ndarray.Compression, quantize int) (bcolztree.CParams, error) {
	if c == nil {
		c = DefaultCompression()
	}
	p := bcolztree.CParams{Codec: c.Codec, Level: c.Level, Quantize: quantize}
	if quantize < 0 {
		return p, fmt.Errorf("%w: quantize to %d digits", ndarray.ErrParam, quantize)
	}
	if c.Codec == "none" {
		if c.Level != 0 {
			return p, fmt.Errorf("%w: codec none at level %d", ndarray.ErrParam, c.Level)
		}
		p.Codec = "lz4"
	}
	if _, err := cblosc.ParseCodec(p.Codec); err != nil {
		return p, fmt.Errorf("%w: codec %q in a bcolz array", errors.ErrUnsupported, c.Codec)
	}
	if c.Level < 0 || c.Level > 9 {
		return p, fmt.Errorf("%w: level %d, want 0 to 9", ndarray.ErrParam, c.Level)
	}
	switch len(c.Filters) {
	case 0:
	case 1:
		s, ok := shuffles[c.Filters[0]]
		if !ok {
			return p, fmt.Errorf("%w: filter %q in a bcolz array", errors.ErrUnsupported, c.Filters[0])
		}
		p.Shuffle = s
	default:
		return p, fmt.Errorf("%w: %d filters in a bcolz array, at most one", errors.ErrUnsupported, len(c.Filters))
	}
	return p, nil
}

// dfltOf returns the JSON value of dflt. If JSON cannot represent the fill value, it also returns
// the fill value for the record.
func dfltOf(fill []byte, d ndarray.DType) (dflt bcolztree.Value, rest []byte) {
	d = d.NumPy() // the type in bcolz's metadata
	zero := make([]byte, d.Size)
	if fill == nil {
		fill = zero
	}
	v, ok := plain(fill, d)
	if !ok {
		v, _ = plain(zero, d)
		return v, fill
	}
	if d.Kind == ndarray.DateTime || d.Kind == ndarray.TimeDelta {
		// bcolz always writes 0 for these types.
		if !bytes.Equal(fill, zero) {
			return bcolztree.Int(0), fill
		}
	}
	if back, err := fillOf(v, d); err != nil || !bytes.Equal(append(append([]byte{}, back...), zero[len(back):]...), fill) {
		v, _ = plain(zero, d)
		return v, fill
	}
	return v, nil
}

// plain converts one element, in native order, to JSON. ok is false if JSON has no such value.
func plain(e []byte, d ndarray.DType) (v bcolztree.Value, ok bool) {
	switch d.Kind {
	case ndarray.Bool:
		return bcolztree.Value{Kind: bcolztree.Bool, Bool: e[0] != 0}, true
	case ndarray.Int, ndarray.DateTime, ndarray.TimeDelta:
		return bcolztree.Int(int64(native(e)) << (64 - 8*len(e)) >> (64 - 8*len(e))), true
	case ndarray.Uint:
		return bcolztree.Value{Kind: bcolztree.Number, Text: strconv.FormatUint(native(e), 10)}, true
	case ndarray.Enum:
		return plain(e, *d.Base)
	case ndarray.Float:
		if d.Size > 8 {
			return v, false
		}
		return bcolztree.Float(numbers.LoadFloat(e)), true
	case ndarray.Complex:
		// JSON has no complex numbers. bcolz opens an array whose dflt is the real part.
		re, im := e[:d.Size/2], e[d.Size/2:]
		if d.Size > 16 || len(bytes.Trim(im, "\x00")) > 0 {
			return v, false
		}
		return bcolztree.Float(numbers.LoadFloat(re)), true
	case ndarray.Bytes, ndarray.Void:
		text := strings.TrimRight(string(e), "\x00")
		if d.Kind == ndarray.Void {
			text = string(e)
		}
		for i := range len(text) {
			if text[i] >= 0x80 {
				return v, false
			}
		}
		return bcolztree.Text(text), true
	case ndarray.Unicode:
		var b strings.Builder
		for i := 0; i+4 <= len(e); i += 4 {
			b.WriteRune(rune(native(e[i : i+4])))
		}
		return bcolztree.Text(strings.TrimRight(b.String(), "\x00")), true
	}
	return v, false
}
