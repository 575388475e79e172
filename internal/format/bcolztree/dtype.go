// Dtypes as bcolz writes them: str(dtype) of NumPy.

package bcolztree

import (
	"strconv"
	"strings"

	"github.com/hyperslab/hyperslab/internal/format"
)

// DType is the dtype of a carray.
type DType struct {
	Text       string // text in the file: "int32", ">f8", "|S5", "datetime64[ns]"
	Kind       byte   // NumPy's letter: b i u f c S U V M m O
	Order      byte   // '<', '>', or '|' if the byte order is irrelevant
	Size       int64  // bytes per element; 0 for objects and structured types, because the files do not contain their size directly
	Unit       string // unit of dates (M) and durations (m), with its factor: "ns", "25s"
	Structured bool   // kind V with fields; Text is Python's repr, which bcolz itself cannot read
}

// names are NumPy's names of its types. They imply the byte order of the machine that wrote the
// file. The file does not contain it, so little-endian is assumed.
var names = map[string]DType{
	"bool": {Kind: 'b', Size: 1}, "object": {Kind: 'O'},
	"int8": {Kind: 'i', Size: 1}, "int16": {Kind: 'i', Size: 2}, "int32": {Kind: 'i', Size: 4}, "int64": {Kind: 'i', Size: 8},
	"uint8": {Kind: 'u', Size: 1}, "uint16": {Kind: 'u', Size: 2}, "uint32": {Kind: 'u', Size: 4}, "uint64": {Kind: 'u', Size: 8},
	"float16": {Kind: 'f', Size: 2}, "float32": {Kind: 'f', Size: 4}, "float64": {Kind: 'f', Size: 8},
	"float96": {Kind: 'f', Size: 12}, "float128": {Kind: 'f', Size: 16},
	"complex64": {Kind: 'c', Size: 8}, "complex128": {Kind: 'c', Size: 16}, "complex192": {Kind: 'c', Size: 24}, "complex256": {Kind: 'c', Size: 32},
}

// sizes are the valid sizes of each kind in bytes.
var sizes = map[byte][]int64{
	'b': {1}, 'i': {1, 2, 4, 8}, 'u': {1, 2, 4, 8}, 'f': {2, 4, 8, 12, 16}, 'c': {8, 16, 24, 32}, 'M': {8}, 'm': {8}, 'O': {4, 8},
}

// maxItemSize is the maximum size of an element, 1 GiB.
const maxItemSize = 1 << 30

// ParseDType parses the string of a dtype. It returns format.ErrUnsupported for a string that NumPy
// does not write.
func ParseDType(text string) (DType, error) { return parseDType(StorageFile, 0, text) }

func parseDType(file string, at int64, text string) (DType, error) {
	if strings.HasPrefix(text, "[(") || strings.HasPrefix(text, "{'") {
		return DType{Text: text, Kind: 'V', Order: '|', Structured: true}, nil
	}
	d, ok := names[text]
	if !ok {
		d, ok = parseCode(text)
	}
	d.Text = text
	switch {
	case !ok:
		return DType{}, bad(file, "dtype", at, strconv.Quote(text), "a type that NumPy writes", format.ErrUnsupported)
	case d.Kind == 'O':
		d.Size, d.Order = 0, '|'
	case d.Size == 1 || d.Kind == 'S' || d.Kind == 'V' || d.Kind == 'b':
		d.Order = '|'
	case d.Order == 0:
		d.Order = '<'
	}
	return d, nil
}

// parseCode parses the forms with a letter, for example ">i4" and "<M8[ns]", and the names of date
// types, for example "datetime64[ns]".
func parseCode(text string) (DType, bool) {
	var d DType
	rest := text
	if rest != "" && strings.IndexByte("<>|=", rest[0]) >= 0 {
		if rest[0] != '=' && rest[0] != '|' {
			d.Order = rest[0]
		}
		rest = rest[1:]
	}
	for name, code := range map[string]string{"datetime64": "M8", "timedelta64": "m8"} {
		if after, ok := strings.CutPrefix(rest, name); ok && rest == text {
			rest = code + after
		}
	}
	if rest == "" {
		return d, false
	}
	d.Kind = rest[0]
	digits := rest[1:]
	if d.Kind == 'M' || d.Kind == 'm' {
		if i := strings.IndexByte(digits, '['); i >= 0 {
			if !strings.HasSuffix(digits, "]") {
				return d, false
			}
			d.Unit, digits = digits[i+1:len(digits)-1], digits[:i]
		}
	}
	if d.Kind == 'O' && digits == "" {
		return d, true
	}
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return d, false
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 1 || n > maxItemSize {
		return d, false
	}
	d.Size = n
	if d.Kind == 'U' {
		d.Size = 4 * n
	}
	if allowed, ok := sizes[d.Kind]; ok {
		for _, s := range allowed {
			if s == n {
				return d, true
			}
		}
		return d, false
	}
	return d, (d.Kind == 'S' || d.Kind == 'U' || d.Kind == 'V') && d.Size <= maxItemSize
}

// TypeSize returns the type size that bcolz passes to Blosc, in bytes: the character size for
// strings, 1 for objects and for opaque types of more than 255 bytes. It is 0 for structured types.
func (d DType) TypeSize() int64 {
	switch {
	case d.Kind == 'S' || d.Kind == 'O' || d.Kind == 'V' && d.Size > 255:
		return 1
	case d.Kind == 'U':
		return 4
	}
	return d.Size
}
